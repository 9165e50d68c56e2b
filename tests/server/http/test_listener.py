"""The door in a loop of the test's own, with limits that are quick to reach."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from server.http.conftest import Place

from discreet.curator import Curator
from discreet.desk import Desk
from discreet.errors import Refusal
from discreet.server.http import Limits, Listening, serve

Port = int


def opened(place: Place, limits: Limits, visit: Callable[[Port], Awaitable[None]]) -> list[str]:
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

    (line,) = opened(place, Limits(body_seconds=0.2), visit)
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

    assert opened(place, Limits(head_seconds=0.3), visit) == []


def test_a_request_that_takes_longer_than_its_head_may_is_answered(place: Place) -> None:
    async def visit(port: Port) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps({"sql": "SELECT count(*) AS n FROM visits WHERE cost > 1234", "epsilon": 1}).encode()
        writer.write(head(place, f"Content-Length: {len(body)}\r\nConnection: close"))
        await asyncio.sleep(0.5)
        writer.write(body)
        assert (await everything(reader)).startswith(b"HTTP/1.1 200 ")
        writer.close()

    opened(place, Limits(head_seconds=0.1), visit)


def test_what_does_not_fit_is_refused_before_it_is_paid(place: Place) -> None:
    before = Curator(place.home).budget("patient").spent.epsilon  # type: ignore[union-attr]
    said: list[bytes] = []

    async def visit(port: Port) -> None:
        async def ask(number: int) -> None:
            sql = f"SELECT count(*) AS n FROM visits WHERE cost > {5_000 + number}"
            body = json.dumps({"sql": sql, "epsilon": "1/8"}).encode()
            said.append(await reply(port, head(place, f"Content-Length: {len(body)}\r\nConnection: close") + body))

        await asyncio.gather(*(ask(number) for number in range(12)))

    opened(place, Limits(workers=1, waiting=1), visit)
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

    assert len(opened(place, Limits(), visit)) == 3


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_that_lets_nobody_in_or_everybody_is_refused(rate: float) -> None:
    with pytest.raises(Refusal, match="expected a rate above 0"):
        Limits(rate=rate)
