"""HTTP door: questions and answers as JSON, for whoever has a token.

It knows nothing that the desk does not tell it, and says nothing about rows that is not in an answer.
"""

from discreet.server.http.asgi_app import Door as Door
from discreet.server.http.listener import Listening as Listening
from discreet.server.http.listener import serve as serve
