"""Rows beside other rows, of the same owner or public: joins, and tests with IN and EXISTS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.declared.group_key import Type
from discreet.errors import Refusal, Unsupported
from discreet.sql.expression import Call, Expression, Field
from discreet.sql.from_sqlglot import all_of, call, translate
from discreet.sql.owned_rows import Among, Capped, Filter, Joined, Kept, PerUnit, Project, PublicJoin, Rows
from discreet.sql.relation_facts import Facts, one_each, same_population, shape
from discreet.sql.row_scope import RowScope
from discreet.sql.tree_rewriting import conjuncts, tables_of, unwrapped
from discreet.sql.wording import Edit, Misasked, keyword, shown


@dataclass(frozen=True)
class Source:
    """One source of a FROM clause: how it is read, how it joins what stands before it, and on which conditions."""

    reading: RowScope
    kind: str  # inner, left, right, full
    on: tuple[exp.Expr, ...]


def joined(sources: Sequence[Source], where: Sequence[exp.Expr]) -> RowScope:
    """All sources as one relation. Conditions of WHERE help to join where nothing is kept without a partner."""
    if len(sources) == 1:
        return sources[0].reading
    sources = [replace(source, reading=source.reading.prefixed()) for source in sources]
    where = [part for part in where if not part.find(exp.Select)]
    if all(source.kind == "inner" for source in sources):
        every = [part for source in sources for part in source.on]
        reading = _inner(sources, [*where, *every])
        for condition in every:  # whatever an ON says holds for every row, even if it joins nothing
            reading = reading.where(condition)
        return reading
    reading = sources[0].reading
    for i, source in enumerate(sources[1:], 1):
        kept_later = any(later.kind in ("right", "full") for later in sources[i + 1 :])  # WHERE has yet to see them
        helping = where if source.kind == "inner" and not kept_later else []
        reading = _attached(reading, source, helping, alone=len(sources) == 2)  # one join
    return reading


def _inner(sources: Sequence[Source], given: list[exp.Expr]) -> RowScope:
    """In whatever order the conditions connect them, private rows first."""
    private = [source for source in sources if not source.reading.public]
    if not private:
        names = " and ".join(_called(source.reading) for source in sources)
        raise Refusal(f"two public tables are joined here: {names}", hint="add the joined public table as one")
    left = [source for source in sources if source is not private[0]]
    reading = private[0].reading
    while left:
        connected = [s for s in left if _owners_meet(reading, s.reading, given) or _equal(reading, s.reading, given)]
        ready = [s for s in connected if s.reading.public or _owners_meet(reading, s.reading, given)]
        chosen = (ready or connected or left)[0]
        reading = _attached(reading, replace(chosen, on=()), given, alone=False)
        left.remove(chosen)
    return reading


@dataclass(frozen=True)
class _Given:
    """Conditions: those of ON all belong to the join, those of WHERE only help it along."""

    on: tuple[exp.Expr, ...]
    where: tuple[exp.Expr, ...]

    @property
    def every(self) -> tuple[exp.Expr, ...]:
        return (*self.on, *self.where)


def _attached(reading: RowScope, source: Source, helping: Sequence[exp.Expr], *, alone: bool) -> RowScope:
    other, kind, given = source.reading, source.kind, _Given(source.on, tuple(helping))
    if kind == "right" or (reading.public and not other.public and kind == "inner"):
        reading, other, kind = other, reading, "left" if kind == "right" else "inner"
    if reading.public and other.public:
        raise Refusal(
            f"two public tables are joined before private rows come in: {_called(reading)} and {_called(other)}",
            hint="join the private table first, or add the joined public table as one",
        )
    if reading.public:
        return _outer(reading, other, kind, given, alone=alone)
    if other.public:
        return _looked_up(reading, other, kind, given)
    return _together(reading, other, kind, given)


def _together(one: RowScope, two: RowScope, kind: str, given: _Given) -> RowScope:
    """Private rows beside private rows of the same owner."""
    same_population(one.shape, two.shape, lambda: "a join")
    if not _owners_meet(one, two, given.every):
        raise Misasked(
            f"the join of {_called(one)} and {_called(two)} is not on the unit: one person's rows would meet others'",
            hint="join them on their unit columns, or aggregate each side first",
            node=next(iter(given.every), None),
            edits=_on_units(one, two, given.every),
        )
    left, right = capped(one), capped(two)
    both = one.beside(two, Joined(left, right, None, kind))
    condition = _condition(both, two, given)
    return one.beside(two, Joined(left, right, condition, kind))


def capped(side: RowScope) -> Rows:
    """At most as many rows of a unit as it may have, so that no unit's rows make a join endless."""
    most = side.shape.max_rows
    if most is None:
        raise Refusal(
            f"the join of {_called(side)} needs to know how many rows one unit may have",
            hint=f"declare it with --max-rows on table {min(side.shape.tables)!r}, or aggregate by unit first",
        )
    inner = side.rows
    while isinstance(inner, (Project, Filter)):
        inner = inner.source
    single = isinstance(inner, PerUnit) and one_each(inner)
    return side.rows if isinstance(inner, Joined) or single else Capped(side.rows, most)


