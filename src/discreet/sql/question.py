"""A question, taken apart: what must be measured of private rows, and what is computed from the noisy results."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from discreet.sql.aggregate import Aggregate
from discreet.sql.plan import Measurement

PART = "#"  # how the names of noisy tables begin, and no name in a question does


@dataclass(frozen=True)
class Part:
    """One noisy table: its name above the noise, what is measured, and the columns made of that."""

    name: str
    measurement: Measurement
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True)
class Question:
    """Parts that cost, and SQL over them that is free. `direct` says which output columns are a part's own."""

    parts: tuple[Part, ...]
    above: exp.Query
    public: frozenset[str]
    columns: tuple[str, ...]
    direct: tuple[tuple[str, str] | None, ...]  # for each output column: (part, column of the noisy table), or None
    first: tuple[Question, ...] = ()  # what must be answered before: each gives one number for a condition
    partial: tuple[str, ...] = ()  # what is to be told of the groups that it aggregates

    @property
    def every_part(self) -> tuple[Part, ...]:
        """Everything that is measured, in the order in which it is."""
        return (*(part for each in self.first for part in each.parts), *self.parts)

    @property
    def staged(self) -> bool:
        """Whether a noisy number is answered first, and put into a condition."""
        return any(each.parts for each in self.first)

    @property
    def tables(self) -> set[str]:
        """Every table that is read."""
        private = {name for part in self.every_part for name in part.measurement.shape.tables}
        return private.union(self.public, *(each.public for each in self.first))

    @property
    def public_above(self) -> set[str]:
        """The public tables that are read above the noise."""
        return {table.name for table in self.above.find_all(exp.Table)} & self.public


def direct(tree: exp.Query) -> tuple[tuple[str, str] | None, ...]:
    """Which output columns are columns of a noisy table, untouched."""
    found: list[tuple[str, str] | None] = []
    for item in tree.selects if isinstance(tree, exp.Select) else [None] * len(tree.named_selects):
        inner = item.unalias() if item is not None else None
        if isinstance(inner, exp.Column) and inner.table.startswith(PART):
            found.append((inner.table, inner.name))
        else:
            found.append(None)
    return tuple(found)
