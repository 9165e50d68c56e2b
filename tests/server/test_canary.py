"""A database full of recognisable values: nothing that leaves a door holds one of them.

What each door says is collected as texts, in the same order of questions, and every text is searched. To put another
door into the scan, add a function to DOORS.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import clinic
import duckdb
import psycopg
import pytest
from server.served import Server, served

from discreet.curator.custody import Custody
from discreet.errors import DiscreetError

PEOPLE = 71_503  # beyond every port and everything that Postgres numbers
ROWS = 2 * PEOPLE  # a number that only somebody who counted could know
FIRST = 730_191_000_000  # patients are numbered from here
CANARY = re.compile(
    r"canary|(?<!\w)7301910\d{5}(?!\w)"  # texts and patients
    r"|1937-0[2-4]-\d\d"  # days
    rf"|(?<![\w.]){ROWS}(?![\w.])"  # how many rows there are; in a digest such digits stand by chance
    rf"|(?<![\w.]){PEOPLE}(?![\w.])",  # and people
    re.IGNORECASE,
)
CENTS = re.compile(r"\d\.(?:1937|19370)\b")

PRICE = "1e-12"  # so much noise that a number is that of the rows by chance only, once in 10^12

# What an analyst might send, to be told more than they should.
QUESTIONS = (
    "SELECT count(*) AS n FROM visits",
    "SELECT region, count(*), sum(cost), avg(cost), count(DISTINCT patient) FROM visits GROUP BY region",
    "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis",
    "SELECT patient, count(*) FROM visits GROUP BY patient",
    "SELECT day, count(*) FROM visits GROUP BY day ORDER BY day",
    "SELECT min(diagnosis) FROM visits",
    "SELECT max(patient) FROM visits",
    "SELECT string_agg(diagnosis, ',') FROM visits",
    "SELECT * FROM visits",
    "SELECT diagnosis FROM visits LIMIT 1",
    "SELECT sum(CAST(diagnosis AS INT)) FROM visits",
    "SELECT sum(CAST(CAST(diagnosis AS DATE) AS INT)) FROM visits",
    "SELECT sum(LEAST(GREATEST(CAST(diagnosis AS INT), 0), 3)) FROM visits",
    "SELECT count(*) FROM visits WHERE CAST(diagnosis AS DATE) > DATE '2000-01-01'",
    "SELECT count(*) FROM visits WHERE patient * patient * patient * patient > 0",
    "SELECT count(*) FROM visits WHERE sqrt(-cost) > 1 OR 1 / (cost - cost) > 0 OR ln(cost - cost) > 0",
    "SELECT count(*) FROM visits WHERE error(diagnosis)",
    "SELECT count(*) FROM visits WHERE diagnosis = (SELECT diagnosis FROM visits LIMIT 1)",
    "SELECT count(*) FROM visits v JOIN visits w ON v.diagnosis = w.diagnosis",
    "SELECT count(*) * 9000000000000000000 FROM visits",
    "SELECT nothing FROM visits",
    "SELECT count(*) FROM nowhere",
    "SELECT count(*) FROM visits GROUP BY nothing",
    "SELECT reltuples FROM pg_class",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM pragma_storage_info('visits')",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM read_text('discreet.toml')",
    "SUMMARIZE visits",
    "DESCRIBE visits",
    "EXPLAIN ANALYZE SELECT count(*) FROM visits",
    "PRAGMA database_list",
    "COPY visits TO 'out.csv'",
    "ATTACH 'ledger.db'",
    "SELECT 1; SELECT diagnosis FROM visits",
    "SELECT '",
    "",
)


@dataclass(frozen=True)
class Place:
    """A home full of canaries, an analyst's and a custodian's token."""

    home: Path
    ann: str
    cleo: str


def hatch(folder: Path) -> Place:
    """People with two visits each. No text, patient, day or cost occurs with more than one person."""
    rows: list[tuple[object, ...]] = []
    for i in range(PEOPLE):
        day = dt.date(1937, 2 + i % 3, 1 + i % 28)
        rows += [(FIRST + i, clinic.REGIONS[i % 3], f"canary-{i:05d}-{k}", i % 900 + 0.1937, day, True) for k in (0, 1)]
    home = clinic.home(folder / "home", clinic.table(rows), epsilon=10_000, delta="1e-12", max_rows=2, max_groups=2)
    with duckdb.connect(str(home / "tables" / "visits.1.duckdb"), read_only=True) as rows_of_people:
        assert rows_of_people.execute("SELECT count(*) FROM rows WHERE diagnosis LIKE 'canary-%'").fetchall() == [
            (ROWS,)
        ]
    custody = Custody(home)
    return Place(home, custody.let_in("ann", "analyst"), custody.let_in("cleo", "custodian"))


def through_http(server: Server, place: Place) -> Iterator[str]:
    """Everything that the HTTP door says to an analyst who tries everything, and to a custodian who looks on."""
    for sql in QUESTIONS:
        for path in ("query", "explain", "describe"):
            yield server.call("POST", f"/api/v1/{path}", place.ann, {"sql": sql, "epsilon": PRICE}).text
    for path in ("tables", "budget", "history", "ledger/head", "openapi.json", "nothing", "history?limit=x"):
        yield server.call("GET", f"/api/v1/{path}", place.ann).text
        yield server.call("GET", f"/api/v1/{path}").text
    yield server.call("GET", "/api/v1/history?everybody=true", place.cleo).text
    yield from (server.call("GET", f"/api/v1/ledger/proof/{i}", place.cleo).text for i in range(1, 20))
    yield from (server.call("POST", "/api/v1/query", place.ann, body).text for body in (b"", b"{", b"\xff", b"[" * 99))
    yield server.call("GET", "/metrics").text
    there = server.connect(place.ann)
    for sql in QUESTIONS:
        try:
            yield str(there.query(sql, epsilon=PRICE))
        except DiscreetError as said:
            yield f"{type(said).__name__}: {said}"


LOOKED_INTO = (
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM pg_catalog.pg_attribute",
    "SELECT * FROM pg_catalog.pg_description",
    "SELECT * FROM pg_catalog.pg_stats",
    "SELECT * FROM pg_catalog.pg_statistic",
    "SELECT * FROM pg_catalog.pg_stat_user_tables",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM information_schema.columns",
    "SELECT pg_relation_size('visits')",
    "SHOW ALL",
)


def through_pg(server: Server, place: Place) -> Iterator[str]:
    """Everything that the Postgres door says: rows, names, types, notices, errors with all their parts."""
    address = f"host=127.0.0.1 port={server.pg} dbname=discreet user=ann sslmode=disable"
    said: list[str] = []
    with psycopg.connect(address, password=place.ann, autocommit=True) as wire:
        wire.add_notice_handler(lambda told: said.append(_parts(told)))
        wire.execute(f"SET discreet.epsilon = {PRICE}")
        ways = ((False, False), (True, False), (False, True))
        asked = [(sql, way) for sql in (*QUESTIONS, *LOOKED_INTO) for way in ways]
        asked += [(text, ways[0]) for sql in QUESTIONS for text in (f"EXPLAIN {sql}", f"COPY ({sql}) TO STDOUT")]
        for sql, (binary, prepare) in asked:
            said.append(_told(wire, sql, binary=binary, prepare=prepare))
            yield from said
            said.clear()
    for wrong in ("", "wrong"):
        with pytest.raises(psycopg.OperationalError) as shut:
            psycopg.connect(address, password=wrong)
        yield str(shut.value)


def _told(wire: psycopg.Connection[tuple[object, ...]], sql: str, *, binary: bool, prepare: bool) -> str:
    try:
        with wire.cursor() as cursor:
            if sql.startswith("COPY"):
                with cursor.copy(sql) as rows:
                    return "\n".join(bytes(part).decode() for part in rows)
            cursor.execute(sql, binary=binary, prepare=prepare)
            return f"{cursor.description} {cursor.fetchall()} {cursor.statusmessage}"
    except psycopg.Error as broken:
        return f"{broken} {_parts(broken.diag)}"


def _parts(told: psycopg.errors.Diagnostic) -> str:
    return " ".join(str(getattr(told, name)) for name in dir(told) if not name.startswith("_"))


DOORS: dict[str, Callable[[Server, Place], Iterator[str]]] = {"http": through_http, "pg": through_pg}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return hatch(tmp_path_factory.mktemp("nest"))


@pytest.mark.parametrize("door", DOORS)
def test_nothing_that_leaves_a_door_holds_a_canary(place: Place, door: str) -> None:
    with served(place.home, "--rate", "100000", doors=(door,)) as server:
        said = [_without_length(text) for text in DOORS[door](server, place)]
        (broken,) = place.home.glob("tables/*.duckdb")
        raw = broken.read_bytes()
        broken.write_bytes(raw[:8192] + bytes(reversed(raw[8192:])))  # and an engine that stumbles over them
        try:
            said += [_without_length(text) for text in DOORS[door](server, place)]
            assert server.stop() == 0
        finally:
            broken.write_bytes(raw)
    said += [server.greeting, server.journal.read_text()]
    assert len(said) > 2 * len(QUESTIONS)
    assert [found for text in said for found in CANARY.findall(text)] == []
    assert [text for text in said if CENTS.search(text)] == []
    assert not re.search(r"Traceback|\.duckdb|\.py\b", "\n".join(said))


def test_the_scan_would_see_one(place: Place) -> None:
    told = json.dumps({"rows": ROWS, "text": "x canary-00003-1", "day": "1937-03-04", "patient": FIRST + 77})
    assert len(CANARY.findall(told)) == 4
    assert CENTS.search("817.1937")
    with served(place.home) as server:
        reply = server.call("POST", "/api/v1/query", place.ann, {"sql": "SELECT count(*) AS canary FROM visits"})
    assert CANARY.search(reply.text)


def _without_length(text: str) -> str:
    """A reply without the number of its bytes, which could be any."""
    return re.sub(r"content-length: \d+", "", text)
