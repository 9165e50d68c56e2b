"""Queries above the noise; and groups of private rows, asked of the rows themselves where that can be.

Where keys are not declared, groups with few people are missing above the noise. A count of groups, or a sum of their
counts, can still be measured of the rows; other aggregates over such groups would be wrong without a word, and are
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.declared.group_key import Type
from discreet.errors import Refusal
from discreet.sql.aggregates import aggregates, is_aggregate
from discreet.sql.expression import Field
from discreet.sql.from_sqlglot import translate
from discreet.sql.group_keys import among, domain
from discreet.sql.owned_rows import Filter, Project, Rows
from discreet.sql.plan import PART, Part
from discreet.sql.relation_facts import shape
from discreet.sql.row_scope import RowScope
from discreet.sql.tree_rewriting import swapped, within
from discreet.sql.wording import shown

PARTIAL = (
    "This answer is computed from the groups that are shown: groups with few people are missing from its totals. "
    "Declare the keys to have all of them."
)
EVERY_KEY = "Every declared key is a group here, also one that nobody has: its counts and sums are 0."
_ONLY_KEYS = ("having", "limit", "offset")  # with one of these, not every group is there


@dataclass(frozen=True)
class Grouped:
    """A SELECT that groups private rows, as it was written."""

    select: exp.Select
    keys: tuple[exp.Expr, ...]
    reading: RowScope
    declared: bool

    @property
    def named(self) -> str:
        """Its keys, in the asker's words."""
        return ", ".join(key.name if isinstance(key, exp.Column) else shown(key) for key in self.keys)

    @property
    def whole(self) -> bool:
        """Whether its rows are all of its groups, each once."""
        chosen = any(self.select.args.get(clause) for clause in _ONLY_KEYS)
        both = self.select.args.get("distinct") and self.select.args.get("group")
        windows = any(item.find(exp.Window) for item in self.select.expressions)
        return bool(self.keys) and self.reading.outer is None and not (chosen or both or windows)


@dataclass(frozen=True)
class OfRows:
    """A SELECT over groups, turned into one over their rows."""

    keys: list[exp.Expr]
    reading: RowScope


class _Impossible(Exception):
    """Rows do not tell what is asked of their groups."""


def of_rows(select: exp.Select, groups: Grouped, names: Sequence[str]) -> OfRows | None:
    """Let a SELECT over groups ask their rows instead, if they can tell; None, and nothing is changed, if not."""
    if not groups.whole or select.args.get("joins") or select.args.get("distinct") or _windows(select):
        return None
    items = dict(zip(names, (item.unalias() for item in groups.select.expressions), strict=True))
    asked = _Asked(groups, items)
    try:
        asked.rewrite(select.copy())
    except _Impossible:
        return None
    if groups.declared and not (asked.counts_groups and not select.args.get("group")):
        return None  # the noisy table has every declared group, so what is above it is what was meant
    return asked.rewrite(select)


