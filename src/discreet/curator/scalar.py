"""A question that asks for one exact number: a COUNT or SUM, how far one unit moves it, and how it is read."""

from __future__ import annotations

import math
from fractions import Fraction

from sqlglot import exp

from discreet.curator.noisy_statistics import Engine
from discreet.curator.price import reach
from discreet.errors import Refusal
from discreet.privacy import AddRemove, Neighbours
from discreet.sql.plan import Measurement, Question, Statistic

_PARTS = ("expressions", "from_")  # of a SELECT that does nothing with the number
_ONE = "one count(*), count(DISTINCT unit), count(column) or sum(column), with WHERE and joins as you like"


def scalar(question: Question) -> tuple[Measurement, Statistic]:
    """What a question measures, if it is one COUNT or SUM and nothing is computed with it."""
    part = question.parts[0] if len(question.parts) == 1 and not question.first else None
    above = question.above
    plain = isinstance(above, exp.Select) and not any(v for name, v in above.args.items() if name not in _PARTS)
    alone = plain and len(question.direct) == 1 and question.direct[0] is not None and not question.public_above
    if part is not None and alone and not part.measurement.keys:
        statistics = part.measurement.statistics
        counted = [each.kind for each in part.aggregates] in (["count"], ["sum"])
        if counted and len(statistics) == 1 and isinstance(statistics[0], Statistic):
            return part.measurement, statistics[0]
    raise Refusal("a session answers one number that is counted or summed, without GROUP BY", hint=_ONE)


def span(measurement: Measurement, statistic: Statistic, neighbours: Neighbours) -> tuple[Fraction, bool]:
    """How far one unit moves the number at most; and whether a unit that comes can only raise it.

    A unit adds between `low` and `high` to it. Where units come and go, it changes by the larger of the two; where one
    takes another's place, at most from the lowest to the highest.
    """
    most = Fraction(reach(statistic, measurement))
    low, high = Fraction(0), most
    if statistic.kind == "total" and statistic.grid is not None:
        grid, rows = statistic.grid, measurement.needs_rows_cap("this aggregate")
        low, high = rows * min(grid.low, 0) * grid.step, rows * max(grid.high, 0) * grid.step
    return max(-low, high) if isinstance(neighbours, AddRemove) else high - low, not low


def exactly(engine: Engine, measurement: Measurement, statistic: Statistic) -> int:
    """The number, or the whole one below it: rounding down takes no two values further apart than a whole number."""
    if statistic.kind == "distinct":
        return engine.distinct(measurement, statistic).get((), 0)
    counted = engine.counted(measurement).values.get((), (0,))[0]
    return math.floor(counted * statistic.grid.step) if statistic.grid is not None else counted
