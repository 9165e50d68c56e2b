"""Parameters: found where Postgres finds them, typed as it would, and never anything but a value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import clinic
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from discreet.errors import Refusal
from discreet.server.errors import WireError
from discreet.server.pgwire import types
from discreet.server.pgwire.binding import bound, count, literal
from discreet.server.pgwire.lexer import words
from discreet.server.pgwire.parameter_types import inferred
from discreet.server.pgwire.statement_kinds import Query
from discreet.sql.parse import parsed

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.text("'\\\"$;-/*E1 ")
TABLES = list(clinic.schema().tables.values())


def asked(text: str) -> Query:
    return Query(text, 0)


@given(TEXTS, TEXTS)
@example("'", "\\")
@example("\\'; DROP TABLE visits; --", "$1")
@example("' UNION SELECT 1 --", "*/")
def test_whatever_a_text_holds_it_stays_one_literal(one: str, two: str) -> None:
    sql = "SELECT count(*) AS n FROM visits WHERE region = $2 AND diagnosis = $1 AND region <> $2"
    made = bound(asked(sql), [one, two], [25, 25])
    tree = parse_one(made.text, dialect="postgres")
    assert sorted(node.this for node in tree.find_all(exp.Literal)) == sorted([one, two, two])
    shape = parse_one(sql.replace("$2", "'x'").replace("$1", "'x'"), dialect="postgres")
    for node in (*tree.find_all(exp.Literal), *shape.find_all(exp.Literal)):
        node.set("this", "x")
    assert tree == shape


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_whatever_a_list_holds_it_stays_a_list_of_literals(texts: list[str]) -> None:
    made = bound(asked("SELECT count(*) FROM visits WHERE region = ANY($1::text[]) AND urgent"), [texts], [1009])
    tree = parse_one(made.text, dialect="postgres")
    (choices,) = tree.find_all(exp.In)
    assert [node.this for node in choices.expressions] == texts


@pytest.mark.parametrize("prefix", ["E", "U&", "B", "x", "N", "'", "$tag$", "-- ", "/* "])
def test_a_prefix_does_not_turn_a_literal_into_something_else(prefix: str) -> None:
    question = asked(f"SELECT {prefix}$1 FROM visits")
    try:
        made = bound(question, ["a"] * count(question), [25] * count(question))
    except WireError as refused:
        assert refused.code in ("0A000", "42601")  # noqa: PT017  # it is not a parameter there
        return
    assert made.text == question.text  # a word such as E$1: no parameter


@pytest.mark.parametrize(
    ("sql", "many"),
    [
        ("SELECT $1, $3", 3),
        ("SELECT $2,$1", 2),
        ("SELECT '$1', \"$2\", $$ $3 $$, $a$ $4 $a$ -- $5\n /* $6 /* $7 */ $8 */", 0),
        ("SELECT a$1, $1b", 1),
        ("SELECT E'\\'$1', $2", 2),
        ("SELECT x FROM t WHERE a=$1AND b=$2", 2),
    ],
)
def test_parameters_are_found_where_postgres_finds_them(sql: str, many: int) -> None:
    assert count(asked(sql)) == many


@pytest.mark.parametrize("sql", ["SELECT $0", "SELECT $2001", "SELECT $99999999999999999999"])
def test_parameters_are_numbered_from_one(sql: str) -> None:
    with pytest.raises(WireError, match="numbered"):
        count(asked(sql))


@pytest.mark.parametrize(
    ("value", "oid", "text"),
    [
        (5, 20, "5"),
        (-5, 20, "(-5)"),
        (True, 16, "TRUE"),
        (2.5, 701, "2.5"),
        (-1e300, 701, "(-1e+300)"),
        (float("inf"), 701, "CAST('inf' AS double precision)"),
        (Decimal("1e-7"), 1700, "0.0000001"),
        (Decimal("NaN"), 1700, "CAST('NaN' AS double precision)"),
        ("it's", 25, "'it''s'"),
        (dt.date(2024, 2, 29), 1082, "CAST('2024-02-29' AS date)"),
        (dt.datetime(2024, 2, 29, 1), 1114, "CAST('2024-02-29 01:00:00' AS timestamp)"),  # noqa: DTZ001
        (None, 25, "NULL"),
        (None, 0, "NULL"),
        (None, 701, "CAST(NULL AS double precision)"),
    ],
)
def test_literals(value: object, oid: int, text: str) -> None:
    assert literal(value, oid) == text
    assert bound(asked("SELECT $1"), [value], [oid]).text == f"SELECT {text}"


def test_a_list_is_for_any() -> None:
    assert bound(asked("SELECT 1 WHERE a = ANY ($1)"), [[1, None]], [1016]).text == (
        "SELECT 1 WHERE a IN (1, CAST(NULL AS bigint))"
    )
    assert bound(asked("SELECT 1 WHERE a = ANY($1::bigint[]) OR b"), [[]], [1016]).text == (
        "SELECT 1 WHERE a IN (NULL) OR b"
    )
    for sql in ("SELECT $1", "SELECT 1 WHERE a <> ANY($1)", "SELECT 1 WHERE a = ALL($1)"):
        with pytest.raises(WireError, match="= ANY"):
            bound(asked(sql), [[1]], [1016])


@given(st.lists(st.sampled_from(["a", "it's", "x" * 30, ""]), min_size=3, max_size=3))
def test_places_lead_back_to_the_words_that_the_client_wrote(values: list[str]) -> None:
    sql = "SELECT $1, mark1 FROM $2 mark2 $3 mark3"
    made = bound(asked(sql), values, [25] * 3)
    for word in words(sql):
        if word.text.startswith("mark"):
            assert made.origin(made.text.index(word.text)) == word.start
    assert made.origin(made.text.index("'")) == sql.index("$1")


@pytest.mark.parametrize(
    ("sql", "oids"),
    [
        ("SELECT $1", [types.TEXT]),
        ("SELECT $1::int, $2::date, CAST($3 AS double precision), $4::text[]", [23, 1082, 701, 1009]),
        ("SELECT count(*) FROM visits WHERE cost > $1 AND $2 < day", [701, 1082]),
        ("SELECT count(*) FROM visits v WHERE v.patient IN ($1, $2) AND v.urgent = $3", [20, 20, 16]),
        ("SELECT count(*) FROM visits WHERE day BETWEEN $1 AND $2 AND region LIKE $3", [1082, 1082, 25]),
        ("SELECT count(*) FROM visits WHERE region = ANY($1) LIMIT $2 OFFSET $3", [1009, 20, 20]),
        ("SELECT percentile_cont($1) WITHIN GROUP (ORDER BY cost) FROM visits", [701]),
        ("SELECT sum(CASE WHEN urgent THEN cost ELSE $1 END), coalesce(min(region), $2) FROM visits", [701, 25]),
        ("WITH a AS (SELECT region, count(*) AS n FROM visits GROUP BY region) SELECT * FROM a WHERE n > $1", [20]),
        ("SELECT sum(b.beds) FROM wards b WHERE b.ward = $1", [25]),
        ("SELECT no FROM sql WHERE at all ( $1", [25]),
    ],
)
def test_types_of_parameters_come_from_what_is_around_them(sql: str, oids: list[int]) -> None:
    assert list(inferred(asked(sql), [], len(oids), TABLES)) == oids


def test_types_that_are_given_are_kept() -> None:
    assert inferred(asked("SELECT count(*) FROM visits WHERE cost > $1 AND patient = $2"), [0, 23], 2, TABLES) == (
        701,
        23,
    )


def test_a_parameter_is_the_same_question_as_its_literal() -> None:
    made = bound(asked("SELECT count(*) AS n FROM visits WHERE cost > $1"), [Decimal("100.5")], [1700])
    plain = parsed("SELECT count(*) AS n FROM visits WHERE cost > 100.5", clinic.schema())
    assert parsed(made.text, clinic.schema()) == plain
    with pytest.raises(Refusal):
        parsed("SELECT count(*) AS n FROM visits WHERE cost > $1", clinic.schema())
