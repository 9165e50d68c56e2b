"""The HTTP door on a socket, in an event loop that others share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Generator
from functools import partial
from typing import Protocol, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.desk import Desk
from discreet.server.http.authentication import network
from discreet.server.http.connections import Crowd
from discreet.server.http.door import NOBODY, Door
from discreet.server.http.limits import Limits
from discreet.server.http.proxy import Proxies
from discreet.server.http.request_body import READ
from discreet.server.http.tls_handshake import Handshake
from discreet.server.log import Log, to_stderr

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

    limits: Limits
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
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(256)
    except OSError:
        found.close()
        raise
    return found


async def serve(  # noqa: PLR0913  # what a door is made of
    desk: Desk,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    *,
    limits: Limits | None = None,
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
