"""Client: a database to ask and to publish from, in this process or behind its HTTP door, by the same methods.

`discreet.open` and `discreet.create` give a `Home`, `discreet.connect` a `Connection`; both are a `Database`.
"""

from discreet.client.connection import Connection as Connection
from discreet.client.connection import Lost as Lost
from discreet.client.database import Database as Database
from discreet.client.home import Home as Home
from discreet.curator.named_run import RunAnswer as RunAnswer
from discreet.curator.named_run import RunQuote as RunQuote
from discreet.desk.publisher import Offered as Offered
