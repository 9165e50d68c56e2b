"""Memory under attack, measured: what the server's process holds, read from the kernel before and after each flood.

A server runs in a process of its own. Each flood is first done once, so that what is loaded and kept on purpose
(modules, threads, plans, arenas of the allocator) is there; then the peak is set back, the flood is repeated, and the
peak of resident memory may lie only so much above what was held before.
"""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import clinic
import pytest
from server.pgwire.raw import (
    Raw,
    bind,
    errors,
    execute,
    final_response,
    first_response,
    greeting,
    kinds,
    parse,
    query,
    rows,
)
from server.served import Server, served

from discreet.curator.custody import Custody
from discreet.server.limits import WireLimits
from discreet.server.pgwire.frames import MESSAGE_BYTES

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Target:
    """A server, and a token that lets in."""

    server: Server
    token: str

    def memory(self, what: str) -> int:
        """VmRSS is what it holds now, VmHWM the most since the peak was set back."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(f"{what}:"))

    def forget_peak(self) -> None:
        Path(f"/proc/{self.server.process.pid}/clear_refs").write_text("5")

    def raw(self) -> Raw:
        return Raw(self.server.pg, 60)

    def inside(self) -> Raw:
        """Somebody who is let in, as soon as there is room after the last flood."""
        for _ in range(600):
            found = self.raw()
            try:
                found.login(self.token)
            except (AssertionError, EOFError, ConnectionError):  # too many connections
                found.socket.close()
                threading.Event().wait(0.05)
            else:
                return found
        raise TimeoutError

    def settled(self) -> None:
        """Both doors answer."""
        with self.inside() as raw:
            assert rows(raw.ask("SHOW server_encoding")) == [[b"UTF8"]]
        assert self.server.call("GET", "/health").status == 200


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    home = clinic.home(tmp_path_factory.mktemp("clinic") / "home", epsilon=10**6)
    token = Custody(home).let_in("ana", "analyst")
    with served(home, "--rate", "100000", doors=("http", "pg")) as server:
        found = Target(server, token)
        with found.inside() as raw:
            raw.ask(clinic.COUNT)
        yield found


# the Postgres door ----------------------------------------------------------------------------------------------------


def oversize(target: Target) -> None:
    """Messages that say they are large, from strangers and from those inside. Who believes them holds it all."""
    for head in (struct.pack("!i", 2**31 - 1), greeting() + b"p" + struct.pack("!i", 2**31 - 1)):
        with target.raw() as raw:
            _poured(raw, head)
    with target.inside() as raw:
        _poured(raw, b"Q" + struct.pack("!i", MESSAGE_BYTES + 1))


def half_open(target: Target) -> None:
    """As many connections as an address may have, each with half a beginning, and then gone without a word."""
    with ExitStack() as stack:
        for _ in range(WireLimits.strangers - 6):
            stack.enter_context(target.raw()).send(greeting()[:20])


def slow(target: Target) -> None:
    """Eight messages that stop one byte before their end."""
    with ExitStack() as stack:
        for _ in range(8):
            raw = stack.enter_context(target.inside())
            raw.send(b"Q" + struct.pack("!i", MESSAGE_BYTES), bytes(MESSAGE_BYTES - 5))


def passwords(target: Target) -> None:
    """A hundred wrong passwords at once. Their answer is delayed, and they leave before it."""
    with ExitStack() as stack:
        for _ in range(100):
            raw = stack.enter_context(target.raw())
            raw.send(greeting(), first_response("x" * 18))
            if raw.read()[0] == b"R":  # else there is no room, so many are waiting
                raw.send(final_response("wrong", "x" * 18, raw.read()[1][4:].decode()))


def shelves(target: Target) -> None:
    """As many statements and portals as a session may keep, with long texts and long values, and then more."""
    text = f"SELECT /* {'x' * 90_000} */ count(*) FROM visits WHERE diagnosis = $1"
    with target.inside() as raw:
        told = [error["C"] for i in range(60) for error in errors(raw.said(parse(text, f"s{i}", [25])))]
        assert set(told) == {"53000"}
        raw.ask("BEGIN")
        found = raw.said(*(bind([b"y" * 9_000], f"p{i}", "s0") for i in range(120)))
        assert [error["C"] for error in errors(found)] == ["53000"]


def unread(target: Target) -> None:
    """Statements without a Sync, each of which is told of at length, and none of it is read."""
    with target.inside() as raw:
        raw.said(*(parse(f"SET application_name = '{letter * 1_900}'", letter) for letter in "ab"))
        raw.socket.settimeout(0.5)
        with suppress(OSError):
            raw.send(*(bind(name=letter) + execute() for letter in "ab" * 200_000))


def copies(target: Target) -> None:
    """Four large copies for clients that do not read."""
    asked = "SELECT a.relname AS a, b.relname AS b, c.relname AS c FROM pg_class a, pg_class b, pg_class c LIMIT 20000"
    with ExitStack() as stack:
        for _ in range(4):
            raw = stack.enter_context(target.inside())
            raw.send(query(f"COPY ({asked}) TO STDOUT"))
            assert kinds([raw.read()]) == "H"  # it has begun


def _poured(raw: Raw, head: bytes) -> None:
    """A beginning and then 32 megabytes, or as many as the other side takes."""
    with suppress(OSError):
        raw.send(head)
        for _ in range(32):
            raw.send(bytes(MEGABYTE))


# the HTTP door --------------------------------------------------------------------------------------------------------


def bodies(target: Target) -> None:
    """Bodies of 32 megabytes, with and without saying so before."""
    given = f"Host: x\r\nAuthorization: Bearer {target.token}\r\nContent-Type: application/json"
    for size in (f"Content-Length: {32 * MEGABYTE}", "Transfer-Encoding: chunked"):
        with socket.create_connection(("127.0.0.1", target.server.http), timeout=60) as link, suppress(OSError):
            link.sendall(f"POST /api/v1/query HTTP/1.1\r\n{given}\r\n{size}\r\n\r\n".encode())
            for _ in range(32):
                link.sendall(b"100000\r\n" + bytes(MEGABYTE) + b"\r\n")


def heads(target: Target) -> None:
    """Two hundred heads that do not end."""
    with ExitStack() as stack:
        for _ in range(200):
            link = stack.enter_context(socket.create_connection(("127.0.0.1", target.server.http), timeout=60))
            link.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 15_000)


def tokens(target: Target) -> None:
    """Two hundred tokens that are nobody's, each with a question of the greatest length."""
    link = http.client.HTTPConnection("127.0.0.1", target.server.http, timeout=60)
    body = json.dumps({"sql": "x" * 60_000})
    for i in range(200):
        headers = {"Authorization": f"Bearer {i:043d}", "Content-Type": "application/json"}
        link.request("POST", "/api/v1/query", body, headers)
        reply = link.getresponse()
        reply.read()
        assert reply.status in (401, 429)
    link.close()


