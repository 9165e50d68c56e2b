"""Ways of Postgres and its drivers: what they become, and that engines do with rows what constants say."""

from __future__ import annotations

import datetime as dt

import duckdb
import pytest
from sqlglot import exp

from discreet.declared.group_key import Type, zoned
from discreet.errors import Refusal
from discreet.server.pg_catalog.parser import read as read_catalogue
from discreet.server.pg_catalog.types import facts
from discreet.sql.functions import FUNCTIONS
from discreet.sql.parse import read
from discreet.sql.postgres_input_forms import plain

KEYWORDS = [str(row["word"]) for row in facts().rows["pg_get_keywords"]]


def told(text: str) -> str:
    tree = read(f"SELECT {text} FROM t").copy()
    plain(tree)
    return str(tree.expressions[0].sql(dialect="postgres"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("TIMESTAMPTZ '2024-02-01 00:00:00+02'", "CAST('2024-01-31 22:00:00' AS TIMESTAMP)"),
        ("'2024-02-01T00:00:00Z'::timestamptz", "CAST('2024-02-01 00:00:00' AS TIMESTAMP)"),
        ("'2024-02-01'::timestamptz", "CAST('2024-02-01 00:00:00' AS TIMESTAMP)"),
        ("x::timestamptz(6)", "CAST(x AS TIMESTAMP)"),
        ("x AT TIME ZONE 'utc'", "CAST(x AS TIMESTAMP)"),
        ("to_timestamp('05.03.2024 07:08', 'DD.MM.YYYY HH24:MI')", "CAST('2024-03-05 07:08:00' AS TIMESTAMP)"),
        ("to_timestamp('2024-03-05 7:08:09.5 PM', 'yyyy-mm-dd hh12:mi:ss.ms am')", None),
        ("to_date('5 march 2024', 'DD Month YYYY')", "CAST('2024-03-05' AS DATE)"),
        ("to_timestamp('2024'::VARCHAR, 'YYYY'::VARCHAR)", "CAST('2024-01-01 00:00:00' AS TIMESTAMP)"),
        ("to_timestamp(-1.5)", "CAST('1969-12-31 23:59:58.500000' AS TIMESTAMP)"),
        ("'north'::VARCHAR", "'north'"),
        ("(-2)::INTEGER", "(-2)"),
        ("2::FLOAT", "CAST(2 AS DOUBLE PRECISION)"),  # else a quotient of it would be cut
        ("0.5::FLOAT(53)", "0.5"),
        ("'x'::VARCHAR(1)", "CAST('x' AS VARCHAR(1))"),  # it cuts
        ("x + '3 months'::interval", "x + INTERVAL '3 MONTHS'"),
        ("split_part(x, ','::VARCHAR, 2::INTEGER)", "SPLIT_PART(x, ',', 2)"),
        ("(regexp_split_to_array(x, '\\.'))[3]", "SPLIT_PART(x, '.', 3)"),
        ("date_trunc('month'::VARCHAR, x)", "DATE_TRUNC('MONTH', x)"),
        ("date_part('year'::VARCHAR, x)", "EXTRACT(YEAR FROM x)"),
    ],
)
def test_what_is_meant(written: str, meant: str | None) -> None:
    assert told(written) == (meant or "CAST('2024-03-05 19:08:09.500000' AS TIMESTAMP)")


@pytest.mark.parametrize(
    "written",
    [
        "x AT TIME ZONE 'Europe/Berlin'",
        "x AT TIME ZONE y",
        "TIMESTAMPTZ 'yesterday'",
        "TIMESTAMPTZ '2024-02-01 00:00:00+25'",
        "TIMESTAMPTZ '0001-01-01 00:00:00+01'",
        "to_timestamp(x, y)",
        "to_timestamp(x, 'MM-DD')",
        "to_timestamp(x, 'YYYY-Q')",
        "to_timestamp('2024-13-01', 'YYYY-MM-DD')",
        "to_timestamp(1e18)",
        "split_part(x, ',', -1)",
        "split_part(x, '', 1)",
        "split_part(x, y, 1)",
        f"split_part(x, '{'-' * 101}', 1)",
        f"to_date(x, 'YYYY{'-' * 101}')",
        "(regexp_split_to_array(x, 'a|b'))[1]",
        "(regexp_split_to_array(x, 'a', 'i'))[1]",
        "(string_to_array(x, ','))[y]",
    ],
)
def test_what_is_refused(written: str) -> None:
    with pytest.raises(Refusal):
        told(written)


