"""Rows as a mechanism sees them: public declarations, and sums that run where the rows live."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Refusal
from discreet.exact import count
from discreet.mechanisms.grid import Grid, cells
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.whole import LIMIT, whole
from discreet.privacy import AddRemove, Neighbours

Cell = str | int | bool | None

MOST_CELLS = 10**9  # of a table that is held in memory


@dataclass(frozen=True)
class Column:
    """What is declared of a column, and so public: its keys if it has a list of them, its grid if it is a number."""

    name: str
    keys: tuple[Cell, ...] | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        if self.keys is not None and (not self.keys or len(set(self.keys)) < len(self.keys)):
            raise Refusal(f"expected different keys for column {self.name!r}, at least one, got {self.keys}")


@dataclass(frozen=True)
class Caps:
    """What one unit can do: its rows in the relation, and the groups it appears in."""

    max_rows: int = 1
    max_groups: int = 1

    def __post_init__(self) -> None:
        settle(self, max_rows=count(self.max_rows, "max_rows"), max_groups=count(self.max_groups, "max_groups"))


class Relation(Protocol):
    """A table with owners. Its counts and sums are exact and private: they only feed a mechanism."""

    @property
    def schema(self) -> Mapping[str, Column]:
        """The declared columns."""
        ...

    @property
    def caps(self) -> Caps:
        """Bounds on a unit that hold for every method below."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which relations differ in one unit."""
        ...

    def counts(self, columns: Sequence[str], /) -> NDArray[np.int64]:
        """Rows for each combination of the columns' declared keys, one axis a column."""
        ...

    def sums(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.int64]:
        """Sums in steps of each numeric column for each combination of keys; the columns are the last axis."""
        ...

    def quantile_counts(self, column: str, edges: Sequence[int], /) -> NDArray[np.int64]:
        """Rows with less than edges[0] steps, in [edges[0], edges[1]), …, and from the last edge on."""
        ...

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows, in no order that means anything. The last resort."""
        ...


@dataclass(frozen=True, eq=False)
class Frame:
    """A relation in memory. Rows with a key that was not declared are left out; numbers are put on their grid.

    A row's image depends on that row alone: no cell is changed to fit the others.
    """

    columns: tuple[Column, ...]
    values: tuple[NDArray[np.generic], ...]
    caps: Caps = Caps()
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        shapes = [value.shape for value in self.values]
        if len(set(shapes)) > 1 or any(len(shape) != 1 for shape in shapes) or len(shapes) != len(self.columns):
            raise Refusal(f"expected {len(self.columns)} columns of one length, got {shapes}")
        settle(self, neighbours=self.neighbours)
        if len(self.schema) < len(self.columns):
            raise Refusal(f"expected columns of different names, got {[column.name for column in self.columns]}")

    @classmethod
    def of(cls, data: Mapping[str, ArrayLike], *columns: Column, neighbours: Neighbours = AddRemove()) -> Frame:
        """Columns by name, one row a unit. Those declared are kept."""
        missing = [column.name for column in columns if column.name not in data]
        if missing:
            raise Refusal(f"the data has no column {missing}", hint=f"it has {sorted(data)}")
        return cls(columns, tuple(cells(data[column.name]) for column in columns), neighbours=neighbours)

    @property
    def schema(self) -> Mapping[str, Column]:
        """The declared columns."""
        return {column.name: column for column in self.columns}

    def _places(self, columns: Sequence[str]) -> tuple[NDArray[np.int64], tuple[int, ...], NDArray[np.bool_]]:
        """Where each row falls in the table of keys, its shape, and which rows fall anywhere."""
        keys = [self._keys(name) for name in columns]
        shape = tuple(len(known) for known in keys)
        if math.prod(shape) > MOST_CELLS:
            raise Refusal(f"a table of shape {shape} has more than {MOST_CELLS} cells", hint="ask for fewer columns")
        size = self.values[0].size if self.values else 0
        place, known = np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.bool_)
        for name, declared in zip(columns, keys, strict=True):
            code = _codes(self._find(name)[1], declared)
            place, known = place * len(declared) + code, known & (code >= 0)
        return place, shape, known

    def _keys(self, name: str) -> tuple[Cell, ...]:
        column, _ = self._find(name)
        if column.keys is None:
            raise Refusal(f"column {name!r} has no declared keys", hint="declare them, or buy them by key selection")
        return column.keys

    def _find(self, name: str) -> tuple[Column, NDArray[np.generic]]:
        for column, value in zip(self.columns, self.values, strict=True):
            if column.name == name:
                return column, value
        raise Refusal(f"there is no column {name!r}", hint=f"there are {[column.name for column in self.columns]}")

    def _grid(self, name: str) -> Grid:
        column, _ = self._find(name)
        if column.grid is None:
            raise Refusal(f"column {name!r} has no declared bounds and step", hint="declare them: data never does")
        return column.grid

    def counts(self, columns: Sequence[str], /) -> NDArray[np.int64]:
        """Rows for each combination of the columns' declared keys, one axis a column."""
        place, shape, known = self._places(columns)
        return np.bincount(place[known], minlength=math.prod(shape)).astype(np.int64).reshape(shape)

    def sums(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.int64]:
        """Sums in steps of each numeric column for each combination of keys; the columns are the last axis."""
        grids = [self._grid(name) for name in columns]
        place, shape, known = self._places(by)
        sums = [
            _summed(place[known], grid.steps(self._find(name)[1])[known], math.prod(shape), grid.reach)
            for name, grid in zip(columns, grids, strict=True)
        ]
        empty = np.zeros((math.prod(shape), 0), dtype=np.int64)
        return (np.stack(sums, axis=1) if sums else empty).reshape((*shape, len(columns)))

    def quantile_counts(self, column: str, edges: Sequence[int], /) -> NDArray[np.int64]:
        """Rows with less than edges[0] steps, in [edges[0], edges[1]), …, and from the last edge on."""
        cuts = np.asarray(edges, dtype=np.int64)
        if cuts.ndim != 1 or np.any(np.diff(cuts) < 0):
            raise Refusal(f"expected rising edges, got {edges}")
        place = np.searchsorted(cuts, self._grid(column).steps(self._find(column)[1]), side="right")
        return np.bincount(place, minlength=cuts.size + 1).astype(np.int64)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows, their cells as they came."""
        return iter(zip(*(value.tolist() for value in self.values), strict=True))


def _codes(values: NDArray[np.generic], keys: tuple[Cell, ...]) -> NDArray[np.int64]:
    """The place of each value among the keys, −1 where it is none of them."""
    places: dict[object, int] = {key: i for i, key in enumerate(keys)}
    look = (lambda cell: _place(cell, places)) if values.dtype.kind == "O" else (lambda cell: places.get(cell, -1))
    return np.fromiter(map(look, values.tolist()), dtype=np.int64, count=values.size)


def _place(cell: object, places: Mapping[object, int]) -> int:
    try:
        return places.get(cell, -1)
    except (TypeError, ValueError):  # not hashable, so no key; numpy says the latter of a duration without a unit
        return -1


def _summed(place: NDArray[np.int64], steps: NDArray[np.int64], size: int, reach: int) -> NDArray[np.int64]:
    """Sums by place. Where 64 bits could wrap around, in Python's integers, clamped at the end: none moves further."""
    if steps.size * reach <= LIMIT:
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, place, steps)
        return total
    exactly = [0] * size
    for i, step in zip(place.tolist(), steps.tolist(), strict=True):
        exactly[i] += step
    return whole(exactly)
