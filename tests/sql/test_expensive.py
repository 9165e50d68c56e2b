# ruff: noqa: E501  # a question stands on one line
"""What is written for an engine is as long as the question, and what it looks for in texts is short and constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import clinic
import duckdb
import pytest

from discreet.declared.column import Column
from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.declared.table import Schema
from discreet.errors import Refusal
from discreet.sql import bounding, render
from discreet.sql.expression import Call, Expression, Field, Literal
from discreet.sql.functions import LONGEST_PATTERN, once
from discreet.sql.owned_rows import Capped, Scan, described
from discreet.sql.row_cap import Choice, Room
from discreet.sql.split_at_noise import question

HELD = "SELECT sum(LEAST(GREATEST({}, 0), 10)) FROM visits"
NESTED = [
    "power({}, -1)", "power({}, 2)", "1 / ({})", "7 % ({})", "ln({})", "nullif({}, 3)", "width_bucket({}, 0, 10, 5)",
    "(DATE '2024-01-01' + CAST(({}) AS bigint)) - DATE '2020-01-01'", "-({})", "abs({})", "round({}, 1)", "sqrt({})",
    "extract(year FROM CAST(CAST({} AS varchar) AS date))", "greatest({}, 1)", "coalesce({}, 1)", "exp({})",
    "CASE WHEN urgent THEN {} ELSE 0 END", "length('x' || CAST({} AS varchar))",
    "extract(hour FROM DATE '2024-01-01' + CAST(({}) AS bigint) + INTERVAL '1' HOUR)",
]  # fmt: skip


def written(text: str) -> str:
    (part,) = question(text, clinic.schema()).parts
    return bounding.counts(part.measurement, render.Located(lambda table: f'"{table.name}"'), 5)


@pytest.mark.parametrize("form", NESTED)
def test_what_is_written_grows_as_the_question_does(form: str) -> None:
    sizes = []
    for depth in (3, 6, 9):
        value = "cost"
        for _ in range(depth):
            value = form.format(value)
        sizes.append(len(written(HELD.format(value))))
    three, six, nine = sizes
    assert nine - six <= 1.5 * (six - three)  # the next three levels are written as long as those before


VALUES: list[float | None] = [None, 0.0, -0.0, 1.0, -2.5, 3.0, 1e-200, 1e200, 40_000.0]
_ZERO, _ONE, _TEN = (Literal(number, Type.BIGINT) for number in (0, 1, 10))
_LATER = Call(
    "days after", (Literal("2024-01-01", Type.DATE), Call("cast", (Field("x", Type.DOUBLE),), Type.BIGINT)), Type.DATE
)
FUNCTIONS: list[Expression] = [
    Call("/", (Literal(1.0, Type.DOUBLE), Field("x", Type.DOUBLE)), Type.DOUBLE),
    Call("%", (Literal(7.0, Type.DOUBLE), Field("x", Type.DOUBLE)), Type.DOUBLE),
    Call("ln", (Field("x", Type.DOUBLE),), Type.DOUBLE),
    Call("nullif", (Field("x", Type.DOUBLE), Literal(1.0, Type.DOUBLE)), Type.DOUBLE),
    Call("power", (Field("x", Type.DOUBLE), Literal(-1, Type.BIGINT)), Type.DOUBLE),
    Call("power", (Field("x", Type.DOUBLE), Literal(0.5, Type.DOUBLE)), Type.DOUBLE),
    Call("width_bucket", (Field("x", Type.DOUBLE), _ZERO, _TEN, Literal(5, Type.BIGINT)), Type.BIGINT),
    Call("days between", (_LATER, Literal("2020-01-01", Type.DATE)), Type.BIGINT),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=[str(getattr(each, "function", "")) for each in FUNCTIONS])
def test_a_value_that_is_bound_to_a_name_gives_what_it_gives_written_out(function: Expression) -> None:
    name = "a column of a name that is so long that nobody would write it twice, nor would we " + "x" * 40
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE t AS SELECT unnest(?) AS x, unnest(?) AS "{name}"', [VALUES, VALUES])
        short = render.expression(function)
        long = short.replace('"x"', f'"{name}"')
        assert long != short
        bound = render.expression(_renamed(function, name))
        assert "lambda" in bound
        told = connection.execute(f"SELECT {short}, {long}, {bound} FROM t").fetchall()
    assert len(told) == len(VALUES)
    assert all(_same(a, b) and _same(a, c) for a, b, c in told)


def _renamed(expression: Expression, name: str) -> Expression:
    match expression:
        case Field(_, kind):
            return Field(name, kind)
        case Call(function, arguments, kind):
            return Call(function, tuple(_renamed(each, name) for each in arguments), kind)
        case _:
            return expression


def _same(one: object, two: object) -> bool:
    both = isinstance(one, float) and isinstance(two, float)
    return one == two or (both and math.isnan(one) and math.isnan(two))  # type: ignore[arg-type]


def test_what_is_short_is_written_as_it_was() -> None:
    assert once("x", lambda name: f"{name} + {name}") == "x + x"
    assert render.steps(Field("x", Type.DOUBLE), Grid(0, 10, Fraction(1))).count("lambda") == 0


LONGEST = "a" * LONGEST_PATTERN


@pytest.mark.parametrize(
    "test",
    [
        "diagnosis LIKE region", "diagnosis ILIKE '%' || region", "diagnosis NOT LIKE lower(diagnosis)",
        f"diagnosis LIKE '{LONGEST}a'", f"diagnosis ILIKE '%{LONGEST}'", "position(region IN diagnosis) > 0",
        f"position('{LONGEST}a' IN diagnosis) = 1", "trim(diagnosis, region) = ''", f"trim(diagnosis, '{LONGEST}b') = ''",
        "diagnosis ~ region", f"diagnosis ~* '{LONGEST}a'",
        "diagnosis LIKE CASE WHEN urgent THEN '%a%' ELSE '%b%' END",
    ],
)  # fmt: skip
def test_no_row_says_what_is_looked_for(test: str) -> None:
    with pytest.raises(Refusal, match="must be a text in quotes, of at most 100 characters"):
        question(f"SELECT count(*) FROM visits WHERE {test}", clinic.schema())


@pytest.mark.parametrize(
    "test",
    [
        f"diagnosis LIKE '{LONGEST}'", "diagnosis LIKE '%a_b%'", "diagnosis ILIKE NULL", "trim(diagnosis) = 'a'",
        "trim(diagnosis, ' x') = 'a'", "position('a' IN diagnosis) > 0", "diagnosis NOT LIKE ''",
        "diagnosis ~ '^a.*(b|c)+$'", "diagnosis SIMILAR TO 'a%'", "regexp_matches(diagnosis, '[^a]')",
    ],
)  # fmt: skip
def test_what_a_question_writes_is_looked_for(test: str) -> None:
    assert question(f"SELECT count(*) FROM visits WHERE {test}", clinic.schema()).parts


@pytest.mark.parametrize("function", ["repeat", "replace", "lpad", "rpad", "reverse", "regexp_replace", "string_agg"])
def test_no_function_makes_long_texts_of_short_ones(function: str) -> None:
    with pytest.raises(Refusal):
        question(f"SELECT count(*) FROM visits WHERE {function}(diagnosis, 'a', 'bb') = 'x'", clinic.schema())
    with pytest.raises(Refusal):
        question(f"SELECT count(*) FROM visits WHERE {function}(diagnosis, 1000000) = 'x'", clinic.schema())


def test_exists_compares_a_bounded_number_of_pairs() -> None:
    text = "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits u WHERE u.patient = v.patient AND u.cost < v.cost)"
    assert question(text, clinic.schema(max_rows=4096)).parts
    with pytest.raises(Refusal, match="compares up to 16,785,409 pairs of rows of one unit, more than 16,777,216"):
        question(text, clinic.schema(max_rows=4097))


@pytest.mark.slow
def test_what_names_columns_too_often_is_refused() -> None:
    columns = tuple(Column(f"c{i}", Type.BIGINT) for i in range(700))
    wide = replace(clinic.schema().tables["visits"], name="wide", columns=columns, unit="c0")
    known = Schema({"wide": wide})
    queries = ["w0 AS (SELECT * FROM wide)"]
    queries += [f"w{i} AS (SELECT * FROM w{i - 1} UNION ALL SELECT * FROM w{i - 1})" for i in range(1, 7)]
    few = f"WITH {', '.join(queries[:4])} SELECT count(*) FROM w3"
    assert question(few, known).parts
    with pytest.raises(Refusal, match=r"names columns [0-9,]+ times when it is written out, more than 200,000"):
        question(f"WITH {', '.join(queries)} SELECT count(*) FROM w6", known)


def test_of_long_texts_fewer_rows_are_chosen_by_what_they_say_alone() -> None:
    tree = Scan(clinic.schema().tables["visits"])
    choice = Choice(tree, ("x", "t"), 7)
    light = [(1, i, "ab") for i in range(5)] + [(2, 0, None), (2, 0, None)]
    heavy = [(3, i, "é" * (1 + i)) for i in range(40)]  # two bytes each letter, 1,640 in all
    many = [(4, i, "") for i in range(30)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE r (u BIGINT, x BIGINT, t VARCHAR)")

        def kept(rows: Sequence[tuple[int, int, str | None]]) -> dict[int, list[tuple[int, str | None]]]:
            connection.execute("DELETE FROM r")
            connection.executemany("INSERT INTO r VALUES (?, ?, ?)", rows)
            text = choice.capped("SELECT * FROM r", 20, Room(("t",), 200))
            found: dict[int, list[tuple[int, str | None]]] = {}
            for unit, x, t in connection.execute(text).fetchall():
                found.setdefault(unit, []).append((x, t))
            return {unit: sorted(cells, key=repr) for unit, cells in found.items()}

        every = kept([*light, *heavy, *many])
        assert [len(every[unit]) for unit in (1, 2, 4)] == [5, 2, 20]
        assert 0 < len(every[3]) <= 20
        assert sum(len((t or "").encode()) for _, t in every[3]) <= 200
        assert kept(heavy[::-1])[3] == every[3]
        assert 3 not in kept([(3, 0, "x" * 201)])  # of a text that is too long by itself there is no row


def test_a_plan_without_such_a_limit_is_described_as_before() -> None:
    tree = Scan(clinic.schema().tables["visits"])
    assert "letters" not in described(Capped(tree, 5))
    assert described(Capped(tree, 5, 9)).endswith("most=5, letters=9)")