@pytest.mark.parametrize("distance", ["+00", "-00:00", "+02", "+05:30", "-11", "+1530", "-3", "Z", " utc", ""])
def test_a_moment_with_its_distance_is_the_same_moment_in_utc(distance: str) -> None:
    sign, digits = (distance[0], distance[1:].replace(":", "")) if distance[:1] in "+-" and distance else ("+", "0")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    off = dt.timedelta(hours=hours, minutes=minutes) * (1 if sign == "+" else -1)
    moment = dt.datetime(2024, 2, 29, 12, 30, 1, 250_000, dt.timezone(off))
    assert zoned(f"2024-02-29 12:30:01.25{distance}") == str(moment.astimezone(dt.UTC).replace(tzinfo=None))


def computed(function: str, *arguments: str, kind: Type = Type.TIMESTAMP) -> object:
    """What an engine makes of a row."""
    found = duckdb.execute(f"SELECT {FUNCTIONS[function].printing(arguments, kind)}").fetchone()
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("text", "form"),
    [("2024-02-29", "%Y-%m-%d"), ("29 FEB 2024 23:59:58.5", "%d %b %Y %H:%M:%S.%f"), ("2024-1-5", "%Y-%m-%d")],
)
def test_a_moment_of_a_row_is_that_of_a_constant(text: str, form: str) -> None:
    assert computed("moment by format", f"'{text}'", f"'{form}'") == dt.datetime.strptime(text, form)  # noqa: DTZ007


@pytest.mark.parametrize("text", ["", "x", "2024-02-30", "2024-02-29 12:00", "99999-01-01", "0000-01-01", "2024"])
def test_a_text_of_a_row_that_is_no_moment_is_null(text: str) -> None:
    assert computed("moment by format", f"'{text}'", "'%Y-%m-%d'") is None


def test_seconds_of_a_row_are_moments_or_null() -> None:
    for seconds in (0, -1.5, 1706745600.25, -62135596800, 253402214400):
        beginning = dt.datetime(1970, 1, 1)  # noqa: DTZ001
        assert computed("moment of seconds", str(seconds)) == beginning + dt.timedelta(seconds=seconds)
    for nothing in ("253402300800", "-62135596801", "-1e308", "1e300", "'NaN'::DOUBLE", "'-inf'::DOUBLE", "NULL"):
        assert computed("moment of seconds", nothing) is None


def test_parts_of_a_text() -> None:
    for text, place, item, part in (("a,b", 2, "b", "b"), ("a,b", 3, None, ""), ("", 1, "", ""), ("a,", 2, "", "")):
        assert computed("item", f"'{text}'", "','", str(place), kind=Type.VARCHAR) == item
        assert computed("part", f"'{text}'", "','", str(place), kind=Type.VARCHAR) == part


def test_any_word_may_stand_behind_as_and_behind_a_dot() -> None:
    assert len(KEYWORDS) > 450
    for word in KEYWORDS:
        text = f"SELECT s.{word} AS {word}, CAST(a AS date) AS b FROM (SELECT 1 AS {word}, 2 AS a) s"
        for tree in (read(text), read_catalogue(text)):
            assert [column.alias for column in tree.selects] == [word, "b"]  # type: ignore[attr-defined]
    kept = read("WITH w AS NOT MATERIALIZED (SELECT 1 AS x), v AS MATERIALIZED (SELECT 2 AS x) SELECT x FROM w")
    assert len(list(kept.find_all(exp.CTE))) == 2
    types = read("SELECT CAST(a AS timestamp with time zone), (CAST(b AS interval)) AS interval FROM t")
    assert [cast.to.sql() for cast in types.find_all(exp.Cast)] == ["TIMESTAMPTZ", "INTERVAL"]
