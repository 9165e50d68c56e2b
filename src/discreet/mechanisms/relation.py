"""Rows as a mechanism sees them: public declarations, and sums that run where the rows live."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Ground, Refusal
from discreet.exact import count, shown, spoken
from discreet.mechanisms.grid import LIMIT, Grid, cells, whole
from discreet.mechanisms.mechanism import Takes, settle
from discreet.noise import SECURE, Entropy, permutation
from discreet.privacy import AddRemove, Loss, Neighbours

Cell = str | int | bool | None
T_co = TypeVar("T_co", covariant=True)

MOST_CELLS = 10**9  # of a table that is held in memory
MOST_UNEVEN = 1024  # bins of many widths: each is a comparison that an engine has to plan
_FARTHEST = 1 << 53  # steps from zero: no grid reaches further


@dataclass(frozen=True)
class Column:
    """What is declared of a column, and so public: its keys if it has a list of them, its grid if it is a number."""

    name: str
    keys: tuple[Cell, ...] | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        if self.keys is None:
            return
        for key in self.keys:
            if key is not None and not isinstance(key, (str, int)):
                raise Refusal(
                    f"expected keys of column {self.name!r} that are text, whole numbers, true or false, or None, "
                    f"got {shown(key)}",
                    hint="write days and numbers with digits after the point as text: '2026-01-31', '0.5'",
                    ground=Ground.VALUE,
                )
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise Refusal(f"expected different keys for column {self.name!r}, at least one, got {self.keys}")


@dataclass(frozen=True)
class Caps:
    """What one unit can do: its rows in the relation, which may all be in different groups."""

    max_rows: int = 1

    def __post_init__(self) -> None:
        settle(self, max_rows=count(self.max_rows, "max_rows"))

    def __repr__(self) -> str:
        """As it was when groups were counted too, though nothing bounded them: the keys of stored answers have it."""
        return f"Caps(max_rows={self.max_rows}, max_groups=1)"


@dataclass(frozen=True)
class Bins:
    """A numeric column cut into intervals at edges, in steps of its grid. Each has its lower edge, the last both."""

    column: str
    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        edges = tuple(count(edge, "edges", least=-_FARTHEST) for edge in self.edges)
        if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
            raise Refusal(f"expected rising edges of bins of {self.column!r}, at least two, got {shown(self.edges)}")
        settle(self, edges=edges)

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def even(self) -> bool:
        """Whether all bins but the first and the last have one width, so that a place among them is computed."""
        return len({high - low for low, high in pairwise(self.edges[1:-1])}) <= 1


Axis = str | Bins  # a column by its declared keys, or cut into bins


class Outline(Protocol):
    """What is public about rows with owners."""

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


class Relation(Outline, Protocol):
    """A table with owners. Its counts and sums are exact and private: they only feed a mechanism."""

    def counts(self, axes: Sequence[Axis], /, within: Sequence[Axis] = ()) -> NDArray[np.int64]:
        """Rows for each combination of keys and bins, one axis a column.

        Rows that are in no cell of an axis are left out, and so are those that are in none of an axis of `within`.
        """
        ...

    def sums(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.int64]:
        """Sums in steps of each numeric column for each combination of keys; the columns are the last axis.

        A sum beyond ±2^62 counts as that.
        """
        ...

    def quantile_counts(self, column: str, edges: Sequence[int], /) -> NDArray[np.int64]:
        """Rows with less than edges[0] steps, in [edges[0], edges[1]), …, and from the last edge on."""
        ...

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows, in an order that is drawn anew. The last resort."""
        ...


