"""Bytes of one connection: messages in, with limits and deadlines, and messages out, no faster than they are taken."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress

from discreet.server.errors import PROTOCOL, WireError
from discreet.server.limits import WireLimits
from discreet.server.pgwire.frames import STARTUP_BYTES, MessageReader

_CHUNK = 1 << 16
_SIZE = struct.Struct("!i")
_LAST_WORDS = 1.0  # seconds
KINDS = b"QPBDECSHXFdcfp"  # the messages that a client may send once it has started


class Hangup(Exception):
    """The client is gone, or does not do its part."""


class Wire:
    """Reads and writes one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: WireLimits) -> None:
        self._reader, self._writer, self._limits = reader, writer, limits
        self._in = bytearray()  # what came and was not asked for yet: a message, and a chunk at most
        self._out: list[bytes] = []
        self._held = 0
        self.waiting = False  # for the client to say something
        self.allow: Callable[[int], None] = lambda _: None  # refuses to keep so many bytes more of a long message
        self.secure = False
        self.end_point: bytes | None = None  # what binds a login to the certificate that the client was shown
        sock = writer.get_extra_info("socket")
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @property
    def address(self) -> str:
        """Where the client is."""
        peer = self._writer.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    # in --------------------------------------------------------------------------------------------------------------

    async def opening(self) -> MessageReader:
        """The first message, which has no kind."""
        (size,) = _SIZE.unpack(await self._exactly(4))
        if not 8 <= size <= STARTUP_BYTES:
            raise WireError(PROTOCOL, f"this is not how a connection begins: a message of {size} bytes", fatal=True)
        return MessageReader(await self._exactly(size - 4))

    async def message(self, most: int) -> tuple[bytes, bytes]:
        """The next message: its kind and its body."""
        if not self._in:
            await self._begun()
        if (message := self._next(most)) is not None:  # as nearly always: clocks are for the others
            return message
        try:
            async with asyncio.timeout(self._limits.message_seconds):
                while (message := self._next(most)) is None:
                    await self._more()
                return message
        except TimeoutError:
            within = self._limits.message_seconds
            raise WireError(PROTOCOL, f"a message did not arrive within {within:g} seconds", fatal=True) from None

    def _next(self, most: int) -> tuple[bytes, bytes] | None:
        """The next message, if all of it is there."""
        if self._in[0] not in KINDS:
            raise WireError(PROTOCOL, f"there is no message of the kind {bytes(self._in[:1])!r}", fatal=True)
        if len(self._in) < 5:
            return None
        (size,) = _SIZE.unpack_from(self._in, 1)
        if not 4 <= size <= most:
            raise WireError(PROTOCOL, f"a message has at most {most} bytes here", fatal=True)
        if len(self._in) <= size:
            return None
        return bytes(self._taken(1)), bytes(self._taken(size)[4:])

    async def _begun(self) -> None:
        """Wait for the first byte of a message, for which a client has long."""
        self.waiting = True
        try:
            async with asyncio.timeout(self._limits.idle_seconds):
                await self._more()
        except TimeoutError:
            raise WireError(
                "57P05", f"nothing was said for {self._limits.idle_seconds:g} seconds", fatal=True
            ) from None
        finally:
            self.waiting = False

    async def _exactly(self, size: int) -> bytes:
        while len(self._in) < size:
            await self._more()
        return bytes(self._taken(size))

    def _taken(self, size: int) -> bytearray:
        taken = self._in[:size]
        del self._in[:size]
        return taken

    async def _more(self) -> None:
        """Read what comes next."""
        try:
            came = await self._reader.read(_CHUNK)
        except OSError:
            raise Hangup from None
        if not came:
            raise Hangup
        if len(self._in) > _CHUNK:
            self.allow(len(came))
        self._in += came

    @property
    def buffered(self) -> int:
        """Bytes of messages that are not whole yet."""
        return len(self._in)

    # out -------------------------------------------------------------------------------------------------------------

    def send(self, message: bytes) -> None:
        """Send, when there is more or when it is flushed."""
        self._out.append(message)
        self._held += len(message)

    @property
    def full(self) -> bool:
        """Whether enough is held that it should be sent."""
        return self._held >= _CHUNK

    async def flush(self) -> None:
        """Send what is held, and wait until the client has taken most of it."""
        if self._out:
            self._writer.write(b"".join(self._out))
            self._out.clear()
            self._held = 0
        try:
            async with asyncio.timeout(self._limits.send_seconds):
                await self._writer.drain()
        except (TimeoutError, OSError):
            raise Hangup from None

    # the connection itself -------------------------------------------------------------------------------------------

    async def secured(self, tls: ssl.SSLContext) -> None:
        """Go on in TLS. What came before it in the clear must be nothing but the request (CVE-2021-23214)."""
        unread = self._reader._buffer  # type: ignore[attr-defined]  # noqa: SLF001  # there is no public way to see it
        if self._in or unread:
            raise WireError(PROTOCOL, "something came in the clear after TLS was asked for", fatal=True)
        self.send(b"S")
        await self.flush()
        shown = getattr(tls, "end_point", None)
        try:
            await self._writer.start_tls(tls, ssl_handshake_timeout=self._limits.startup_seconds)
        except (ssl.SSLError, OSError):
            raise Hangup from None
        self.secure = True
        self.end_point = shown if shown == getattr(tls, "end_point", None) else None  # it may change at any time

    async def close(self) -> None:
        """Say the last words, if the client takes them soon, and hang up."""
        with suppress(Hangup, OSError, TimeoutError, ssl.SSLError):
            async with asyncio.timeout(_LAST_WORDS):
                await self.flush()
                self._writer.close()
                await self._writer.wait_closed()
        self._writer.transport.abort()
        self._in.clear()  # whoever still knows this connection keeps nothing of it
        self._out.clear()
