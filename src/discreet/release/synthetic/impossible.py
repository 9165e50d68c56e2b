"""Impossible records: combinations of cells that, as everybody knows, no record has. No synthetic row has one either.

They are declared, never seen in the data; so rows that keep to them tell nothing more. Records that break them are
counted as any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.release.interval_tree import Reals, Whole
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.compression import Compression

Rule = tuple[tuple[int, tuple[int, ...]], ...]  # columns, each with some of its cells: no record is in one of each
Allowed = NDArray[np.bool_]

MOST_RULES = 1 << 14
MOST_CELLS = 1 << 22  # of the columns of one rule together


@dataclass(frozen=True)
class Impossible:
    """What no record can be, over the cells of a domain."""

    domain: Domain
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        rules = tuple(_checked(rule, self.domain) for rule in _listed(self.rules))
        if len(rules) > MOST_RULES:
            raise Refusal(f"expected at most {MOST_RULES} impossible combinations, got {len(rules)}")
        object.__setattr__(self, "rules", rules)

    @cached_property
    def tables(self) -> dict[Axes, Allowed]:
        """For the columns of each rule which of their cells are possible; rules over the same columns are one table."""
        found: dict[Axes, Allowed] = {}
        for rule in self.rules:
            axes = tuple(column for column, _ in rule)
            table = found.setdefault(axes, np.ones(self.domain.shape(axes), dtype=np.bool_))
            table[np.ix_(*(cells for _, cells in rule))] = False
        return found

    def merged(self, merging: Compression) -> dict[Axes, Allowed]:
        """The same over merged cells: one is possible if any of those that were merged is. Others go."""
        told = {axes: merging.merged(table.astype(np.int64), axes) > 0 for axes, table in self.tables.items()}
        return {axes: table for axes, table in told.items() if not table.all()}

    def possible(self, axes: Axes) -> Reals:
        """1 for each cell of a table that is possible by the rules about its columns, 0 for others."""
        told: Reals = np.ones(())
        for own, table in self.tables.items():
            if set(own) <= set(axes):
                told = told * table.reshape([self.domain.sizes[i] if i in own else 1 for i in axes])
        return told

    def broken(self, rows: Whole) -> Allowed:
        """Which rows cannot be."""
        broken = np.zeros(len(rows), dtype=np.bool_)
        for axes, table in self.tables.items():
            broken |= ~table[tuple(rows[:, i] for i in axes)]
        return broken


def _listed(rules: object) -> Sequence[object]:
    if isinstance(rules, tuple):
        return rules
    raise Refusal(f"expected impossible combinations as a tuple, got {shown(rules)}")


def _checked(rule: object, domain: Domain) -> Rule:
    """A rule, its columns in rising order."""
    try:
        told = sorted((count(column, "column", least=0), _cells(cells)) for column, cells in rule)  # type: ignore[attr-defined]  # or what nonsense raises
    except (TypeError, ValueError):
        raise Refusal(f"expected an impossible combination as columns with their cells, got {shown(rule)}") from None
    columns = [column for column, _ in told]
    if not told or len(set(columns)) < len(columns) or columns[-1] >= len(domain.sizes):
        raise Refusal(f"expected an impossible combination of different columns, got {shown(rule)}")
    if any(not cells or cells[-1] >= domain.sizes[column] for column, cells in told):
        raise Refusal(f"expected an impossible combination with some cells of each column, got {shown(rule)}")
    if math.prod(domain.sizes[column] for column in columns) > MOST_CELLS:
        raise Refusal(
            f"the columns of an impossible combination have more than {MOST_CELLS:,} cells together",
            hint="name fewer columns in one, or cut numbers into fewer bins",
        )
    return tuple(told)


def _cells(cells: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({count(cell, "cell", least=0) for cell in cells}))
