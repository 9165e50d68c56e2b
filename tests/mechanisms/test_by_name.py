"""A mechanism through a door is its own call on the column's numbers, with nothing that a caller says of the data."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.declared.column import Column
from discreet.declared.grid import Grid
from discreet.declared.table import Caps
from discreet.errors import Refusal
from discreet.mechanisms import (
    REGISTRY,
    Average,
    Frame,
    Mean,
    PostedPrice,
    ProposedMedian,
    PureMedian,
    Quantile,
    QuantileEnd,
    Quantiles,
    SmoothMedian,
    Takes,
    Variance,
    registered,
)
from discreet.mechanisms.quantile import MOST_POINTS, Rows
from discreet.mechanisms.registry import CLAIMS
from discreet.mechanisms.run_by_name import OfColumn, admitted, as_json, plain_parameters, rounding
from discreet.privacy import AddRemove, Approximate, Neighbours, Pure, Replace

GRID = Grid(-3, 20, Fraction(1, 4))
BOUNDS = (GRID.lower, GRID.upper, GRID.step)
ONE, RARE = Fraction(1), Fraction(1, 10**6)
OVER_COLUMNS: list[Any] = [
    Mean(ONE, *BOUNDS, 2),
    Variance(ONE, *BOUNDS, 2),
    Quantile(ONE, *BOUNDS, Fraction(9, 10), 2),
    Quantiles(ONE, *BOUNDS, (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), 2),
    QuantileEnd(ONE, *BOUNDS, Fraction(4), max_rows=2),
    QuantileEnd(ONE, *BOUNDS, Fraction(4), side="upper"),
    SmoothMedian(ONE, RARE, *BOUNDS),
    PureMedian(ONE, *BOUNDS),
    ProposedMedian(ONE, ONE, RARE, Fraction(2), *BOUNDS),
    PostedPrice(ONE, 1, 15, 2),
    PostedPrice(ONE, 1, 15, rule="exponential"),
]
DOORS = {"mean", "variance", "quantile", "quantiles", "quantile-end", "smooth-median", "pure-median"}
DOORS |= {"proposed-median", "posted-price", "rationed-price"}
LEAST: dict[str, dict[str, Any]] = {
    "mean": {"epsilon": 1},
    "variance": {"epsilon": 1},
    "quantile": {"epsilon": 1},
    "quantiles": {"epsilon": 1, "levels": ["1/2"]},
    "quantile-end": {"epsilon": 1, "around": 3},
    "smooth-median": {"epsilon": 1, "delta": "1e-6"},
    "pure-median": {"epsilon": 1},
    "proposed-median": {"epsilon_test": 1, "epsilon_release": 1, "delta": "1e-6", "bound": 2},
    "posted-price": {"epsilon": 1, "lowest": 1, "highest": 9},
    "rationed-price": {"epsilon": 1, "lowest": 1, "highest": 9, "supply": 2},
}


def framed(values: list[Any], grid: Grid = GRID, **how: Any) -> Frame:  # noqa: ANN401
    return Frame.of({"x": values}, Column("x", bounds=(grid.lower, grid.upper), step=grid.step), **how)


@given(st.lists(st.floats(-5, 25), max_size=40), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("mechanism", OVER_COLUMNS, ids=[str(i) for i in range(len(OVER_COLUMNS))])
def test_over_a_column_it_says_what_it_says_of_the_numbers(mechanism: Any, values: list[float], seed: int) -> None:  # noqa: ANN401
    """By the same bits, of the numbers on the grid; a row without a number is none of them."""
    told = mechanism([GRID.value(step) for step in GRID.steps(values).tolist()], rng=Seeded(seed))
    column = OfColumn(mechanism, "x", Caps(2), AddRemove())
    assert column(framed(values), rng=Seeded(seed)) == told
    assert column(framed([*values, None, math.nan]), rng=Seeded(seed)) == told


def test_exactly_these_go_through_a_door_and_none_with_what_a_caller_says_of_the_data() -> None:
    here = {name: kind for name, kind in REGISTRY.items() if kind.__module__.startswith("discreet.mechanisms.")}
    assert {name for name, kind in here.items() if hasattr(kind, "declared")} == DOORS == set(LEAST)
    for name in DOORS:
        assert not CLAIMS & set(REGISTRY[name].__dataclass_fields__)
    for name in sorted(set(here) - DOORS):
        with pytest.raises(Refusal, match=f"through no door goes '{name}'"):
            admitted(framed([]), name, {"epsilon": 1})


@pytest.mark.parametrize("name", sorted(DOORS))
def test_what_is_declared_comes_from_the_declarations_alone(name: str) -> None:
    outline = framed([], max_rows=3)
    made: Any = admitted(outline, name, LEAST[name])
    inner = made.mechanism
    assert (made.column, made.caps, made.neighbours, made.takes) == ("x", Caps(3), AddRemove(), Takes.RELATION)
    for part in REGISTRY[name].declared:
        wanted = 3 if part == "max_rows" else getattr(GRID, part)
        assert getattr(inner, part) == wanted
    for part in (*REGISTRY[name].declared, "neighbours"):
        with pytest.raises(Refusal, match=f"{name} takes {part} from what is declared"):
            admitted(outline, name, {**LEAST[name], part: 1})
    for part in ("sensitivity", "monotone", "function"):
        with pytest.raises(Refusal, match=f"has no parameter \\['{part}'\\]"):
            admitted(outline, name, {**LEAST[name], part: 1})


@pytest.mark.parametrize("neighbours", [AddRemove("person"), Replace("person")])
def test_its_price_is_that_of_all_rows_of_a_unit(neighbours: Neighbours) -> None:
    """By hand: at once where it promises for so many together, else by group privacy; twice for replaced units."""
    sides = 1 if isinstance(neighbours, AddRemove) else 2
    for name in sorted(DOORS):
        made = admitted(framed([], max_rows=3, neighbours=neighbours), name, LEAST[name])
        lots = sides * (1 if "max_rows" in REGISTRY[name].declared else 3)
        loss: Any = made.privacy
        amount = 2 if name == "proposed-median" else 1
        assert loss.epsilon == lots * amount
        if isinstance(loss, Approximate):
            grown = float(RARE) * (math.exp(lots * amount) - 1) / (math.exp(amount) - 1)
            assert float(loss.delta) == pytest.approx(grown, rel=1e-9)
        else:
            assert type(loss) is Pure


def test_a_grid_of_many_points_is_counted_at_fewer() -> None:
    """To the nearest of them, and to no more than there may be; by brute force."""
    grid = Grid(-5, 5 * MOST_POINTS, 1)
    mechanism = Quantile(ONE, grid.lower, grid.upper, grid.step)
    every = rounding(OfColumn(mechanism, "x", Caps(1), AddRemove()), grid)
    assert every == 6
    values = [*range(-5, 40), 5 * MOST_POINTS, 5 * MOST_POINTS - 1]
    rows = Rows.over(framed(values, grid), "x", grid)
    assert rows.size == len(values)
    assert set(rows.points.tolist()) <= set(range(-5, 5 * MOST_POINTS + 1, 6))
    placed = sorted(itertools.chain(*([point] * n for point, n in zip(rows.points, rows.counts, strict=True))))
    assert max(abs(one - two) for one, two in zip(placed, sorted(values), strict=True)) <= 5
    assert max(abs(one - two) for one, two in zip(placed[:40], range(-5, 35), strict=True)) <= 3
    assert rounding(OfColumn(Mean(ONE, grid.lower, grid.upper, grid.step), "x", Caps(1), AddRemove()), grid) == 1


def test_a_column_is_found_or_asked_for() -> None:
    both = Column("cost", bounds=(0, 9), step=1), Column("Days", bounds=(0, 9), step=1), Column("place", keys=("a",))
    frame = Frame.of({"cost": [1], "Days": [2], "place": ["a"]}, *both)
    made: Any = admitted(frame, "mean", {"epsilon": 1, "column": "days"})
    assert made.column == "Days"
    for column, words in ((None, "column= one of cost, Days"), (3, "one of cost, Days"), ("no", "no column 'no'")):
        with pytest.raises(Refusal, match=words):
            admitted(frame, "mean", {"epsilon": 1, **({} if column is None else {"column": column})})
    with pytest.raises(Refusal, match="no declared bounds"):
        admitted(frame, "mean", {"epsilon": 1, "column": "place"})
    with pytest.raises(Refusal, match="takes too long"):
        admitted(framed([]), "pure-median", {"epsilon": "1e-9"})


def test_a_class_that_could_lie_about_the_data_is_not_registered() -> None:
    @dataclass(frozen=True)
    class Lying:
        epsilon: Fraction
        sensitivity: int = 1
        takes: ClassVar[Takes] = Takes.RELATION
        declared: ClassVar[tuple[str, ...]] = ()

    @dataclass(frozen=True)
    class Bound:
        epsilon: Fraction
        takes: ClassVar[Takes] = Takes.RELATION
        declared: ClassVar[tuple[str, ...]] = ("epsilon",)

    @dataclass(frozen=True)
    class Scored:
        epsilon: Fraction
        takes: ClassVar[Takes] = Takes.SCORES
        declared: ClassVar[tuple[str, ...]] = ()

    for kind, words in (
        (Lying, "promises something of the data"),
        (Bound, "from what is declared"),
        (Scored, "no door"),
    ):
        with pytest.raises(TypeError, match=words):
            registered("test-door")(kind)
    assert "test-door" not in REGISTRY


def test_parameters_and_answers_are_json() -> None:
    told = plain_parameters({"a": 0.1, "b": Fraction(1, 3), "c": [1, (2.5, None)], "d": {"e": True}})
    assert told == {"a": "0.1", "b": "1/3", "c": [1, ["2.5", None]], "d": {"e": True}}
    with pytest.raises(Refusal, match="expected x as JSON"):
        plain_parameters({"x": object()})
    deep: Any = 1
    for _ in range(20):
        deep = [deep]
    with pytest.raises(Refusal, match="expected deep"):
        plain_parameters({"deep": deep})
    answer = {"m": Average(Fraction(5), Fraction(1, 4)), "a": np.arange(2), "t": (None, True, 1 << 70), "i": math.inf}
    text = json.dumps(as_json(answer), allow_nan=False)
    assert json.loads(text) == {"m": {"rows": 5.0, "mean": 0.25}, "a": [0, 1], "t": [None, True, 1 << 70], "i": "inf"}
    assert as_json(Takes.ROWS) == "ROWS"
    assert as_json(Fraction(10) ** 400) == str(10**400)
