"""The names of columns that a question does not name: those that Postgres would give them."""

from __future__ import annotations

from sqlglot import exp

_COUNTED = "_col_"  # with its place behind it: how the planner marks a column without a name
_OWN: dict[type[exp.Expr], str] = {exp.TimestampTrunc: "date_trunc", exp.Case: "case", exp.Boolean: "bool"}


def output_names(tree: exp.Query) -> tuple[str, ...]:
    """What the columns of a question are called in its answer, no two alike."""
    names = list(tree.named_selects)
    nameless = [name == f"{_COUNTED}{place}" for place, name in enumerate(names)]
    taken = {name.casefold() for name, without in zip(names, nameless, strict=True) if not without}
    for place, (item, without) in enumerate(zip(outermost(tree).expressions, nameless, strict=True)):
        if without:
            name = label(item.unalias()) or f"column_{place + 1}"
            while name.casefold() in taken:
                name += f"_{place + 1}"
            names[place] = name
            taken.add(name.casefold())
    return tuple(names)


def outermost(tree: exp.Expr) -> exp.Expr:
    """The SELECT that names the columns of a question."""
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    return tree


def label(node: exp.Expr) -> str:
    """What Postgres calls a column that is this; nothing if it has no word for it."""
    if isinstance(node, (exp.Window, exp.WithinGroup, exp.Filter, exp.Cast)):
        return label(node.this) or (node.to.sql(dialect="postgres").lower() if isinstance(node, exp.Cast) else "")
    if isinstance(node, exp.Column):
        return node.name
    if type(node) in _OWN:
        return _OWN[type(node)]
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        return node.sql_name().lower()
    return ""