def _on_units(one: RowScope, two: RowScope, given: tuple[exp.Expr, ...]) -> list[Edit]:
    """What the conditions between two sides could be: the same, where units are equal, unless they speak of units."""
    on = [part for part in given if tables_of(part) & one.aliases and tables_of(part) & two.aliases]
    if any(each.is_unit(column) for part in on for column in part.find_all(exp.Column) for each in (one, two)):
        return []
    units = [
        next((f"{alias}.{name}" for (alias, name), column in each.names.items() if each.shape.columns[column].unit), "")
        for each in (one, two)
    ]
    return [Edit(on[0], f"{' = '.join(units)} AND ({{}})")] if on and all(units) else []


def _looked_up(private: RowScope, public: RowScope, kind: str, given: _Given) -> RowScope:
    """Private rows, each beside the public rows that fit."""
    if kind == "full":
        raise Refusal(
            f"a FULL JOIN would keep rows of {_called(public)}, which are nobody's",
            hint="use LEFT JOIN from the private table",
        )
    if not _equal(private, public, given.every):
        raise Refusal(
            f"the join of {_called(private)} and {_called(public)} has no equality between them",
            hint="join a public table on an equality, for example ON private.code = public.code",
        )
    names = {**private.names, **public.names}
    placeholder = RowScope(PublicJoin(private.rows, public.rows, _TRUE, kind), names)
    condition = _condition(placeholder, public, given)
    assert condition is not None  # noqa: S101  # there is an equality
    return private.beside(public, PublicJoin(private.rows, public.rows, condition, kind))


def _outer(public: RowScope, private: RowScope, kind: str, given: _Given, *, alone: bool) -> RowScope:
    """Public rows, kept whether or not a private row fits: the groups are then the public rows' values."""
    if kind != "left" or not alone:
        raise Refusal(
            f"rows of {_called(public)} are kept without a private partner, as only public LEFT JOIN private may",
            hint="join this one public table and this one private table, and group by the public columns",
        )
    return replace(_looked_up(private, public, "inner", given), outer=public.rows)


_TRUE: Expression = Call("is null", (), Type.BOOLEAN)  # stands where a condition will be; never printed


def _condition(both: RowScope, new: RowScope, given: _Given) -> Expression | None:
    """Every condition of ON; of WHERE those that speak of the new rows and of nothing that is not there yet."""
    useful = [part for part in given.where if tables_of(part) <= both.aliases and tables_of(part) & new.aliases]
    return all_of((*given.on, *useful), both.column)


def _sides(part: exp.Expr, one: RowScope, two: RowScope) -> tuple[exp.Expr, exp.Expr] | None:
    """The two sides of an equality between two readings, in their order."""
    part = unwrapped(part)
    if not isinstance(part, exp.EQ):
        return None
    left, right = unwrapped(part.left), unwrapped(part.right)
    for a, b in ((left, right), (right, left)):
        if tables_of(a) and tables_of(b) and tables_of(a) <= one.aliases and tables_of(b) <= two.aliases:
            return a, b
    return None


def _equal(one: RowScope, two: RowScope, given: Sequence[exp.Expr]) -> bool:
    return any(_sides(part, one, two) for part in given)


def owners_meet(one: RowScope, two: RowScope, part: exp.Expr) -> bool:
    """Whether a condition makes the owners of two rows one: both are unit columns, or a declared link joins them."""
    sides = _sides(part, one, two)
    if sides is None:
        return False
    left, right = one.facts(sides[0]), two.facts(sides[1])
    return left is not None and right is not None and ((left.unit and right.unit) or linked(left, right))


def linked(one: Facts, two: Facts) -> bool:
    """Whether two columns are a declared link and its target, or two links to one target: equal values, one owner."""
    return (
        (one.link is not None and one.link in (two.origin, two.link))
        or (two.link is not None and two.link == one.origin)
    )  # fmt: skip


def _owners_meet(one: RowScope, two: RowScope, given: Sequence[exp.Expr]) -> bool:
    return any(owners_meet(one, two, part) for part in given)


def _called(reading: RowScope) -> str:
    return " and ".join(sorted(reading.aliases))


MOST_PAIRS = 1 << 24  # rows of one unit that EXISTS compares: they are looked at, and never put together

Taken = Callable[[exp.Query], Rows]  # the rows of a query that stands alone
Read = Callable[[exp.Select, list[exp.Expr]], RowScope]  # the rows of a SELECT, but for the conditions listed


@dataclass(frozen=True)
class Test:
    """A condition that asks another query: its negation counts too."""

    node: exp.In | exp.Exists
    negated: bool


def test_of(condition: exp.Expr) -> Test | None:
    """The test that a condition is, if it asks another query."""
    node, negated = unwrapped(condition), False
    while isinstance(node, exp.Not):
        node, negated = unwrapped(node.this), not negated
    if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
        return Test(node, negated)
    return None


