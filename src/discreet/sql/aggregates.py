"""Aggregates of private rows: which a question may use, what each measures, and the SELECT that is left above."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.declared.grid import Grid, finest_step
from discreet.declared.group_key import Type
from discreet.declared.table import Caps
from discreet.errors import Refusal, Unsupported
from discreet.exact import exact, spoken
from discreet.sql.arithmetic import moment
from discreet.sql.expression import NUMBERS, Expression, numbered
from discreet.sql.expression_facts import owners
from discreet.sql.fanout import held
from discreet.sql.from_sqlglot import translate
from discreet.sql.group_keys import Public, group_key
from discreet.sql.owned_rows import Rows, scanned
from discreet.sql.plan import PART, AggregateColumn, GroupKey, Measurement, Part, Rank, Statistic
from discreet.sql.relation_facts import FARTHEST, Facts, Shape, declared_grid, facts, one_row, shape
from discreet.sql.row_scope import RowScope
from discreet.sql.tree_rewriting import swapped, within
from discreet.sql.wording import GROUPED, Edit, Misasked, shown

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


def aggregates(select: exp.Select) -> bool:
    """Whether a SELECT aggregates its rows."""
    clauses = [*select.expressions, *([select.args["having"]] if select.args.get("having") else [])]
    return any(within(clause, is_aggregate) for clause in clauses)


def aggregate_of(node: exp.Expr, reading: RowScope) -> AggregateColumn:
    """The aggregate that a node writes; its name is given later."""
    below, columns = reading.shape, reading.column
    no_options(node)
    _of_private_rows(node, reading)
    kind = type(node)
    if isinstance(node, exp.Count):
        return AggregateColumn("", "count", (_counted(node, reading),))
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
        return AggregateColumn("", "sum", (Statistic("total", expression, grid),))
    centred = Statistic("centred", expression, grid)
    if isinstance(node, exp.Avg):
        return AggregateColumn("", "avg", (present, centred))
    name, sample = _SPREAD[kind]
    return AggregateColumn("", name, (present, centred, Statistic("squares", expression, grid)), sample)


_STRICT = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Cast, exp.DataType, exp.Distinct)


def _of_private_rows(node: exp.Expr, reading: RowScope) -> None:
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


def _counted(node: exp.Count, reading: RowScope) -> Statistic:
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


def _refuse_owners(value: Expression, reading: RowScope, node: exp.Expr) -> None:
    """Refuse a number of who people are: it says nothing about them."""
    carries = facts(value, reading.shape).carries & owners(scanned(reading.rows))
    if carries:
        column = min(column for _, column in carries)
        raise Misasked(
            f"{shown(node)} is made of {column}, which says who people are and nothing about them",
            hint=f"COUNT(DISTINCT {column}) counts them",
            node=node,
        )


def _percentile(node: exp.WithinGroup, reading: RowScope) -> AggregateColumn:
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


def _ranked(share: Fraction, value: Expression, below: Shape, node: exp.Expr) -> AggregateColumn:
    """A quantile of numbers; of days and moments, that of the numbers which they are."""
    if not value.type.ordered:
        raise Refusal(
            f"{shown(node)} is {value.type.value}, and only numbers and dates are ranked",
            hint="group by it, and count: GROUP BY names each value that enough people share",
        )
    number = numbered(value)
    return AggregateColumn(
        "",
        "rank",
        (Rank(share, number, grid_of(number, below, node, ranked=True)),),
        moment=value.type if value.type in NUMBERS else None,
    )


_MOST_SUMMED = 1 << 62  # below it a bigint holds the steps of a double, as exact as that is
MOST_WHOLE = 1 << 63  # and those of a whole number, exactly


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


def _how_to_bound(known: Facts, text: str) -> str:
    clamped = f"LEAST(GREATEST({text}, LOW), HIGH) with ends of your own"
    if known.origin is None:
        return f"write {clamped}"
    table, column = known.origin
    return f"the custodian declares --bounds {shlex.quote(column)}=LOW:HIGH of table {table}, or you write {clamped}"


MOST_AGGREGATES = 200


@dataclass(frozen=True)
class Measurements:
    """Where measurements are gathered, under which caps, and which public tables are at hand."""

    parts: list[Part]
    caps: Caps
    public: Public


def measured(select: exp.Select, texts: list[exp.Expr], reading: RowScope, known: Measurements) -> Part:
    """Add what is measured, and let the SELECT read that instead of rows."""
    below, parts = reading.shape, known.parts
    caps = Caps() if one_row(reading.rows) else known.caps  # a cap that cannot bind would only add noise
    texts = list({text.sql(): text for text in texts}.values())  # a key that is named twice is one key
    if reading.outer is not None and len(texts) > 1:
        raise Refusal(
            f"where public rows are kept, one of their columns is the groups, and here are {len(texts)}: "
            + ", ".join(map(shown, texts)),
            hint="group by one column of the public table",
        )
    if not select.args.get("group"):
        select.set("distinct", None)
    keys = tuple(group_key(node, f"key_{i}", reading, known.public) for i, node in enumerate(texts))
    groups = below.max_groups if caps.max_groups is None else caps.max_groups
    most = below.max_rows if caps.max_rows is None else caps.max_rows, _groups(keys, groups)
    rows = held(reading.rows, known.public)
    place, before = _same(parts, rows, keys, most)
    name = f"{PART}{place}"
    aggregates = _replaced(select, texts, reading, name, before)
    _no_private_left(select, reading)
    statistics: dict[Statistic | Rank, None] = dict.fromkeys(s for a in aggregates for s in a.statistics)
    measurement = Measurement(rows, keys, tuple(statistics), *most)
    if any(statistic != Statistic("units") for statistic in statistics):
        measurement.needs_rows_cap("this aggregate")
    parts[place : place + 1] = [Part(name, measurement, tuple(aggregates))]
    for clause in ("where", "group", "joins"):
        select.set(clause, None)
    if (having := select.args.get("having")) is not None:
        select.set("where", exp.Where(this=having.this.copy()))
        select.set("having", None)
    select.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(name, quoted=True))))
    return parts[place]


def _groups(keys: Sequence[GroupKey], cap: int) -> int:
    """In how many groups one unit may be: no more than there are, where all are declared. Without keys there is one."""
    declared = [len(key.values) for key in keys if key.values is not None]
    return max(1, min(cap, math.prod(declared))) if len(declared) == len(keys) else cap


def _same(
    parts: Sequence[Part], rows: Rows, keys: tuple[GroupKey, ...], most: tuple[int | None, int]
) -> tuple[int, tuple[AggregateColumn, ...]]:
    """Where the same rows are measured in the same groups already, and what of them: nothing is paid for twice."""
    for i, part in enumerate(parts):
        known = part.measurement
        if (known.rows, known.keys, known.max_rows, known.max_groups) == (rows, keys, *most):
            return i, part.aggregates
    return len(parts), ()


def _replaced(
    select: exp.Select, texts: list[exp.Expr], reading: RowScope, part: str, before: tuple[AggregateColumn, ...]
) -> list[AggregateColumn]:
    """Replace every group key and aggregate in a SELECT by a column of its part's table."""
    aggregates = list(before)
    clauses = [
        *select.expressions,
        *[c for c in (select.args.get("having"), select.args.get("order")) if c is not None],
    ]
    names = {text.sql(): f"key_{i}" for i, text in enumerate(texts)}

    def swap(node: exp.Expr) -> exp.Expr:
        if node.sql() in names:
            return exp.column(names[node.sql()], table=part, quoted=True)
        if is_aggregate(node):
            made = aggregate_of(node, reading)
            same = [known for known in aggregates if replace(known, name="") == made]
            if not same:
                if len(aggregates) >= MOST_AGGREGATES:
                    raise Refusal(f"a question has at most {MOST_AGGREGATES} aggregates", hint="split it")
                same = [replace(made, name=f"value_{len(aggregates)}")]
                aggregates.extend(same)
            column = exp.column(same[0].name, table=part, quoted=True)
            return column if same[0].moment is None else moment(column, same[0].moment)
        return node

    for clause in clauses:
        swapped(clause, swap)
    return aggregates


def _no_private_left(select: exp.Select, reading: RowScope) -> None:
    for name in ("expressions", "having", "order"):
        value = select.args.get(name)
        for node in value if isinstance(value, list) else [value]:
            for column in node.find_all(exp.Column) if node is not None else ():
                if column.table in reading.aliases:
                    raise Misasked(
                        f"column {shown(column)} is neither grouped nor aggregated",
                        hint="add it to GROUP BY, or aggregate it",
                        node=column,
                        edits=[Edit(column, GROUPED)],
                    )
