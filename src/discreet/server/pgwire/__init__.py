"""Postgres door: whoever speaks to Postgres can ask here, with the client they have.

A connection is bytes (`wire`), which are messages (`frames`), of which the first ones let somebody in
(`authentication`). A session answers the rest (`session`, `execution`): a text is cut into words and statements
(`lexer`, `parser`, `statements`), settings, transactions and portals are kept (`settings`, `session_state`), and
questions go to the desk in a thread, with their parameters as literals (`questions`, `binding`). What comes back is
written as the client wants it (`types`).
"""

from discreet.server.pgwire.question_to_desk import CatalogueSource as CatalogueSource
from discreet.server.pgwire.server import PostgresServer as PostgresServer
from discreet.server.pgwire.server import serve as serve
