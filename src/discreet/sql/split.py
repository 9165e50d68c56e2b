"""Take a question apart at the noise: below it, rows with owners; above it, any SQL, free.

Each SELECT reads private rows, or only what was measured before. One that reads private rows either hands on rows (then
it becomes part of a plan) or aggregates them (then it is cut in two: a measurement, and a SELECT over its noisy table).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import Refusal
from discreet.sql.aggregate import Aggregate
from discreet.sql.aggregates import aggregate_of, is_aggregate
from discreet.sql.expression import Expression, Field
from discreet.sql.parse import parsed
from discreet.sql.plan import Filter, GroupKey, Measurement, Project, Rank, Rows, Scan, Shape, Statistic, facts, shape
from discreet.sql.question import Part, Question
from discreet.sql.schema import Schema, Type
from discreet.sql.translate import Columns, shown, translate


@dataclass(frozen=True)
class Caps:
    """Caps that one question sets for itself; None leaves what is declared."""

    max_rows: int | None = None
    max_groups: int | None = None


@dataclass
class _Cut:
    """What has been found so far."""

    schema: Schema
    caps: Caps
    parts: list[Part] = field(default_factory=list)
    public: set[str] = field(default_factory=set)

    def take(self, query: exp.Query, known: dict[str, Rows | None]) -> Rows | None:
        """The rows a query hands on, or None if it reads nothing private (any more): it has then been rewritten."""
        known = dict(known)
        with_ = query.args.get("with_") or query.args.get("with")
        for cte in list(with_.expressions) if with_ else []:
            known[cte.alias_or_name] = self.take(cte.this, known)
            if known[cte.alias_or_name] is not None:
                cte.pop()
        if with_ and not with_.expressions:
            with_.pop()
        if isinstance(query, exp.Union):
            self._union(query, known)
            return None
        if not isinstance(query, exp.Select):
            raise Refusal(f"{shown(query)} is not supported")
        return self._select(query, known)

    def _union(self, query: exp.Union, known: dict[str, Rows | None]) -> None:
        self._nested(query)
        for side in (query.left, query.right):
            if self.take(side, known) is not None:
                raise Refusal(
                    "UNION of private rows is not supported", hint="aggregate each side, then combine the results"
                )

    def _select(self, select: exp.Select, known: dict[str, Rows | None]) -> Rows | None:
        source = self._source(select, known)
        self._nested(select)
        if source is None:
            return None
        alias, rows = source
        below = shape(rows)

        def column(node: exp.Column) -> Expression:
            if node.table != alias or node.name not in below.columns:
                raise Refusal(f"column {shown(node)} does not belong to these rows")
            return Field(node.name, below.columns[node.name].type)

        if (where := select.args.get("where")) is not None:
            predicate = translate(where.this, column)
            if predicate.type is not Type.BOOLEAN:
                raise Refusal(f"{shown(where.this)} is not a condition", hint="compare it with something")
            rows = Filter(rows, predicate)
        if self._measured(select):
            self._measure(select, rows, below, column, alias)
            return None
        return self._rows(select, rows, column)

    def _source(self, select: exp.Select, known: dict[str, Rows | None]) -> tuple[str, Rows] | None:
        """The private source of a SELECT and its alias, if it has one."""
        from_ = select.args.get("from_") or select.args.get("from")
        joins = select.args.get("joins") or []
        sources = ([from_.this] if from_ else []) + [join.this for join in joins]
        private = [found for source in sources if (found := self._read(source, known)) is not None]
        if private and len(sources) > 1:
            raise Refusal(
                "joins with private rows are not supported yet", hint="aggregate first, then join the results"
            )
        return private[0] if private else None

    def _read(self, source: exp.Expr, known: dict[str, Rows | None]) -> tuple[str, Rows] | None:
        if isinstance(source, exp.Subquery):
            rows = self.take(source.this, known)
        elif isinstance(source, exp.Table) and source.name in known:
            rows = known[source.name]
        elif isinstance(source, exp.Table):
            table = self.schema.table(source.name)
            rows = None if table.public else Scan(table)
            if table.public:
                self.public.add(table.name)
        else:
            raise Refusal(f"{shown(source)} is not supported in FROM")
        return None if rows is None else (source.alias_or_name, rows)

    @staticmethod
    def _nested(select: exp.Query) -> None:
        """Queries inside expressions: allowed where nothing private is read on either side."""
        for name, value in select.args.items():
            if name in ("from_", "from", "with_", "with", "this", "expression") and not isinstance(value, exp.Paren):
                continue
            nodes = value if isinstance(value, list) else [value]
            nodes = [on for join in nodes if (on := join.args.get("on"))] if name == "joins" else nodes
            for node in nodes:
                for inner in node.find_all(exp.Subquery, exp.Select) if isinstance(node, exp.Expr) else ():
                    raise Refusal(
                        f"{shown(inner)}: a query inside an expression is not supported yet",
                        hint="ask it first, then use its answer as a number",
                    )

    @staticmethod
    def _measured(select: exp.Select) -> bool:
        return bool(select.args.get("group") or select.args.get("distinct")) or any(
            is_aggregate(node) for item in select.expressions for node in item.find_all(exp.AggFunc, exp.WithinGroup)
        )

    @staticmethod
    def _rows(select: exp.Select, rows: Rows, column: Columns) -> Rows:
        for clause in ("order", "limit", "offset", "having"):
            if select.args.get(clause):
                raise Refusal(
                    f"{clause.upper()} on private rows would choose among people", hint="use it after aggregating"
                )
        if any(item.find(exp.Window) for item in select.expressions):
            raise Refusal("a window over private rows gives one output per row", hint="use it after aggregating")
        return Project(
            rows, tuple((item.alias_or_name, translate(item.unalias(), column)) for item in select.expressions)
        )

    def _measure(self, select: exp.Select, rows: Rows, below: Shape, column: Columns, alias: str) -> None:
        """Cut an aggregating SELECT in two: its measurement becomes a part, itself a SELECT over the part's table."""
        group = select.args.get("group")
        if group is not None and any(value for key, value in group.args.items() if key != "expressions"):
            raise Refusal("GROUPING SETS, ROLLUP and CUBE are not supported yet", hint="ask each grouping by itself")
        texts = list(group.expressions) if group else []
        if select.args.get("distinct") and not group:
            texts = [item.unalias() for item in select.expressions]
            select.set("distinct", None)
        keys = tuple(self._key(node, f"key_{i}", below, column) for i, node in enumerate(texts))
        caps = (
            below.max_rows if self.caps.max_rows is None else self.caps.max_rows,
            below.max_groups if self.caps.max_groups is None else self.caps.max_groups,
        )
        place, before = self._same(rows, keys, caps)
        name = f"part_{place}"
        aggregates = _replaced(select, texts, _Reading(below, column, name), before)
        _no_private_left(select, alias)
        statistics: dict[Statistic | Rank, None] = dict.fromkeys(s for a in aggregates for s in a.statistics)
        measurement = Measurement(rows, keys, tuple(statistics), *caps)
        if any(statistic != Statistic("units") for statistic in statistics):
            measurement.needs_rows_cap("this aggregate")
        self.parts[place : place + 1] = [Part(name, measurement, tuple(aggregates))]
        for clause in ("where", "group"):
            select.set(clause, None)
        if (having := select.args.get("having")) is not None:
            select.set("where", exp.Where(this=having.this.copy()))
            select.set("having", None)
        select.set("from_", exp.From(this=exp.to_table(name)))

    def _same(
        self, rows: Rows, keys: tuple[GroupKey, ...], caps: tuple[int | None, int]
    ) -> tuple[int, tuple[Aggregate, ...]]:
        """Where the same rows are measured in the same groups already, and what of them: nothing is paid for twice."""
        for i, part in enumerate(self.parts):
            known = part.measurement
            if (known.rows, known.keys, known.max_rows, known.max_groups) == (rows, keys, *caps):
                return i, part.aggregates
        return len(self.parts), ()

    def _key(self, node: exp.Expr, name: str, below: Shape, column: Columns) -> GroupKey:
        expression = translate(node, column)
        known = facts(expression, below)
        if known.unit:
            raise Refusal(
                f"GROUP BY {shown(node)} gives one group per person", hint="group by something that people share"
            )
        if expression.type is Type.DOUBLE:
            raise Refusal(
                f"GROUP BY {shown(node)} groups by a number with digits after the point",
                hint=f"group by whole numbers: CAST(FLOOR({shown(node)}) AS BIGINT)",
            )
        values = known.keys
        if values is None and expression.type is Type.BOOLEAN:
            values = (False, True)
        return GroupKey(name, expression, values)


