"""Queries that hand on rows of people: a projection, aggregates and windows of one unit's rows, UNION."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.errors import Refusal, Unsupported
from discreet.sql.aggregates import MOST_WHOLE, grid_of, is_aggregate, no_options
from discreet.sql.expression import Call, Expression, Field
from discreet.sql.from_sqlglot import is_whole, translate
from discreet.sql.owned_rows import Ordering, PerUnit, Project, Rows, Summary, Union, Windowed
from discreet.sql.relation_facts import same_population, shape
from discreet.sql.row_scope import RowScope
from discreet.sql.tree_rewriting import swapped
from discreet.sql.wording import keyword, shown

_HERE = "#"  # the name of what is made here, as a source

_PLAIN: dict[type[exp.Expr], str] = {
    exp.Min: "least", exp.Max: "greatest", exp.LogicalOr: "greatest", exp.LogicalAnd: "least",
}  # fmt: skip
_PLACES: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank",
}  # fmt: skip
_NEIGHBOURS: dict[type[exp.Expr], str] = {
    exp.Lag: "lag", exp.Lead: "lead", exp.FirstValue: "first",
}  # fmt: skip
_FARTHEST = 1000  # rows before or after


def per_unit(select: exp.Select, keys: Sequence[exp.Expr], reading: RowScope) -> Rows:
    """One row for each owner and each value of the keys, of which the unit is one."""
    summaries: dict[Summary, str] = {}
    places = {key.sql(): f"#k{i}" for i, key in enumerate(keys)}

    def swap(node: exp.Expr) -> exp.Expr:
        if node.sql() in places:
            return exp.column(places[node.sql()], table=_HERE)
        if is_aggregate(node):
            made = summary_of(node, reading)
            return exp.column(summaries.setdefault(made, f"#s{len(summaries)}"), table=_HERE)
        return node

    clauses = [*select.expressions, *([select.args["having"]] if select.args.get("having") else [])]
    for clause in clauses:
        swapped(clause, swap)
    made = PerUnit(
        reading.rows,
        tuple((places[key.sql()], translate(key, reading.column)) for key in keys),
        tuple((name, summary) for summary, name in summaries.items()),
    )
    here = RowScope.of(_HERE, made)
    if (having := select.args.get("having")) is not None:
        here = here.where(having.this)
    rows = projected(select, here)
    if not select.args.get("distinct") or not select.args.get("group"):
        return rows
    columns = shape(rows).columns
    if not any(known.unit or known.link for known in columns.values()):
        names = ", ".join(columns)
        raise Refusal(
            f"DISTINCT would compare rows of different people, by {names}", hint="select the unit too, or leave it out"
        )
    return PerUnit(rows, tuple((name, Field(name, known.type)) for name, known in columns.items()), ())


def projected(select: exp.Select, reading: RowScope) -> Rows:
    """The columns that a SELECT names."""
    for item in select.expressions:
        for column in item.find_all(exp.Column):
            if (column.table, column.name) not in reading.names:
                raise Refusal(
                    f"column {shown(column)} is neither grouped nor aggregated",
                    hint="add it to GROUP BY, or aggregate it",
                )
    columns = tuple((item.alias_or_name, translate(item.unalias(), reading.column)) for item in select.expressions)
    return Project(reading.rows, columns)


def summary_of(node: exp.Expr, reading: RowScope) -> Summary:
    """The summary that an aggregate of one owner's rows is."""
    no_options(node)
    if isinstance(node, exp.Count):
        return _counted(node, reading)
    if isinstance(node, (exp.Sum, exp.Avg)) and not isinstance(node.this, exp.Distinct):
        value = translate(node.this, reading.column)
        grid = grid_of(value, reading.shape, node.this)
        if isinstance(node, exp.Avg):
            return Summary("average", Type.DOUBLE, value, grid)
        return Summary("total", _total_type(value.type, grid, reading.shape.max_rows), value, grid)
    if type(node) in _PLAIN:
        value = translate(node.this, reading.column)
        if isinstance(node, (exp.LogicalOr, exp.LogicalAnd)) and value.type is not Type.BOOLEAN:
            raise Refusal(f"{shown(node)} needs a condition", hint="compare it with something")
        return Summary(_PLAIN[type(node)], value.type, value)
    raise Unsupported(
        f"{shown(node)} of one unit's rows is not supported", hint="COUNT, SUM, AVG, MIN, MAX, BOOL_OR and BOOL_AND are"
    )


