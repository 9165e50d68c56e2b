"""What else a session can do: explain, copy, cursors, cancelling, settings that come with it."""

from __future__ import annotations

import csv
import io
import struct
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from server.pgwire.door import Door
from server.pgwire.raw import Raw, bind, describe, errors, execute, kinds, opening, parse, query, rows

from discreet.server.pgwire.session import copied
from discreet.server.pgwire.statement_kinds import Copy, Query
from discreet.server.pgwire.types import TEXT, field

COUNT = "SELECT count(*) AS n FROM visits"
REGIONS = "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY region"


def tag(messages: list[tuple[bytes, bytes]]) -> list[str]:
    return [body[:-1].decode() for kind, body in messages if kind == b"C"]


def test_explain_is_free(client: Raw, door: Door) -> None:
    before = door.entries()
    found = client.ask("EXPLAIN SELECT count(*) AS n FROM visits WHERE cost > 17")
    lines = [str(row[0], "utf-8") for row in rows(found) if row[0] is not None]
    assert lines[0].startswith("price    epsilon ")
    assert tag(found) == ["EXPLAIN"]
    assert door.entries() == before


def test_explain_names_columns_as_the_answer_does(client: Raw) -> None:
    sql = "SELECT region, count(*), sum(cost), count(*) AS n, count(*) + 1 FROM visits GROUP BY region"
    lines = [str(row[0], "utf-8") for row in rows(client.ask(f"EXPLAIN {sql}")) if row[0] is not None]
    told = [line.split()[1].rstrip(":") for line in lines if line.startswith("error ")]
    assert told == ["count", "sum", "n", "column_5"]
    (described,) = [body for kind, body in client.ask(sql) if kind == b"T"]
    assert [name in described for name in (b"region\0", b"count\0", b"sum\0", b"n\0", b"?column?\0")] == [True] * 5
    assert "_col_" not in " ".join(lines)


def test_copies(client: Raw) -> None:
    text = client.ask(f"COPY ({REGIONS}) TO STDOUT")
    assert kinds(text).replace("N", "") == "HdddcCZ"
    assert tag(text) == ["COPY 3"]
    lines = [body.decode().split("\t") for kind, body in text if kind == b"d"]
    assert [line[0] for line in lines] == ["east", "north", "south"]
    raw = [body for kind, body in client.ask(f"COPY ({REGIONS}) TO STDOUT (FORMAT binary)") if kind == b"d"]
    assert raw[0].startswith(b"PGCOPY\n\xff\r\n\0" + struct.pack("!iiHi", 0, 0, 2, 4) + b"east")  # header and row 1
    assert struct.unpack("!q", raw[0][-8:])[0] == int(lines[0][1])
    assert raw[-1] == b"\xff\xff"
    table = [body.decode() for kind, body in client.ask(f"COPY ({REGIONS}) TO STDOUT WITH CSV HEADER") if kind == b"d"]
    assert table == ["region,n\n", *(",".join(line) for line in lines)]
    assert kinds(client.said(parse(f"COPY ({REGIONS}) TO STDOUT WITH BINARY"), bind(), execute())).startswith(
        "12Hddddc"
    )


def test_a_copy_without_rows_is_a_header_and_an_end(client: Raw) -> None:
    found = client.ask(f"COPY ({REGIONS} LIMIT 0) TO STDOUT WITH BINARY")
    assert [body for kind, body in found if kind == b"d"] == [
        b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0) + b"\xff\xff"
    ]


def test_cursors(client: Raw) -> None:
    assert errors(client.ask(f"DECLARE c CURSOR FOR {REGIONS}"))[0]["C"] == "25P01"
    client.ask(f"BEGIN; DECLARE c NO SCROLL CURSOR WITHOUT HOLD FOR {REGIONS}")
    first = client.ask("FETCH FORWARD 2 FROM c")
    assert [row[0] for row in rows(first)] == [b"east", b"north"]
    assert tag(first) == ["FETCH 2"]
    assert tag(client.ask("FETCH ALL IN c; FETCH c; CLOSE c; COMMIT")) == [
        "FETCH 1",
        "FETCH 0",
        "CLOSE CURSOR",
        "COMMIT",
    ]


def test_tables_may_be_named_with_their_schema(client: Raw) -> None:
    plain = rows(client.ask(REGIONS))
    schema = (
        'SELECT "public"."visits".region, count(*) AS n FROM public.visits GROUP BY public.visits.region ORDER BY 1'
    )
    assert rows(client.ask(schema)) == plain


def test_discard_all_forgets(client: Raw) -> None:
    client.said(parse(COUNT, "s"))
    client.ask("SET discreet.epsilon = 1")
    assert tag(client.ask("DISCARD ALL")) == ["DISCARD ALL"]
    assert rows(client.ask("SHOW discreet.epsilon")) == [[b""]]
    assert errors(client.said(bind(name="s")))[0]["C"] == "26000"


def test_settings_can_come_with_the_connection(door: Door) -> None:
    with Raw(door.port) as raw:
        raw.login(
            door.token, options=r"-c discreet.epsilon=0.5 --application-name=a\ b", **{"discreet.confidence": "0.8"}
        )
        assert rows(raw.ask("SHOW discreet.epsilon")) == [[b"0.5"]]
        assert rows(raw.ask("SHOW application_name")) == [[b"a b"]]
        raw.ask("SET discreet.error = 10")
        assert rows(raw.ask("SHOW discreet.epsilon")) == [[b""]]  # a question names one of them
        raw.ask("RESET ALL")
        assert rows(raw.ask("SHOW discreet.epsilon; SHOW discreet.confidence")) == [[b"0.5"], [b"0.8"]]