@dataclass
class _Asked:
    """What the columns of a grouping SELECT stand for, by their names outside."""

    groups: Grouped
    items: Mapping[str, exp.Expr]
    counts_groups: bool = True  # and nothing else

    def rewrite(self, select: exp.Select) -> OfRows:
        group = select.args.get("group")
        where = select.args.get("where")
        reading = self._answered()
        if where is not None:
            reading = reading.where(self._of_keys(where.this))
        keys = [self._key(key) for key in (group.expressions if group else [])]
        for clause in (*select.expressions, *(c for c in map(select.args.get, ("having", "order")) if c is not None)):
            swapped(clause, self._swap)
        return OfRows(keys, reading)

    def _answered(self) -> RowScope:
        """The rows that fall into a group: where values of a key are declared, others are in none."""
        reading = self.groups.reading
        for node in self.groups.keys:
            key = translate(node, reading.column)
            values = domain(key, reading.shape)
            if values is not None:
                reading = reading.on(Filter(reading.rows, among(key, values)))
        return reading

    def _of_keys(self, condition: exp.Expr) -> exp.Expr:
        """A condition on keys: it holds for a group if it does for its rows."""
        if condition.find(exp.Select):
            raise _Impossible
        made = condition.copy()
        for column in list(made.find_all(exp.Column)):
            key = self._key(column)
            if column is made:
                return key
            column.replace(key)
        return made

    def _key(self, node: exp.Expr) -> exp.Expr:
        """The key that a column of the groups is."""
        inner = self.items.get(node.name) if isinstance(node, exp.Column) else None
        if inner is None or inner.sql() not in {key.sql() for key in self.groups.keys}:
            raise _Impossible
        return inner.copy()

    def _swap(self, node: exp.Expr) -> exp.Expr:
        if is_aggregate(node):
            return self._aggregate(node)
        named = isinstance(node, exp.Column) and bool(node.table)  # without a table, it is a name of the result
        return self._key(node) if named else node

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        inner = node.this
        if isinstance(node, exp.Count):
            return self._count(inner)
        self.counts_groups = False
        made = self.items.get(inner.name) if isinstance(inner, exp.Column) else None
        if made is None:
            raise _Impossible
        additive = isinstance(made, (exp.Count, exp.Sum)) and not isinstance(made.this, exp.Distinct)
        if isinstance(node, exp.Sum) and additive:
            return made.copy()
        if isinstance(node, exp.Avg) and additive:
            return self._average(made)
        if isinstance(node, (exp.Min, exp.Max)):
            return made.copy() if type(made) is type(node) else type(node)(this=self._key(inner))
        raise _Impossible

    def _count(self, inner: exp.Expr) -> exp.Expr:
        if isinstance(inner, (exp.Star, exp.Literal)):
            return self._number_of_groups()
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            return _distinct(self._key(inner.expressions[0]))
        made = self.items.get(inner.name) if isinstance(inner, exp.Column) else None
        if isinstance(made, exp.Count):  # a number in every group
            return self._number_of_groups()
        return self._number_of_groups(_present(self._key(inner)))

    def _number_of_groups(self, having: exp.Expr | None = None) -> exp.Expr:
        """How many groups have a row, or one that passes. NULL is a group too, so values are spelled, and it is not."""
        value = _one_text([self._spelled(key) for key in self.groups.keys])
        return _distinct(value if having is None else exp.Case(ifs=[exp.If(this=having, true=value)]))

    def _spelled(self, key: exp.Expr) -> exp.Expr:
        """A key as a text of one length, however long it is: texts that are put together have an end. NULL is apart."""
        value: exp.Expr = key.copy()
        if translate(key, self.groups.reading.column).type is not Type.VARCHAR:
            value = exp.Cast(this=value, to=exp.DataType.build("varchar"))
        digest = exp.SHA2(this=value)
        return exp.Case(ifs=[exp.If(this=_present(key), true=digest)], default=exp.Literal.string(";"))

    def _average(self, made: exp.Expr) -> exp.Expr:
        """The sum over all groups by the number of those that have one: a group of nothing but NULL has no sum."""
        there = _present(made.this) if isinstance(made, exp.Sum) else None
        total = exp.Cast(this=made.copy(), to=exp.DataType.build("double"))
        number = exp.Nullif(this=self._number_of_groups(there), expression=exp.Literal.number(0))
        return exp.Paren(this=exp.Div(this=total, expression=number))


