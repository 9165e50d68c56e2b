"""NULLs that noise may make where a formula is a number: then noise chose the cells that are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.curator.formula import (
    Bounded,
    ColumnTotal,
    Constant,
    Formula,
    Given,
    Noisy,
    Quotient,
    Range,
    Ranked,
    Untraced,
    folded,
    ranged,
    ratio,
)
from discreet.sql.arithmetic import is_whole
from discreet.sql.plan import Part, Statistic
from discreet.sql.tree_rewriting import guards

EMPTYING = (exp.Nullif, exp.Cast, exp.Div, exp.Add, exp.Sub, exp.Mul)

_MANY = 2**30  # rows of a statistic, and the largest number that is given: with more, 64 bits may not be enough
_Kind = exp.DataType.Type
_LARGEST = {_Kind.TINYINT: 2**7, _Kind.SMALLINT: 2**15, _Kind.MEDIUMINT: 2**23, _Kind.INT: 2**31, _Kind.DECIMAL: 10**15}
_LARGEST_WHOLE = 2**63


def empties(node: exp.Expr, formula: Callable[[exp.Expr], Formula], parts: Mapping[str, Part]) -> bool:
    """Whether a noisy expression may be NULL by noise where its formula is a number."""
    try:
        match node:
            case exp.Nullif():
                return not guards(node)
            case exp.Cast():
                return not _fits(formula(node.this), node.to.this, parts)
            case exp.Div():  # what is below in a divisor is above in the quotient, whose bar asks nothing of it
                below = ratio(formula(node.right))
                return below is not None and bool(below.below.weights)
            case _:
                return is_whole(node) and not _fits(formula(node), _Kind.BIGINT, parts)
    except Untraced:  # then there is no bar
        return False


def _fits(formula: Formula, kind: exp.DType, parts: Mapping[str, Part]) -> bool:
    """Whether a number is one of a type whatever the noise: beyond it there is none."""
    if kind == _Kind.DOUBLE:
        return True
    known = folded(formula, lambda part, inner: _reach(part, inner, parts))
    return known is not None and max(map(abs, known)) < _LARGEST.get(kind, _LARGEST_WHOLE)


def _reach(  # noqa: PLR0911  # one line for each kind of formula
    formula: Formula, inner: Sequence[Range | None], parts: Mapping[str, Part]
) -> Range | None:
    """Between which numbers a formula lies where statistics are of so many rows at most; None if it may be anything."""
    match formula:
        case Constant(value):
            return value, value
        case Given():
            return Fraction(-_MANY), Fraction(_MANY)
        case Noisy(leaf):
            return _either(parts[leaf.part], leaf.statistic, Fraction(1))
        case ColumnTotal(name, statistic, step):
            return _either(parts[name], statistic, abs(step))
        case Ranked(leaf, step):
            grid = parts[leaf.part].measurement.statistics[leaf.statistic].grid
            return None if grid is None else (grid.low * step, grid.high * step)
        case Bounded(_, low, high):
            return low, high
        case Quotient(_, Noisy()):  # a whole divisor that is not 0 makes nothing larger
            return inner[0]
        case _:
            return ranged(formula, inner)


def _either(part: Part, statistic: int, step: Fraction) -> Range:
    """A sum of so many rows: of ones, of steps, or of squares of steps."""
    measured = part.measurement.statistics[statistic]
    each = 1 if measured.grid is None else 1 + max(abs(measured.grid.low), abs(measured.grid.high))
    if isinstance(measured, Statistic) and measured.kind == "squares":
        each *= each
    return -_MANY * each * step, _MANY * each * step
