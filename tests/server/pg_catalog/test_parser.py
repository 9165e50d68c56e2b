"""Questions are read as Postgres writes them, and whatever else somebody sends is refused and not more."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server.pg_catalog.compare import ANN
from server.pg_catalog.public import catalogue

from discreet.errors import Refusal
from discreet.server.pg_catalog.catalogue import translated
from discreet.server.pg_catalog.parser import PlainPostgres

FOLDER = Path(__file__).parent
TEXTS = [entry["sql"] for entry in json.loads((FOLDER / "sent.json").read_text(encoding="utf-8"))]
TEXTS += (FOLDER / "asked.sql").read_text(encoding="utf-8").split(";\n")[:-1]
WORDS = [
    [text[word.start : word.end + 1] for word in PlainPostgres().tokenize(text)] for text in TEXTS if len(text) < 1500
]
OTHERS = [
    "(", ")", ",", "[", "]", ".", "::", "$1", "$0", "$x", "*", "'x'", "1", "NULL", "ARRAY", "LATERAL", "WITH",
    "FILTER", "OVER", "WINDOW", "UNION", "VALUES", "ORDER", "BY", "GROUP", "HAVING", "DISTINCT", "ON", "ANY", "ALL",
    "ROW", "INTERVAL", "BETWEEN", "SYMMETRIC", "UNNEST", "FORMAT", "COALESCE", "_pg_expandarray", "TABLESAMPLE",
    "FOR", "UPDATE", "INTO", "CAST", "EXTRACT", "CUBE", "USING", "NATURAL", "FULL", "LIMIT", "FETCH", "OFFSET", '"#"',
    "->", "@>", "IS", "EXISTS", "NOT", "COLLATE", "OPERATOR", "visits",
]  # fmt: skip
FOUND = catalogue()


@pytest.mark.parametrize(
    ("sql", "ours"),
    [
        ("SELECT pg_catalog.lower('A')", "SELECT LOWER('A') AS \"lower\""),
        ("SELECT 1::pg_catalog.int8", 'SELECT CAST(1 AS BIGINT) AS "int8"'),
        ("SELECT CAST(1 AS double precision)", 'SELECT CAST(1 AS DOUBLE) AS "float8"'),
        ("SELECT '1'::character varying(3)", "SELECT CAST('1' AS TEXT) AS \"varchar\""),
        (
            "SELECT '{1}'::oid[]",
            "SELECT CAST(CAST(LIST_VALUE(CAST('1' AS BIGINT)) AS BIGINT[]) AS BIGINT[]) AS \"oid\"",
        ),
        ("SELECT 'a' COLLATE pg_catalog.\"default\" AS x", "SELECT 'a' AS \"x\""),
        ("SELECT 'a' OPERATOR(pg_catalog.~) 'b' AS x", "SELECT REGEXP_MATCHES('a', 'b') AS \"x\""),
        ("SELECT 'it''s', E'a\\nb'", "SELECT 'it''s' AS \"?column?\", 'a\nb' AS \"?column?\""),
        ("SELECT 'x\" ; DROP' AS \"a\"\"b\"", "SELECT 'x\" ; DROP' AS \"a\"\"b\""),
        ("SELECT 'pg_class'::regclass", 'SELECT CAST(1259 AS BIGINT) AS "regclass"'),
    ],
)  # fmt: skip
def test_it_is_translated(sql: str, ours: str) -> None:
    assert translated(sql, {(2205, "pg_class"): 1259}, ()).sql == ours


def test_no_text_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for sql in (
        "show secret",
        "vacuum secret",
        "SELECT secret FROM",
        "WITH secret AS (DELETE FROM x) SELECT 1",
        "call x()",
    ):
        with pytest.raises(Refusal):
            FOUND.answer(ANN, sql)
    assert caplog.records == []


@st.composite
def mangled(draw: st.DrawFn) -> str:
    words = list(draw(st.sampled_from(WORDS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(words)))
        many = draw(st.integers(0, 3))
        words[place : place + many] = draw(
            st.lists(st.sampled_from(OTHERS) | st.sampled_from(draw(st.sampled_from(WORDS))), max_size=3)
        )
    return " ".join(words)


@given(mangled())
def test_whatever_is_sent_is_answered_or_refused(sql: str) -> None:
    handled = FOUND.handles(ANN, sql)
    try:
        columns, rows = FOUND.answer(ANN, sql, ("a", 1, None, [1]))
    except Refusal:
        return
    assert handled
    assert all(len(row) == len(columns) for row in rows)


@given(st.text())
def test_any_text_is_answered_or_refused(sql: str) -> None:
    try:
        FOUND.answer(ANN, sql)
    except Refusal:
        return
    assert FOUND.handles(ANN, sql)
