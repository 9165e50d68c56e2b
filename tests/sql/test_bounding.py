"""The SQL that bounds a unit: run on plain tables, with extremes, against the definition in whole numbers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest

from discreet.curator.price import reach
from discreet.sql.bounding import counts, plain, summands
from discreet.sql.plan import Measurement
from discreet.sql.render import Located
from discreet.sql.schema import MOST_ROWS_A_UNIT, Column, Schema, Table, Type
from discreet.sql.split import question

Row = tuple[int | None, str, float | None, int | None]  # who, where, x, y
NUMBERS = "count(*), count(x), sum(x), avg(x), variance(x), sum(y), avg(y)"
BOUND = Fraction(1 << 52)


def schema(
    keys: tuple[str, ...] | None, *, max_rows: int = 4, max_groups: int = 50, unit: str | None = "who"
) -> Schema:
    columns = (
        Column("who", Type.BIGINT),
        Column("place", Type.VARCHAR, keys=keys),
        Column("x", Type.DOUBLE, (Fraction(-50), Fraction(200)), Fraction(1, 2)),
        Column("y", Type.BIGINT, (-BOUND, BOUND), Fraction(1)),
    )
    return Schema({"t": Table("t", columns, "who", unit, max_rows, max_groups)})


def database(rows: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (who BIGINT, place VARCHAR, x DOUBLE, y BIGINT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    return connection


def asked(known: Schema, sql: str = f"SELECT place, {NUMBERS} FROM t GROUP BY place") -> Measurement:
    return question(sql, known).parts[0].measurement


def answered(measurement: Measurement, rows: Sequence[Row], salt: int = 1) -> dict[str, tuple[int, ...]]:
    text = counts(measurement, Located(lambda table: table.name), salt)
    return {row[0]: tuple(row[1:]) for row in database(rows).execute(text).fetchall()}


def whole(value: float | None, step: Fraction, low: int, high: int) -> int | None:
    """A value in steps, by its definition."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return low if value < 0 else high
    return min(max(round(Fraction(value) / step), low), high)


