"""Texts: how they are cut into statements, what each asks for, which settings there are, and what transactions keep."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.errors import WireError
from discreet.server.pgwire import settings as known
from discreet.server.pgwire import statement_kinds as c
from discreet.server.pgwire.lexer import words
from discreet.server.pgwire.parser import parsed
from discreet.server.pgwire.question_to_desk import empty, labels, renamed, unqualified
from discreet.server.pgwire.session_state import Transaction
from discreet.server.pgwire.settings import SettingCall, Settings, calls, milliseconds, started

PIECES = st.sampled_from(
    [
        "'a;b'",
        "'it''s;'",
        "E'\\';'",
        '"q;"',
        "$$;$$",
        "$t$;$$;$t$",
        "--;\n",
        "/*;/*;*/;*/",
        "1.5e3",
        "$1",
        "x",
        " ",
        "(",
        ")",
    ]
)


@given(st.lists(st.lists(PIECES, max_size=6), max_size=5))
def test_a_semicolon_cuts_only_where_it_is_one(parts: list[list[str]]) -> None:
    text = ";".join("SELECT " + " ".join(part) for part in parts)
    assert len(parsed(text)) == len(parts)


@given(st.text(st.sampled_from("'\"$;-/*\\eE1a \n(")))
def test_words_are_where_they_say(text: str) -> None:
    try:
        found = words(text)
    except WireError as refused:
        assert refused.code == "42601"  # noqa: PT017  # a quotation or a comment is open
        return
    assert all(text[word.start : word.end] == word.text for word in found)
    assert all(one.end <= two.start for one, two in pairwise(found))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("SELECT 1", c.Query("SELECT 1", 0)),
        ("  with a as (select 1) select * from a ;", c.Query("with a as (select 1) select * from a", 2)),
        ("(SELECT 1)", c.Query("(SELECT 1)", 0)),
        ("EXPLAIN SELECT 1", c.Explain(c.Query("SELECT 1", 8))),
        ("explain (costs off, verbose) SELECT 1", c.Explain(c.Query("SELECT 1", 29))),
        ("COPY (SELECT ')' ) TO STDOUT", c.Copy(c.Query("SELECT ')'", 6))),
        ("COPY (SELECT 1) TO STDOUT WITH BINARY", c.Copy(c.Query("SELECT 1", 6), "binary")),
        ("copy (select 1) to stdout (format 'csv', header)", c.Copy(c.Query("select 1", 6), "csv", header=True)),
        ("COPY (SELECT 1) TO STDOUT CSV HEADER", c.Copy(c.Query("SELECT 1", 6), "csv", header=True)),
        ("SET discreet.epsilon = 0.1", c.Set("discreet.epsilon", "0.1")),
        ("SET SESSION discreet.epsilon TO '0.1'", c.Set("discreet.epsilon", "0.1")),
        ("SET LOCAL x.y = -5", c.Set("x.y", "-5", local=True)),
        ("SET search_path TO a, \"B\", 'c'", c.Set("search_path", "a, B, c")),
        ("SET discreet.epsilon TO DEFAULT", c.Set("discreet.epsilon", None)),
        ("SET TIME ZONE 'Europe/Berlin'", c.Set("timezone", "Europe/Berlin")),
        ("SET NAMES 'UTF8'", c.Set("client_encoding", "UTF8")),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", c.Nothing("SET")),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", c.Nothing("SET")),
        ("SET ROLE NONE", c.Nothing("SET")),
        ("SHOW TRANSACTION ISOLATION LEVEL", c.Show("transaction_isolation")),
        ("show discreet.epsilon", c.Show("discreet.epsilon")),
        ("SHOW ALL", c.Show(None)),
        ("RESET ALL", c.Reset(None)),
        ("RESET discreet.rho", c.Reset("discreet.rho")),
        ("DISCARD ALL", c.Discard("ALL")),
        ('DEALLOCATE PREPARE "A b"', c.Deallocate("A b")),
        ("DEALLOCATE ALL", c.Deallocate(None)),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", c.Transact("BEGIN", "BEGIN")),
        ("START TRANSACTION", c.Transact("BEGIN", "START TRANSACTION")),
        ("END", c.Transact("COMMIT", "COMMIT")),
        ("abort work", c.Transact("ROLLBACK", "ROLLBACK")),
        ("ROLLBACK TRANSACTION TO SAVEPOINT a", c.Transact("ROLLBACK TO", "ROLLBACK", "a")),
        ("SAVEPOINT a", c.Transact("SAVEPOINT", "SAVEPOINT", "a")),
        ("RELEASE a", c.Transact("RELEASE", "RELEASE", "a")),
        (
            "DECLARE c INSENSITIVE NO SCROLL CURSOR WITHOUT HOLD FOR SELECT 1",
            c.Declare("c", c.Query("SELECT 1", 56)),
        ),
        ("FETCH c", c.Fetch("c", 1)),
        ("FETCH NEXT FROM c", c.Fetch("c", 1)),
        ("FETCH 7 IN c", c.Fetch("c", 7)),
        ("FETCH FORWARD ALL FROM c", c.Fetch("c", c.ALL)),
        ("CLOSE ALL", c.CloseCursor(None)),
        ("UNLISTEN *", c.Nothing("UNLISTEN")),
    ],
)
def test_statements(text: str, meant: c.Statement) -> None:
    assert parsed(text) == [meant]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SET", "42601"),
        ("SET x", "42601"),
        ("SET x =", "42601"),
        ("SET x = 1 2", "42601"),
        ("SHOW", "42601"),
        ("SAVEPOINT", "42601"),
        ("SAVEPOINT 'a'", "42601"),
        ("COPY (SELECT 1 TO STDOUT", "42601"),
        ("COPY (DELETE FROM x) TO STDOUT", "0A000"),
        ("COPY (SELECT 1) TO '/tmp/x'", "0A000"),
        ("COPY (SELECT 1) TO PROGRAM 'sh'", "0A000"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT xml)", "0A000"),
        ("COPY (SELECT 1) TO STDOUT (DELIMITER ';')", "42601"),
        ("COPY visits FROM STDIN", "42501"),
        ("EXPLAIN DELETE FROM x", "0A000"),
        ("EXPLAIN", "42601"),
        ("EXPLAIN (ANALYZE) SELECT 1", "0A000"),
        ("DECLARE c BINARY CURSOR FOR SELECT 1", "0A000"),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", "0A000"),
        ("FETCH PRIOR FROM c", "0A000"),
        ("COMMIT PREPARED 'x'", "42601"),
        ("VACUUM", "0A000"),
        ("LISTEN x", "0A000"),
        ("SET SESSION AUTHORIZATION bob", "42501"),
        ("'SELECT 1'", "42601"),
        ('"SELECT" 1', "42601"),
    ],
)
def test_what_is_no_statement_here(text: str, code: str) -> None:
    with pytest.raises(WireError) as refused:
        parsed(text)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t LIMIT 0", True),
        ("SELECT a FROM t limit 0 -- x", True),
        ("SELECT a FROM (SELECT 1 LIMIT 0) t", False),
        ("SELECT a FROM t LIMIT 10", False),
        ("SELECT * FROM (SELECT count(*) FROM t) q WHERE 1=0", True),
        ("SELECT q.a, b FROM (SELECT 1) q WHERE FALSE", True),
        ("SELECT count(*) FROM t WHERE 1=0", False),
        ("SELECT a FROM t UNION SELECT b FROM u WHERE 1=0", False),
        ("SELECT a FROM t WHERE x = 1 OR 1=0", False),
        ("SELECT a + 1 FROM t WHERE 1=0", False),
    ],
)
def test_probes(text: str, expected: bool) -> None:  # noqa: FBT001
    assert empty(text) is expected


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("SELECT a FROM public.t", "SELECT a FROM        t"),
        ('SELECT "public"."t".a FROM "public"."t", public.u', 'SELECT          "t".a FROM          "t",        u'),
        ("SELECT x.public.a FROM t", "SELECT x.public.a FROM t"),
        ("SELECT 'public.t' FROM t", "SELECT 'public.t' FROM t"),
        ("SELECT public.a FROM t public", "SELECT public.a FROM t public"),
        ("SELECT a FROM t JOIN public.u ON t.a = public.u.a", "SELECT a FROM t JOIN        u ON t.a =        u.a"),
    ],
)
def test_the_schema_of_tables_is_left_out_and_nothing_moves(text: str, plain: str) -> None:
    assert unqualified(text) == plain


def test_columns_without_a_name_get_the_one_that_postgres_gives() -> None:
    sql = "SELECT region, count(*), avg(cost)::bigint, 1 + 1, date_trunc('month', day), max(a) OVER () FROM t"
    names = ["region", "count", "avg", "column_4", "date_trunc", "max"]
    assert renamed(labels(sql), names) == ["region", "count", "avg", "?column?", "date_trunc", "max"]
    assert renamed(labels("SELECT count(*), count(*) FROM t"), ["count", "count_2"]) == ["count", "count"]
    assert renamed(labels("SELECT *, count(*) FROM t"), ["a", "b", "count"]) == ["a", "b", "count"]
    assert renamed(labels("SELECT count(*) FROM t UNION ALL SELECT 1"), ["count"]) == ["count"]
    assert renamed(labels("SELECT COUNT(*) AS Many FROM t"), ["many"]) == ["many"]


# settings -------------------------------------------------------------------------------------------------------------


def test_settings_become_terms() -> None:
    found = Settings().put("discreet.epsilon", "0.1").put("DISCREET.Max_Rows", "5").put("discreet.fresh", "yes")
    assert found.terms == {"epsilon": "0.1", "confidence": "0.95", "max_rows": 5, "fresh": True}
    assert found.put("discreet.rho", "0.2").terms == {
        "rho": "0.2",
        "confidence": "0.95",
        "max_rows": 5,
        "fresh": True,
    }
    assert found.reset("discreet.epsilon").reset("discreet.fresh").terms == {"confidence": "0.95", "max_rows": 5}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("discreet.epsilon", value) for value in ("0", "-1", "x", "", "nan", "1e9999", "٣")),
        *(("discreet.delta", value) for value in ("1", "-0.1", "x")),
        *(("discreet.confidence", value) for value in ("0", "1", "2")),
        *(("discreet.max_rows", value) for value in ("0", "1.5", "-1", "9999999999")),
        ("discreet.intervals", "maybe"),
        ("client_encoding", "LATIN1"),
        ("DateStyle", "SQL, DMY"),
        ("standard_conforming_strings", "off"),
        ("statement_timeout", "soon"),
        ("application_name", "x" * 5000),
    ],
)
def test_values_that_a_setting_does_not_take(name: str, value: str) -> None:
    with pytest.raises(WireError) as refused:
        Settings().put(name, value)
    assert refused.value.code == "22023"


def test_the_usual_settings_are_taken_and_echoed() -> None:
    usual = {"extra_float_digits": "3", "search_path": "a, b", "TimeZone": "Europe/Berlin", "datestyle": "iso, dmy"}
    found = Settings()
    for name, value in usual.items():
        found = found.put(name, value)
    assert found.value("datestyle") == "ISO, DMY"
    assert found.reported()["TimeZone"] == "Europe/Berlin"
    assert ("extra_float_digits", "3") in found.every()
    assert Settings().put("client_encoding", "'utf-8'").value("client_encoding") == "UTF8"


def test_settings_of_ones_own_are_bounded() -> None:
    found = Settings()
    for i in range(known.MOST_OWN + len(known.KNOWN)):
        found = found.put(f"my.x{i}", "1")
    with pytest.raises(WireError, match="at most"):
        found.put("my.last", "1")
    for name in ("nothing", "discreet.nothing", "a.", ".a", "a.b c", "x" * 100 + ".y"):
        with pytest.raises(WireError) as refused:
            Settings().put(name, "1")
        assert refused.value.code == "42704"


def test_options_of_a_connection() -> None:
    found = started(
        "ana", {"user": "ana", "options": r"-c a.b=c\ d --discreet-x.y=1 -cjit=off", "application_name": "t"}
    )
    assert [found.value(name) for name in ("a.b", "discreet_x.y", "jit", "application_name")] == [
        "c d",
        "1",
        "off",
        "t",
    ]
    assert found.value("session_authorization") == "ana"
    for options in ("x", "-c", "-c x", "-f 1", "--"):
        with pytest.raises(WireError):
            started("ana", {"options": options})


def test_times() -> None:
    assert [milliseconds(text, "t") for text in ("0", "1500", "2s", " 1 min ", "250us")] == [0, 1500, 2000, 60000, 0.25]


def test_calls_of_settings() -> None:
    assert calls("SELECT set_config('a.b', 'it''s', false) AS x, pg_catalog.current_setting('jit')") == [
        SettingCall("set_config", ("a.b", "it's", "false"), "x"),
        SettingCall("current_setting", ("jit",), "current_setting"),
    ]
    for text in (
        "SELECT 1",
        "SELECT set_config('a', 'b', false) FROM t",
        "SELECT set_config(a, b, c)",
        "SELECT count(*)",
    ):
        assert calls(text) is None


# transactions ---------------------------------------------------------------------------------------------------------


def run(start: Transaction, *texts: str) -> Transaction:
    for text in texts:
        (statement,) = parsed(text)
        if isinstance(statement, c.Transact):
            start, _ = start.step(statement)
        elif isinstance(statement, c.Set):
            start = start.under(start.settings.put(statement.name, statement.value or "", local=statement.local))
    return start


def test_what_a_transaction_keeps() -> None:
    idle = Transaction()
    assert run(idle, "BEGIN", "SET a.b = 1", "COMMIT").settings.value("a.b") == "1"
    assert run(idle, "BEGIN", "SET a.b = 1", "ROLLBACK").settings.known("a.b") is None
    assert run(idle, "BEGIN", "SET LOCAL a.b = 1", "COMMIT").settings.known("a.b") is None
    nested = run(idle, "BEGIN", "SET a.b = 1", "SAVEPOINT s", "SET a.b = 2", "SAVEPOINT s", "SET a.b = 3")
    assert run(nested, "ROLLBACK TO s").settings.value("a.b") == "2"
    assert run(nested, "RELEASE s", "ROLLBACK TO s").settings.value("a.b") == "1"
    assert run(nested.failed(), "ROLLBACK TO s").status == b"T"
    assert run(nested.failed(), "COMMIT").settings.known("a.b") is None
    with pytest.raises(WireError, match="failed"):
        nested.failed().check()
    with pytest.raises(WireError, match="no savepoint"):
        run(nested, "RELEASE s", "RELEASE s", "ROLLBACK TO s")
    assert idle.failed() == idle


def test_prepare_and_execute() -> None:
    (made, asked, plan, gone) = parsed(
        "PREPARE p (double precision, timestamp with time zone, text[], unknown) AS SELECT $1; "
        "EXECUTE p (-1.5, CAST('2024-01-01' AS date), '{a,b}'::text[], NULL); EXPLAIN EXECUTE p; DEALLOCATE PREPARE p"
    )
    assert made == c.Prepare("p", (701, 1184, 1009, 0), c.Query("SELECT $1", 75))
    assert asked == c.Execute("p", ("-1.5", "2024-01-01", "{a,b}", None))
    assert plan == c.Explain(c.Execute("p"))
    assert gone == c.Deallocate("p")
    for value in ("DATE '2024-01-01'", "('2024-01-01')", "'2024-01-01'"):
        assert parsed(f"EXECUTE q ({value})") == [c.Execute("q", ("2024-01-01",))]


@pytest.mark.parametrize(
    "text",
    [
        "PREPARE", "PREPARE p", "PREPARE p AS", "PREPARE p (int AS SELECT 1", "PREPARE p (int,) AS SELECT 1",
        "PREPARE p (nothing) AS SELECT 1", "PREPARE p AS DELETE FROM x", "PREPARE p AS EXECUTE q", "EXECUTE",
        "EXECUTE p (", "EXECUTE p ()", "EXECUTE p (1 + 1)", "EXECUTE p (now())", "EXECUTE p ((SELECT 1))",
        "EXECUTE p ($1)", "EXECUTE p (1) x", "EXPLAIN PREPARE p AS SELECT 1",
    ],
)  # fmt: skip
def test_what_is_neither(text: str) -> None:
    with pytest.raises(WireError):
        parsed(text)