@dataclass(frozen=True)
class _Reading:
    """How the columns of some rows are read, and which part measures them."""

    below: Shape
    column: Columns
    part: str


def _replaced(
    select: exp.Select, texts: list[exp.Expr], reading: _Reading, before: tuple[Aggregate, ...]
) -> list[Aggregate]:
    """Replace every group key and aggregate in a SELECT by a column of its part's table."""
    aggregates = list(before)
    clauses = [
        *select.expressions,
        *[c for c in (select.args.get("having"), select.args.get("order")) if c is not None],
    ]
    names = {text.sql(): f"key_{i}" for i, text in enumerate(texts)}

    def swap(node: exp.Expr) -> exp.Expr:
        if node.sql() in names:
            return exp.column(names[node.sql()], table=reading.part, quoted=True)
        if is_aggregate(node):
            made = aggregate_of(node, reading.below, reading.column)
            same = [known for known in aggregates if replace(known, name="") == made]
            if not same:
                same = [replace(made, name=f"value_{len(aggregates)}")]
                aggregates.extend(same)
            return exp.column(same[0].name, table=reading.part, quoted=True)
        return node

    for clause in clauses:
        _swapped(clause, swap)
    return aggregates


def _swapped(clause: exp.Expr, swap: Callable[[exp.Expr], exp.Expr]) -> None:
    """Apply `swap` from the outside in; what it replaced is not looked into again."""
    for child in list(clause.iter_expressions()):
        new = swap(child)
        if new is child:
            _swapped(child, swap)
        else:
            child.replace(new)


