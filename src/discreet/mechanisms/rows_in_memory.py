"""Relation in memory: columns of arrays, for tests, examples and mechanisms outside an engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.declared.column import Column, with_keys
from discreet.declared.grid import LIMIT, Grid, cells, real, whole
from discreet.declared.group_key import Key, Type, since_1970
from discreet.declared.nearest_steps import NearestSteps
from discreet.declared.table import Caps, column_of, grid_of, keys_of, line_of
from discreet.errors import Refusal
from discreet.exact import Number, count
from discreet.mechanisms.gram import BLOCK, GramSum, gram
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.private_rows import Axis, Bins, rate_of, sides, squares
from discreet.noise import SECURE, Entropy, flips, permutation
from discreet.privacy import AddRemove, Neighbours


@dataclass(frozen=True, eq=False)
class Frame:
    """A relation in memory. Rows with a key that was not declared are left out; numbers are put on their grid.

    A row's image depends on that row alone: no cell is changed to fit the others.
    """

    columns: tuple[Column, ...]
    values: tuple[NDArray[np.generic], ...]
    caps: Caps = Caps(1)
    neighbours: Neighbours = AddRemove()
    owners: NDArray[np.int64] | None = None  # whose each row is, by a number; without it each is somebody else's

    def __post_init__(self) -> None:
        shapes = [value.shape for value in self.values]
        if len(set(shapes)) > 1 or any(len(shape) != 1 for shape in shapes) or len(shapes) != len(self.columns):
            raise Refusal(f"expected {len(self.columns)} columns of one length, got {shapes}")
        settle(self, neighbours=self.neighbours)
        if len(self.schema) < len(self.columns):
            raise Refusal(f"expected columns of different names, got {[column.name for column in self.columns]}")

    @classmethod
    def of(
        cls,
        data: Mapping[str, ArrayLike],
        *columns: Column,
        neighbours: Neighbours = AddRemove(),
        unit: str | None = None,
        max_rows: int = 1,
    ) -> Frame:
        """Columns by name, of which those declared are kept. Each row is a unit, or belongs to that in column `unit`.

        Of a unit with more than `max_rows` rows so many are kept, a uniform choice among its own that is drawn here.
        Rows without a unit are left out.
        """
        names = [column.name for column in columns]
        missing = [name for name in (*names, *([] if unit is None else [unit])) if name not in data]
        if missing:
            raise Refusal(f"the data has no column {missing}", hint=f"it has {sorted(data)}")
        every = tuple(cells(data[name]) for name in names)
        caps = Caps(max_rows)
        if unit is None:
            return cls(columns, every, caps, neighbours)
        owners = _numbered(cells(data[unit]))
        kept = _chosen(owners, caps.rows)
        return cls(columns, tuple(value[kept] for value in every), caps, neighbours, owners[kept])

    @property
    def schema(self) -> Mapping[str, Column]:
        """The declared columns."""
        return {column.name: column for column in self.columns}

    @property
    def _size(self) -> int:
        return self.values[0].size if self.values else 0

    def _places(self, axes: Sequence[Axis]) -> tuple[NDArray[np.int64], tuple[int, ...], NDArray[np.bool_]]:
        """Where each row falls in the table of keys and bins, its shape, and which rows fall anywhere."""
        shape = sides(self, axes)
        place, known = np.zeros(self._size, dtype=np.int64), np.ones(self._size, dtype=np.bool_)
        for axis, side in zip(axes, shape, strict=True):
            code = self._binned(axis) if isinstance(axis, Bins) else _codes(self._cells(axis), keys_of(self, axis))
            place, known = place * side + code, known & (code >= 0)
        return place, shape, known

    def _binned(self, bins: Bins) -> NDArray[np.int64]:
        """The bin of each row, −1 where it is in none; what is no number is in none."""
        steps, numeric = self._along(bins.column)
        edges = np.array(bins.edges, dtype=np.int64)
        edges[-1] += 1  # the last bin has its upper edge
        place = np.searchsorted(edges, steps, side="right") - 1
        return np.where((place < len(bins)) & numeric, place, -1).astype(np.int64)

    def _cells(self, name: str) -> NDArray[np.generic]:
        column_of(self, name)
        return self.values[list(self.schema).index(name)]

    def _steps(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The cells of a column in steps, and which of them are numbers."""
        return grid_of(self, name).steps(self._cells(name)), _numeric(self._cells(name))

    def _along(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The cells of a column in steps of its line, and which of them lie on it."""
        kind = column_of(self, name).type
        if not kind.dated:
            return self._steps(name)
        line, values = line_of(self, name), self._cells(name)
        if values.dtype.kind == "M":
            there = ~np.isnat(values)
            values = values.astype("datetime64[D]" if kind is Type.DATE else "datetime64[s]").astype(np.int64)
            return np.clip(values, line.low, line.high), there
        every = [since_1970(cell, kind) for cell in values.tolist()]
        steps = [line.low if each is None else min(max(each, line.low), line.high) for each in every]
        return np.array(steps, dtype=np.int64), np.array([each is not None for each in every], dtype=np.bool_)

    def counts(self, axes: Sequence[Axis], /, within: Sequence[Axis] = ()) -> NDArray[np.int64]:
        """Rows for each combination of keys and bins. Those that are in no cell of any axis named are left out."""
        place, shape, known = self._places(axes)
        known = known & self._places(within)[2]
        return np.bincount(place[known], minlength=math.prod(shape)).astype(np.int64).reshape(shape)

    def sums(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.int64]:
        """Sums in steps of each numeric column for each combination of keys; the columns are the last axis."""
        place, shape, known = self._places(by)
        sums = np.zeros((math.prod(shape), len(columns)), dtype=np.int64)
        for i, name in enumerate(columns):
            steps, numeric = self._steps(name)
            some = known & numeric
            sums[:, i] = whole(_summed(place[some], steps[some], len(sums), grid_of(self, name).reach))
        return sums.reshape((*shape, len(columns)))

    def products(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.object_]:
        """For each combination of keys the matrix of sums of products of 1 and the columns, in steps, exactly."""
        shape = squares(self, by, columns)
        if not by:
            return self._all_products(columns)
        place, _, known = self._places(by)
        numbers = [np.ones(self._size, dtype=np.int64)]
        for name in columns:
            steps, numeric = self._steps(name)
            numbers.append(steps)
            known = known & numeric
        products = np.zeros((math.prod(shape[:-2]), *shape[-2:]), dtype=object)
        order = np.flatnonzero(known)[np.argsort(place[known], kind="stable")]
        here, starts = np.unique(place[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)] if len(here) else []  # no cell at all where no row is known
        for cell, start, end in zip(here.tolist(), starts.tolist(), ends, strict=True):
            rows = order[start:end]
            products[cell] = gram(np.array([each[rows] for each in numbers]).T)
        return products.reshape(shape)

    def _all_products(self, columns: Sequence[str]) -> NDArray[np.object_]:
        """The matrix of all rows, of as many at once as lie in a cache."""
        grids, held = [grid_of(self, name) for name in columns], [self._cells(name) for name in columns]
        total = GramSum(len(grids), max((grid.reach for grid in grids), default=1))
        plain = all(cells.dtype.kind == "f" and cells.dtype.itemsize <= 8 for cells in held)
        nearest = NearestSteps.of([(grid.low, grid.high, grid.step) for grid in grids]) if plain else None
        room = np.empty((2, len(grids), BLOCK))
        for start in range(0, self._size, BLOCK):
            parts = [each[start : start + BLOCK] for each in held]
            steps, off = room[:, :, : min(BLOCK, self._size - start)]
            if nearest is not None and nearest.told(parts, steps, off):
                total.add(steps)
                continue
            for row, grid, part in zip(steps, grids, parts, strict=True):
                row[:] = grid.steps(part)  # fewer than 2^53, so doubles hold them
            whole = np.logical_and.reduce([np.ones(steps.shape[1], dtype=np.bool_), *map(_numeric, parts)])
            total.add(steps[:, whole])
        return total.total()

    def quantile_counts(self, column: str, edges: Sequence[int], /) -> NDArray[np.int64]:
        """Rows with less than edges[0] steps, in [edges[0], edges[1]), …, and from the last edge on."""
        cuts = np.asarray(edges, dtype=np.int64)
        if cuts.ndim != 1 or np.any(np.diff(cuts) < 0):
            raise Refusal(f"expected rising edges, got {edges}")
        steps, numeric = self._steps(column)
        place = np.searchsorted(cuts, steps[numeric], side="right")
        return np.bincount(place, minlength=cuts.size + 1).astype(np.int64)

    def units(self, column: str, /) -> Mapping[Key, int]:
        """The distinct units of each value of a column of text or whole numbers."""
        owners = self._owners("the units of a value are counted")
        kind, found = column_of(self, column).type, dict[Key, set[int]]()
        for cell, owner in zip(self._cells(column).tolist(), owners.tolist(), strict=True):
            if _of_type(cell, kind):
                found.setdefault(cell, set()).add(owner)
        return {key: len(units) for key, units in found.items()}

    def keyed(self, keys: Mapping[str, Sequence[Key]], /) -> Frame:
        """The same rows, of which columns have these keys."""
        own = tuple(with_keys(each, keys[each.name]) if each.name in keys else each for each in self.columns)
        return replace(self, columns=own)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows, their cells as they came, in an order that is drawn anew."""
        order = permutation(self._size)
        return iter(zip(*(value[order].tolist() for value in self.values), strict=True))

    def batches(
        self, size: int, /, numbers: Collection[str] = (), *, rng: Entropy = SECURE
    ) -> Iterator[pa.RecordBatch]:
        """All rows in an order that is drawn anew, so many at once: keys as their places, numbers in steps."""
        most, order = count(size, "size"), permutation(self._size, rng=rng)
        read: dict[str, Callable[[NDArray[np.int64]], pa.Array]] = {}
        for name, column in self.schema.items():
            if column.keys is not None and name not in numbers:
                codes = _codes(self._cells(name), column.keys).astype(np.int32)
                read[name] = partial(_taken, codes)
            elif column.grid is not None or name in numbers:
                read[name] = partial(_stepped, grid_of(self, name), self._cells(name))
        parts = (order[start : start + most] for start in range(0, self._size, most))
        return (pa.record_batch([each(part) for each in read.values()], list(read)) for part in parts)

    def sample(self, rate: Number, /, *, rng: Entropy = SECURE) -> Frame:
        """The relation of a Poisson sample of the units: each is in it with this probability, by a fresh coin."""
        return self._kept(self._heads(rate, rng))

    def split(self, rate: Number, /, *, rng: Entropy = SECURE) -> tuple[Frame, Frame]:
        """The relation of a Poisson sample of the units, and that of all others."""
        heads = self._heads(rate, rng)
        return self._kept(heads), self._kept(~heads)

    def _heads(self, rate: Number, rng: Entropy) -> NDArray[np.bool_]:
        """The coin of each row's unit."""
        chance = rate_of(rate)
        owners = np.unique(self._owners("units are sampled"), return_inverse=True)[1]
        heads: NDArray[np.bool_] = flips(chance, int(owners.max(initial=-1)) + 1, rng=rng)[owners]
        return heads

    def _owners(self, why: str) -> NDArray[np.int64]:
        """Whose each row is, by a number."""
        if self.owners is None and self.caps.rows > 1:
            raise Refusal(
                f"{why}, and whose the rows are is not known, {self.caps.rows} of one unit at most",
                hint="Frame.of(…, unit=COLUMN)",
            )
        return np.arange(self._size) if self.owners is None else self.owners

    def _kept(self, heads: NDArray[np.bool_]) -> Frame:
        owners = None if self.owners is None else self.owners[heads]
        return replace(self, values=tuple(value[heads] for value in self.values), owners=owners)


def _taken(values: NDArray[np.generic], places: NDArray[np.int64]) -> pa.Array:
    """The values at these places."""
    return pa.array(values[places])


def _stepped(grid: Grid, cells: NDArray[np.generic], places: NDArray[np.int64]) -> pa.Array:
    """The cells at these places in steps, NULL for what is no number."""
    own = cells[places]
    numeric = _numeric(own)
    return pa.array(grid.steps(own), mask=None if numeric.all() else ~numeric)


def _of_type(cell: object, kind: Type) -> bool:
    """Whether a cell is text, or a whole number, in a column of that."""
    if kind is Type.VARCHAR:
        return isinstance(cell, str)
    return kind is Type.BIGINT and isinstance(cell, int) and not isinstance(cell, bool)


def _numbered(owners: NDArray[np.generic]) -> NDArray[np.int64]:
    """A number for each different owner, −1 where there is none."""
    known: dict[object, int] = {}

    def number(cell: object) -> int:
        try:
            return -1 if cell is None or cell != cell else known.setdefault(cell, len(known))  # noqa: PLR0124  # NaN
        except (TypeError, ValueError):  # it cannot be compared, so it is nobody
            return -1

    return np.fromiter(map(number, owners.tolist()), dtype=np.int64, count=owners.size)


def _chosen(owners: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Which rows are kept: at most so many of each owner, of its own a uniform choice, and none that nobody owns."""
    order = permutation(owners.size)
    order = order[np.argsort(owners[order], kind="stable")]  # by owner, and of each in a uniform order
    _, starts, sizes = np.unique(owners[order], return_index=True, return_counts=True)
    kept = np.zeros(owners.size, dtype=np.bool_)
    kept[order] = np.arange(owners.size) - np.repeat(starts, sizes) < most
    return kept & (owners >= 0)


def _numeric(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which cells are numbers."""
    if values.dtype.kind in "iub":
        return np.ones(values.size, dtype=np.bool_)
    if values.dtype.kind == "f":
        return np.asarray(~np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(values.size, dtype=np.bool_)
    return np.fromiter(map(_is_number, values.tolist()), dtype=np.bool_, count=values.size)


def _is_number(cell: object) -> bool:
    """Whether a cell is a number, and not what is called not a number."""
    number = real(cell)
    return not (isinstance(number, float) and math.isnan(number))


def _codes(values: NDArray[np.generic], keys: tuple[Key, ...]) -> NDArray[np.int64]:
    """The place of each value among the keys, −1 where it is none of them."""
    places: dict[object, int] = {key: i for i, key in enumerate(keys)}
    if values.dtype.kind == "M":  # Python has days and microseconds, and numbers for anything finer
        values = values.astype("datetime64[us]")
    return places_of(values, partial(_place, places=places))


def places_of(values: NDArray[np.generic], place: Callable[[object], int]) -> NDArray[np.int64]:
    """The place of each cell, by a rule that looks at that cell alone: asked once of numbers that are the same."""
    kind = values.dtype
    if kind.isnative and (kind.kind in "biu" or (kind.kind == "f" and kind.itemsize in {4, 8})):
        coded = pa.array(values).dictionary_encode()
        every = [place(cell) for cell in coded.dictionary.to_pylist()]
        told: NDArray[np.int64] = np.array(every, dtype=np.int64)[coded.indices.to_numpy()]
        return told
    return np.fromiter(map(place, values.tolist()), dtype=np.int64, count=values.size)


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


def _summed(
    place: NDArray[np.int64], values: NDArray[np.int64] | NDArray[np.object_], size: int, reach: int
) -> NDArray[np.int64] | NDArray[np.object_]:
    """Sums by place, in 64 bits where they cannot wrap around, and else in Python's integers."""
    kind = np.int64 if values.size * reach <= LIMIT else object
    total = np.zeros(size, dtype=kind)
    np.add.at(total, place, values.astype(kind))
    return total.astype(object)
