"""UNION of rows of people: all of one population, columns by place."""

from __future__ import annotations

from sqlglot import exp

from discreet.declared.key import Type
from discreet.errors import Refusal
from discreet.sql.expression import Call, Expression, Field
from discreet.sql.rows import PerUnit, Project, Rows, Union
from discreet.sql.shape import same_population, shape
from discreet.sql.source_words import keyword


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
        raise Refusal("the two sides of UNION have different columns", hint="cast them to the same types")
    kinds = [kind for kind in types if kind is not None]
    made = Union((_cast(one, kinds), _cast(two, kinds)))
    if not query.args.get("distinct"):
        return made
    known = shape(made).columns
    if not any(column.unit for column in known.values()):
        raise Refusal("UNION would compare rows of different people", hint="use UNION ALL, or select the unit too")
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
