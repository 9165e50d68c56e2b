"""The door in a loop of the test's own, with limits that are quick to reach."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from certificate import certificate_in
from server.http.conftest import Place

from discreet.curator import Curator
from discreet.desk import Desk
from discreet.errors import Refusal
from discreet.server.http import Listening, serve
from discreet.server.http.listener import Crowd, Handshake
from discreet.server.limits import HttpLimits

Port = int


def opened(place: Place, limits: HttpLimits, visit: Callable[[Port], Awaitable[None]]) -> list[str]:
    """Open the door, visit it, close it; what stands in its journal."""
    lines: list[str] = []

    async def open_and_close() -> None:
        door: Listening = await serve(Desk(place.home), "127.0.0.1", 0, limits=limits, log=lines.append)
        try:
            await visit(door.address[1])
        finally:
            await door.drain()

    asyncio.run(open_and_close())
    return lines


def head(place: Place, more: str) -> bytes:
    lines = ["POST /api/v1/query HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {place.ann}"]
    return "\r\n".join([*lines, "Content-Type: application/json", more, "", ""]).encode()


async def everything(reader: asyncio.StreamReader) -> bytes:
    """All that comes. Whoever lets go of us with something of ours unread ends by a reset, which is an end as well."""
    found = b""
    with suppress(ConnectionResetError):
        while part := await reader.read(1 << 16):
            found += part
    return found


async def reply(port: Port, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await everything(reader)
    finally:
        writer.close()


def test_a_body_that_never_ends_is_given_up(place: Place) -> None:
    async def visit(port: Port) -> None:
        said = await reply(port, head(place, "Content-Length: 100") + b'{"sql":')
        assert said.startswith(b"HTTP/1.1 408 ")
        assert b"the request did not arrive in time" in said

    (line,) = opened(place, HttpLimits(body_seconds=0.2), visit)
    assert json.loads(line)["status"] == 408


@pytest.mark.parametrize("drip", [b"", b"A: b\r\n"])
def test_a_head_that_never_ends_is_given_up(place: Place, drip: bytes) -> None:
    async def visit(port: Port) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n")
        closed = asyncio.ensure_future(everything(reader))
        while not closed.done():
            writer.write(drip)
            await asyncio.sleep(0.02)
        assert closed.result() == b""
        writer.close()

    assert opened(place, HttpLimits(head_seconds=0.3), visit) == []


def test_a_request_that_takes_longer_than_its_head_may_is_answered(place: Place) -> None:
    async def visit(port: Port) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps({"sql": "SELECT count(*) AS n FROM visits WHERE cost > 1234", "epsilon": 1}).encode()
        writer.write(head(place, f"Content-Length: {len(body)}\r\nConnection: close"))
        await asyncio.sleep(0.5)
        writer.write(body)
        assert (await everything(reader)).startswith(b"HTTP/1.1 200 ")
        writer.close()

    opened(place, HttpLimits(head_seconds=0.1), visit)


def test_what_does_not_fit_is_refused_before_it_is_paid(place: Place) -> None:
    before = Curator(place.home).budget("patient").spent.epsilon  # type: ignore[union-attr]
    said: list[bytes] = []

    async def visit(port: Port) -> None:
        async def ask(number: int) -> None:
            sql = f"SELECT count(*) AS n FROM visits WHERE cost > {5_000 + number}"
            body = json.dumps({"sql": sql, "epsilon": "1/8"}).encode()
            said.append(await reply(port, head(place, f"Content-Length: {len(body)}\r\nConnection: close") + body))

        await asyncio.gather(*(ask(number) for number in range(12)))

    opened(place, HttpLimits(workers=1, waiting=1), visit)
    answered = [text for text in said if text.startswith(b"HTTP/1.1 200 ")]
    crowded = [text for text in said if text.startswith(b"HTTP/1.1 503 ")]
    assert answered
    assert crowded
    assert len(answered) + len(crowded) == 12
    assert all(b"retry-after: 1" in text and b"nothing was charged" in text for text in crowded)
    after = Curator(place.home).budget("patient").spent.epsilon  # type: ignore[union-attr]
    assert (after - before) * 8 == len(answered)


def test_a_pipelined_request_is_answered_in_its_turn(place: Place) -> None:
    async def visit(port: Port) -> None:
        one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        said = await reply(port, one + one + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert said.count(b'{"status":"open"}') == 3

    assert len(opened(place, HttpLimits(), visit)) == 3


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_that_lets_nobody_in_or_everybody_is_refused(rate: float) -> None:
    with pytest.raises(Refusal, match="expected a rate above 0"):
        HttpLimits(rate=rate)


@dataclass(eq=False)
class Line:
    """A connection."""

    name: str
    waiting: bool
    dropped: list[str] = field(default_factory=list)

    def drop(self) -> None:
        self.dropped.append(self.name)


def entered(crowd: Crowd, *lines: tuple[str, str, bool], dropped: list[str] | None = None) -> list[str]:
    dropped = [] if dropped is None else dropped
    for name, place, waiting in lines:
        crowd.enter(Line(name, waiting, dropped), place)
    return dropped


def test_the_oldest_that_waits_at_an_address_makes_room_for_the_next_from_there() -> None:
    crowd = Crowd(100, 2)
    served, silent = ("served", "a", False), ("silent", "a", True)
    dropped = entered(crowd, served, silent, ("elsewhere", "b", True), ("new", "a", True))
    assert dropped == ["silent"]
    entered(crowd, ("newer", "a", False), dropped=dropped)
    assert dropped == ["silent", "new"]
    entered(crowd, ("newest", "a", True), dropped=dropped)
    assert dropped == ["silent", "new", "newest"]  # both others are being served
    assert len(crowd) == 3


def test_where_all_places_are_taken_the_address_with_the_most_gives_one() -> None:
    crowd = Crowd(3, 3)
    many = [(f"a{i}", "a", True) for i in range(2)]
    assert entered(crowd, ("b0", "b", True), *many, ("c0", "c", True)) == ["a0"]


def test_an_address_that_many_share_is_bounded_by_all_places_alone() -> None:
    crowd = Crowd(3, 1, lambda place: place == "proxy")
    assert entered(crowd, *[(f"p{i}", "proxy", True) for i in range(4)]) == ["p0"]


def test_who_leaves_is_not_counted() -> None:
    crowd, line = Crowd(1, 1), Line("x", waiting=True)
    crowd.enter(line, "a")
    crowd.leave(line)
    crowd.leave(line)
    assert len(crowd) == 0
    assert entered(crowd, ("y", "a", True)) == []


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
    return certificate_in(tmp_path_factory.mktemp("tls"))


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
