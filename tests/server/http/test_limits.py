"""Requests that are too large, too deep, too slow, or no requests at all: refused, and the door stays open."""

from __future__ import annotations

import json
import socket

import pytest
from server.http.conftest import Place
from server.served import Server

import discreet as dp
from discreet.server.http.request_body import depth
from discreet.server.limits import Buckets

QUERY = "/api/v1/query"


def test_a_body_beyond_the_limit_is_refused_by_its_announced_size(place: Place, server: Server) -> None:
    reply = server.call("POST", QUERY, place.ann, b" " * 65_537)
    assert (reply.status, reply.error["sqlstate"]) == (413, "54000")
    assert server.call("POST", QUERY, place.ann, b" " * 65_536).status == 400  # it fits, and is no JSON


def test_a_body_beyond_the_limit_is_refused_as_it_comes(place: Place, server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.http), timeout=30) as wire:
        wire.sendall(_head(place.ann, "Transfer-Encoding: chunked"))
        chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
        try:
            for _ in range(64):
                wire.sendall(chunk)
        except ConnectionError:
            pass  # it was told off before it had finished
        assert b" 413 " in _all(wire).split(b"\r\n", 1)[0]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"17",
        b"{}",
        b"{",
        b"\xff\xfe",
        b'{"sql": 1}',
        b'{"sql": null}',
        b'{"sql": ["SELECT 1"]}',
        b'{"sql": "SELECT 1", "epsilon": NaN}',
        b'{"sql": "SELECT 1", "epsilon": Infinity}',
        b'{"sql": "SELECT 1", "epsilon": true}',
        b'{"sql": "SELECT 1", "epsilon": {"a": 1}}',
        b'{"sql": "SELECT 1", "fresh": 1}',
        b'{"sql": "SELECT 1", "max_rows": 0}',
        b'{"sql": "SELECT 1", "max_rows": 1.5}',
        b'{"sql": "SELECT 1", "principal": "cleo"}',
        b'{"sql": "SELECT 1 FROM \\ud800"}',
        b'{"sql": "' + b"x" * 20_001 + b'"}',
        b'{"sql": "SELECT count(*) FROM visits", "epsilon": "' + b"1" * 2001 + b'"}',
        b'{"sql": "SELECT count(*) FROM visits", "epsilon": "1e999999999"}',
        b'{"sql": "SELECT count(*) FROM visits", "epsilon": "-1"}',
        b'{"sql": "SELECT count(*) FROM visits", "epsilon": 1, "rho": 1}',
        b'{"sql": "SELECT count(*) FROM visits", "confidence": 2}',
        b"[" * 30_000,
        b"[" * 30_000 + b"]" * 30_000,
        b'{"sql":' * 5_000 + b"1" + b"}" * 5_000,
    ],
    ids=lambda body: repr(body[:50]),
)
def test_nonsense_is_refused_in_the_one_shape_of_errors(place: Place, server: Server, body: bytes) -> None:
    before = dp.open(place.home).budget("patient").spent
    reply = server.call("POST", QUERY, place.ann, body)
    assert (reply.status, reply.error["kind"]) == (400, "refusal")
    assert dp.open(place.home).budget("patient").spent == before


def test_depth_is_counted_outside_texts() -> None:
    assert depth(json.dumps({"sql": '[[["{{{\\"[['}).encode()) == 1
    assert depth(b"[[1], {}, [[2]]]") == 3
    assert depth(b'"open [[[[') == 4  # no JSON, so no text either
    assert depth(b"]]]][") == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # somebody who expects TLS
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 10_000 + b"\r\n",
        b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /%ff%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /api/v1/tables HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n",
    ],
    ids=lambda sent: repr(sent[:40]),
)
def test_what_is_no_request_gets_an_error_and_the_door_stays_open(place: Place, server: Server, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.http), timeout=30) as wire:
        wire.sendall(sent)
        wire.shutdown(socket.SHUT_WR)
        first = _all(wire).split(b"\r\n", 1)[0]
    assert first == b"" or first.split(b" ")[1] in (b"400", b"401", b"404")
    assert server.call("GET", "/api/v1/tables", place.ann).status == 200


def test_who_leaves_after_asking_has_paid_once_and_finds_the_answer(place: Place, server: Server) -> None:
    sql = "SELECT count(*) AS n FROM visits WHERE cost > 77.5"
    body = json.dumps({"sql": sql, "epsilon": "0.125"}).encode()
    before = dp.open(place.home).budget("patient").spent.epsilon  # type: ignore[union-attr]
    with socket.create_connection(("127.0.0.1", server.http), timeout=60) as wire:
        wire.sendall(_head(place.ann, f"Content-Length: {len(body)}") + body)
    there = server.connect(place.ann)
    answers = [there.query(sql, epsilon="0.125") for _ in range(3)]
    spent = dp.open(place.home).budget("patient").spent.epsilon - before  # type: ignore[union-attr]
    assert spent * 8 in (1, 2)  # twice only if the second came before the first had its answer
    assert answers[1].rows == answers[2].rows
    assert answers[2].cost is None


def _head(token: str, more: str) -> bytes:
    lines = [f"POST {QUERY} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}"]
    lines += ["Content-Type: application/json", more, "", ""]
    return "\r\n".join(lines).encode()


def _all(wire: socket.socket) -> bytes:
    found = bytearray()
    try:
        while part := wire.recv(65_536):
            found += part
    except ConnectionError:
        pass
    return bytes(found)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_let_through_and_then_the_rate_holds() -> None:
    clock = Clock()
    buckets = Buckets(2, 3, clock=clock)
    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now += 0.5
    assert [buckets.take("ann") for _ in range(2)] == [0, 0.5]
    clock.now += 1000
    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]  # a bucket holds no more than its burst


def test_everybody_has_a_bucket_of_their_own() -> None:
    buckets = Buckets(1, 1, clock=Clock())
    assert [buckets.take(name) for name in ("ann", "bob", "ann")] == [0, 0, 1]


def test_looking_takes_nothing() -> None:
    buckets = Buckets(1, 1, clock=Clock())
    assert [buckets.wait("ann"), buckets.wait("ann"), buckets.take("ann"), buckets.wait("ann")] == [0, 0, 0, 1]


def test_only_so_many_names_are_remembered() -> None:
    buckets = Buckets(1, 1, most=3, clock=Clock())
    for name in "abcd":
        buckets.take(name)
    assert len(buckets._filled) == 3
    assert [buckets.wait(name) for name in "abcd"] == [0, 1, 1, 1]