def test_the_greeting(door: Door) -> None:
    with Raw(door.port) as raw:
        found = raw.login(door.token)
    status = dict(body.split(b"\0")[:2] for kind, body in found if kind == b"S")
    assert status[b"server_encoding"] == status[b"client_encoding"] == b"UTF8"
    assert status[b"DateStyle"] == b"ISO, MDY"
    assert status[b"standard_conforming_strings"] == b"on"
    assert status[b"session_authorization"] == b"ana"
    assert kinds(found).endswith("KZ")


def test_a_newer_protocol_is_negotiated_down(door: Door) -> None:
    with Raw(door.port) as raw:
        raw.send(opening(struct.pack("!I", (3 << 16) + 2) + b"user\0ana\0_pq_.new\0on\0\0"))
        assert raw.read() == (b"v", struct.pack("!ii", 3 << 16, 1) + b"_pq_.new\0")
        assert raw.read()[0] == b"R"


def test_a_question_can_be_cancelled(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go = threading.Event(), threading.Event()
    desk = door.server._desk
    real = desk.asked

    def slow(*given: object) -> object:
        asked.set()
        assert go.wait(20)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(desk, "asked", slow)
    with Raw(door.port) as other:
        greeting = other.login(door.token)
        key = next(body for kind, body in greeting if kind == b"K")

        def cancelled(sql: str, key: bytes) -> None:
            asked.clear()
            go.clear()
            other.send(query(sql))
            assert asked.wait(20)
            with Raw(door.port) as canceller:
                canceller.send(opening(struct.pack("!I", 80877102) + key))
                assert canceller.rest() == b""  # whether it was done or not

        cancelled("SELECT count(*) AS n FROM visits WHERE cost > 122", key[:4] + bytes(4))
        go.set()
        assert errors(other.until(b"Z")) == []  # a wrong secret cancels nothing
        sql = "SELECT count(*) AS n FROM visits WHERE cost > 123"
        cancelled(sql, key)
        found = other.until(b"Z")
        assert [error["C"] for error in errors(found)] == ["57014"]
        assert kinds(found) == "EZ"
        go.set()
        before = rows(other.ask(sql))
        assert kinds(other.ask(sql)) == "TDNCZ"
        assert rows(other.ask(sql)) == before


def test_a_client_can_set_how_long_it_waits(door: Door, client: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(door.server._desk, "asked", lambda *_: go.wait(20))
    found = client.ask(f"SET statement_timeout = '20ms'; {COUNT}")
    go.set()
    assert [error["C"] for error in errors(found)] == ["57014"]


def test_catalogue_questions_go_to_the_catalogue(client: Raw) -> None:
    assert rows(client.ask("SELECT pg_catalog.version()")) == [[b"PostgreSQL 16.0 (discreet)"]]
    assert rows(client.ask("SELECT pg_array()")) == [[b'{a,NULL,"b \\"x\\""}']]
    assert rows(client.said(parse("SELECT pg_echo($1, $2)"), describe("S"), bind([b"a'", None]), execute())) == [
        [b"a'"],
        [b"None"],
    ]
    assert errors(client.ask("SELECT 1 FROM pg_secrets"))[0]["C"] == "42501"


FIELDS = [field(name, TEXT) for name in ('with "quotes"', "plain")]
LETTERS = st.text(st.sampled_from('",\n\r\t\\\b\f\vN. ab'), max_size=6)
CELLS = st.lists(st.tuples(st.none() | LETTERS, st.none() | LETTERS), max_size=4)
UNESCAPED = {"\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}  # the manual of COPY


def sent(form: str, rows: list[tuple[str | None, str | None]]) -> list[str]:
    """The bodies of the messages that hold data."""
    copy = Copy(Query("SELECT 1", 0), form, header=True)
    return [message[5:].decode() for message in copied(copy, FIELDS, rows) if message[:1] == b"d"]


def unescaped(cell: str) -> str | None:
    if cell == "\\N":
        return None
    letters = iter(cell)
    return "".join(UNESCAPED[next(letters)] if letter == "\\" else letter for letter in letters)


@given(CELLS)
@example([('say "hi"', 'a,"b'), ("", None), ("two\nlines", "\\N")])
def test_csv_is_read_back_by_any_reader_of_it(rows: list[tuple[str | None, str | None]]) -> None:
    head, *lines = csv.reader(io.StringIO("".join(sent("csv", rows)), newline=""), strict=True)
    assert head == ['with "quotes"', "plain"]
    assert [tuple(line) for line in lines] == [tuple(cell or "" for cell in row) for row in rows]
    assert [line == ",\n" for line in sent("csv", rows)[1:]] == [row == (None, None) for row in rows]


@given(CELLS)
def test_text_is_read_back_by_the_manual(rows: list[tuple[str | None, str | None]]) -> None:
    lines = [line.removesuffix("\n").split("\t") for line in sent("text", rows)[1:]]
    assert [tuple(map(unescaped, line)) for line in lines] == rows
