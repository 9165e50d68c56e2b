"""TLS connections that are not one yet: they take a place as any other does, and have as long as a request has.

An event loop would begin with TLS before anyone hears of the connection, and wait a minute for who says nothing.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from discreet.server.http.authentication import network
from discreet.server.http.connections import Crowd


class _Early(asyncio.Protocol):
    """Keeps what comes with the last word of a handshake until somebody reads it."""

    def __init__(self) -> None:
        self.said = bytearray()

    def data_received(self, data: bytes) -> None:
        self.said += data


class Handshake(asyncio.Protocol):
    """A connection until it is a TLS connection; then it is what `make` makes."""

    waiting = True  # nothing is done for it that anybody asked for

    def __init__(self, make: Callable[[], asyncio.Protocol], tls: ssl.SSLContext, crowd: Crowd, seconds: float) -> None:
        self._make, self._tls, self._crowd, self._seconds = make, tls, crowd, seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        if not isinstance(transport, asyncio.Transport):  # of a socket that listens it always is
            raise TypeError(transport)
        self._transport = transport
        self._task = asyncio.get_running_loop().create_task(self._begun())
        peer = transport.get_extra_info("peername")
        self._crowd.enter(self, network(peer[0] if peer else ""))  # and who is dropped at once is

    def drop(self) -> None:
        """Close it: somebody else needs the place."""
        self._transport.abort()

    async def _begun(self) -> None:
        early, loop = _Early(), asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(
                self._transport, early, self._tls, server_side=True, ssl_handshake_timeout=self._seconds
            )
        except (OSError, asyncio.CancelledError):  # not TLS, too late, dropped, or gone: nobody to be told
            self._transport.abort()
            return
        finally:
            self._crowd.leave(self)
        if secured is None or self._transport.is_closing():  # of the other one nobody would hear that it is gone
            return
        made = self._make()  # from here to the end nothing waits, so nothing comes in between
        secured.set_protocol(made)
        made.connection_made(secured)
        if early.said:
            made.data_received(bytes(early.said))
