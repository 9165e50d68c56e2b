"""Provenance of an answer's numbers: SQL above the noise, read back as formulas of noisy statistics.

What cannot be read so has no formula, and so no error bar. Rows of noisy tables are followed by hidden columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from discreet.curator.aggregate_formulas import aggregated, cast, negative, rounding, share, written
from discreet.curator.formula import (
    ColumnTotal,
    Formula,
    Given,
    Product,
    Quotient,
    Root,
    Rounded,
    Sum,
    Untraced,
    moved,
    ratio,
)
from discreet.curator.nulls_made_by_noise import EMPTYING, empties
from discreet.sql.arithmetic import is_whole
from discreet.sql.plan import Part, Question
from discreet.sql.tree_rewriting import answering, inner_queries, within

ROW = "#row"  # the column of a noisy table that numbers its rows
_HIDDEN = "#h"
_MOST_HIDDEN = 256  # columns of one SELECT: joins of one query with itself double them


@dataclass(frozen=True)
class Side:
    """One SELECT of an answer: the formulas of its columns, which of them are noisy, and whether noise chose rows."""

    formulas: tuple[Formula | None, ...]
    noisy: tuple[bool, ...]
    chosen: bool

    @property
    def without_formulas(self) -> Side:
        """The same, none of whose numbers has an error bar."""
        return Side((None,) * len(self.formulas), self.noisy, self.chosen)


def traced(above: exp.Query, question: Question) -> tuple[tuple[Side, ...], int]:
    """The sides of an answer and how many hidden columns follow its own. Adds these to the query."""
    tracer = _Tracer({part.name: part for part in question.parts}, above)
    selects = answering(above)
    cut = any(above.args.get(name) for name in ("limit", "offset")) and not isinstance(above, exp.Select)
    scopes = [tracer.scope(select) for select in selects]
    sides = tuple(scope.side(len(question.columns), cut=cut) for scope in scopes)
    many = max((len(scope.hidden) for scope in scopes), default=0)
    for number, scope in enumerate(scopes):
        given = [*scope.hidden, *[exp.Null()] * (many - len(scope.hidden))]
        for i, column in enumerate([*given, *([exp.Literal.number(number)] if len(scopes) > 1 else [])]):
            scope.select.append("expressions", exp.alias_(column.copy(), f"{_HIDDEN}{i}", quoted=True))
    tracer.reveal(scopes)
    return sides, many + (len(scopes) > 1)


@dataclass
class _Tracer:
    """All SELECTs of one query, each read once."""

    parts: Mapping[str, Part]
    query: exp.Query
    scopes: dict[int, _Scope] = field(default_factory=dict)
    adding: bool = False  # whether what is read now is added up over rows, where a NULL counts as nothing

    def __post_init__(self) -> None:
        self.named = {cte.alias_or_name: cte for cte in self.query.find_all(exp.CTE)}

    def scope(self, select: exp.Select) -> _Scope:
        if id(select) not in self.scopes:
            self.scopes[id(select)] = _Scope(self, select)
        return self.scopes[id(select)]

    def reveal(self, shown: list[_Scope]) -> None:
        """Let inner queries hand on what those around them ask for."""
        for scope in self.scopes.values():
            if scope not in shown:
                for i, column in enumerate(scope.hidden):
                    scope.select.append("expressions", exp.alias_(column.copy(), f"{_HIDDEN}{i}", quoted=True))


@dataclass(frozen=True)
class _Inner:
    """A query in FROM: its scope, and the names that an alias gives its columns."""

    scope: _Scope
    names: tuple[str, ...]


@dataclass(eq=False)
class _Scope:
    """One SELECT: where its columns come from, and the hidden columns it must hand on."""

    tracer: _Tracer
    select: exp.Select
    hidden: list[exp.Expr] = field(default_factory=list)
    scalar: bool = False  # whether it gives one number: then it has one column, and none is hidden
    _places: dict[str, int] = field(default_factory=dict)  # of hidden columns, by what they say
    _formulas: dict[tuple[int, bool], Formula | None] = field(default_factory=dict)  # by node of the query; None: none
    _moved: defaultdict[str, dict[Formula, Formula]] = field(default_factory=lambda: defaultdict(dict))
    _noise: dict[tuple[str, str], bool] = field(default_factory=dict)  # whether it is in a column of a source

    def __post_init__(self) -> None:
        from_ = self.select.args.get("from_")
        joins = self.select.args.get("joins") or []
        self.sources = {
            node.alias_or_name: self._source(node)
            for node in [*([from_.this] if from_ else []), *(j.this for j in joins)]
        }
        grouped = self.select.args.get("group") or self.select.args.get("distinct")
        self.aggregated = any(within(item, _aggregates) for item in self.select.expressions)
        self.row_by_row = not grouped and not self.aggregated
        self.grouped = bool(grouped)

    def _source(self, node: exp.Expr) -> Part | _Inner | None:
        if isinstance(node, exp.Table) and node.name in self.tracer.parts:
            return self.tracer.parts[node.name]
        inner: exp.Expr | None = node if isinstance(node, exp.Subquery) else None
        if isinstance(node, exp.Table):
            inner = self.tracer.named.get(node.name)
        if inner is None or not isinstance(inner.this, exp.Select):
            return None
        scope = self.tracer.scope(inner.this)
        names = [item.alias_or_name for item in inner.this.expressions]
        for alias in (inner.args.get("alias"), node.args.get("alias")):
            if isinstance(alias, exp.TableAlias) and alias.columns:
                names = [column.name for column in alias.columns] + names[len(alias.columns) :]
        return _Inner(scope, tuple(names))

    # what is asked of a SELECT ---------------------------------------------------------------------------------------

    def side(self, width: int, *, cut: bool) -> Side:
        """What its columns are."""
        items = self.select.expressions[:width]
        noisy = tuple(self.noisy(item.unalias()) for item in items)
        return Side(tuple(self.traced(item.unalias()) for item in items), noisy, self.chosen or cut)

    def traced(self, node: exp.Expr) -> Formula | None:
        """The formula of an expression, if it has one and noise is in it."""
        if not self.noisy(node) or self.grouped:
            return None
        try:
            return self.formula(node)
        except Untraced:
            return None

    @cached_property
    def chosen(self) -> bool:
        """Whether which rows there are depends on noisy numbers."""
        args = self.select.args
        joins = [on for join in args.get("joins") or [] if (on := join.args.get("on")) is not None]
        tests = [*(args[name].this for name in ("where", "having", "qualify") if args.get(name)), *joins]
        tests += [node for item in self.select.expressions for node in self._emptied(item)]  # a choice of cells
        cut = args.get("limit") or args.get("offset")
        if cut and (self.ordered or (args.get("joins") and not args.get("order"))):
            return True
        if any(source is None and self._reads_unknown(alias) for alias, source in self.sources.items()):
            return True
        return any(self.noisy(test) for test in tests) or any(scope.chosen for scope in self._inner)

    def _emptied(self, item: exp.Expr) -> list[exp.Expr]:
        """What in an expression may be NULL by noise, though its formula is a number there."""
        own = (node for node in item.find_all(*EMPTYING) if node.find_ancestor(exp.Select) is self.select)
        return [node for node in own if self.noisy(node) and empties(node, self.formula, self.tracer.parts)]

    @cached_property
    def ordered(self) -> bool:
        """Whether the order of the rows may depend on noisy numbers: their own, or that in which windows have them."""
        args = self.select.args
        keys = [args[name] for name in ("order", "group") if args.get(name)]
        keys += self.select.expressions if self.grouped else []
        return self._shuffled or any(self.noisy(key) for key in keys)

    @cached_property
    def _shuffled(self) -> bool:
        """The same of rows as windows have them: by it `row_number() OVER ()` counts, and it decides among equals."""
        windows = [window for item in self.select.expressions for window in item.find_all(exp.Window)]
        keys = [part for window in windows for part in window.args.get("partition_by") or []]
        keys += [window.args["order"] for window in windows if window.args.get("order")]
        return any(self.noisy(key) for key in keys) or any(scope.ordered for scope in self._inner)

    @cached_property
    def _inner(self) -> list[_Scope]:
        return [source.scope for source in self.sources.values() if isinstance(source, _Inner)]

    @cached_property
    def whole(self) -> Part | None:
        """The part whose every row this SELECT reads, if its rows are declared."""
        if self.select.args.get("where") or len(self.sources) != 1:
            return None
        (source,) = self.sources.values()
        if isinstance(source, Part):
            return source if source.measurement.declared else None
        if source is None or source.scope.chosen or not source.scope.row_by_row:
            return None
        clauses = ("limit", "offset", "qualify", "having")
        return None if any(source.scope.select.args.get(name) for name in clauses) else source.scope.whole

    # columns ---------------------------------------------------------------------------------------------------------

    def noisy(self, node: exp.Expr) -> bool:
        """Whether noise is, or may be, in an expression."""
        if isinstance(node, exp.Column):
            return self._noisy_column(node)
        if isinstance(node, exp.Query) or (isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window)):
            return bool(self.tracer.parts)
        if isinstance(node, exp.Window) and self._shuffled:
            return True
        return any(self.noisy(child) for child in node.iter_expressions())

    def _noisy_column(self, column: exp.Column) -> bool:
        if not column.table:
            item = self._item(column.name)
            if item is None or self.noisy(item.unalias()):
                return True
            known = {a: s for a, s in self.sources.items() if not isinstance(s, Part)}
            inside = [alias for alias, source in known.items() if source is None or column.name in source.names]
            alone = isinstance(column.parent, exp.Ordered)  # else a name of the rows goes before one of the answer
            return not alone and any(self.noisy(exp.column(column.name, table=alias)) for alias in inside)
        key = column.table, column.name
        if key not in self._noise:
            self._noise[key] = self._noisy_in(self.sources.get(column.table), *key)
        return self._noise[key]

    def _noisy_in(self, source: Part | _Inner | None, table: str, name: str) -> bool:
        if isinstance(source, Part):
            return not name.startswith("key_")
        if isinstance(source, _Inner):
            item = _named(source, name)
            return item is None or source.scope.noisy(item.unalias())
        return self._reads_unknown(table)

    def _reads_unknown(self, alias: str) -> bool:
        """Whether a source is neither a public table nor known: a UNION."""
        from_, joins = self.select.args.get("from_"), self.select.args.get("joins") or []
        for node in [*([from_.this] if from_ else []), *(join.this for join in joins)]:
            if node.alias_or_name == alias:
                return not isinstance(node, exp.Table) or node.name in self.tracer.named
        return True

    def _item(self, name: str) -> exp.Expr | None:
        return next((item for item in self.select.expressions if item.alias_or_name == name), None)

    def _hide(self, column: exp.Expr) -> int:
        text = column.sql()
        if not self.row_by_row or self.scalar or (text not in self._places and len(self.hidden) == _MOST_HIDDEN):
            raise Untraced
        if text not in self._places:
            self._places[text] = len(self.hidden)
            self.hidden.append(column)
        return self._places[text]

    def _column(self, column: exp.Column) -> Formula:
        source = self.sources.get(column.table)
        if isinstance(source, Part):
            return self._measured(source, column)
        if isinstance(source, _Inner):
            item = _named(source, column.name)
            if item is None or source.scope.grouped:
                raise Untraced
            return self._lifted(source.scope.formula(item.unalias()), column.table)
        if column.table and not self._reads_unknown(column.table):
            return Given(self._hide(column), public=True)
        raise Untraced

    def _measured(self, part: Part, column: exp.Column) -> Formula:
        if column.name.startswith("key_"):
            return Given(self._hide(column), public=False, row=(part.name, self._row(column.table)))
        place = self._row(column.table) if part.measurement.keys else None
        aggregate = next((each for each in part.aggregates if each.name == column.name), None)
        if aggregate is None:
            raise Untraced
        return aggregated(part, aggregate, place)

    def _row(self, alias: str) -> int:
        return self._hide(exp.column(ROW, table=alias, quoted=True))

    def _lifted(self, inner: Formula, alias: str) -> Formula:
        """The formula of an inner query's column, its hidden columns taken from there."""

        def lift(place: int) -> int:
            return self._hide(exp.column(f"{_HIDDEN}{place}", table=alias, quoted=True))

        return moved(inner, lift, self._moved[alias])

    # expressions -----------------------------------------------------------------------------------------------------

    def formula(self, node: exp.Expr) -> Formula:
        """What an expression computes. It is read once: what is named once and used twice is one part of the whole."""
        key = id(node), self.tracer.adding
        if key not in self._formulas:
            self._formulas[key] = None
            self._formulas[key] = self._read(node)
        known = self._formulas[key]
        if known is None:
            raise Untraced
        return known

    def _read(self, node: exp.Expr) -> Formula:  # noqa: C901, PLR0911, PLR0912  # one line for each kind of node
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Paren():
                return self.formula(node.this)
            case exp.Literal() if not node.is_string:
                return written(node.this)
            case exp.Neg():
                return negative(self.formula(node.this))
            case exp.Add():
                return Sum(self.formula(node.left), self.formula(node.right))
            case exp.Sub():
                return Sum(self.formula(node.left), negative(self.formula(node.right)))
            case exp.Mul():
                return Product(self.formula(node.left), self.formula(node.right))
            case exp.Div():
                quotient = share(Quotient(self.formula(node.left), self.formula(node.right)), self.tracer.parts)
                return Rounded(quotient, 0, "zero") if is_whole(node) else quotient
            case exp.Sqrt():
                return Root(self.formula(node.this))
            case exp.Round() | exp.Floor() | exp.Ceil():
                return rounding(node, self.formula(node.this))
            case exp.Cast():  # TRY_CAST is one too
                return cast(node.to, self.formula(node.this))
            case exp.Nullif() if isinstance(node.expression, exp.Literal) and not self.tracer.adding:
                # where it is NULL nothing is shown
                return self.formula(node.this)
            case exp.Subquery() | exp.Select():
                return self._scalar(node)
            case exp.Window():
                return self._window(node)
            case exp.Sum() if not isinstance(node.parent, exp.Window):
                return self._total(node)
            case _:
                raise Untraced

    def _scalar(self, node: exp.Expr) -> Formula:
        """A query that gives one number, whatever the row around it is."""
        (select,) = inner_queries(node)
        if not isinstance(select, exp.Select):
            raise Untraced
        scope = self.tracer.scope(select)
        if len(select.expressions) != 1 or scope.chosen or scope.grouped:
            raise Untraced
        scope.scalar = True
        return scope.formula(select.expressions[0].unalias())

    def _window(self, node: exp.Window) -> Formula:
        framed = any(node.args.get(name) for name in ("partition_by", "order", "spec"))
        if framed or not isinstance(node.this, exp.Sum) or not self.row_by_row:
            raise Untraced
        return self._total(node.this)

    def _total(self, node: exp.Sum) -> Formula:
        part = self.whole
        if part is None:
            raise Untraced
        beside = _Scope(self.tracer, self.select)
        beside.row_by_row = True
        before, self.tracer.adding = self.tracer.adding, True
        try:
            parted = ratio(beside.formula(node.this))
        finally:
            self.tracer.adding = before
        line = None if parted is None else parted.linear
        if line is None or line.constant or len(line.weights) != 1 or beside._emptied(node.this):
            raise Untraced
        ((leaf, weight),) = line.weights.items()
        return ColumnTotal(part.name, leaf.statistic, weight)


def _named(source: _Inner, name: str) -> exp.Expr | None:
    items = zip(source.names, source.scope.select.expressions, strict=False)  # hidden ones may follow
    return next((item for known, item in items if known == name), None)


def _aggregates(node: exp.Expr) -> bool:
    """Whether a node makes one row of many, rather than being the function of a window."""
    return isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window)