def _total_type(kind: Type, grid: Grid, most: int | None) -> Type:
    """A whole number's own type, unless so many of them may add up to more than it holds."""
    fits = kind is not Type.BIGINT or most is None or grid.reach * grid.step * most < MOST_WHOLE
    return kind if fits else Type.DOUBLE


def _counted(node: exp.Count, reading: RowScope) -> Summary:
    if node.this is None:
        raise Refusal("COUNT() counts nothing", hint="write COUNT(*)")
    if isinstance(node.this, exp.Star):
        return Summary("rows", Type.BIGINT)
    if isinstance(node.this, exp.Distinct):
        parts = [translate(part, reading.column) for part in node.this.expressions]
        if len(parts) != 1:
            raise Refusal(f"{shown(node)} counts pairs", hint="count one column")
        return Summary("distinct", Type.BIGINT, parts[0])
    return Summary("present", Type.BIGINT, translate(node.this, reading.column))


def windowed(select: exp.Select, reading: RowScope) -> RowScope:
    """The rows with a column for each window in a SELECT, where the names of those columns then stand."""
    names = dict(reading.names)
    rows = reading.rows
    for item in select.expressions:
        for node in list(item.find_all(exp.Window)):
            name = f"#{len(names)}"
            rows = _window(node, reading.on(rows), name)
            names[_HERE, name] = name
            node.replace(exp.column(name, table=_HERE))
    return RowScope(rows, names, reading.outer)


def _window(node: exp.Window, reading: RowScope, name: str) -> Windowed:
    keys = node.args.get("partition_by") or []
    if not any(reading.has_owner(key) for key in keys):
        raise Refusal(
            f"{shown(node)} looks at rows of other people",
            hint="PARTITION BY the unit, or use the window above an aggregate",
        )
    order = node.args.get("order")
    return Windowed(
        reading.rows,
        name,
        _placed(node, reading),
        tuple(translate(key, reading.column) for key in keys if not reading.is_unit(key)),
        tuple(_order(each, reading) for each in (order.expressions if order else [])),
        _frame(node.args.get("spec")),
    )


def _placed(node: exp.Window, reading: RowScope) -> Summary:
    function = node.this
    if isinstance(function, exp.FirstValue) and not node.args.get("order"):
        raise Refusal(f"{shown(node)} has no order, so no row is the first", hint="add ORDER BY")
    if type(function) in _PLACES:
        return Summary(_PLACES[type(function)], Type.BIGINT)
    if type(function) in _NEIGHBOURS:
        value = translate(function.this, reading.column)
        if function.args.get("default") is not None:
            raise Refusal(f"{shown(function)} has a default", hint="use COALESCE around it")
        return Summary(_NEIGHBOURS[type(function)], value.type, value, offset=_offset(function))
    summary = summary_of(function, reading)
    if summary.kind == "distinct":
        raise Refusal(f"{shown(node)} counts distinct values in a window", hint="count them with GROUP BY the unit")
    return summary


def _offset(function: exp.Expr) -> int:
    given = function.args.get("offset")
    return 1 if given is None else _number(given, function)


def _number(node: exp.Expr, whole: exp.Expr) -> int:
    if not isinstance(node, exp.Literal) or node.is_string or not is_whole(str(node.this)):
        raise Refusal(f"{shown(whole)} needs a whole number", hint="write it as digits")
    if int(node.this) > _FARTHEST:
        raise Refusal(f"{shown(whole)} reaches more than {_FARTHEST} rows", hint="look less far")
    return int(node.this)