def by_hand(rows: Sequence[Row], cap: int) -> dict[str, tuple[int, ...]]:
    """rows, present, total, centred, squares of x; total, present, centred of y; each pair scaled by itself."""
    total: dict[str, list[int]] = defaultdict(lambda: [0] * 8)
    for who in {row[0] for row in rows if row[0] is not None}:
        own = [row for row in rows if row[0] == who]
        for place in {row[1] for row in own}:
            inside = [row for row in own if row[1] == place]
            x = [v for row in inside if (v := whole(row[2], Fraction(1, 2), -100, 400)) is not None]
            y = [v for row in inside if (v := whole(row[3], Fraction(1), -int(BOUND), int(BOUND))) is not None]
            numbers = [len(inside), len(x), sum(x), sum(v - 150 for v in x), sum((v - 150) ** 2 for v in x)]
            numbers += [sum(y), len(y), sum(y)]
            if len(own) > cap:
                numbers = [(1 if z >= 0 else -1) * (abs(z) * cap // len(own)) for z in numbers]
            total[place] = [a + b for a, b in zip(total[place], numbers, strict=True)]
    return {place: tuple(numbers) for place, numbers in total.items()}


ROWS: list[Row] = [
    *((1, "ab"[i % 2], x, 2**62 if i % 3 else -(2**62)) for i, x in enumerate((-50.0, 200.0, 1e300, -math.inf, 3.3))),
    *((2, "b", x, y) for x, y in ((None, None), (math.nan, 7), (math.inf, None), (-1e300, -3), (0.5, 11), (1.0, 2))),
    *((3, "abcde"[i % 5], -7.5 * i, -i) for i in range(11)),
    (4, "e", 12.0, 1),
    (None, "a", 200.0, 5),
]


def test_the_statistics_of_the_question_are_those_that_the_tests_expect() -> None:
    kinds = [s.kind for s in plain(asked(schema(None)))]
    assert kinds == ["rows", "present", "total", "centred", "squares", "total", "present", "centred"]
    assert len(summands(asked(schema(None)), Located(str)).texts) == 2  # x and y, each computed once


@pytest.mark.parametrize("cap", [1, 3, 4, 10, 1000])
@pytest.mark.parametrize("keys", [None, tuple("abcde"), ("b", "e", "nowhere")], ids=["unknown", "declared", "some"])
@pytest.mark.parametrize("most", [5, 50])
def test_numbers_are_those_of_the_definition(cap: int, keys: tuple[str, ...] | None, most: int) -> None:
    measurement = asked(schema(keys, max_rows=cap, max_groups=most))
    among = [row for row in ROWS if keys is None or row[1] in keys]
    found = answered(measurement, ROWS)
    assert {place: numbers[1:] for place, numbers in found.items()} == by_hand(among, cap)
    if keys is None:
        assert {place: numbers[0] for place, numbers in found.items()} == {"a": 2, "b": 3, "c": 1, "d": 1, "e": 2}


@pytest.mark.parametrize("keys", [None, tuple("abcde"), ("b", "e", "nowhere")], ids=["unknown", "declared", "some"])
def test_rows_that_are_their_own_unit_are_not_bounded(keys: tuple[str, ...] | None) -> None:
    each = [(i, *row[1:]) for i, row in enumerate(ROWS) if keys is None or row[1] in keys]
    found = answered(asked(schema(keys, unit=None)), ROWS)
    assert {place: numbers[1:] for place, numbers in found.items()} == by_hand(each, cap=1)
    assert {place: numbers[0] for place, numbers in found.items()} == {
        place: sum(row[1] == place for row in each) for place in found
    }


@pytest.mark.parametrize("keys", [None, tuple("abcde")], ids=["unknown", "declared"])
@pytest.mark.parametrize("salt", range(5))
def test_one_unit_adds_no_more_than_it_is_charged_for(keys: tuple[str, ...] | None, salt: int) -> None:
    rows: list[Row] = [(1, "abcde"[i % 5], (-1) ** (i % 5) * 1e9, (-1) ** (i % 5) * 2**62) for i in range(97)]
    for cap, most in ((1, 1), (3, 2), (96, 5), (97, 4)):
        measurement = asked(schema(keys, max_rows=cap, max_groups=most))
        found = answered(measurement, rows, salt)
        assert sum(any(numbers[1:]) for numbers in found.values()) <= most
        for place, statistic in enumerate(plain(measurement)):
            moved = sum(abs(numbers[1 + place]) for numbers in found.values())
            assert moved <= reach(statistic, measurement)
            assert moved  # and it is not nothing: what is counted is there


def test_no_product_of_a_sum_and_a_cap_overflows() -> None:
    most = 2**52
    rows: list[Row] = [(1, "a", None, 2**62)] * (MOST_ROWS_A_UNIT // 512)
    rows += [(1, "a", None, None)]
    text = counts(
        asked(schema(None, max_rows=MOST_ROWS_A_UNIT), "SELECT place, count(*), sum(y) FROM t GROUP BY place"),
        Located(lambda _: "big"),
        1,
    )
    connection = database(rows)
    # 2^20 + 512 rows of one unit: more than the largest cap
    connection.execute("CREATE TABLE big AS SELECT t.* FROM t, range(512)")
    size = len(rows) * 512
    expected = MOST_ROWS_A_UNIT, (size - 512) * most * MOST_ROWS_A_UNIT // size
    assert connection.execute(text).fetchall() == [("a", 1, *expected)]


def test_an_older_measurement_without_a_row_cap_counts_units_alone() -> None:
    measurement = replace(
        asked(schema(None, max_groups=2), "SELECT place, count(DISTINCT who) FROM t GROUP BY place"), max_rows=None
    )
    found = answered(measurement, ROWS)
    assert all(units == number for units, number in found.values())
    assert sum(units for units, _ in found.values()) == 2 + 1 + 2 + 1  # of patient 3's five groups two are left
