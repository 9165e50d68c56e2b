"""Who comes for TLS and says nothing has a place among the others, and not for long."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from server.pgwire.test_door import made_certificate

from discreet.server.http.connections import Crowd
from discreet.server.http.tls_handshake import Handshake

Visit = Callable[[int, ssl.SSLContext, Crowd], Awaitable[None]]


class Echo(asyncio.Protocol):
    """Says again what it hears, once it was told whom."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        assert transport.get_extra_info("sslcontext") is not None
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return made_certificate(tmp_path_factory.mktemp("tls"))


def visited(certificate: tuple[Path, Path], visit: Visit, crowd: Crowd, seconds: float = 60.0) -> None:
    tls, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.load_cert_chain(*certificate)
    trusting.load_verify_locations(certificate[0])
    trusting.check_hostname = False

    async def listened() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Handshake(Echo, tls, crowd, seconds), "127.0.0.1", 0)
        async with server:
            await visit(server.sockets[0].getsockname()[1], trusting, crowd)

    asyncio.run(asyncio.wait_for(listened(), 30))


async def echoed(port: int, tls: ssl.SSLContext) -> bytes:
    """Said with the last word of the handshake, or right after it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    writer.write(b"hello")
    said = await reader.readexactly(5)
    writer.close()
    return said


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait until the other side lets go."""
    with contextlib.suppress(ConnectionError):
        assert not await reader.read()


def test_the_oldest_who_say_nothing_make_room_and_others_are_served(certificate: tuple[Path, Path]) -> None:
    async def visit(port: int, tls: ssl.SSLContext, crowd: Crowd) -> None:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]
        assert [await echoed(port, tls) for _ in range(3)] == [b"hello"] * 3
        for reader, _ in silent[:5]:  # there is room for four, and one of these went for who was served
            await ended(reader)
        assert len(crowd) == 3
        for _, writer in silent:
            writer.close()

    visited(certificate, visit, Crowd(100, 4))


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"], ids=["nothing", "no TLS", "half"])
def test_what_is_no_handshake_ends_and_gives_its_place_back(certificate: tuple[Path, Path], said: bytes) -> None:
    async def visit(port: int, tls: ssl.SSLContext, crowd: Crowd) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        await ended(reader)
        assert await echoed(port, tls) == b"hello"  # the loop has been through everything else by now
        assert len(crowd) == 0
        writer.close()

    visited(certificate, visit, Crowd(100, 4), 0.5)
