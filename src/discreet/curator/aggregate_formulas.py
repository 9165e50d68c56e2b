"""SQL's aggregates as formulas of noisy statistics, and how SQL rounds them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.curator.formula import (
    Bounded,
    Constant,
    Formula,
    Leaf,
    Noisy,
    Product,
    Quotient,
    Ranked,
    Root,
    Rounded,
    Sum,
    Untraced,
    ratio,
)
from discreet.declared.grid import Grid
from discreet.errors import Refusal
from discreet.exact import exact
from discreet.sql.plan import AggregateColumn, Part, Rank, Statistic

_MOST_DIGITS = 30


def rounding(node: exp.Round | exp.Floor | exp.Ceil, inner: Formula) -> Formula:
    """A number rounded by a function."""
    digits = node.args.get("decimals")
    if node.args.get("to") is not None or (digits is not None and not _whole(digits)):
        raise Untraced
    way = {exp.Floor: "down", exp.Ceil: "up"}.get(type(node), "near")
    return Rounded(inner, 0 if digits is None else _number(digits), way)


def cast(kind: exp.DataType, inner: Formula) -> Formula:
    """A number as one of another type."""
    if kind.is_type(exp.DataType.Type.DOUBLE):
        return inner
    if kind.is_type(*exp.DataType.INTEGER_TYPES):
        return Rounded(inner, 0)
    if kind.is_type(exp.DataType.Type.DECIMAL):
        sizes = [int(size.name) for size in kind.expressions]
        return Rounded(inner, 3 if not sizes else [*sizes, 0][1])  # DuckDB's DECIMAL is DECIMAL(18, 3)
    raise Untraced


def written(text: str) -> Formula:
    """The number that a literal says; of one with an exponent of four digits, none: it would fill the memory."""
    try:
        return Constant(exact(text, "number"))
    except Refusal:
        raise Untraced from None


def _whole(node: exp.Expr) -> bool:
    literal = node.this if isinstance(node, exp.Neg) else node
    return isinstance(literal, exp.Literal) and literal.is_int and abs(int(literal.this)) <= _MOST_DIGITS


def _number(node: exp.Expr) -> int:
    return -int(node.this.this) if isinstance(node, exp.Neg) else int(node.this)


def aggregated(part: Part, aggregate: AggregateColumn, place: int | None) -> Formula:
    """An aggregate of rows as a formula of what was measured for it."""
    statistics = part.measurement.statistics
    each: list[Formula] = [Noisy(Leaf(part.name, place, statistics.index(s))) for s in aggregate.statistics]
    first = aggregate.statistics[0]
    if isinstance(first, Rank):
        if not first.bracketed:
            raise Untraced
        return Ranked(Leaf(part.name, place, statistics.index(first)), first.grid.step)
    if aggregate.kind == "count":
        return each[0]
    if aggregate.kind == "sum" and first.grid is not None:
        return Product(Constant(first.grid.step), each[0])
    grid = next(s.grid for s in aggregate.statistics if isinstance(s, Statistic) and s.grid is not None)
    if aggregate.kind == "avg":
        return _average(each, grid)
    variance = _variance(each, grid, sample=aggregate.sample)
    return variance if aggregate.kind == "variance" else Root(variance)


def _average(each: list[Formula], grid: Grid) -> Formula:
    present, centred = each
    steps = Sum(Quotient(centred, present), Constant(Fraction(grid.middle)))
    return Bounded(Product(Constant(grid.step), steps), grid.low * grid.step, grid.high * grid.step)


def _variance(each: list[Formula], grid: Grid, *, sample: bool) -> Formula:
    """(Σ(x − m)² − (Σ(x − m))²/n) / n, or over n − 1: then it is at most n/(n − 1) ≤ 2 times as large."""
    present, centred, squares = each
    above = Sum(squares, negative(Quotient(Product(centred, centred), present)))
    below = Sum(present, Constant(Fraction(-1))) if sample else present
    most = (grid.half * grid.step) ** 2 * (1 + sample)
    return Bounded(Product(Constant(grid.step**2), Quotient(above, below)), Fraction(0), most)


def negative(inner: Formula) -> Formula:
    """A number with its sign turned."""
    return Product(Constant(Fraction(-1)), inner)


def share(quotient: Quotient, parts: Mapping[str, Part]) -> Formula:
    """A quotient; of some of the rows over all of them, one between 0 and 1."""
    parted = ratio(quotient)
    if parted is None or parted.above.constant or parted.below.constant:
        return quotient
    if len(parted.above.weights) != 1 or len(parted.below.weights) != 1:
        return quotient
    ((some, weight),), ((every, base),) = parted.above.weights.items(), parted.below.weights.items()
    if (some.part, some.place) != (every.part, every.place):
        return quotient
    kinds = [parts[some.part].measurement.statistics[leaf.statistic] for leaf in (some, every)]
    if [getattr(kind, "kind", "") for kind in kinds] != ["present", "rows"]:
        return quotient
    return Bounded(quotient, *sorted((Fraction(0), weight / base)))
