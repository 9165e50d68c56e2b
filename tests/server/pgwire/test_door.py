"""The door itself: where it opens, TLS, how many fit through, and how it closes."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import asyncpg
import psycopg
import pytest
from certificate import certificate_in
from installed import program
from server.pgwire.door import Door, StandIn, home, opened
from server.pgwire.raw import Raw, bind, errors, execute, fields, greeting, kinds, opening, parse, query, rows
from waiting import until

from discreet.curator.custody import Custody
from discreet.desk import Desk
from discreet.errors import Refusal
from discreet.server.limits import WireLimits
from discreet.server.pgwire import frames, serve
from discreet.server.tls import ServerContext

TLS_PLEASE = opening(struct.pack("!I", 80877103))
COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate_in(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls(certificate: tuple[Path, Path]) -> ServerContext:
    context = ServerContext()
    context.load_cert_chain(*certificate)
    return context


def test_clients_come_in_by_tls(tmp_path: Path, tls: ssl.SSLContext, certificate: tuple[Path, Path]) -> None:
    with opened(tmp_path, tls) as door:
        full = door.uri(sslmode="verify-full", sslrootcert=str(certificate[0]))
        with psycopg.connect(full) as connection:
            assert connection.pgconn.ssl_in_use
            assert len(connection.execute(COUNT).fetchall()) == 1
        with psycopg.connect(door.uri(sslmode="prefer", channel_binding="prefer")) as connection:
            assert connection.pgconn.ssl_in_use
        asyncio.run(_by_asyncpg(door, certificate[0]))
        where = f"host=127.0.0.1 port={door.port} user=ana dbname=any sslmode=require"
        environment = {**os.environ, "PGPASSWORD": door.token}
        told = subprocess.run(
            [program("psql", package="postgresql-client"), "-X", where, "-c", "\\conninfo"],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )  # fmt: skip
        assert "SSL connection (protocol: TLSv1.3" in told.stdout
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(full.replace(door.token, "wrong"))


def test_a_login_is_bound_to_the_certificate(tmp_path: Path, tls: ssl.SSLContext) -> None:
    with opened(tmp_path, tls) as door:
        with psycopg.connect(door.uri(sslmode="require", channel_binding="require")) as connection:
            assert len(connection.execute(COUNT).fetchall()) == 1
        where = f"host=127.0.0.1 port={door.port} user=ana dbname=any sslmode=require channel_binding=require"
        told = subprocess.run(
            [program("psql", package="postgresql-client"), "-X", "-A", "-t", where, "-c", COUNT],
            capture_output=True, text=True, env={**os.environ, "PGPASSWORD": door.token}, check=False,
        )  # fmt: skip
        assert (told.returncode, told.stdout.strip().isdigit()) == (0, True), told.stderr


def test_who_shows_another_certificate_gets_no_proof(tmp_path: Path, tls: ServerContext) -> None:
    with opened(tmp_path, tls) as door:
        tls.end_point = bytes(32)  # as if somebody in between had another certificate
        for binding in ("require", "prefer"):
            with pytest.raises(psycopg.OperationalError, match="not SCRAM-SHA-256"):
                psycopg.connect(door.uri(sslmode="require", channel_binding=binding))
        psycopg.connect(door.uri(sslmode="require", channel_binding="disable")).close()
        tls.end_point = None
        with pytest.raises(psycopg.OperationalError, match="channel binding"):
            psycopg.connect(door.uri(sslmode="require", channel_binding="require"))
        psycopg.connect(door.uri(sslmode="require", channel_binding="prefer")).close()


async def _by_asyncpg(door: Door, certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    connection = await asyncpg.connect(
        host="127.0.0.1", port=door.port, user="ana", password=door.token, database="any", ssl=trusting
    )
    assert await connection.fetchval(COUNT) is not None
    await connection.close()


def test_nothing_may_be_said_in_the_clear_between_asking_for_tls_and_tls(tmp_path: Path, tls: ssl.SSLContext) -> None:
    with opened(tmp_path, tls) as door, Raw(door.port) as raw:
        raw.send(TLS_PLEASE + greeting())
        found = raw.rest()
        assert found[:1] == b"E"
        assert fields(found[5:])["C"] == "08P01"


def test_without_a_certificate_tls_and_gss_are_declined(door: Door) -> None:
    with Raw(door.port) as raw:
        raw.send(opening(struct.pack("!I", 80877104)))
        assert raw.socket.recv(1) == b"N"
        raw.send(TLS_PLEASE)
        assert raw.socket.recv(1) == b"N"
        assert kinds(raw.login(door.token)).endswith("KZ")
    with Raw(door.port) as raw:
        raw.send(TLS_PLEASE)
        assert raw.socket.recv(1) == b"N"
        raw.send(TLS_PLEASE)
        assert fields(raw.rest()[5:])["S"] == "FATAL"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])  # noqa: S104  # that is the point
def test_the_door_does_not_open_in_the_clear_where_others_reach_it(tmp_path: Path, host: str) -> None:
    made, _ = home(tmp_path)
    with pytest.raises(Refusal, match="can be reached by others"):
        asyncio.run(serve(Desk(made), StandIn(), host, 0))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3"])
def test_the_door_opens_on_loopback(tmp_path: Path, host: str) -> None:
    made, _ = home(tmp_path)

    async def open_and_close() -> int:
        server = await serve(Desk(made), StandIn(), host, 0)
        port = server.address[1]
        await server.close()
        return port

    assert asyncio.run(open_and_close()) > 0


def test_from_elsewhere_only_tls_gets_in(tmp_path: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path, tls) as door:
        monkeypatch.setattr("discreet.server.pgwire.wire.Wire.address", "192.0.2.7")
        with pytest.raises(psycopg.OperationalError, match="by TLS only"):
            psycopg.connect(door.uri(sslmode="disable"))
        psycopg.connect(door.uri(sslmode="require")).close()


# limits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", ["connections", "each_person", "each_address"])
def test_too_many_connections_are_told_so(tmp_path: Path, cap: str) -> None:
    limits = WireLimits(**{"custodians": 0, cap: 2})
    with opened(tmp_path, limits=limits) as door, Raw(door.port) as one, Raw(door.port) as two:
        one.login(door.token)
        two.login(door.token)
        with Raw(door.port) as three, pytest.raises(EOFError):
            three.login(door.token)
        refused = json.loads(door.journal[-1])
        assert (refused["event"], refused["outcome"], refused["sqlstate"]) == ("login", "crowded", "53300")
        one.socket.close()
        assert until(lambda: len(door.server._connections) == 1)
        with Raw(door.port) as three:
            assert kinds(three.login(door.token)).endswith("KZ")


def test_some_connections_are_kept_for_custodians(tmp_path: Path) -> None:
    with opened(tmp_path, limits=WireLimits(connections=2, custodians=1)) as door, Raw(door.port) as one:
        cleo = Custody(door.home).let_in("cleo", "custodian")
        one.login(door.token)
        with Raw(door.port) as two, pytest.raises(EOFError):
            two.login(door.token)
        with Raw(door.port) as three:
            assert kinds(three.login(cleo, "cleo")).endswith("KZ")


@pytest.mark.parametrize("cap", ["strangers", "all_strangers"])
def test_silent_strangers_make_room_for_who_comes_in(tmp_path: Path, cap: str) -> None:
    with opened(tmp_path, limits=WireLimits(**{cap: 2})) as door, Raw(door.port) as inside:
        inside.login(door.token)
        with Raw(door.port) as first, Raw(door.port) as second:
            assert until(lambda: len(door.server._coming) == 2)
            with Raw(door.port) as third:
                assert kinds(third.login(door.token)).endswith("KZ")
            assert fields(first.rest()[5:])["C"] == "53300"
            second.send(greeting())
            assert kinds([second.read()]) == "R"
            assert kinds(inside.ask(COUNT)) == "TDNCZ"
        assert until(lambda: not door.server._coming)


def test_the_journal_tells_who_came_and_how_questions_ended_and_never_what_they_were(tmp_path: Path) -> None:
    with opened(tmp_path) as door, Raw(door.port) as raw:
        raw.login(door.token)
        raw.ask(COUNT)
        raw.ask(COUNT)
        raw.ask(f"EXPLAIN {COUNT}")
        raw.ask("SELECT version()")
        raw.ask("SELECT 'a secret' FROM nowhere")
        raw.ask("SET discreet.epsilon = 100000")
        raw.ask("SELECT count(*) AS secret FROM visits WHERE cost > 3")
        with Raw(door.port) as other, pytest.raises(EOFError):
            other.login("a secret")
        raw.socket.close()
        assert until(lambda: not door.server._connections)
        metrics = door.run(_of(door.server._journal.metrics)).decode()
    told = [{name: line.get(name) for name in ("event", "principal", "outcome", "sqlstate")} for line in _lines(door)]
    wanted = [
        ("login", "ana", "let in", None),
        ("question", "ana", "answered", None),
        ("question", "ana", "free", None),
        ("explain", "ana", "answered", None),
        ("catalogue", "ana", "answered", None),
        ("question", "ana", "refusal", "42P01"),
        ("question", "ana", "over_budget", "53400"),
        ("login", None, "wrong password", "28P01"),
        ("logout", "ana", None, None),
    ]
    assert [tuple(line.values()) for line in told] == wanted
    assert "secret" not in "".join(door.journal) + metrics
    assert all("duration" in line for line in _lines(door) if line["event"] not in ("login", "logout"))
    assert _lines(door)[1]["entry"] == _lines(door)[2]["entry"]
    assert 'discreet_pg_logins_total{outcome="wrong password"} 1.0' in metrics
    assert 'discreet_pg_questions_total{kind="question",outcome="free"} 1.0' in metrics
    assert "discreet_pg_connections 0.0" in metrics


def _lines(door: Door) -> list[dict[str, str]]:
    return [json.loads(line) for line in door.journal]


async def _of(call: Callable[[], bytes]) -> bytes:
    return call()


def test_rows_that_one_person_holds_are_bounded_over_all_connections(tmp_path: Path) -> None:
    class Long(StandIn):
        def answer(self, *_: object) -> tuple[list[tuple[str, int]], list[list[object]]]:
            return [("x", 25)], [["x" * 1000]] * 20

    limits = WireLimits(held=50_000)
    with opened(tmp_path, limits=limits, catalogue=Long()) as door, Raw(door.port) as one, Raw(door.port) as two:
        one.login(door.token)
        two.login(door.token)
        one.ask("BEGIN")
        for name in ("a", "b"):
            one.said(parse("SELECT pg_long()", name), bind(name=name, portal=name), execute(1, name))
        assert [error["C"] for error in errors(two.ask("SELECT pg_long()"))] == ["53200"]
        one.ask("COMMIT")
        assert kinds(two.ask("SELECT pg_long()")).endswith("CZ")


def test_whoever_is_slow_to_come_in_is_sent_away(tmp_path: Path) -> None:
    with opened(tmp_path, limits=WireLimits(startup_seconds=0.2)) as door:
        loris = [Raw(door.port) for _ in range(30)]
        for i, raw in enumerate(loris):
            raw.send(greeting()[: i % 7])
        for raw in loris:
            assert fields(raw.rest()[5:])["C"] == "08006"
            raw.socket.close()
        assert until(lambda: not door.server._connections)


def test_half_a_message_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    with opened(tmp_path, limits=WireLimits(message_seconds=0.2)) as door, Raw(door.port) as raw:
        raw.login(door.token)
        raw.send(query(COUNT)[:-3])
        assert fields(raw.rest()[5:])["C"] == "08P01"


def test_whoever_says_nothing_for_too_long_is_let_go(tmp_path: Path) -> None:
    with opened(tmp_path, limits=WireLimits(idle_seconds=0.2)) as door, Raw(door.port) as raw:
        raw.login(door.token)
        assert fields(raw.rest()[5:])["C"] == "57P05"


def test_a_client_that_does_not_read_is_hung_up_on_and_little_is_kept_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Long(StandIn):
        def answer(self, *_: object) -> tuple[list[tuple[str, int]], list[list[object]]]:
            return [("x", 25)], [["x" * 1000]] * 200_000

    with (
        opened(tmp_path, limits=WireLimits(send_seconds=0.3, held=10**9), catalogue=Long()) as door,
        Raw(door.port) as raw,
    ):
        raw.login(door.token)
        written = []
        real = frames.data_row

        def counted(row: Sequence[bytes | None]) -> bytes:
            written.append(len(row))
            return real(row)

        monkeypatch.setattr(frames, "data_row", counted)
        raw.send(query("SELECT pg_long()"))
        assert until(lambda: not door.server._connections)
        assert 0 < len(written) < 50_000  # of 200,000: as many as the operating system takes
        with Raw(door.port) as other:
            assert kinds(other.login(door.token)).endswith("KZ")


def test_prepared_statements_and_portals_are_counted(tmp_path: Path) -> None:
    limits = WireLimits(prepared=3, portals=2, prepared_characters=1000)
    with opened(tmp_path, limits=limits) as door, Raw(door.port) as raw:
        raw.login(door.token)
        raw.ask("BEGIN")
        assert kinds(raw.said(*(parse("SHOW jit", name) for name in "abc"))) == "111Z"
        assert errors(raw.said(parse("SHOW jit", "d")))[0]["C"] == "53000"
        raw.ask("ROLLBACK; BEGIN; DEALLOCATE ALL")
        assert errors(raw.said(parse(f"SHOW jit -- {'x' * 1000}", "d")))[0]["C"] == "53000"
        raw.ask("ROLLBACK; BEGIN")
        opened_twice = raw.said(parse("SHOW jit"), bind(portal="a"), bind(portal="b"), bind(portal="c"))
        assert (kinds(opened_twice), errors(opened_twice)[0]["C"]) == ("122EZ", "53000")


# closing --------------------------------------------------------------------------------------------------------------


def test_a_door_closes_when_the_last_answer_is_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go = threading.Event(), threading.Event()
    with opened(tmp_path) as door:
        desk = door.server._desk
        real = desk.asked

        def slow(*given: object) -> object:
            asked.set()
            assert go.wait(20)
            return real(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(desk, "asked", slow)
        with Raw(door.port) as idle, Raw(door.port) as busy, Raw(door.port) as stranger:
            idle.login(door.token)
            busy.login(door.token)
            busy.send(query(COUNT))
            assert asked.wait(20)
            closing = asyncio.run_coroutine_threadsafe(door.server.close(), door.loop)
            assert fields(idle.rest()[5:])["C"] == "57P01"
            assert fields(stranger.rest()[5:])["C"] == "57P01"
            with pytest.raises(ConnectionError):
                Raw(door.port)
            assert not closing.done()
            go.set()
            found = busy.until(b"Z")
            assert len(rows(found)) == 1
            assert [error["C"] for error in errors([busy.read()])] == ["57P01"]
            closing.result(20)
        assert door.entries() > 0
