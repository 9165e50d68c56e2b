"""The names of columns that a question does not name: those that Postgres would give them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

_OWN: dict[type[exp.Expr], str] = {exp.TimestampTrunc: "date_trunc", exp.Case: "case", exp.Boolean: "bool"}


def renamed(text: str, names: Sequence[str]) -> list[str]:
    """The names, with others in the place of those that were only counted."""
    if not any(name == f"_col_{i}" for i, name in enumerate(names)):
        return list(names)
    try:
        tree = parse_one(text, dialect="postgres")
    except (SqlglotError, RecursionError):
        return list(names)
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    columns = tree.expressions if isinstance(tree, exp.Select) else []
    if len(columns) != len(names) or any(column.is_star for column in columns):
        return list(names)
    return [
        _label(column) or "?column?" if name == f"_col_{i}" else name
        for i, (name, column) in enumerate(zip(names, columns, strict=True))
    ]


def _label(node: exp.Expr) -> str:
    if isinstance(node, (exp.Window, exp.WithinGroup, exp.Filter, exp.Cast)):
        return _label(node.this) or (node.to.sql(dialect="postgres").lower() if isinstance(node, exp.Cast) else "")
    if isinstance(node, exp.Column):
        return node.name
    if type(node) in _OWN:
        return _OWN[type(node)]
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        return node.sql_name().lower()
    return ""