def _no_private_left(select: exp.Select, alias: str) -> None:
    for name in ("expressions", "having", "order"):
        value = select.args.get(name)
        for node in value if isinstance(value, list) else [value]:
            for found in node.find_all(exp.Column) if node is not None else ():
                if found.table == alias:
                    raise Refusal(
                        f"column {shown(found)} is neither grouped nor aggregated",
                        hint="add it to GROUP BY, or aggregate it",
                    )


def question(text: str, schema: Schema, caps: Caps = Caps()) -> Question:
    """The question that `text` asks, ready to be priced."""
    tree, cut = parsed(text, schema), _Cut(schema, caps)
    names = tuple(tree.named_selects)
    if cut.take(tree, {}) is not None:
        raise Refusal("this question would return rows of people", hint="aggregate them: COUNT, SUM, AVG, MEDIAN, …")
    return Question(tuple(cut.parts), tree, frozenset(cut.public), names, _direct(tree))


def rows_of(text: str, schema: Schema) -> Rows:
    """The private rows that `text` selects, for a mechanism that takes rows."""
    tree, cut = parsed(text, schema), _Cut(schema, Caps())
    rows = cut.take(tree, {})
    if rows is None or cut.parts:
        raise Refusal("expected a SELECT of private rows, without aggregates", hint="SELECT age, sex FROM patients")
    return rows


def _direct(tree: exp.Query) -> tuple[tuple[str, str] | None, ...]:
    """Which output columns are columns of a noisy table, untouched."""
    found: list[tuple[str, str] | None] = []
    for item in tree.selects:
        inner = item.unalias()
        if isinstance(inner, exp.Column) and inner.table.startswith("part_"):
            found.append((inner.table, inner.name))
        else:
            found.append(None)
    return tuple(found)
