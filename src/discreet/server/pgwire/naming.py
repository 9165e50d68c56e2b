"""The names of columns that a question does not name: those that Postgres would give them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.server.pgwire.lexer import SHORT

_COUNTED = "_col_"  # with its number behind it: what the planner calls a column without a name
_OWN: dict[type[exp.Expr], str] = {exp.TimestampTrunc: "date_trunc", exp.Case: "case", exp.Boolean: "bool"}


def renamed(text: str, names: Sequence[str]) -> list[str]:
    """The names, with others in the place of those that were only counted."""
    counted = [name == f"{_COUNTED}{i}" for i, name in enumerate(names)]
    found = labels(text) if any(counted) else ()
    if len(found) != len(names):
        return list(names)
    return [label if nameless else name for name, label, nameless in zip(names, found, counted, strict=True)]


def spelled(text: str, name: str) -> str:
    """One of the names, or another in its place if it was only counted."""
    found = labels(text) if name.startswith(_COUNTED) else ()
    return {f"{_COUNTED}{i}": label for i, label in enumerate(found)}.get(name, name)


def labels(text: str) -> tuple[str, ...]:
    """What Postgres would call each column of a question; nothing if that is not seen in its words."""
    return _recent(text) if len(text) <= SHORT else _read(text)


def _read(text: str) -> tuple[str, ...]:
    try:
        tree = parse_one(text, dialect="postgres")
    except (SqlglotError, RecursionError):
        return ()
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    columns = tree.expressions if isinstance(tree, exp.Select) else []
    if any(column.is_star for column in columns):
        return ()
    return tuple(_label(column) or "?column?" for column in columns)


_recent = lru_cache(maxsize=512)(_read)


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
