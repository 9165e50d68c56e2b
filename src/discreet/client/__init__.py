"""Client: a curator to ask and to publish with, in this process or behind its HTTP door, by the same methods.

`discreet.open` gives a `Home`, `discreet.connect` a `Connection`.
"""

from discreet.client.connection import Connection as Connection
from discreet.client.connection import Lost as Lost
from discreet.client.home import Home as Home
from discreet.desk.release_quote import Offered as Offered
