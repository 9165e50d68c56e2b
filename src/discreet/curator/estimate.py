"""From noisy statistics to the numbers of a question, each with an interval for the noise in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

from discreet.curator.price import Priced
from discreet.errors import Fault
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.sql.aggregate import Aggregate
from discreet.sql.plan import Rank, Statistic
from discreet.sql.range import Grid

Span = tuple[float, float] | None


@dataclass(frozen=True)
class Estimate:
    """A number, and between which numbers it lies but for noise; None where that is not known."""

    value: int | float
    span: Span = None


def estimates(priced: Priced, rows: Sequence[tuple[int, ...]], confidence: Fraction) -> list[list[Estimate]]:
    """Every aggregate of a part, for each group. How exact a statistic is depends on no group, so it is asked once."""
    statistics = priced.part.measurement.statistics
    places = {statistic: place for place, statistic in enumerate(statistics)}
    formulas = [
        (_estimate(aggregate, priced, confidence), [places[statistic] for statistic in aggregate.statistics])
        for aggregate in priced.part.aggregates
    ]
    return [[formula([row[place] for place in needed]) for formula, needed in formulas] for row in rows]


Formula = Callable[[list[int]], Estimate]


def _estimate(aggregate: Aggregate, priced: Priced, confidence: Fraction) -> Formula:
    """How an aggregate follows from its statistics."""
    first = aggregate.statistics[0]
    if isinstance(first, Rank):
        rank_step = first.grid.step
        return lambda numbers: Estimate(float(numbers[0] * rank_step))
    if aggregate.kind == "count":
        error = _error(priced, first, confidence)
        return lambda numbers: Estimate(numbers[0], (numbers[0] - error, numbers[0] + error))
    if aggregate.kind == "sum" and first.grid is not None:
        return _sum(_error(priced, first, confidence), first.grid.step)
    return _ratio(aggregate, priced, confidence)


def _sum(error: int, step: Fraction) -> Formula:
    top, bottom = step.numerator, step.denominator

    def formula(numbers: list[int]) -> Estimate:
        low, middle, high = (each * top / bottom for each in (numbers[0] - error, numbers[0], numbers[0] + error))
        return Estimate(middle, (low, high))  # a quotient of integers is rounded once

    return formula


def _error(priced: Priced, statistic: Statistic, confidence: Fraction) -> int:
    mechanism = priced.charge(statistic).mechanism
    if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
        raise Fault
    return _bar(mechanism, confidence)


@lru_cache(maxsize=1024)  # an exact quantile is costly, and the same prices come again and again
def _bar(mechanism: LaplaceVector | GaussianVector, confidence: Fraction) -> int:
    return mechanism.error(confidence)


def _ratio(aggregate: Aggregate, priced: Priced, confidence: Fraction) -> Formula:
    """Averages and spreads: each statistic moves within its own error, all of them together with this confidence."""
    statistics = [s for s in aggregate.statistics if isinstance(s, Statistic)]
    grid = statistics[1].grid
    if grid is None:
        raise Fault
    each = 1 - (1 - confidence) / len(statistics)
    errors = [_error(priced, statistic, each) for statistic in statistics]
    number = _average(grid) if aggregate.kind == "avg" else _spread(aggregate, grid)

    def formula(numbers: list[int]) -> Estimate:
        if numbers[0] - errors[0] < 1:  # the count may be nothing: the ratio may be anything
            return Estimate(number(numbers), _range(aggregate, grid))
        spread = [number(list(corner)) for corner in product(*map(_ends, numbers, errors))]
        return Estimate(number(numbers), (min(spread), max(spread)))

    return formula


def _ends(number: int, error: int) -> list[int]:
    """Where a statistic may lie at the least and the most, and 0 between them: where a square is least."""
    return sorted({number - error, number + error} | ({0} if abs(number) < error else set()))


def _average(grid: Grid) -> Callable[[list[int]], float]:
    step = grid.step

    def formula(numbers: list[int]) -> float:
        rows = max(1, numbers[0])
        total = min(max(numbers[1] + grid.middle * rows, grid.low * rows), grid.high * rows)
        return total * step.numerator / (rows * step.denominator)  # a quotient of integers is rounded once

    return formula


def _spread(aggregate: Aggregate, grid: Grid) -> Callable[[list[int]], float]:
    most, step = grid.half**2, grid.step**2

    def formula(numbers: list[int]) -> float:
        rows = max(1 + aggregate.sample, numbers[0])
        above, below = max(0, numbers[2] * rows - numbers[1] ** 2), rows * (rows - aggregate.sample)
        if above > most * below:
            above, below = most, 1
        scaled = above * step.numerator / (below * step.denominator)
        return scaled if aggregate.kind == "variance" else scaled**0.5

    return formula


def _range(aggregate: Aggregate, grid: Grid) -> tuple[float, float]:
    if aggregate.kind == "avg":
        return float(grid.low * grid.step), float(grid.high * grid.step)
    most = float(grid.half * grid.step)
    return 0.0, most if aggregate.kind == "stddev" else most**2