class TableMechanism(Protocol[T_co]):
    """A mechanism over a relation. Its promise is for all rows of a unit that has no more than its caps."""

    @property
    def takes(self) -> Takes:
        """`Takes.RELATION`."""
        ...

    @property
    def privacy(self) -> Loss:
        """What it loses when one unit changes."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """How a unit changes."""
        ...

    @property
    def caps(self) -> Caps:
        """How much of one unit it may be shown."""
        ...

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> T_co:
        """Its answer."""
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

    def _places(self, axes: Sequence[Axis]) -> tuple[NDArray[np.int64], tuple[int, ...], NDArray[np.bool_]]:
        """Where each row falls in the table of keys and bins, its shape, and which rows fall anywhere."""
        shape = sides(self, axes)
        size = self.values[0].size if self.values else 0
        place, known = np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.bool_)
        for axis, side in zip(axes, shape, strict=True):
            code = self._binned(axis) if isinstance(axis, Bins) else _codes(self._find(axis)[1], self._keys(axis))
            place, known = place * side + code, known & (code >= 0)
        return place, shape, known

    def _binned(self, bins: Bins) -> NDArray[np.int64]:
        """The bin of each row, −1 where it is in none; what is no number is in none."""
        _, values = self._find(bins.column)
        steps, edges = self._grid(bins.column).steps(values), np.array(bins.edges, dtype=np.int64)
        edges[-1] += 1  # the last bin has its upper edge
        place = np.searchsorted(edges, steps, side="right") - 1
        return np.where((place < len(bins)) & _numeric(values), place, -1).astype(np.int64)

    def _keys(self, name: str) -> tuple[Cell, ...]:
        return keys_of(self, name)

    def _find(self, name: str) -> tuple[Column, NDArray[np.generic]]:
        for column, value in zip(self.columns, self.values, strict=True):
            if column.name == name:
                return column, value
        raise Refusal(f"there is no column {name!r}", hint=f"there are {[column.name for column in self.columns]}")

    def _grid(self, name: str) -> Grid:
        return grid_of(self, name)

    def counts(self, axes: Sequence[Axis], /, within: Sequence[Axis] = ()) -> NDArray[np.int64]:
        """Rows for each combination of keys and bins. Those that are in no cell of any axis named are left out."""
        place, shape, known = self._places(axes)
        known = known & self._places(within)[2]
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
        """All rows, their cells as they came, in an order that is drawn anew."""
        order = permutation(self.values[0].size if self.values else 0)
        return iter(zip(*(value[order].tolist() for value in self.values), strict=True))


def column_of(known: Outline, name: str) -> Column:
    """What is declared of a column."""
    if name not in known.schema:
        raise Refusal(f"there is no column {shown(name)}", hint=f"there are {list(known.schema)}")
    return known.schema[name]


def keys_of(known: Outline, name: str) -> tuple[Cell, ...]:
    """The declared keys of a column."""
    keys = column_of(known, name).keys
    if keys is None:
        raise Refusal(f"column {name!r} has no declared keys", hint="declare them, or buy them by key selection")
    return keys


def grid_of(known: Outline, name: str) -> Grid:
    """The declared grid of a column."""
    grid = column_of(known, name).grid
    if grid is None:
        raise Refusal(f"column {name!r} has no declared bounds and step", hint="declare them: data never does")
    return grid


def sides(known: Outline, axes: Sequence[Axis]) -> tuple[int, ...]:
    """How many cells a table has along each axis; refuses axes that are not declared, or reach beyond the bounds."""
    for bins in axes:
        if isinstance(bins, Bins):
            grid = grid_of(known, bins.column)
            if len(bins) > MOST_UNEVEN and not bins.even:
                raise Refusal(
                    f"{len(bins)} bins of {bins.column!r} have many widths, and more than {MOST_UNEVEN} must have one",
                    hint="give them as lower:upper:width",
                )
            if not grid.low <= bins.edges[0] < bins.edges[-1] <= grid.high + 1:
                ends = f"{spoken(grid.value(bins.edges[0]))} to {spoken(grid.value(bins.edges[-1]))}"
                declared = f"{spoken(grid.lower)} to {spoken(grid.upper)}"
                raise Refusal(
                    f"the bins of {bins.column!r} go from {ends}, and its declared bounds from {declared}",
                    hint="take bins within the bounds: beyond them there is nothing to count",
                )
    shape = tuple(len(axis) if isinstance(axis, Bins) else len(keys_of(known, axis)) for axis in axes)
    if math.prod(shape) > MOST_CELLS:
        raise Refusal(f"a table of shape {shape} has more than {MOST_CELLS} cells", hint="ask for fewer columns")
    return shape


def _numeric(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which cells are numbers."""
    if values.dtype.kind in "iub":
        return np.ones(values.size, dtype=np.bool_)
    if values.dtype.kind == "f":
        return ~np.isnan(values.astype(np.float64))
    if values.dtype.kind != "O":
        return np.zeros(values.size, dtype=np.bool_)
    return np.fromiter(map(_is_number, values.tolist()), dtype=np.bool_, count=values.size)


def _is_number(cell: object) -> bool:
    """Whether a cell is a number, and not what is called not a number."""
    if isinstance(cell, (int, Fraction)):
        return True
    if isinstance(cell, (float, np.floating)):
        return not math.isnan(cell)
    return isinstance(cell, Decimal) and not cell.is_nan()


def _codes(values: NDArray[np.generic], keys: tuple[Cell, ...]) -> NDArray[np.int64]:
    """The place of each value among the keys, −1 where it is none of them."""
    places: dict[object, int] = {key: i for i, key in enumerate(keys)}
    if values.dtype.kind == "M":  # Python has days and microseconds, and numbers for anything finer
        values = values.astype("datetime64[us]")
    return np.fromiter((_place(cell, places) for cell in values.tolist()), dtype=np.int64, count=values.size)


def _place(cell: object, places: Mapping[object, int]) -> int:
    try:
        place = places.get(cell, -1)
    except (TypeError, ValueError):  # not hashable, so no key; numpy says the latter of a duration without a unit
        return -1
    return place if place >= 0 else max((places.get(text, -1) for text in _spelled(cell)), default=-1)


def _spelled(cell: object) -> tuple[str, ...]:
    """The texts that mean this value: days and numbers with digits after the point are keys as text."""
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell), str(cell.date())
    if isinstance(cell, date):
        return (str(cell),)
    return (repr(float(cell) + 0.0).removesuffix(".0"),) if isinstance(cell, (float, np.floating)) else ()


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
