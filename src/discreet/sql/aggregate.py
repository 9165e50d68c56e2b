"""SQL's aggregates as arithmetic on measured statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.sql.expression import Expression, Field
from discreet.sql.plan import Rank, Statistic
from discreet.sql.range import Grid
from discreet.sql.repair import Edit, Misasked
from discreet.sql.schema import Type
from discreet.sql.shape import Facts, Shape, facts
from discreet.sql.stepping import MOST_STEPS, fine_step
from discreet.sql.text import shown as shown_text

FARTHEST = Fraction(10) ** 30  # beyond it nobody sums
_MOST_SUMMED = 1 << 62  # below it a bigint holds the steps of a double, as exact as that is
_MOST_WHOLE = 1 << 63  # and those of a whole number, exactly


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a question: what it is called above the noise, and which statistics it is made of."""

    name: str
    kind: str  # count, sum, avg, variance, stddev, rank
    statistics: tuple[Statistic | Rank, ...]
    sample: bool = False  # divide by n − 1

    @property
    def type(self) -> Type:
        """COUNT is a bigint, everything else a double."""
        return Type.BIGINT if self.kind == "count" else Type.DOUBLE


def grid_of(expression: Expression, shape: Shape, node: exp.Expr) -> Grid:
    """The grid on which an expression is summed: the column's own step, or a constant of its type and range."""
    text = shown_text(node)
    known = facts(expression, shape)
    bounds = known.range.bounded
    if not known.type.numeric:
        raise Refusal(f"{text} is {known.type.value}, and only numbers can be summed", hint="cast it to a number")
    if bounds is None:
        raise Misasked(
            f"{text} has no bounds, so one person could change its sum without limit",
            hint=_how_to_bound(expression, text),
            node=node,
            edits=[Edit(node, "LEAST(GREATEST({}, 0), 100)")],
        )
    low, high = bounds
    if max(abs(low), abs(high)) > FARTHEST:
        raise Refusal(
            f"{text} may be as large as {spoken(max(abs(low), abs(high)))}, which is too large to sum",
            hint=_how_to_bound(expression, text),
        )
    grid = declared_grid(known, _MOST_WHOLE)
    most = _MOST_WHOLE if known.type is Type.BIGINT and (grid is None or grid.short) else _MOST_SUMMED
    if grid is None or grid.reach >= most:
        steps = f"2^{most.bit_length() - 1} steps"
        raise Refusal(f"{text} may lie {steps} or more from zero", hint="declare closer bounds or a larger step")
    return grid


def declared_grid(known: Facts, most: int = MOST_STEPS) -> Grid | None:
    """The grid that follows from what is public about numbers; None if they have no bounds, or too many steps."""
    bounds = known.range.bounded
    if not known.type.numeric or bounds is None or max(map(abs, bounds)) > FARTHEST:
        return None
    low, high = bounds
    step = known.step or (Fraction(1) if known.type is Type.BIGINT else fine_step(low, high))
    first, last = math.ceil(low / step), math.floor(high / step)
    if first >= last:
        first, last = math.floor(low / step), math.floor(low / step) + 1
    return Grid(first, last, step) if max(abs(first), abs(last)) < most else None


def _how_to_bound(expression: Expression, text: str) -> str:
    repaired = f"LEAST(GREATEST({text}, low), high)"
    if isinstance(expression, Field):
        return f"the custodian declares --bounds {expression.name}=LOW:HIGH, or you write {repaired}"
    return f"write {repaired}"
