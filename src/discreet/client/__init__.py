"""Client: a database to ask and to publish from, in this process or behind its HTTP door, by the same methods.

`discreet.open` and `discreet.create` give a `Home`, `discreet.connect` a `Connection`; both are a `Database`.
"""

from discreet.client.database import Database as Database
from discreet.client.local_database import Home as Home
from discreet.client.remote_database import Connection as Connection
from discreet.client.remote_database import Lost as Lost
from discreet.curator.named_run import RunAnswer as RunAnswer
from discreet.curator.named_run import RunQuote as RunQuote
from discreet.desk.release_store import Offered as Offered
