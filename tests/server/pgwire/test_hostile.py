"""Whoever breaks the rules: broken messages, floods, short cuts past the password. Nothing breaks, nothing leaks."""

from __future__ import annotations

import base64
import itertools
import random
import re
import socket
import struct
import threading
from pathlib import Path

import pytest
from server.pgwire.door import Door, opened
from server.pgwire.raw import (
    START,
    SYNC,
    Raw,
    bind,
    describe,
    errors,
    execute,
    fields,
    final_response,
    first_response,
    frame,
    greeting,
    kinds,
    opening,
    parse,
    query,
    rows,
)
from waiting import until

from discreet.desk import Desk
from discreet.errors import Fault
from discreet.server import limits
from discreet.server.pgwire.frames import MESSAGE_BYTES

CANARY = "canary-7f3a9c"
LEAKS = re.compile(rb"Traceback|File \"|\.py\b|0x[0-9a-f]{6}|Error\(|Exception|canary")
BASE = (
    query("SHOW discreet.epsilon"),
    query("SET discreet.epsilon = 0.5; SHOW ALL"),
    query("BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT"),
    query("SELECT current_setting('jit'), set_config('jit', 'off', true)"),
    query("COPY (SELECT 1) TO STDOUT"),
    query("EXPLAIN SELECT count(*) FROM visits"),
    parse("SHOW jit", "s"),
    parse("SELECT $1, $2::date, $3::int[]", "", [25, 1082, 1007]),
    bind([b"a", None, b"{1,2}"], "p", "s", [0, 1, 0]),
    bind([struct.pack("!q", 5)], "", "s", [1]),
    describe("S", "s"),
    describe("P", "p"),
    execute(3, "p"),
    frame(b"C", b"Ss\0"),
    frame(b"H"),
    frame(b"F", b"\0\0\0\1\0\0\0\0\0\0"),
    frame(b"d", b"1,2\n"),
    frame(b"c"),
    frame(b"f", b"no\0"),
    SYNC,
)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed logins wait, but not for long."""
    monkeypatch.setattr(limits, "LONGEST_WAIT", 0.01)
    monkeypatch.setattr(limits, "FIRST_WAIT", 0.001)


def mutated(rng: random.Random) -> bytes:
    """A message with some bytes of its body changed, left out or added; its length is right."""
    message = rng.choice(BASE)
    kind, body = message[:1], bytearray(message[5:])
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(body) + 1)
        match rng.randrange(5):
            case 0 if body:
                body[at % len(body)] = rng.randrange(256)
            case 1:
                del body[at : at + rng.randint(1, 4)]
            case 2:
                body[at:at] = rng.randbytes(rng.randint(1, 4))
            case 3:
                body[at:at] = rng.choice(
                    [b"\0", b"'", b'"', b"$1", b"--", b"/*", b";", b"\xff\xff\xff\xff", b"\x7f\xff"]
                )
            case _:
                kind = rng.choice([kind, bytes([rng.choice(b"QPBDECSHFdcfpXZ")])])
    return frame(kind, bytes(body))


def barrage(door: Door, seed: int, count: int) -> None:
    """So many broken messages. After each the door answers, or says good-bye in a sentence of its own."""
    rng = random.Random(seed)
    raw = Raw(door.port)
    raw.login(door.token)
    for _ in range(count):
        message = mutated(rng)
        try:
            raw.send(message, SYNC)
            found = raw.until(b"Z")
            if message[:1] in b"QFS":
                found += raw.until(b"Z")
        except (EOFError, ConnectionError):  # it said good-bye, and whatever was under way is lost
            raw.socket.close()
            raw = Raw(door.port)
            raw.login(door.token)
            continue
        told = b"".join(body for _, body in found)
        assert not LEAKS.search(told), (message, told)
        assert all(error["C"] and error["M"] for error in errors(found))
    raw.ask("ROLLBACK")
    assert rows(raw.ask("SHOW server_encoding")) == [[b"UTF8"]]
    raw.socket.close()


def test_broken_messages(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    barrage(door, 1, 5_000)
    assert [record.getMessage() for record in caplog.records] == []  # every one was foreseen


@pytest.mark.slow
def test_many_broken_messages(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    barrage(door, 2, 100_000)
    assert [record.getMessage() for record in caplog.records] == []


def test_broken_beginnings(door: Door) -> None:
    rng = random.Random(3)
    for _ in range(400):
        start = bytearray(greeting() + first_response("x" * 18))
        for _ in range(rng.randint(1, 8)):
            start[rng.randrange(len(start))] = rng.randrange(256)
        with Raw(door.port) as raw:
            raw.send(bytes(start[: rng.randrange(len(start))] if rng.random() < 0.3 else start))
            raw.socket.shutdown(socket.SHUT_WR)
            told = raw.rest()
        assert not LEAKS.search(told)
        assert b"R\0\0\0\x08\0\0\0\0" not in told  # nobody is let in
    with Raw(door.port) as raw:
        assert kinds(raw.login(door.token)).endswith("KZ")


@pytest.mark.parametrize("size", [MESSAGE_BYTES + 1, 2**31 - 1, -1, 0, 3])
def test_a_message_of_a_size_that_cannot_be_is_not_waited_for(client: Raw, size: int) -> None:
    client.send(b"Q" + struct.pack("!i", size))
    told = client.rest()
    assert (told[:1], fields(told[5:])["C"], fields(told[5:])["S"]) == (b"E", "08P01", "FATAL")


@pytest.mark.parametrize("size", [0, 7, 10_001, 2**31 - 1, -5])
def test_a_beginning_of_a_size_that_cannot_be_is_not_waited_for(door: Door, size: int) -> None:
    with Raw(door.port) as raw:
        raw.send(struct.pack("!i", size))
        assert fields(raw.rest()[5:])["C"] == "08P01"


def test_the_longest_text_is_refused_and_the_session_goes_on(client: Raw) -> None:
    (error,) = errors(client.ask("SELECT " + "1," * 400_000 + "1"))
    assert error["C"] == "54000"
    (error,) = errors(client.ask("SELECT count(*) FROM visits WHERE " + "(" * 5_000 + "1=1" + ")" * 5_000))
    assert error["C"] in ("42601", "42501", "54000")
    assert kinds(client.ask("SHOW jit")) == "TDCZ"


# past the password ----------------------------------------------------------------------------------------------------

SHORTCUTS = {
    "a question at once": query("SELECT count(*) FROM visits"),
    "the extended protocol": parse("SELECT 1") + bind() + execute() + SYNC,
    "a password in the clear": frame(b"p", b"secret\0"),
    "an empty password": frame(b"p", b""),
    "another mechanism": first_response("x" * 18, mechanism="PLAIN"),
    "channel binding that was not offered": first_response("x" * 18, mechanism="SCRAM-SHA-256-PLUS"),
    "channel binding in its header": first_response("x" * 18, header="p=tls-server-end-point,,"),
    "in another's name": first_response("x" * 18, header="n,a=custodian,"),
    "no first message": frame(b"p", b"SCRAM-SHA-256\0\xff\xff\xff\xff"),
    "a message that is for clients": frame(b"R", struct.pack("!i", 0)),
    "ready": frame(b"Z", b"I"),
    "half a nonce": first_response("x"),
    "a sync": SYNC,
    "a farewell": frame(b"X"),
}


@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_there_is_no_way_past_the_password(door: Door, shortcut: str) -> None:
    with Raw(door.port) as raw:
        raw.send(greeting(), SHORTCUTS[shortcut], query("SELECT count(*) FROM visits"), SYNC)
        raw.socket.shutdown(socket.SHUT_WR)
        told = raw.rest()
    assert b"R\0\0\0\x08\0\0\0\0" not in told
    assert b"Z\0\0\0\x05" not in told
    assert not LEAKS.search(told)


PROOFS = {
    "none": "",
    "nothing": "p=",
    "zeros": "p=" + base64.b64encode(bytes(32)).decode(),
    "too short": "p=" + base64.b64encode(bytes(31)).decode(),
    "no base64": "p=!!!",
}


@pytest.mark.parametrize("user", ["ana", "nobody", "custodian", ""])
@pytest.mark.parametrize("proof", PROOFS)
def test_no_false_proof_lets_anybody_in(door: Door, user: str, proof: str) -> None:
    with Raw(door.port) as raw:
        raw.send(greeting(user or "ana"), first_response("x" * 18))
        raw.read()
        _, body = raw.read()
        nonce = dict(part.split("=", 1) for part in body[4:].decode().split(","))["r"]
        raw.send(frame(b"p", f"c=biws,r={nonce if user else 'y' * 40},{PROOFS[proof]}".encode()), query("SHOW ALL"))
        told = raw.rest()
    assert told[:1] == b"E"
    assert fields(told[5:])["C"] in ("28P01", "08P01")
    assert b"Z\0\0\0\x05" not in told


def test_a_proof_cannot_be_used_twice(door: Door) -> None:
    with Raw(door.port) as raw:
        raw.send(greeting(), first_response("x" * 18))
        raw.read()
        challenge = raw.read()[1][4:].decode()
        proof = final_response(door.token, "x" * 18, challenge)
        raw.send(proof)
        assert kinds(raw.until(b"Z")).endswith("KZ")
    with Raw(door.port) as raw:
        raw.send(greeting(), first_response("x" * 18))
        raw.read()
        raw.read()
        raw.send(proof)
        assert fields(raw.rest()[5:])["S"] == "FATAL"


def _challenge(door: Door, user: str) -> dict[str, str]:
    with Raw(door.port) as raw:
        raw.send(greeting(user), first_response("x" * 18))
        assert raw.read()[1] == struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"
        return dict(part.split("=", 1) for part in raw.read()[1][4:].decode().split(","))


def test_a_stranger_looks_like_anybody_else_also_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as door:
        known, unknown = _challenge(door, "ana"), _challenge(door, "bob")
        assert known["i"] == unknown["i"]
        assert len(known["s"]) == len(unknown["s"])
        assert len(known["r"]) == len(unknown["r"])
        assert _challenge(door, "bob")["s"] == unknown["s"] != _challenge(door, "eve")["s"]
        assert Desk(door.home).pepper() == door.server._entrance.pepper


def test_a_revoked_person_is_a_stranger(tmp_path: Path) -> None:
    from discreet.curator.custody import Custody  # noqa: PLC0415

    with opened(tmp_path) as door, Raw(door.port) as inside:
        inside.login(door.token)
        Custody(door.home).shut_out("ana")
        (error,) = errors(inside.ask("SELECT count(*) FROM visits"))
        assert error["C"] == "42501"
        with Raw(door.port) as raw, pytest.raises(EOFError):
            raw.login(door.token)


# floods ---------------------------------------------------------------------------------------------------------------


def test_a_flood_of_passwords_locks_nobody_out(door: Door) -> None:
    codes: list[str] = []

    def wrong() -> None:
        for _ in range(5):
            with Raw(door.port) as raw:
                raw.send(greeting(), first_response("x" * 18))
                raw.read()
                challenge = raw.read()[1][4:].decode()
                raw.send(final_response("wrong", "x" * 18, challenge))
                codes.append(fields(raw.rest()[5:])["C"])

    flood = [threading.Thread(target=wrong) for _ in range(20)]
    for thread in flood:
        thread.start()
    with Raw(door.port) as raw:
        assert kinds(raw.login(door.token)).endswith("KZ")
    for thread in flood:
        thread.join()
    assert codes == ["28P01"] * 100


def test_failures_make_an_address_wait_longer_and_are_forgotten() -> None:
    now = [0.0]
    counted = limits.LoginAttempts(lambda: now[0])
    waits = [counted.failed("192.0.2.1") for _ in range(12)]
    assert waits == sorted(waits)
    assert waits[0] == limits.FIRST_WAIT
    assert waits[-1] == limits.LONGEST_WAIT
    assert counted.failed("192.0.2.2") == limits.FIRST_WAIT
    now[0] = 100 * limits.HALF_LIFE
    assert counted.failed("192.0.2.1") == pytest.approx(limits.FIRST_WAIT)


def test_addresses_are_counted_in_little_memory() -> None:
    counted = limits.LoginAttempts()
    for a, b in itertools.product(range(256), range(64)):
        counted.failed(f"10.0.{a}.{b}")
    assert len(counted) == limits.MOST_ADDRESSES
    first = [counted.failed(f"2001:db8:1:2::{i:x}") for i in range(1, 20)]
    assert first[-1] == limits.LONGEST_WAIT  # one network is one person


def test_nothing_is_left_of_connections_that_are_gone(tmp_path: Path) -> None:
    with opened(tmp_path) as door:
        for _ in range(50):
            with Raw(door.port) as raw:
                raw.login(door.token)
                raw.send(parse("SHOW jit", "s"), query("SHOW ALL")[:9])
        assert until(lambda: not door.server._connections)
        assert (len(door.server._connections), len(door.server._sessions)) == (0, 0)
        assert not door.server._coming
        assert not door.server._people


# what goes wrong inside -----------------------------------------------------------------------------------------------


@pytest.fixture
def broken(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError(CANARY)

    for name in ("asked", "described", "explained"):
        monkeypatch.setattr(door.server._desk, name, fails)


@pytest.mark.usefixtures("broken")
def test_an_error_that_nobody_foresaw_is_one_constant_sentence(client: Raw, door: Door) -> None:
    told = [
        *errors(client.ask("SELECT count(*) FROM visits")),
        *errors(client.ask("EXPLAIN SELECT count(*) FROM visits")),
        *errors(client.said(parse("SELECT count(*) FROM visits"), describe("S"))),
        *errors(client.said(parse("SELECT count(*) FROM visits"), bind(), execute())),
    ]
    assert [(error["C"], error["M"]) for error in told] == [("XX000", Fault.SENTENCE)] * 4
    assert all("H" not in error and "P" not in error for error in told)
    written = "\n".join(door.journal)
    assert written.count('"broken": "builtins.ZeroDivisionError"') == 4
    assert CANARY not in written


def test_a_value_that_cannot_be_written_is_one_constant_sentence(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(door.server._catalogue), "answer", lambda *_: ([("x", 20)], [[CANARY]]))
    with Raw(door.port) as raw:
        raw.login(door.token)
        (error,) = errors(raw.said(parse("SELECT pg_broken()"), bind(results=1), execute()))
        assert (error["C"], error["M"]) == ("XX000", Fault.SENTENCE)


def test_the_version_of_the_protocol(door: Door) -> None:
    for code in (2 << 16, 4 << 16, 0, 1234 << 16):
        with Raw(door.port) as raw:
            raw.send(opening(struct.pack("!I", code) + START[4:] + b"user\0ana\0\0"))
            assert fields(raw.rest()[5:])["S"] == "FATAL"