def _one_text(spelled: list[exp.Expr]) -> exp.Expr:
    """Keys as one text. It is put together by halves: a tree that leans to one side is too deep for many keys."""
    if len(spelled) == 1:
        return spelled[0]
    left, right = _one_text(spelled[: len(spelled) // 2]), _one_text(spelled[len(spelled) // 2 :])
    return exp.SHA2(this=exp.DPipe(this=left, expression=right))


def _present(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))


def _distinct(value: exp.Expr) -> exp.Count:
    return exp.Count(this=exp.Distinct(expressions=[value]), big_int=True)


def collapses(select: exp.Select) -> bool:
    """Whether a SELECT makes one row of several."""
    return bool(aggregates(select) or select.args.get("group"))


def refuse_partial(select: exp.Select, keys: str) -> None:
    """Refuse an aggregate over groups of which those with few people are missing."""
    if not collapses(select):
        return
    nodes = [node for item in select.expressions for node in item.find_all(exp.AggFunc) if is_aggregate(node)]
    what = shown(nodes[0]) if nodes else "GROUP BY"
    largest = "ORDER BY … DESC LIMIT 1 gives the largest of the groups that are shown; or "
    raise Refusal(
        f"{what} is taken over groups by {keys}, and those with few people would be missing from it",
        hint=(largest if nodes and isinstance(nodes[0], exp.Max) else "")
        + f"declare the keys of {keys} with --keys, ask for the groups themselves, or aggregate the rows at once",
    )


def _windows(select: exp.Select) -> bool:
    """Whether a window adds up rows of the result, rather than numbering them."""
    order = select.args.get("order")
    return any(within(item, _adds_up) for item in (*select.expressions, *([order] if order else [])))


def _adds_up(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window) and isinstance(node.this, (exp.Sum, exp.Avg, exp.Count, exp.Min, exp.Max))


def speaks_of_all(select: exp.Select, sides: Sequence[str]) -> bool:
    """Whether a SELECT over groups says something about those that are missing: a total, or a row without a partner."""
    return _windows(select) or any(side != "inner" for side in sides)


def told(above: exp.Query, parts: Sequence[Part], before: Iterable[str], *, partial: bool) -> tuple[str, ...]:
    """What is to be told of the groups that SQL over noisy tables aggregates, after what was told `before`.

    `partial` says that it speaks of groups of which those with few people are missing.
    """
    every = [EVERY_KEY] if _counts_every_key(above, parts) else []
    return tuple(dict.fromkeys([*([PARTIAL] if partial else []), *every, *before]))


def _counts_every_key(above: exp.Query, parts: Sequence[Part]) -> bool:
    """Whether groups that nobody is in are aggregated; to a sum they add nothing."""
    declared = any(part.measurement.keys and part.measurement.declared for part in parts)
    return declared and any(is_aggregate(node) and not isinstance(node, exp.Sum) for node in above.walk())


@dataclass(frozen=True)
class UpperQuery:
    """A query that stays above the noise; whether something noisy is in it."""

    noisy: bool
    query: exp.Query
    partial: str = ""  # the keys of groups of which those with few people are missing
    groups: Grouped | None = None  # what it was, if it groups private rows


@dataclass(frozen=True)
class Joining(UpperQuery):
    """A query above the noise that stands in a FROM clause."""

    alias: str = ""
    kind: str = "inner"
    on: tuple[exp.Expr, ...] = ()
    names: tuple[str, ...] = ()


Taken = Rows | UpperQuery


def partial_keys(sources: Sequence[UpperQuery]) -> str:
    """The keys of groups of which some are missing, in any of several queries."""
    return next((source.partial for source in sources if source.partial), "")


def renamed(taken: Taken, node: exp.Expr) -> Taken:
    """Rows with the column names that an alias gives them: t(a, b)."""
    alias = node.args.get("alias")
    names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if isinstance(taken, UpperQuery) or not names:
        return taken
    old = shape(taken).columns
    return Project(taken, tuple((new, Field(o, old[o].type)) for new, o in zip(names, old, strict=True)))


def has_part(select: exp.Select) -> bool:
    """Whether a SELECT reads a noisy table."""
    return any(table.name.startswith(PART) for table in select.find_all(exp.Table))


def is_one_row(tree: exp.Query, parts: list[Part]) -> bool:
    """Whether an answer has one row whatever the data: it reads one noisy table without groups, or aggregates one."""
    from_ = tree.args.get("from_")
    if not isinstance(tree, exp.Select) or from_ is None or tree.args.get("joins") or tree.args.get("group"):
        return False
    if any(tree.args.get(name) for name in ("where", "having", "limit", "offset", "distinct")):
        return False
    single = {part.name for part in parts if not part.measurement.keys}
    return aggregates(tree) or (isinstance(from_.this, exp.Table) and _reads_one(from_.this.name, tree, single))


def _reads_one(name: str, tree: exp.Query, single: set[str]) -> bool:
    """Whether a name is a noisy table of one row, or a query of WITH that reads nothing else."""
    if name in single:
        return True
    named = {cte.alias_or_name: cte.this for cte in tree.find_all(exp.CTE)}
    inner = named.get(name)
    if not isinstance(inner, exp.Select) or any(inner.args.get(c) for c in ("joins", "group", "where", "limit")):
        return False
    from_ = inner.args.get("from_")
    return from_ is not None and isinstance(from_.this, exp.Table) and from_.this.name in single


def number(value: object, kind: exp.DataType, stage: int) -> exp.Expr:
    """The answer to what was asked first, as a question would write it, marked with its place."""
    written = _written(value, whole=kind.is_type(*exp.DataType.INTEGER_TYPES))
    literal = exp.Literal(this=written or "0", is_string=False)
    literal.meta["stage"] = stage
    literal.meta["missing"] = written is None
    return literal


def _written(value: object, *, whole: bool) -> str | None:
    """A number in digits; None of what is no number: NULL, NaN, an infinity."""
    try:
        exactly = Fraction(str(value))
        return str(int(exactly)) if whole else repr(float(exactly))
    except (ValueError, OverflowError):
        return None
