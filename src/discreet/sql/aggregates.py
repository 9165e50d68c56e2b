"""Which aggregates a question may use on private rows, and what each must measure."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.errors import Refusal, Unsupported
from discreet.exact import exact
from discreet.sql.aggregate import Aggregate, grid_of
from discreet.sql.dates import NUMBERS, numbered
from discreet.sql.expression import Expression
from discreet.sql.lineage import owners
from discreet.sql.named_rows import Reading
from discreet.sql.plan import Rank, Statistic
from discreet.sql.repair import Misasked
from discreet.sql.rows import scanned
from discreet.sql.shape import Shape, facts, shape
from discreet.sql.source_words import shown
from discreet.sql.translate import translate

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


def aggregate_of(node: exp.Expr, reading: Reading) -> Aggregate:
    """The aggregate that a node writes; its name is given later."""
    below, columns = reading.shape, reading.column
    no_options(node)
    _of_private_rows(node, reading)
    kind = type(node)
    if isinstance(node, exp.Count):
        return Aggregate("", "count", (_counted(node, reading),))
    if isinstance(node, exp.WithinGroup):
        return _percentile(node, reading)
    if not isinstance(node, (exp.Sum, exp.Avg)) and kind not in _SPREAD and kind not in _RANKS:
        raise Refusal(
            f"{shown(node)} returns values of rows", hint="COUNT, SUM, AVG, VARIANCE, MEDIAN, MIN, MAX do not"
        )
    if isinstance(node.this, exp.Distinct):
        raise Refusal(f"{shown(node)}: DISTINCT is supported in COUNT only", hint="aggregate without DISTINCT")
    expression = translate(node.this, columns)
    _refuse_owners(expression, reading, node)
    if kind in _RANKS:
        return _ranked(_RANKS[kind], expression, below, node.this)
    grid = grid_of(expression, below, node.this)
    present = Statistic("present", expression)
    if isinstance(node, exp.Sum):
        return Aggregate("", "sum", (Statistic("total", expression, grid),))
    centred = Statistic("centred", expression, grid)
    if isinstance(node, exp.Avg):
        return Aggregate("", "avg", (present, centred))
    name, sample = _SPREAD[kind]
    return Aggregate("", name, (present, centred, Statistic("squares", expression, grid)), sample)


_STRICT = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Cast, exp.DataType, exp.Distinct)


def _of_private_rows(node: exp.Expr, reading: Reading) -> None:
    """Where public rows are kept, refuse an aggregate that would count those which no private row fits."""
    if reading.outer is None:
        return
    kept = shape(reading.outer).columns
    inner = [part for child in node.iter_expressions() for part in child.walk()]
    columns = [part for part in inner if isinstance(part, exp.Column)]
    private = [part for part in columns if reading.names.get((part.table, part.name)) not in kept]
    strict = all(isinstance(part, (*_STRICT, exp.Add, exp.Sub, exp.Mul, exp.Div)) for part in inner)
    if not columns or len(private) < len(columns) or not strict:
        raise Refusal(
            f"{shown(node)} would also count public rows that no private row fits",
            hint="aggregate plain columns of the private table: COUNT(unit)",
        )


def no_options(node: exp.Expr) -> None:
    """Refuse what would be ignored: a second argument, an ORDER BY inside, IGNORE NULLS."""
    for name, value in node.args.items():
        if value and name not in ("this", "big_int", "expression"):
            raise Refusal(f"{shown(node)} has an argument or option too many", hint="give it one expression")
    if node.args.get("expression") and not isinstance(node, exp.WithinGroup):
        raise Refusal(f"{shown(node)} has an argument too many", hint="give it one expression")


def _counted(node: exp.Count, reading: Reading) -> Statistic:
    if node.this is None:
        raise Refusal("COUNT() counts nothing", hint="write COUNT(*)")
    if isinstance(node.this, exp.Star):
        return Statistic("rows")
    if isinstance(node.this, exp.Distinct):
        distinct = [translate(part, reading.column) for part in node.this.expressions]
        if len(distinct) != 1:
            raise Refusal(f"{shown(node)} counts pairs", hint="count one column")
        known = facts(distinct[0], reading.shape)
        return Statistic("units") if known.unit and not known.optional else Statistic("distinct", distinct[0])
    value = translate(node.this, reading.column)
    return Statistic("present", value) if not _never_null(node.this) else Statistic("rows")


def _never_null(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal)


def _refuse_owners(value: Expression, reading: Reading, node: exp.Expr) -> None:
    """Refuse a number of who people are: it says nothing about them."""
    carries = facts(value, reading.shape).carries & owners(scanned(reading.rows))
    if carries:
        column = min(column for _, column in carries)
        raise Misasked(
            f"{shown(node)} is made of {column}, which says who people are and nothing about them",
            hint=f"COUNT(DISTINCT {column}) counts them",
            node=node,
        )


def _percentile(node: exp.WithinGroup, reading: Reading) -> Aggregate:
    function, order = node.this, node.expression
    if not isinstance(function, (exp.PercentileCont, exp.PercentileDisc)) or not isinstance(function.this, exp.Literal):
        raise Unsupported(f"{shown(node)} is not supported", hint="PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) is")
    share = exact(str(function.this.this), "the share of a percentile")
    if not 0 <= share <= 1:
        raise Refusal(f"{shown(node)} needs a share between 0 and 1, got {share}")
    ordered = order.expressions[0]
    if ordered.args.get("desc"):
        share = 1 - share
    value = translate(ordered.this, reading.column)
    _refuse_owners(value, reading, node)
    return _ranked(share, value, reading.shape, ordered.this)


def _ranked(share: Fraction, value: Expression, below: Shape, node: exp.Expr) -> Aggregate:
    """A quantile of numbers; of days and moments, that of the numbers which they are."""
    if not value.type.ordered:
        raise Refusal(
            f"{shown(node)} is {value.type.value}, and only numbers and dates are ranked",
            hint="group by it, and count: GROUP BY names each value that enough people share",
        )
    number = numbered(value)
    return Aggregate(
        "",
        "rank",
        (Rank(share, number, grid_of(number, below, node, ranked=True)),),
        moment=value.type if value.type in NUMBERS else None,
    )
