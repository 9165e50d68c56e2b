"""From noisy statistics to the numbers of a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.errors import Fault
from discreet.sql.aggregate import Aggregate
from discreet.sql.plan import Rank, Statistic
from discreet.sql.question import Part
from discreet.sql.range import Grid

Estimate = int | float
Formula = Callable[[list[int]], Estimate]


def estimates(part: Part, rows: Sequence[tuple[int, ...]]) -> list[list[Estimate]]:
    """Every aggregate of a part, for each group."""
    places = {statistic: place for place, statistic in enumerate(part.measurement.statistics)}
    formulas = [
        (_estimate(aggregate), [places[statistic] for statistic in aggregate.statistics])
        for aggregate in part.aggregates
    ]
    return [[formula([row[place] for place in needed]) for formula, needed in formulas] for row in rows]


def _estimate(aggregate: Aggregate) -> Formula:
    """How an aggregate follows from its statistics."""
    first = aggregate.statistics[0]
    if isinstance(first, Rank):
        rank_step = first.grid.step
        return lambda numbers: float(numbers[0] * rank_step)
    if aggregate.kind == "count":
        return lambda numbers: numbers[0]
    if aggregate.kind == "sum" and first.grid is not None:
        top, bottom = first.grid.step.numerator, first.grid.step.denominator
        return lambda numbers: numbers[0] * top / bottom  # a quotient of integers is rounded once
    second = aggregate.statistics[1]
    if not isinstance(second, Statistic) or second.grid is None:
        raise Fault
    return _average(second.grid) if aggregate.kind == "avg" else _spread(aggregate, second.grid)


def _average(grid: Grid) -> Formula:
    step = grid.step

    def formula(numbers: list[int]) -> float:
        rows = max(1, numbers[0])
        total = min(max(numbers[1] + grid.middle * rows, grid.low * rows), grid.high * rows)
        return total * step.numerator / (rows * step.denominator)

    return formula


def _spread(aggregate: Aggregate, grid: Grid) -> Formula:
    most, step = grid.half**2, grid.step**2

    def formula(numbers: list[int]) -> float:
        rows = max(1 + aggregate.sample, numbers[0])
        above = min(max(0, numbers[2] * rows - numbers[1] ** 2), most * rows**2)
        scaled = above * step.numerator / (rows * (rows - aggregate.sample) * step.denominator)
        return scaled if aggregate.kind == "variance" else scaled**0.5

    return formula
