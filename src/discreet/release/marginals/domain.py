"""Domain of contingency tables: how many keys each column has, and which tables over them are meant.

A table is known by its axes, the places of its columns in rising order. Nothing here has the size of the full table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from discreet.errors import Refusal
from discreet.exact import count, positive, shown

Axes: TypeAlias = tuple[int, ...]

MOST_CELLS = 10**8  # in all tables together: each is a number in memory
MOST_TABLES = 1 << 16


@dataclass(frozen=True)
class Domain:
    """Columns by name, and the number of declared keys of each."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        columns, sizes = _listed(self.columns, "columns"), _listed(self.sizes, "sizes")
        if not all(isinstance(name, str) for name in columns):
            raise Refusal(f"expected columns as a tuple of names, got columns={shown(columns)}")
        if not columns or len(set(columns)) < len(columns):
            raise Refusal(f"expected columns of different names, at least one, got columns={shown(columns)}")
        object.__setattr__(self, "sizes", tuple(count(size, "sizes") for size in sizes))
        if len(sizes) != len(columns):
            given = f"columns={shown(columns)} and sizes={shown(sizes)}"
            raise Refusal(f"expected sizes with the number of keys of each column, got {given}")

    def axes(self, names: object) -> Axes:
        """The places of some columns, in rising order."""
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise Refusal(f"expected the columns of a table as a tuple of names, got {shown(names)}")
        unknown = [name for name in names if name not in self.columns]
        if unknown:
            raise Refusal(f"there is no column {shown(unknown)}", hint=f"there are {shown(self.columns)}")
        if len(set(names)) < len(names):
            raise Refusal(f"expected every column of a table once, got {shown(names)}")
        return tuple(sorted(self.columns.index(name) for name in names))

    def names(self, axes: Axes) -> tuple[str, ...]:
        """The columns of a table."""
        return tuple(self.columns[i] for i in axes)

    def shape(self, axes: Axes) -> tuple[int, ...]:
        """Of the table: an axis for each column."""
        return tuple(self.sizes[i] for i in axes)

    def cells(self, axes: Axes) -> int:
        """The number of its cells."""
        return math.prod(self.shape(axes))

    def lively(self, axes: Axes) -> Axes:
        """Without the columns of one key, which say nothing."""
        return tuple(i for i in axes if self.sizes[i] > 1)

    def centred(self, axes: Axes) -> Fraction:
        """Π (n − 1)/n: the diagonal of the projection onto what only these columns together show."""
        return math.prod((Fraction(self.sizes[i] - 1, self.sizes[i]) for i in axes), start=Fraction(1))


@dataclass(frozen=True)
class Workload:
    """The tables that somebody wants, each with the weight of its error."""

    domain: Domain
    tables: tuple[Axes, ...]
    weights: tuple[Fraction, ...]

    @classmethod
    def of(cls, domain: Domain, tables: object, weights: object) -> Workload:
        """Of tables by their columns' names; no weights are weights of 1."""
        if not isinstance(tables, tuple) or not tables:
            raise Refusal(f"expected a workload of tables, at least one, got workload={shown(tables)}")
        wanted = tuple(domain.axes(names) for names in tables)
        if len(set(wanted)) < len(wanted):
            raise Refusal(f"expected every table of the workload once, got workload={shown(tables)}")
        if not isinstance(weights, tuple) or len(weights) not in (0, len(wanted)):
            raise Refusal(f"expected weights as a tuple, none or one a table, got weights={shown(weights)}")
        told = tuple(positive(weight, "weights") for weight in weights) or (Fraction(1),) * len(wanted)
        if sum(2 ** len(axes) for axes in maximal(wanted)) > 16 * MOST_TABLES:
            raise Refusal(f"the workload has more than {MOST_TABLES} sub-tables", hint="ask for tables of less columns")
        below = closure(wanted)
        cells = sum(domain.cells(axes) for axes in below)
        if len(below) > MOST_TABLES or cells > MOST_CELLS:
            size = f"{len(below)} tables of {cells} cells in all"
            limit = f"at most {MOST_TABLES} tables of {MOST_CELLS} cells"
            raise Refusal(f"the workload with its sub-tables has {size}, expected {limit}", hint="ask for less columns")
        return cls(domain, wanted, told)

    @property
    def residuals(self) -> tuple[Axes, ...]:
        """All sub-tables of the wanted ones in which something can vary, small ones first."""
        return closure(self.domain.lively(axes) for axes in self.tables)

    @property
    def needs(self) -> Mapping[Axes, Fraction]:
        """How much each residual's variance counts in the weighted sum of the variances of all wanted cells.

        A table A has N_A cells, in each of which the residual of B ⊆ A has (N_B/N_A)² Π_B (n − 1)/n of its spread.
        """
        total = dict.fromkeys(self.residuals, Fraction(0))
        for axes, weight in zip(self.tables, self.weights, strict=True):
            cells = self.domain.cells(axes)
            for part in subsets(self.domain.lively(axes)):
                total[part] += weight * Fraction(self.domain.cells(part) ** 2, cells) * self.domain.centred(part)
        return total


def _listed(value: object, name: str) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return value
    raise Refusal(f"expected {name} as a tuple, got {name}={shown(value)}")


def subsets(axes: Axes) -> list[Axes]:
    """All of them, small ones first."""
    return [part for size in range(len(axes) + 1) for part in combinations(axes, size)]


def closure(tables: Iterable[Axes]) -> tuple[Axes, ...]:
    """The tables and all their sub-tables, small ones first."""
    everything = {part for axes in set(tables) for part in subsets(axes)}
    return tuple(sorted(everything, key=lambda axes: (len(axes), axes)))


def maximal(tables: Iterable[Axes]) -> tuple[Axes, ...]:
    """Those that are part of no other."""
    kept: list[Axes] = []
    for axes in sorted(set(tables), key=lambda axes: (-len(axes), axes)):
        if not any(set(axes) <= set(larger) for larger in kept):
            kept.append(axes)
    return tuple(sorted(kept, key=lambda axes: (len(axes), axes)))
