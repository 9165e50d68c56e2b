"""Queries that stay above the noise, and what is known of the groups in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.sql.expression import Field
from discreet.sql.groups import Grouped
from discreet.sql.question import PART
from discreet.sql.rows import Project, Rows
from discreet.sql.shape import shape


@dataclass(frozen=True)
class Above:
    """A query that stays above the noise; whether something noisy is in it."""

    noisy: bool
    query: exp.Query
    partial: str = ""  # the keys of groups of which those with few people are missing
    groups: Grouped | None = None  # what it was, if it groups private rows


@dataclass(frozen=True)
class Joining(Above):
    """A query above the noise that stands in a FROM clause."""

    alias: str = ""
    kind: str = "inner"
    on: tuple[exp.Expr, ...] = ()
    names: tuple[str, ...] = ()


Taken = Rows | Above


def partial_keys(sources: Sequence[Above]) -> str:
    """The keys of groups of which some are missing, in any of several queries."""
    return next((source.partial for source in sources if source.partial), "")


def renamed(taken: Taken, node: exp.Expr) -> Taken:
    """Rows with the column names that an alias gives them: t(a, b)."""
    alias = node.args.get("alias")
    names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if isinstance(taken, Above) or not names:
        return taken
    old = shape(taken).columns
    return Project(taken, tuple((new, Field(o, old[o].type)) for new, o in zip(names, old, strict=True)))


def has_part(select: exp.Select) -> bool:
    """Whether a SELECT reads a noisy table."""
    return any(table.name.startswith(PART) for table in select.find_all(exp.Table))