def kept(reading: RowScope, test: Test, taken: Taken, read: Read) -> RowScope:
    """The rows that pass the test."""
    if isinstance(test.node, exp.In):
        return _among(reading, test.node, taken, negated=test.negated)
    return _exists(reading, test.node, read, negated=test.negated)


def _among(reading: RowScope, node: exp.In, taken: Taken, *, negated: bool) -> RowScope:
    query = node.args["query"].unnest()
    others = taken(query)
    value, columns = translate(node.this, reading.column), shape(others).columns
    if len(columns) != 1:
        raise Refusal(f"{shown(node)} compares with {len(columns)} columns", hint="select one column there")
    (known,) = columns.values()
    if shape(others).population is None:
        if value.type is not known.type:
            raise Refusal(f"{shown(node)} compares {value.type.value} with {known.type.value}", hint="cast one side")
        return reading.on(Among(reading.rows, value, others, negated))
    same_population(reading.shape, shape(others), lambda: shown(node))
    if value.type is not known.type:
        raise Refusal(f"{shown(node)} compares {value.type.value} with {known.type.value}", hint="cast one side")
    own = reading.facts(unwrapped(node.this))
    if own is not None and linked(own, known) and not known.optional:
        return _linked(reading, node, value, others, negated=negated)
    if not reading.is_unit(unwrapped(node.this)) or not known.unit or known.optional:
        raise Misasked(
            f"{shown(node)}: whether a row passes would depend on other people's rows",
            hint="test the unit itself: unit IN (SELECT unit FROM …)",
            node=node,
        )
    return reading.on(Kept(reading.rows, others, None, negated))


def _linked(reading: RowScope, node: exp.In, value: Expression, others: Rows, *, negated: bool) -> RowScope:
    """Rows whose key, or whose link's, is among those of other rows: equal keys have one owner, so these are his own.

    A link leads somewhere from every row. What it leads to may be NULL; NULL is in no list, and not outside one either.
    """
    (name, known), inner = next(iter(shape(others).columns.items())), f"#~{len(reading.names)}"
    if negated and known.link is None:
        raise Refusal(
            f"NOT {shown(node)} passes no row at all if one of those is NULL, whoever's it is",
            hint="write NOT EXISTS instead",
        )
    if negated:
        reading = reading.on(Filter(reading.rows, call("not", [call("is null", [value], node)], node)))
    listed = Project(others, ((inner, Field(name, known.type)),))
    return reading.on(Kept(reading.rows, listed, call("=", [value, Field(inner, known.type)], node), negated))


def _exists(reading: RowScope, node: exp.Exists, read: Read, *, negated: bool) -> RowScope:
    select = node.this.unnest() if isinstance(node.this, exp.Subquery) else node.this
    if not isinstance(select, exp.Select):
        raise Unsupported(f"{shown(node)} is not supported", hint="write EXISTS (SELECT … FROM … WHERE …)")
    if any(item.find(exp.AggFunc) for item in select.expressions):
        raise Refusal(f"{shown(node)} asks an aggregate, which always has a row", hint="select a column there")
    for name in ("group", "having", "limit", "offset", "distinct", "with_"):
        if select.args.get(name):
            raise Unsupported(f"{keyword(name)} inside EXISTS is not supported", hint="leave it out, or use IN")
    where = select.args.get("where")
    across = [part for part in conjuncts(where.this if where else None) if tables_of(part) & reading.aliases]
    others = read(select, across).prefixed("~")
    if others.aliases & reading.aliases:
        raise Refusal(
            f"{shown(node)} gives {min(others.aliases & reading.aliases)!r} a second meaning", hint="use another alias"
        )
    if not others.public:
        same_population(reading.shape, others.shape, lambda: shown(node))
        if not any(owners_meet(reading, others, part) for part in across):
            raise Refusal(
                f"{shown(node)}: whether a row passes would depend on other people's rows",
                hint="compare the units inside: WHERE inner.unit = outer.unit",
            )
    both = _Both(reading, others)
    condition = all_of(across, both.column)
    plain = all(owners_meet(reading, others, part) for part in across)
    if others.public or plain:
        return reading.on(Kept(reading.rows, others.rows, condition, negated))
    # each row of a unit may be compared with every other: both sides are held to what a unit may have
    few, many = capped(reading), capped(others)
    pairs = (reading.shape.max_rows or 1) * (others.shape.max_rows or 1)  # `capped` has refused where one is unknown
    if pairs > MOST_PAIRS:
        raise Refusal(
            f"{shown(node)} compares up to {pairs:,} pairs of rows of one unit, more than {MOST_PAIRS:,}",
            hint="compare the units alone, aggregate one side by unit first, or declare a smaller --max-rows",
        )
    return reading.on(Kept(few, many, condition, negated))


@dataclass(frozen=True)
class _Both:
    """Names of the inner query first, then those around it."""

    outer: RowScope
    inner: RowScope

    def column(self, node: exp.Column) -> Expression:
        reading = self.inner if (node.table, node.name) in self.inner.names else self.outer
        return reading.column(node)
