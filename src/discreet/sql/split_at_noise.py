"""Question split at the noise: below it, rows with owners; above it, any SQL, free.

Each SELECT reads private rows, or only what was measured before. One that reads private rows either hands on rows (then
it becomes part of a plan) or aggregates them (then it is cut in two: a measurement, and a SELECT over its noisy table).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.declared.table import Caps, Schema
from discreet.errors import Refusal, Unsupported
from discreet.sql.above_noise import (
    Grouped,
    Joining,
    Taken,
    UpperQuery,
    collapses,
    has_part,
    is_one_row,
    number,
    of_rows,
    partial_keys,
    refuse_partial,
    renamed,
    speaks_of_all,
    told,
)
from discreet.sql.aggregates import Measurements, aggregates, measured
from discreet.sql.fanout import held
from discreet.sql.group_keys import NoPublic, Public, refuse_links
from discreet.sql.joins import Source, joined, kept, test_of
from discreet.sql.owned_rows import Rows, Scan
from discreet.sql.parse import output_names, parsed
from discreet.sql.plan import Part, Question, direct
from discreet.sql.relation_facts import shape
from discreet.sql.row_queries import has_unit, named_alike, per_unit, projected, united, windowed
from discreet.sql.row_scope import RowScope
from discreet.sql.tree_rewriting import conjuncts, inner_queries, plain, pruned, tables_of
from discreet.sql.wording import COUNTED, MOST_SHOWN, Misasked, keyword, shown, taught

_CLAUSES_OF_ROWS = ("order", "limit", "offset", "having")


@dataclass
class Splitter:
    """Splitter of a question: what is measured of private rows, and the query that reads it; what it has so far."""

    schema: Schema
    caps: Caps
    at_hand: Public
    scalars: Sequence[object]  # what the questions that come first were answered
    parts: list[Part] = field(default_factory=list)
    public: set[str] = field(default_factory=set)
    first: list[Question] = field(default_factory=list)
    asked_first: dict[str, int] = field(default_factory=dict)  # their texts, and their places
    partial: bool = False  # whether something is said about groups that may be missing
    named: dict[str, exp.CTE] = field(default_factory=dict)  # queries of WITH, as they were written

    # queries ---------------------------------------------------------------------------------------------------------

    def take(self, query: exp.Query, known: dict[str, Taken]) -> Taken:
        """The private rows a query hands on; or the query, rewritten to read what was measured."""
        known = dict(known)
        with_ = query.args.get("with_")
        for cte in list(with_.expressions) if with_ else []:
            self.named[cte.alias_or_name] = cte.copy()
            known[cte.alias_or_name] = renamed(self.take(cte.this, known), cte)
            if not isinstance(known[cte.alias_or_name], UpperQuery):
                cte.pop()
        if with_ and not with_.expressions:
            with_.pop()
        if isinstance(query, exp.Union):
            return self._union(query, known)
        if isinstance(query, exp.Subquery):
            return self.take(query.this, known)
        if not isinstance(query, exp.Select):
            raise Unsupported(f"{shown(query)} is not supported", hint="use SELECT and UNION ALL")
        return self._select(query, known)

    def _union(self, query: exp.Union, known: dict[str, Taken]) -> Taken:
        if any(query.args.get(name) for name in ("by_name", "side", "kind", "on")):
            raise Unsupported("UNION BY NAME is not supported", hint="put the columns of both sides in one order")
        named_alike(query.right, query.left.named_selects)
        sides = [self.take(side, known) for side in (query.left, query.right)]
        rows = [side for side in sides if not isinstance(side, UpperQuery)]
        if not rows:
            self._nested(query, known)
            above = [side for side in sides if isinstance(side, UpperQuery)]
            return UpperQuery(any(side.noisy for side in above), query, partial_keys(above))
        if len(rows) < len(sides):
            raise Refusal(
                f"UNION combines rows of people, each of one {shape(rows[0]).population}, with rows that are nobody's",
                hint="aggregate each side, then combine the results",
            )
        return united(query, rows[0], rows[1])

    def _select(self, select: exp.Select, known: dict[str, Taken]) -> Taken:
        sources = self._sources(select, known)
        if not any(isinstance(source, Source) and not source.reading.public for source in sources):
            return self._above(select, sources, known)
        reading = self._read(select, sources, known, [])
        keys = list(select.args["group"].expressions) if select.args.get("group") else []
        if select.args.get("distinct") and not keys and not aggregates(select):
            keys = [item.unalias() for item in select.expressions]
        if keys and reading.outer is None and has_unit(select, keys, reading):
            return per_unit(select, keys, reading)
        if keys or aggregates(select):
            return self._measured(select, keys, reading, known)
        return self._handed_on(select, reading)

    def _measured(
        self, select: exp.Select, keys: list[exp.Expr], reading: RowScope, known: dict[str, Taken]
    ) -> UpperQuery:
        """A SELECT over what is measured of private rows."""
        written, texts = select.copy(), tuple(key.copy() for key in keys)
        self._nested(select, known, skip=("where",))
        measurements = Measurements(self.parts, self.caps, self.at_hand)
        groups = Grouped(written, texts, reading, measured(select, keys, reading, measurements).measurement.declared)
        self.partial = self.partial or (not groups.declared and speaks_of_all(written, ()))
        return UpperQuery(noisy=True, query=select, partial="" if groups.declared else groups.named, groups=groups)

    def _above(self, select: exp.Select, sources: list[Source | UpperQuery], known: dict[str, Taken]) -> UpperQuery:
        """A SELECT over noisy tables and public ones; or over rows, if they tell what it asks of their groups."""
        noisy = [source for source in sources if isinstance(source, Joining)]
        if len(sources) == 1 and noisy and noisy[0].groups is not None and collapses(select):
            asked = of_rows(select, noisy[0].groups, noisy[0].names)
            if asked is not None:
                return self._measured(select, asked.keys, asked.reading, known)
        nested, keys = self._nested(select, known), partial_keys(noisy)
        if keys or nested:
            refuse_partial(select, keys or nested)
            sides = [source.kind for source in sources if isinstance(source, (Source, Joining))]
            self.partial = self.partial or speaks_of_all(select, sides)
        return UpperQuery(any(source.noisy for source in noisy) or has_part(select), select, keys or nested)

    def _read(
        self,
        select: exp.Select,
        sources: list[Source | UpperQuery],
        known: dict[str, Taken],
        without: Sequence[exp.Expr],
    ) -> RowScope:
        """The rows of FROM and WHERE, but for some conditions."""
        noisy = [source for source in sources if isinstance(source, UpperQuery)]
        if noisy:
            raise Refusal(
                f"the noisy results of {shown(noisy[0].query)} are joined with rows of people, as if they were exact",
                hint="aggregate the rows first, then join the results",
            )
        where = select.args.get("where")
        left_out = {id(part) for part in without}
        conditions = [part for part in conjuncts(where.this if where else None) if id(part) not in left_out]
        reading = joined([s for s in sources if isinstance(s, Source)], conditions)
        for condition in conditions:
            reading = self._where(reading, condition, known)
        return reading

    def _where(self, reading: RowScope, condition: exp.Expr, known: dict[str, Taken]) -> RowScope:
        test = test_of(condition)
        if test is not None and reading.outer is not None:
            raise Refusal(
                f"{shown(condition)} in WHERE removes the public rows that the join keeps",
                hint="test the private table in a subquery, and join that",
            )
        if test is not None:
            return kept(
                reading,
                test,
                lambda query: self._rows(query, known),
                lambda select, across: self._read(select, self._sources(select, known), known, across),
            )
        if condition.find(exp.Subquery, exp.Select):
            condition = self._answered_first(condition, reading)
        return reading.chosen(condition)

    def _rows(self, query: exp.Query, known: dict[str, Taken]) -> Rows:
        """The rows of a query inside an expression: private, or of one public table."""
        taken = self.take(query, known)
        return taken if not isinstance(taken, UpperQuery) else self._public(taken, known)

    # sources ---------------------------------------------------------------------------------------------------------

    def _sources(self, select: exp.Select, known: dict[str, Taken]) -> list[Source | UpperQuery]:
        from_ = select.args.get("from_")
        sources: list[Source | UpperQuery] = [self._source(from_.this, "inner", (), known)] if from_ else []
        for join in select.args.get("joins") or []:
            odd = join.args.get("using") or join.args.get("method") or join.args.get("match_condition")
            if odd or (join.kind or "INNER").upper() not in ("INNER", "CROSS", "OUTER"):
                raise Unsupported(f"{shown(join)} is not supported", hint="write the join with ON")
            kind = (join.side or "inner").lower()
            on = tuple(conjuncts(join.args.get("on")))
            sources.append(self._source(join.this, kind, on, known))
        if any(isinstance(s, Source) and not s.reading.public for s in sources):
            return [self._as_public(s, known) for s in sources]
        return sources

    def _source(
        self, node: exp.Expr, kind: str, on: tuple[exp.Expr, ...], known: dict[str, Taken]
    ) -> Source | UpperQuery:
        if node.args.get("joins"):
            raise Unsupported(
                f"{shown(node)}: a join inside a join is not supported", hint="write one join after another"
            )
        if isinstance(node, exp.Subquery):
            taken: Taken = renamed(self.take(node.this, known), node)
        elif isinstance(node, exp.Table) and node.name in known:
            taken = known[node.name]
        elif isinstance(node, exp.Table):
            table = self.schema.table(node.name)
            taken = Scan(table)
            if table.public:
                self.public.add(table.name)
        else:
            raise Unsupported(f"{shown(node)} is not supported in FROM", hint="name a table or a query in parentheses")
        if isinstance(taken, UpperQuery):
            names = tuple(node.alias_column_names or taken.query.named_selects)
            return Joining(taken.noisy, taken.query, taken.partial, taken.groups, node.alias_or_name, kind, on, names)
        return Source(RowScope.of(node.alias_or_name, taken), kind, on)

    def _as_public(self, source: Source | UpperQuery, known: dict[str, Taken]) -> Source | UpperQuery:
        """A query of public rows, where private rows are to be joined with it."""
        if not isinstance(source, Joining) or source.noisy:
            return source
        return Source(RowScope.of(source.alias, self._public(source, known)), source.kind, source.on)

    def _public(self, above: UpperQuery, known: dict[str, Taken]) -> Rows:
        """The rows of a query over public tables: read in place if it only names columns of one, else computed now."""
        select = above.query.unnest() if isinstance(above.query, exp.Subquery) else above.query
        if above.noisy or not isinstance(select, exp.Query):
            raise Refusal(
                f"{shown(select)}: noisy results are compared with rows of people",
                hint="only a question that gives one number can be used in a condition",
            )
        clauses = ("group", "distinct", "with_", *_CLAUSES_OF_ROWS)
        plain_rows = isinstance(select, exp.Select) and not aggregates(select)
        if not isinstance(select, exp.Select) or not plain_rows or any(select.args.get(name) for name in clauses):
            return self.at_hand.answered(self._alone(select))
        sources = self._sources(select, known)
        if len(sources) != 1 or not isinstance(sources[0], Source):
            return self.at_hand.answered(self._alone(select))
        return projected(select, self._read(select, sources, known, []))

    # rows ------------------------------------------------------------------------------------------------------------

    @staticmethod
    def _handed_on(select: exp.Select, reading: RowScope) -> Rows:
        for name in _CLAUSES_OF_ROWS:
            if select.args.get(name):
                raise Refusal(
                    f"{keyword(name)} on rows of people would choose among them", hint="use it after aggregating"
                )
        if reading.outer is not None:
            raise Refusal(
                f"the rows of {shown(select)} are public ones too, kept without a private partner: they have no owner",
                hint="group by the public columns in the same SELECT",
            )
        return projected(select, windowed(select, reading))

    # above the noise -------------------------------------------------------------------------------------------------

    def _nested(self, query: exp.Query, known: dict[str, Taken], skip: tuple[str, ...] = ()) -> str:
        """Queries inside expressions above the noise: they are measured like any other. The keys of partial groups."""
        partial = ""
        for name, value in query.args.items():
            if name in ("from_", "with_", "this", "expression", *skip):
                continue
            nodes = value if isinstance(value, list) else [value]
            if name == "joins":
                nodes = [on for join in nodes if (on := join.args.get("on"))]
            for node in nodes:
                for inner in inner_queries(node) if isinstance(node, exp.Expr) else ():
                    taken = self.take(inner, known)
                    if not isinstance(taken, UpperQuery):
                        raise Refusal(
                            f"{shown(inner)} gives rows of people", hint="aggregate them: COUNT, SUM, AVG, MEDIAN, …"
                        )
                    partial = partial or taken.partial
        self.partial = self.partial or bool(partial)
        return partial

    def _answered_first(self, condition: exp.Expr, reading: RowScope) -> exp.Expr:
        """A condition in which every question has become its answer."""
        condition = condition.copy()
        for query in list(inner_queries(condition)):
            outside = tables_of(query) - {s.alias_or_name for s in query.find_all(exp.Table, exp.Subquery)}
            if outside & reading.aliases:
                raise Misasked(
                    f"{shown(query)} speaks of the row around it, so it would be asked once for each person",
                    hint="a question inside a condition must stand alone; or compare units with EXISTS",
                    node=query,
                )
            holder = query.parent if isinstance(query.parent, exp.Subquery) else query
            kind = query.selects[0].type if len(query.selects) == 1 else None
            if kind is None or not kind.is_type(*exp.DataType.NUMERIC_TYPES):
                raise Refusal(f"{shown(query)} does not give one number", hint="select one number there")
            text = query.sql()
            if text not in self.asked_first:  # a grouping set repeats its conditions, and asks once
                self.asked_first[text] = len(self.first)
                self.first.append(self._question(self._alone(query)))
            place = self.asked_first[text]
            value = self.scalars[place] if place < len(self.scalars) else 0
            holder.replace(number(value, kind, place))
        return condition

    def _alone(self, query: exp.Query) -> exp.Query:
        """A query with everything from WITH that it names, so that it can be asked by itself."""
        alone, needed = query.copy(), set[str]()
        open_ = {table.name for table in alone.find_all(exp.Table)} & set(self.named)
        while open_ - needed:
            needed |= open_
            open_ = {t.name for name in needed for t in self.named[name].find_all(exp.Table)} & set(self.named)
        ctes = [cte.copy() for name, cte in self.named.items() if name in needed]
        if ctes:
            alone.set("with_", exp.With(expressions=ctes))
        return alone

    def _question(self, tree: exp.Query) -> Question:
        cut = Splitter(self.schema, self.caps, self.at_hand, ())
        text = shown(tree)
        if not isinstance(cut.take(tree, {}), UpperQuery) or cut.first or not is_one_row(tree, cut.parts):
            raise Refusal(f"{text} does not give one number", hint="aggregate inside, without GROUP BY")
        return cut.asked(tree, tuple(tree.named_selects))

    def asked(self, tree: exp.Query, names: tuple[str, ...]) -> Question:
        """What is left of a question: without queries of WITH that nothing reads, and what only they measured."""
        pruned(tree)
        read = {table.name for table in tree.find_all(exp.Table)}
        parts = tuple(part for part in self.parts if part.name in read)
        used = "".join(repr(part.measurement) for part in parts) if self.first else ""
        if any(f"stage={i})" not in used for i in range(len(self.first))):
            unread = sorted(set(self.named) - read)
            raise Refusal(f"a query of WITH asks another one first, and is never read: {unread}", hint="leave it out")
        for part in parts:
            refuse_links(part.measurement, self.schema.link_targets)
        partial = told(
            tree, parts, (sentence for each in self.first for sentence in each.partial), partial=self.partial
        )
        return Question(parts, tree, frozenset(self.public), names, direct(tree), tuple(self.first), partial)


_NONE, _DECLARED = NoPublic(), Caps()


def question(
    text: str,
    schema: Schema,
    caps: Caps = _DECLARED,
    at_hand: Public = _NONE,
    scalars: Sequence[object] = (),
) -> Question:
    """The question that `text` asks, ready to be priced. `scalars` are the answers to what it asks first."""
    try:
        return _asked(text, schema, caps, at_hand, scalars)
    except Misasked as refusal:
        raise taught(refusal, text, lambda other: _answerable(other, schema, caps, at_hand)) from None


def _answerable(text: str, schema: Schema, caps: Caps, at_hand: Public) -> bool:
    try:
        parts = _asked(text, schema, caps, at_hand, ()).every_part
        return len({part.measurement.shape.population for part in parts}) == 1
    except Refusal:
        return False


def _asked(text: str, schema: Schema, caps: Caps, at_hand: Public, scalars: Sequence[object]) -> Question:
    tree = plain(parsed(text, schema))
    cut = Splitter(schema, caps, at_hand, scalars)
    names = output_names(tree)
    taken = cut.take(tree, {})
    if not isinstance(taken, UpperQuery):
        raise Misasked(
            f"this question would return rows of people{_names_of(taken)}",
            hint="aggregate them: COUNT, SUM, AVG, MEDIAN, …",
            edits=[COUNTED],
        )
    return cut.asked(tree, names)


def _names_of(rows: Rows) -> str:
    units = [name for name, known in shape(rows).columns.items() if known.unit]
    return f", each of one {shape(rows).population}" + (f", named by {', '.join(units)}" if units else "")


def rows_of(text: str, schema: Schema, at_hand: Public = _NONE) -> Rows:
    """The private rows that `text` selects, for a mechanism that takes rows."""
    tree, cut = plain(parsed(text, schema)), Splitter(schema, _DECLARED, at_hand, ())
    rows = cut.take(tree, {})
    if isinstance(rows, UpperQuery) or cut.parts or cut.first:
        asked = " ".join(text.split())
        raise Refusal(
            f"expected a SELECT of private rows, without aggregates, got {asked[:MOST_SHOWN]}",
            hint="SELECT age, sex FROM patients",
        )
    return held(rows, at_hand)