def _order(each: exp.Expr, reading: RowScope) -> Ordering:
    return Ordering(
        translate(each.this, reading.column), bool(each.args.get("desc")), bool(each.args.get("nulls_first"))
    )


def _frame(spec: exp.WindowSpec | None) -> tuple[int | None, int | None] | None:
    if spec is None:
        return None
    if str(spec.args.get("kind")).upper() != "ROWS":
        raise Unsupported(f"{shown(spec)} is not supported", hint="ROWS BETWEEN … AND … is")
    before = _end(spec, "start", "PRECEDING")
    after = _end(spec, "end", "FOLLOWING")
    return before, after


def _end(spec: exp.WindowSpec, name: str, side: str) -> int | None:
    given, direction = spec.args.get(name), str(spec.args.get(f"{name}_side") or side).upper()
    if given is None or str(given).upper() == "CURRENT ROW":
        return 0
    if direction != side:
        raise Refusal(f"{shown(spec)} does not hold the row itself", hint="use LAG or LEAD")
    if str(given).upper() == "UNBOUNDED":
        return None
    return _number(given, spec)


def has_unit(select: exp.Select, keys: Sequence[exp.Expr], reading: RowScope) -> bool:
    """Whether one of the keys is the unit or a link to it, so that every group is one owner's."""
    if not any(reading.has_owner(key) for key in keys):
        return False
    for name in ("order", "limit", "offset"):
        if select.args.get(name):
            raise Refusal(f"{keyword(name)} on rows of people would choose among them", hint="use it after aggregating")
    return True


def named_alike(query: exp.Expr, names: list[str]) -> None:
    """Give the columns of one side of a UNION the names of the other: they go by place."""
    if isinstance(query, exp.Select) and len(query.expressions) != len(names):
        raise Refusal(
            f"UNION puts {len(names)} columns above {len(query.expressions)}",
            hint="select as many columns on both sides",
        )
    if isinstance(query, exp.Union):
        named_alike(query.left, names)
        named_alike(query.right, names)
    elif isinstance(query, exp.Select):
        pairs = zip(query.expressions, names, strict=True)
        query.set("expressions", [exp.alias_(item.unalias(), name, quoted=True) for item, name in pairs])


def united(query: exp.Union, one: Rows, two: Rows) -> Rows:
    """The rows of both sides; without ALL, each owner's rows once."""
    for name in ("order", "limit", "offset"):
        if query.args.get(name):
            raise Refusal(f"{keyword(name)} on rows of people would choose among them", hint="use it after aggregating")
    same_population(shape(one), shape(two), lambda: "UNION")
    types = [
        _common(a.type, b.type) for a, b in zip(shape(one).columns.values(), shape(two).columns.values(), strict=False)
    ]
    if len(shape(one).columns) != len(shape(two).columns) or None in types:
        sides = " and ".join(str([column.type.value for column in shape(side).columns.values()]) for side in (one, two))
        raise Refusal(f"the two sides of UNION have different columns: {sides}", hint="cast them to the same types")
    kinds = [kind for kind in types if kind is not None]
    made = Union((_cast(one, kinds), _cast(two, kinds)))
    if not query.args.get("distinct"):
        return made
    known = shape(made).columns
    if not any(column.unit for column in known.values()):
        names = ", ".join(known)
        raise Refusal(
            f"UNION would compare rows of different people, by {names}", hint="use UNION ALL, or select the unit too"
        )
    return PerUnit(made, tuple((name, Field(name, column.type)) for name, column in known.items()), ())


def _common(one: Type, two: Type) -> Type | None:
    if one is two:
        return one
    return Type.DOUBLE if one.numeric and two.numeric else None


def _cast(rows: Rows, kinds: list[Type]) -> Rows:
    columns = shape(rows).columns
    if [column.type for column in columns.values()] == kinds:
        return rows
    made: list[tuple[str, Expression]] = []
    for (name, column), kind in zip(columns.items(), kinds, strict=True):
        bare = Field(name, column.type)
        made.append((name, bare if column.type is kind else Call("cast", (bare,), kind)))
    return Project(rows, tuple(made))
