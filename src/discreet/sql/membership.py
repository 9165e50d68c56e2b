"""Rows whose owner has other rows (IN, EXISTS), or whose value a public table holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import Refusal, Unsupported
from discreet.sql.conditions import conjuncts, tables_of, unwrapped
from discreet.sql.expression import Expression, Field
from discreet.sql.join import capped, linked, owners_meet
from discreet.sql.named_rows import Reading
from discreet.sql.repair import Misasked
from discreet.sql.rows import Among, Filter, Kept, Project, Rows
from discreet.sql.shape import same_population, shape
from discreet.sql.source_words import keyword, shown
from discreet.sql.translate import all_of, call, translate

MOST_PAIRS = 1 << 24  # rows of one unit that EXISTS compares: they are looked at, and never put together

Taken = Callable[[exp.Query], Rows]  # the rows of a query that stands alone
Read = Callable[[exp.Select, list[exp.Expr]], Reading]  # the rows of a SELECT, but for the conditions listed


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


def kept(reading: Reading, test: Test, taken: Taken, read: Read) -> Reading:
    """The rows that pass the test."""
    if isinstance(test.node, exp.In):
        return _among(reading, test.node, taken, negated=test.negated)
    return _exists(reading, test.node, read, negated=test.negated)


def _among(reading: Reading, node: exp.In, taken: Taken, *, negated: bool) -> Reading:
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


def _linked(reading: Reading, node: exp.In, value: Expression, others: Rows, *, negated: bool) -> Reading:
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


def _exists(reading: Reading, node: exp.Exists, read: Read, *, negated: bool) -> Reading:
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

    outer: Reading
    inner: Reading

    def column(self, node: exp.Column) -> Expression:
        reading = self.inner if (node.table, node.name) in self.inner.names else self.outer
        return reading.column(node)
