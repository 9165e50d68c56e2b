"""From noisy statistics to the numbers of a question, each with an interval for the noise in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

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


def estimates(priced: Priced, row: tuple[int, ...], confidence: Fraction) -> list[Estimate]:
    """Every aggregate of a part, for one group."""
    statistics = priced.part.measurement.statistics
    values = dict(zip(statistics, row, strict=True))
    return [_estimate(aggregate, priced, values, confidence) for aggregate in priced.part.aggregates]


def _estimate(
    aggregate: Aggregate, priced: Priced, values: dict[Statistic | Rank, int], confidence: Fraction
) -> Estimate:
    first = aggregate.statistics[0]
    number = values[first]
    if isinstance(first, Rank):
        return Estimate(float(number * first.grid.step))
    if aggregate.kind == "count":
        error = _error(priced, first, confidence)
        return Estimate(number, (number - error, number + error))
    if aggregate.kind == "sum" and first.grid is not None:
        error, step = _error(priced, first, confidence), first.grid.step
        return Estimate(float(number * step), (float((number - error) * step), float((number + error) * step)))
    return _ratio(aggregate, priced, values, confidence)


def _error(priced: Priced, statistic: Statistic, confidence: Fraction) -> int:
    mechanism = priced.charge(statistic).mechanism
    if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
        raise Fault
    return mechanism.error(confidence)


def _ratio(aggregate: Aggregate, priced: Priced, values: dict[Statistic | Rank, int], confidence: Fraction) -> Estimate:
    """Averages and spreads: each statistic moves within its own error, all of them together with this confidence."""
    statistics = [s for s in aggregate.statistics if isinstance(s, Statistic)]
    grid = statistics[1].grid
    if grid is None:
        raise Fault
    each = 1 - (1 - confidence) / len(statistics)
    errors = [_error(priced, statistic, each) for statistic in statistics]
    numbers = [values[statistic] for statistic in statistics]
    formula = _average if aggregate.kind == "avg" else _spread(aggregate)
    corners = [numbers]
    for i, error in enumerate(errors):
        ends = {numbers[i] - error, numbers[i] + error} | ({0} if abs(numbers[i]) < error else set())
        corners = [[*c[:i], end, *c[i + 1 :]] for c in corners for end in sorted(ends)]  # 0: where a square is least
    value = formula(numbers, grid)
    if numbers[0] - errors[0] < 1:  # the count may be nothing: the ratio may be anything
        low, high = _range(aggregate, grid)
        return Estimate(value, (low, high))
    spread = [formula(corner, grid) for corner in corners]
    return Estimate(value, (min(spread), max(spread)))


def _average(numbers: list[int], grid: Grid) -> float:
    mean = Fraction(numbers[1], max(1, numbers[0])) + grid.middle
    return float(min(max(mean, Fraction(grid.low)), Fraction(grid.high)) * grid.step)


def _spread(aggregate: Aggregate) -> Callable[[list[int], Grid], float]:
    def formula(numbers: list[int], grid: Grid) -> float:
        rows = max(1 + aggregate.sample, numbers[0])
        mean = Fraction(numbers[1], rows)
        variance = max(Fraction(0), Fraction(numbers[2], rows) - mean * mean)
        if aggregate.sample:
            variance = variance * rows / (rows - 1)
        scaled = float(min(variance, Fraction(grid.half) ** 2) * grid.step**2)
        return scaled if aggregate.kind == "variance" else scaled**0.5

    return formula


def _range(aggregate: Aggregate, grid: Grid) -> tuple[float, float]:
    if aggregate.kind == "avg":
        return float(grid.low * grid.step), float(grid.high * grid.step)
    most = float(grid.half * grid.step)
    return 0.0, most if aggregate.kind == "stddev" else most**2
