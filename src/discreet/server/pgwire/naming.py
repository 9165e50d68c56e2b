"""The names of columns as Postgres gives them: those without a name are called alike if they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp

from discreet.errors import Refusal
from discreet.server.pgwire.lexer import SHORT
from discreet.sql.naming import label, outermost
from discreet.sql.parse import read


def renamed(text: str, names: Sequence[str]) -> list[str]:
    """The names of an answer's columns, with those of Postgres for columns that the text does not name."""
    found = _recent(text) if len(text) <= SHORT else _read(text)
    if len(found) != len(names):
        return list(names)
    return [own if theirs is None else theirs for own, theirs in zip(names, found, strict=True)]


def _read(text: str) -> tuple[str | None, ...]:
    """What Postgres calls each column without a name; None for one that has a name."""
    try:
        tree = outermost(read(text))
    except Refusal:
        return ()
    columns = tree.expressions if isinstance(tree, exp.Select) else []
    if any(column.is_star for column in columns):
        return ()
    return tuple(
        None if isinstance(column, (exp.Alias, exp.Column)) else label(column) or "?column?" for column in columns
    )


_recent = lru_cache(maxsize=512)(_read)
