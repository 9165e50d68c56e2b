"""SQL's aggregates as arithmetic on measured statistics."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.declared.column import Column
from discreet.declared.grid import MOST_STEPS, Grid, fine_step, finest_step, usual_step
from discreet.declared.key import Type
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.sql.expression import Expression
from discreet.sql.plan import Rank, Statistic
from discreet.sql.repair import Edit, Misasked
from discreet.sql.shape import Facts, Shape, facts
from discreet.sql.source_words import shown

FARTHEST = Fraction(10) ** 30  # beyond it nobody sums
_MOST_SUMMED = 1 << 62  # below it a bigint holds the steps of a double, as exact as that is
MOST_WHOLE = 1 << 63  # and those of a whole number, exactly


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a question: what it is called above the noise, and which statistics it is made of."""

    name: str
    kind: str  # count, sum, avg, variance, stddev, rank
    statistics: tuple[Statistic | Rank, ...]
    sample: bool = False  # divide by n − 1
    moment: Type | None = None  # of which it is the number, if it is a day or a moment

    @property
    def type(self) -> Type:
        """COUNT is a bigint, everything else a double."""
        return Type.BIGINT if self.kind == "count" else Type.DOUBLE


def grid_of(expression: Expression, shape: Shape, node: exp.Expr, *, ranked: bool = False) -> Grid:
    """The grid on which an expression is summed or ranked: its own step, or a constant of its type and range."""
    known = facts(expression, shape)
    grid = declared_grid(known if ranked else _finest(known), MOST_WHOLE)
    most = MOST_WHOLE if known.type is Type.BIGINT and (grid is None or grid.short) else _MOST_SUMMED
    if grid is None or grid.reach >= most or (known.type is Type.BIGINT and grid.reach * grid.step >= MOST_WHOLE):
        raise _refused(known, node, most)
    return grid


def _finest(known: Facts) -> Facts:
    """Numbers that may lie between steps, with the finest of these that doubles have."""
    bounds = known.range.bounded
    chosen = known.between or (known.step is None and known.origin is None)
    if known.type is not Type.DOUBLE or bounds is None or not chosen:
        return known
    return replace(known, step=finest_step(*bounds))


def _refused(known: Facts, node: exp.Expr, most: int) -> Refusal:
    """Why something has no grid, and how it could have one."""
    words, bounds = shown(node), known.range.bounded
    if known.type is Type.BOOLEAN:
        return Misasked(
            f"{words} is true or false, and only numbers can be summed",
            hint=f"count it: CASE WHEN {words} THEN 1 ELSE 0 END",
            node=node,
            edits=[Edit(node, "CASE WHEN {} THEN 1 ELSE 0 END")],
        )
    if not known.type.numeric:
        instead = {Type.DATE: f"take days: {words} - DATE '2020-01-01'", Type.TIMESTAMP: f"EXTRACT(epoch FROM {words})"}
        hint = instead.get(known.type, "count it, or group by it")
        return Refusal(f"{words} is {known.type.value}, and only numbers can be summed", hint=hint)
    if bounds is None:
        said = f"{words} has no bounds, so one person could change the answer without limit"
        return Misasked(said, hint=_how_to_bound(known, words), node=node)
    farthest = max(map(abs, bounds))
    if farthest > FARTHEST:
        said = f"{words} may be as large as {spoken(farthest)}, which is too large to sum"
        return Refusal(said, hint=_how_to_bound(known, words))
    if known.type is Type.BIGINT and farthest >= MOST_WHOLE:
        said = f"{words} may be as large as {spoken(farthest)}, and a whole number ends at 2^63"
        return Refusal(said, hint="compute with CAST(column AS DOUBLE), or declare closer bounds")
    steps = f"2^{most.bit_length() - 1} steps"
    return Refusal(f"{words} may lie {steps} or more from zero", hint="declare closer bounds or a larger step")


def declared_grid(known: Facts, most: int = MOST_STEPS) -> Grid | None:
    """The grid that follows from what is public about numbers; None if they have no bounds, or too many steps."""
    bounds = known.range.bounded
    if not known.type.numeric or bounds is None or max(map(abs, bounds)) > FARTHEST:
        return None
    low, high = bounds
    step = known.step or (Fraction(1) if known.type is Type.BIGINT else _undeclared(known, low, high))
    first, last = math.ceil(low / step), math.floor(high / step)
    if first >= last:
        first, last = math.floor(low / step), math.floor(low / step) + 1
    return Grid.of_steps(first, last, step) if max(abs(first), abs(last)) < most else None


def column(name: str, known: Facts) -> Column:
    """A column of a SELECT, as a mechanism is told of it."""
    keys = (False, True) if known.keys is None and known.type is Type.BOOLEAN else known.keys
    grid = declared_grid(known)
    bounds, step = (None, None) if grid is None else ((grid.lower, grid.upper), grid.step)
    return Column(name, known.type, bounds, step, keys or None)


def _undeclared(known: Facts, low: Fraction, high: Fraction) -> Fraction:
    """The step of numbers of which no step is declared: a column's fits what an engine keeps of it beforehand."""
    return usual_step(low, high) if known.origin is not None and low < high else fine_step(low, high)


def _how_to_bound(known: Facts, text: str) -> str:
    clamped = f"LEAST(GREATEST({text}, LOW), HIGH) with ends of your own"
    if known.origin is None:
        return f"write {clamped}"
    table, column = known.origin
    return f"the custodian declares --bounds {shlex.quote(column)}=LOW:HIGH of table {table}, or you write {clamped}"
