"""The names of columns as Postgres gives them: those without a name are called alike if they are alike."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import Refusal
from discreet.sql.column_names import label, outermost
from discreet.sql.parse import read

Labels = tuple[str | None, ...]


def labels(text: str) -> Labels:
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


def renamed(found: Labels, names: Sequence[str]) -> list[str]:
    """The names of an answer's columns, with those of Postgres for columns that the text does not name."""
    if len(found) != len(names):
        return list(names)
    return [own if theirs is None else theirs for own, theirs in zip(names, found, strict=True)]
