"""Which aggregates a question may use on private rows, and what each must measure."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.errors import Refusal
from discreet.exact import exact
from discreet.sql.aggregate import Aggregate, grid_of
from discreet.sql.expression import Field
from discreet.sql.plan import Rank, Shape, Statistic
from discreet.sql.schema import Type
from discreet.sql.translate import Columns, shown, translate

_SPREAD: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.Variance: ("variance", True),
    exp.VariancePop: ("variance", False),
    exp.Stddev: ("stddev", True),
    exp.StddevSamp: ("stddev", True),
    exp.StddevPop: ("stddev", False),
}
_RANKS: dict[type[exp.Expr], Fraction] = {
    exp.Min: Fraction(0),
    exp.Max: Fraction(1),
    exp.Median: Fraction(1, 2),
}


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node aggregates rows, rather than being the function of a window above the noise."""
    if isinstance(node.parent, exp.Window) and node.parent.this is node:
        return False
    if isinstance(node.parent, exp.WithinGroup):
        return False
    return isinstance(node, (exp.AggFunc, exp.WithinGroup)) and not isinstance(
        node, (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead)
    )


def aggregate_of(node: exp.Expr, below: Shape, columns: Columns) -> Aggregate:
    """The aggregate that a node writes; its name is given later."""
    kind = type(node)
    if isinstance(node, exp.Count):
        return Aggregate("", "count", (_counted(node, below, columns),))
    if isinstance(node, exp.WithinGroup):
        return _percentile(node, below, columns)
    if not isinstance(node, (exp.Sum, exp.Avg)) and kind not in _SPREAD and kind not in _RANKS:
        raise Refusal(
            f"{shown(node)} returns values of rows", hint="COUNT, SUM, AVG, VARIANCE, MEDIAN, MIN, MAX do not"
        )
    if isinstance(node.this, exp.Distinct):
        raise Refusal(f"{shown(node)}: DISTINCT is supported in COUNT of the unit only")
    expression = translate(node.this, columns)
    grid = grid_of(expression, below, shown(node.this))
    if kind in _RANKS:
        return Aggregate("", "rank", (Rank(_RANKS[kind], expression, grid),))
    present = Statistic("present", expression)
    if isinstance(node, exp.Sum):
        return Aggregate("", "sum", (Statistic("total", expression, grid),))
    centred = Statistic("centred", expression, grid)
    if isinstance(node, exp.Avg):
        return Aggregate("", "avg", (present, centred))
    name, sample = _SPREAD[kind]
    return Aggregate("", name, (present, centred, Statistic("squares", expression, grid)), sample)


def _counted(node: exp.Count, below: Shape, columns: Columns) -> Statistic:
    if isinstance(node.this, exp.Star):
        return Statistic("rows")
    if isinstance(node.this, exp.Distinct):
        distinct = [translate(part, columns) for part in node.this.expressions]
        if len(distinct) == 1 and isinstance(distinct[0], Field) and below.columns[distinct[0].name].unit:
            return Statistic("units")
        raise Refusal(f"{shown(node)}: COUNT(DISTINCT …) is supported for the unit column only, so far")
    value = translate(node.this, columns)
    return Statistic("present", value) if not _never_null(node.this) else Statistic("rows")


def _never_null(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal)


def _percentile(node: exp.WithinGroup, below: Shape, columns: Columns) -> Aggregate:
    function, order = node.this, node.expression
    if not isinstance(function, (exp.PercentileCont, exp.PercentileDisc)) or not isinstance(function.this, exp.Literal):
        raise Refusal(f"{shown(node)} is not supported", hint="PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) is")
    share = exact(str(function.this.this), "the share of a percentile")
    if not 0 <= share <= 1:
        raise Refusal(f"{shown(node)} needs a share between 0 and 1, got {share}")
    ordered = order.expressions[0]
    if ordered.args.get("desc"):
        share = 1 - share
    expression = translate(ordered.this, columns)
    if expression.type is Type.VARCHAR:
        raise Refusal(f"{shown(node)} needs a number to order by")
    return Aggregate("", "rank", (Rank(share, expression, grid_of(expression, below, shown(ordered.this))),))
