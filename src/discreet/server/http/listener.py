"""Listener of the HTTP door: a socket in a shared event loop, its connections, and their TLS handshakes.

An event loop would begin with TLS before anyone hears of a connection, and wait a minute for who says nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from typing import Protocol, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.addresses import network
from discreet.desk import Desk
from discreet.server.http.asgi_app import NOBODY, Door
from discreet.server.http.proxy import Proxies
from discreet.server.http.request_body import READ
from discreet.server.journal import Log, to_stderr
from discreet.server.limits import HttpLimits


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


class CountedConnection(Protocol):
    """A connection as its place is counted."""

    @property
    def waiting(self) -> bool:
        """Whether nothing is done for it: it says nothing, or has not said all yet."""
        ...

    def drop(self) -> None:
        """Close it."""
        ...


class Crowd:
    """The connections there are, the oldest first. Not for several threads: an event loop owns it.

    Who comes when there is no room is let in, and the oldest connection that only waits is closed: of the same address
    if that has too many, else of the address that has the most. So half a request holds no place for long, and whoever
    sends a whole one at once is heard. Only where every connection is being served the new one is closed.
    """

    def __init__(self, most: int, each: int, shared: Callable[[str], bool] = lambda _: False) -> None:
        """`shared` says which addresses stand for many people, as those of a trusted proxy do."""
        self._most, self._each, self._shared = most, each, shared
        self._places: dict[CountedConnection, str] = {}
        self._many: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._places)

    def enter(self, connection: CountedConnection, place: str) -> None:
        """Count one more, and make room for it."""
        self._places[connection] = place
        self._many[place] += 1
        if self._many[place] > self._each and not self._shared(place):
            self._drop_one(place, connection)
        elif len(self._places) > self._most:
            self._drop_one(max(self._many, key=self._many.__getitem__), connection)

    def leave(self, connection: CountedConnection) -> None:
        """Count one less."""
        place = self._places.pop(connection, None)
        if place is not None:
            self._many[place] -= 1
            if not self._many[place]:
                del self._many[place]

    def _drop_one(self, place: str, new: CountedConnection) -> None:
        waiting = (each for each, where in self._places.items() if where == place and each.waiting)
        dropped = next(waiting, new)
        self.leave(dropped)
        dropped.drop()


_ESCAPED = 4  # so much longer a text may be when it is written as JSON in JSON, as sockets do
_IDLE = 5  # seconds that a connection may rest between two requests


class Annex(Protocol):
    """Pages beside the paths of the door, with sockets of their own."""

    async def close(self) -> None:
        """Finish what was begun there, and let the sockets go."""
        ...


Begin = Callable[[Callable[[], asyncio.Protocol]], asyncio.Protocol]  # a connection that is to be of this protocol


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, begin: Begin | None) -> None:
        super().__init__(config)
        self.opened = asyncio.Event()
        self._begin = begin

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([] if self._begin else sockets)
        if self._begin is not None:
            loop = asyncio.get_running_loop()
            for each in sockets or ():
                self.servers.append(await loop.create_server(self._begun, sock=each, backlog=self.config.backlog))
        self.opened.set()

    def _begun(self) -> asyncio.Protocol:
        """A connection that begins with something else than HTTP."""
        kind = cast("Callable[..., asyncio.Protocol]", self.config.http_protocol_class)
        made = partial(kind, config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        return made() if self._begin is None else self._begin(made)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are for whoever runs all doors."""
        yield


class Listening:
    """An open door. `drain` closes it: what was begun is answered, nothing new is let in."""

    def __init__(self, door: Door, server: _Server, listener: socket.socket, annex: Annex | None) -> None:
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self._door, self._server, self._annex = door, server, annex
        self._task = asyncio.create_task(server.serve([listener]))

    async def opened(self) -> Listening:
        """When it takes connections."""
        await self._server.opened.wait()
        return self

    async def drain(self) -> None:
        """Close the door behind those who are in."""
        self._door.closing = True
        if self._annex is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._annex.close(), self._door.limits.drain_seconds)
        self._server.should_exit = True
        await self._task
        await self._door.close()


class _Punctual(H11Protocol):
    """Closes a connection on which no request begins in time, however slowly its bytes come, or no answer is taken."""

    limits: HttpLimits
    crowd: Crowd

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._stalled: asyncio.TimerHandle | None = None
        self._alarm = self.loop.call_later(self.limits.head_seconds, self._give_up)
        self.crowd.enter(self, network(self.client[0] if self.client else ""))

    def connection_lost(self, exc: Exception | None) -> None:
        self._alarm.cancel()
        self.resume_writing()
        self.crowd.leave(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._alarm.cancel()
        self._alarm = self.loop.call_later(self.limits.head_seconds, self._give_up)
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._alarm.cancel()  # a socket stays open, and is counted where it ends
        self.crowd.leave(self)
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """The other side does not take what it is sent."""
        super().pause_writing()
        self._stalled = self._stalled or self.loop.call_later(self.limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """It does again."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    @property
    def waiting(self) -> bool:
        """Whether no whole request is there."""
        return self._unasked or not self.scope.get(READ)

    @property
    def _unasked(self) -> bool:
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]  # at first it is

    def drop(self) -> None:
        """Close it: somebody else needs the place."""
        self.transport.abort()

    def _give_up(self) -> None:
        if self._unasked:
            self.transport.close()


def _listener(host: str, port: int) -> socket.socket:
    """A socket that says it is TCP: only then does asyncio send head and body of an answer without a pause."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(256)
    except OSError:
        listening.close()
        raise
    return listening


async def serve(  # noqa: PLR0913  # what a door is made of
    desk: Desk,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    *,
    limits: HttpLimits | None = None,
    log: Log = to_stderr,
    annex: Callable[[Door], Annex] | None = None,
    proxies: Proxies = NOBODY,
    beside: Callable[[], bytes] = bytes,
) -> Listening:
    """Open the door of a desk at an address; port 0 takes a free one. Sockets are for an annex only.

    `beside` gives metrics of others, which are shown with those of this door.
    """
    door = Door(desk, limits, log, proxies, beside)
    listener = _listener(host, port)
    for name in ("uvicorn.error", "uvicorn.access"):  # they would print what went wrong, with its values
        logging.getLogger(name).disabled = True
    crowd = Crowd(door.limits.connections, door.limits.each_address, proxies.trusts)
    config = uvicorn.Config(
        door,
        http=type("_Punctual", (_Punctual,), {"limits": door.limits, "crowd": crowd}),
        ws="none" if annex is None else "websockets-sansio",
        ws_max_size=_ESCAPED * door.limits.body,
        ws_max_queue=16,
        ws_per_message_deflate=False,  # what is secret and what is not would be compressed together
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=round(door.limits.drain_seconds),
        h11_max_incomplete_event_size=16_384,
    )
    begin: Begin | None = None
    if tls is not None:
        begin = partial(Handshake, tls=tls, crowd=crowd, seconds=door.limits.head_seconds)
    return await Listening(door, _Server(config, begin), listener, annex(door) if annex else None).opened()
