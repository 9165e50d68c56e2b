"""Numbers as steps in SQL: whole numbers exactly, doubles as exactly as they are, and never beyond the grid."""

from __future__ import annotations

import math
from fractions import Fraction

import duckdb
import pytest

from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.sql.expression import Field
from discreet.sql.render import steps

WHOLE = [
    0,
    1,
    -1,
    2,
    3,
    -3,
    7,
    -7,
    10**15 + 1,
    -(10**15) - 1,
    2**53 + 1,
    2**62 - 3,
    -(2**62) + 3,
    2**63 - 1,
    -(2**63),
    None,
]
REAL = [
    0.0,
    -0.0,
    0.005,
    1.5,
    -2.5,
    1e15,
    1e15 - 0.125,
    -1e17,
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    math.nan,
    2.0**62,
    None,
]
STEPS = [Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 7), Fraction(1, 100), Fraction(10**6)]


def stepped(values: list[int | None] | list[float | None], kind: Type, grid: Grid) -> list[int | None]:
    text = steps(Field("x", kind), grid)
    rows = duckdb.execute(f"SELECT {text} FROM (SELECT unnest(CAST(? AS {kind.value}[])) AS x)", [values]).fetchall()
    return [row[0] for row in rows]


def nearest(value: Fraction, grid: Grid) -> int:
    """The step nearest to a number, of two the one away from zero, clamped."""
    size = math.floor(abs(value) / grid.step + Fraction(1, 2))
    return min(max(size if value >= 0 else -size, grid.low), grid.high)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("reach", [2**32, 10**15, 2**53 + 5, 2**62 - 1, 2**63 - 1])
def test_whole_numbers_are_put_on_a_grid_exactly(step: Fraction, reach: int) -> None:
    grid = Grid.of_steps(-reach + 2, reach, step)
    found = stepped(WHOLE, Type.BIGINT, grid)
    assert found == [None if value is None else nearest(Fraction(value), grid) for value in WHOLE]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("reach", [1000, 10**15, 2**53 - 1, 10**17 + 1, 2**62 - 1])
def test_doubles_never_lie_beyond_their_grid(step: Fraction, reach: int) -> None:
    grid = Grid.of_steps(-reach + 2, reach, step)
    for value, found in zip(REAL, stepped(REAL, Type.DOUBLE, grid), strict=True):
        if value is None or math.isnan(value):
            assert found is None
            continue
        assert found is not None
        assert grid.low <= found <= grid.high
        if math.isfinite(value):
            exactly = nearest(Fraction(value), grid)
            assert abs(found - exactly) <= max(0, abs(exactly) * 2**-51)