@dataclass(frozen=True)
class Flood:
    """What is done, how often, and the most megabytes that it may add."""

    does: Callable[[Target], None]
    times: int
    most: int


# What each of them would add if nothing were let go is behind it. Between that and the bound, what it does add: an
# allocator keeps a part of what was freed, and what may be held at once was held before it is measured.
FLOODS = {
    flood.does.__name__: flood
    for flood in (
        Flood(oversize, 1, 16),  # 32 MB for whoever believes the first four bytes
        Flood(half_open, 12, 5),  # 3,000 connections, of which 4 KB each stay if only they are kept: 11 MB
        Flood(slow, 12, 24),  # 96 MB
        Flood(passwords, 5, 2),  # the same for 500 connections, and who they were: 3 MB
        Flood(shelves, 20, 48),  # 80 MB of texts and 18 MB of values
        Flood(unread, 1, 16),  # 2 KB for each of the statements that are read in half a second, of 400,000
        Flood(copies, 4, 32),  # 80 MB of rows
        Flood(bodies, 1, 16),  # 32 MB
        Flood(heads, 10, 12),  # 30 MB
        Flood(tokens, 3, 12),  # 36 MB of bodies
    )
}


def grown(target: Target, flood: Flood, times: int) -> float:
    """How many megabytes the peak of a flood, done so often, lies above what was held before."""
    flood.does(target)
    target.settled()
    before = target.memory("VmRSS")
    target.forget_peak()
    for _ in range(times):
        flood.does(target)
        target.settled()
    return (target.memory("VmHWM") - before) / MEGABYTE


QUICK = ("oversize", "bodies", "shelves")


@pytest.mark.parametrize(
    "flood", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FLOODS]
)
def test_a_flood_runs_off(target: Target, flood: str) -> None:
    assert grown(target, FLOODS[flood], FLOODS[flood].times) < FLOODS[flood].most


@pytest.mark.slow
@pytest.mark.parametrize("flood", FLOODS)
def test_a_long_flood_runs_off(target: Target, flood: str) -> None:
    """The same bounds, for four times as much."""
    assert grown(target, FLOODS[flood], 4 * FLOODS[flood].times) < FLOODS[flood].most
