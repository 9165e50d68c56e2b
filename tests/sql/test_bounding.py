"""The SQL that bounds a unit: run on plain tables, with extremes, against the definition in whole numbers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.curator.price import reach
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.sql.bounding import counts, distinct, numbers, plain, ranks, summands
from discreet.sql.plan import Measurement, Rank
from discreet.sql.render import Located
from discreet.sql.split_at_noise import question

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
    connection = engine()
    kinds = zip(("who", "place", "x", "y"), ("BIGINT", "VARCHAR", "DOUBLE", "BIGINT"), strict=True)
    columns = ", ".join(f"unnest(CAST(? AS {kind}[])) AS {name}" for name, kind in kinds)
    cells = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT {columns}", cells)
    return connection


@cache
def engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


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


def stepped(row: Row) -> tuple[int | None, int | None]:
    """What a row says of x and y, in steps."""
    return whole(row[2], Fraction(1, 2), -100, 400), whole(row[3], Fraction(1), -int(BOUND), int(BOUND))


@cache
def digest(salt: int, *cells: object) -> int:
    """The hash of an owner, a key, values and a number, as DuckDB has it of columns of their types."""
    kinds = ("BIGINT", "VARCHAR", "INTEGER", "BIGINT", "BIGINT")[: len(cells)]
    texts = [*(f"CAST(? AS {kind})" for kind in kinds), f"CAST({salt} AS UBIGINT)"]
    return int(engine().execute(f"SELECT hash(hash({', '.join(texts)}))", list(cells)).fetchall()[0][0])


def kept(own: Sequence[Row], cap: int, most: int, salt: int) -> list[Row]:
    """The rows of one unit that count, by the definition: groups first, then rows, each by the smallest digests."""
    groups = sorted({row[1] for row in own}, key=lambda place: digest(salt, own[0][0], place))[:most]
    copies: dict[tuple[object, ...], int] = defaultdict(int)
    numbered = []
    for row in own:
        if row[1] in groups:
            said = row[0], row[1], *stepped(row)
            copies[said] += 1
            numbered.append((digest(salt, *said, copies[said]), row))
    return (
        [row for _, row in sorted(numbered, key=lambda each: each[0])][:cap]
        if len(numbered) > cap
        else [row for _, row in numbered]
    )


def by_hand(rows: Sequence[Row], cap: int, most: int = 50, salt: int = 1) -> dict[str, tuple[int, ...]]:
    """Units, then rows, present, total, centred, squares of x; total, present, centred of y; of the rows that count."""
    total: dict[str, list[int]] = defaultdict(lambda: [0] * 9)
    for who in {row[0] for row in rows if row[0] is not None}:
        some = kept([row for row in rows if row[0] == who], cap, most, salt)
        for place in {row[1] for row in some}:
            inside = [stepped(row) for row in some if row[1] == place]
            x, y = ([v for v in column if v is not None] for column in zip(*inside, strict=True))
            numbers = [1, len(inside), len(x), sum(x), sum(v - 150 for v in x), sum((v - 150) ** 2 for v in x)]
            numbers += [sum(y), len(y), sum(y)]
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


@pytest.mark.parametrize("cap", [1, 3, 10, 1000])
@pytest.mark.parametrize("keys", [None, tuple("abcde"), ("b", "e", "nowhere")], ids=["unknown", "declared", "some"])
@pytest.mark.parametrize("most", [2, 50])
def test_numbers_are_those_of_the_definition(cap: int, keys: tuple[str, ...] | None, most: int) -> None:
    measurement = asked(schema(keys, max_rows=cap, max_groups=most))
    among = [row for row in ROWS if keys is None or row[1] in keys]
    answers, expected = answered(measurement, ROWS), by_hand(among, cap, most)
    assert {place: numbers[1:] for place, numbers in answers.items()} == {p: n[1:] for p, n in expected.items()}
    if keys is None:
        assert answers == expected


@pytest.mark.parametrize("keys", [None, tuple("abcde"), ("b", "e", "nowhere")], ids=["unknown", "declared", "some"])
def test_rows_that_are_their_own_unit_are_not_bounded(keys: tuple[str, ...] | None) -> None:
    each = [(i, *row[1:]) for i, row in enumerate(ROWS) if keys is None or row[1] in keys]
    assert answered(asked(schema(keys, unit=None)), ROWS) == by_hand(each, cap=1)


@pytest.mark.parametrize("keys", [None, tuple("abcde")], ids=["unknown", "declared"])
@pytest.mark.parametrize("salt", range(3))
def test_one_unit_adds_no_more_than_it_is_charged_for(keys: tuple[str, ...] | None, salt: int) -> None:
    rows: list[Row] = [(1, "abcde"[i % 5], (-1) ** (i % 5) * 1e9, (-1) ** (i % 5) * 2**62) for i in range(97)]
    for cap, most in ((1, 1), (3, 2), (97, 4)):
        measurement = asked(schema(keys, max_rows=cap, max_groups=most))
        found = answered(measurement, rows, salt)
        assert sum(any(numbers[1:]) for numbers in found.values()) <= most
        for place, statistic in enumerate(plain(measurement)):
            moved = sum(abs(numbers[1 + place]) for numbers in found.values())
            assert moved <= reach(statistic, measurement)
            assert moved  # and it is not nothing: what is counted is there


@pytest.mark.parametrize("bits", [31, 32, 33, 43, 44, 63])
def test_neither_squares_nor_their_sum_overflow(bits: int) -> None:
    """From 32 bits on the square of one row is more than 64 bits hold, and of 63 bits two are more than 128."""
    end = 2**bits - 1
    columns = Column("who", Type.BIGINT), Column("y", Type.BIGINT, (Fraction(-end), Fraction(end)))
    known = Schema({"t": Table("t", columns, "who", "who", 100, 1)})
    measurement = asked(known, "SELECT variance(y) FROM t")
    values = [(-1) ** i * (end - i) for i in range(40)]
    connection = engine()
    connection.execute("CREATE OR REPLACE TABLE t (who BIGINT, y BIGINT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(i % 7, value) for i, value in enumerate(values)])
    [(_, *cells)] = connection.execute(counts(measurement, Located(lambda table: table.name), 1)).fetchall()
    assert numbers(measurement, cells) == (40, sum(values), sum(value**2 for value in values))
    assert (sum(value**2 for value in values) > 2**127) is (bits == 63)


def test_an_older_measurement_without_a_row_cap_counts_units_alone() -> None:
    measurement = replace(
        asked(schema(None, max_groups=2), "SELECT place, count(DISTINCT who) FROM t GROUP BY place"), max_rows=None
    )
    found = answered(measurement, ROWS)
    assert all(units == number for units, number in found.values())
    assert sum(units for units, _ in found.values()) == 2 + 1 + 2 + 1  # of patient 3's five groups two are left


# every statistic is a sum over the same whole rows -----------------------------------------------------------------

EVERYTHING = f"SELECT place, {NUMBERS}, count(DISTINCT who), median(x), count(DISTINCT y) FROM t GROUP BY place"
HERE = Located(lambda table: table.name)
Statistics = dict[str, dict[tuple[object, ...], int]]


def everything(measurement: Measurement, rows: Sequence[Row], salt: int) -> Statistics:
    """Every statistic of a measurement by its name, over groups; a rank over groups and values."""
    connection = database(rows)
    width = len(measurement.keys)
    table = connection.execute(counts(measurement, HERE, salt)).fetchall()
    groups = {tuple(row[:width]): numbers(measurement, row[width + 1 :]) for row in table}
    made: Statistics = {"chosen": {tuple(row[:width]): row[width] for row in table}}
    for place, statistic in enumerate(plain(measurement)):
        made[str(place) + statistic.kind] = {group: row[place] for group, row in groups.items()}
    for each in measurement.statistics:
        if isinstance(each, Rank):
            ranked = connection.execute(ranks(measurement, each, HERE, salt)).fetchall()
            made["rank"] = {tuple(row[: width + 1]): row[-1] for row in ranked}
        elif each.kind == "distinct":
            values = connection.execute(distinct(measurement, each, HERE, salt)).fetchall()
            made["values"] = {tuple(row[:width]): row[-1] for row in values}
    return made


CELLS = st.tuples(
    st.integers(0, 3), st.sampled_from("abc"), st.sampled_from([None, math.nan, -60.0, 0.0, 3.5]), st.integers(-2, 2)
)
CAPS = st.tuples(st.integers(1, 4), st.integers(1, 3))
KEYED = st.sampled_from([None, tuple("abc"), tuple("ab")])


def moves_no_further_than_is_charged(rows: Sequence[Row], measurement: Measurement, salt: int) -> bool:
    """Whether no statistic moves further, in L1 and in L2, when any of the units goes."""
    cap, most = measurement.needs_rows_cap("this"), measurement.max_groups
    charged = {f"{i}{s.kind}": reach(s, measurement) for i, s in enumerate(plain(measurement))}
    charged |= {"rank": cap, "values": cap, "chosen": most}
    before = everything(measurement, rows, salt)
    for who in {row[0] for row in rows}:
        after = everything(measurement, [row for row in rows if row[0] != who], salt)
        for name, own in before.items():
            moves = {g: abs(own.get(g, 0) - after[name].get(g, 0)) for g in {*own, *after[name]}}
            square = most if "units" in name or name == "chosen" else charged[name] ** 2
            within = sum(moves.values()) <= charged[name] and sum(move**2 for move in moves.values()) <= square
            if not within or len({group[0] for group, move in moves.items() if move}) > most:
                return False
    return True


def adds_what_each_adds_alone(rows: Sequence[Row], measurement: Measurement, salt: int) -> bool:
    """Whether statistics are the sums of what units have alone, their rows in another order."""
    together = everything(measurement, rows, salt)
    alone: Statistics = {name: defaultdict(int) for name in together}
    for who in {row[0] for row in rows}:
        for name, own in everything(measurement, [row for row in rows if row[0] == who][::-1], salt).items():
            for group, number in own.items():
                alone[name][group] += number
    del together["values"], alone["values"]  # two units may have one value
    return all({g: n for g, n in each.items() if n} == {g: n for g, n in alone[name].items() if n}
               for name, each in together.items())  # fmt: skip


@pytest.mark.parametrize(("cap", "most", "keys"), [(2, 2, None), (3, 5, "abcde")])
def test_a_unit_moves_no_statistic_further_than_is_charged_and_nothing_of_others(
    cap: int, most: int, keys: str | None
) -> None:
    measurement = asked(schema(None if keys is None else tuple(keys), max_rows=cap, max_groups=most), EVERYTHING)
    named = [row for row in ROWS if row[0] is not None]
    assert moves_no_further_than_is_charged(named, measurement, 1)
    assert adds_what_each_adds_alone(named, measurement, 1)


@pytest.mark.slow
@given(st.lists(CELLS, max_size=14), CAPS, KEYED, st.integers(0, 2**64 - 1))
@settings(max_examples=80, deadline=None)
def test_so_it_is_for_tables_of_any_kind(
    rows: list[Row], caps: tuple[int, int], keys: tuple[str, ...] | None, salt: int
) -> None:
    measurement = asked(schema(keys, max_rows=caps[0], max_groups=caps[1]), EVERYTHING)
    assert moves_no_further_than_is_charged(rows, measurement, salt)
    assert adds_what_each_adds_alone(rows, measurement, salt)


@pytest.mark.parametrize("salt", range(2))
@pytest.mark.parametrize("most", [2, 5])
def test_ranks_and_distinct_values_are_of_the_rows_that_are_counted(salt: int, most: int) -> None:
    measurement = asked(schema(tuple("abcde"), max_rows=3, max_groups=most), EVERYTHING)
    made = everything(measurement, ROWS, salt)
    expected = by_hand_everything(ROWS, 3, most, salt)
    assert {g: n for g, n in made["rank"].items() if n} == expected[0]
    assert {g: n for g, n in made["values"].items() if n} == expected[1]


def by_hand_everything(
    rows: Sequence[Row], cap: int, most: int, salt: int
) -> tuple[dict[tuple[object, ...], int], dict[tuple[str], int]]:
    """How many kept rows have each x; how many values of y there are. Here x, y in steps, then y itself are said."""
    ranked: dict[tuple[object, ...], int] = defaultdict(int)
    values: dict[tuple[str], set[int]] = defaultdict(set)
    for who in {row[0] for row in rows if row[0] is not None}:
        own = [row for row in rows if row[0] == who]
        groups = sorted({row[1] for row in own}, key=lambda place: digest(salt, who, place))[:most]
        copies: dict[Row, int] = defaultdict(int)
        numbered = []
        for row in own:
            if row[1] in groups:
                copies[row] += 1
                said = [who, row[1], *stepped(row), row[3], copies[row]]
                kinds = "BIGINT", "VARCHAR", "INTEGER", "BIGINT", "BIGINT", "BIGINT"
                texts = [*(f"CAST(? AS {kind})" for kind in kinds), f"CAST({salt} AS UBIGINT)"]
                numbered.append(
                    (engine().execute(f"SELECT hash(hash({', '.join(texts)}))", said).fetchall()[0][0], row)
                )
        for _, row in sorted(numbered, key=lambda each: int(each[0]))[:cap]:
            x, _ = stepped(row)
            if x is not None:
                ranked[row[1], x] += 1
            if row[3] is not None:
                values[row[1],].add(row[3])
    return dict(ranked), {place: len(each) for place, each in values.items()}


def test_rows_that_say_the_same_are_not_kept_or_dropped_together() -> None:
    """Six rows of twelve, of which six are in either place: a hypergeometric number of them is kept."""
    units = 2000
    rows: list[Row] = [(who, place, 1.0, 1) for who in range(units) for place in "ab" for _ in range(6)]
    measurement = asked(schema(("a", "b"), max_rows=6), "SELECT place, count(*), sum(x) FROM t GROUP BY place")
    table = {place: numbers_of[1] for place, numbers_of in answered(measurement, rows).items()}
    assert table["a"] + table["b"] == 6 * units
    # Hoeffding for numbers from 0 to 6: a sum of 2000 is 900 off its mean with probability < 2·exp(−22) < 1e-9
    assert abs(table["a"] - 3 * units) < 900
    each = {answered(measurement, [row for row in rows if row[0] == who])["a"][1] for who in range(20)}
    assert each >= {2, 3, 4}


def test_each_group_keeps_its_share_of_units_that_have_too_many_rows() -> None:
    """Seven rows in seven places under a cap of five: scaled down and cut, every place had 0."""
    units, places = 1000, "abcdefg"
    connection = engine()
    connection.execute(
        "CREATE OR REPLACE TABLE t AS"
        f" SELECT i // 7 AS who, '{places}'[i % 7 + 1] AS place, (i % 7 < 4)::INT::DOUBLE AS x, 1 AS y"
        f" FROM range({7 * units}) AS r (i)"
    )
    for keys in (tuple(places), None):
        measurement = asked(schema(keys, max_rows=5, max_groups=7))
        for salt in range(3):
            table = connection.execute(counts(measurement, HERE, salt)).fetchall()
            assert sum(row[2] for row in table) == 5 * units
            # Hoeffding: each is 107 off 5/7 of 1000 with probability < 1e-9 / 7
            assert all(abs(row[2] - units * 5 / 7) < 110 for row in table)
            ones = sum(row[4] for row in table) / 2  # in steps of a half
            # of each unit from 2 to 4, with variance 20/49: 150 off are once in 10^10, by Bernstein's inequality
            assert abs(ones - 5 * units * 4 / 7) < 150
