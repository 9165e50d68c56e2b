"""The rows that a SELECT names, as a mechanism sees them: counted and summed in the engine, never pulled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.duckdb import DuckStore
from discreet.mechanisms import Axis, Bins, Caps, Column
from discreet.mechanisms.grid import whole
from discreet.mechanisms.relation import grid_of, keys_of, sides
from discreet.privacy import Neighbours
from discreet.sql.cells import Cut, Keyed, Side
from discreet.sql.key import Type, canonical
from discreet.sql.range import Grid
from discreet.sql.rows import Rows
from discreet.sql.shape import shape


@dataclass(frozen=True, eq=False)
class DuckRelation:
    """A relation in DuckDB. A unit has at most `caps.max_rows` rows in it, the same ones whatever is asked."""

    store: DuckStore
    tree: Rows
    schema: Mapping[str, Column]
    caps: Caps
    neighbours: Neighbours

    def counts(self, axes: Sequence[Axis], /, within: Sequence[Axis] = ()) -> NDArray[np.int64]:
        """Rows for each combination of keys and bins. Those that are in no cell of any axis named are left out."""
        shape = sides(self, axes)
        found, place, inside = self._placed(axes, (), within)
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(counts, place[inside], found.column("n").to_numpy()[inside])
        return counts.reshape(shape)

    def sums(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.int64]:
        """Sums in steps of each numeric column for each combination of keys; the columns are the last axis."""
        shape = sides(self, by)
        found, place, inside = self._placed(by, columns)
        sums = np.zeros((math.prod(shape), len(columns)), dtype=np.int64)
        for i in range(len(columns)):
            exactly = whole([int(text) for text in found.column(f"s{i}").to_pylist()])  # clamped: none moves further
            sums[place[inside], i] = exactly[inside]
        return sums.reshape((*shape, len(columns)))

    def quantile_counts(self, column: str, edges: Sequence[int], /) -> NDArray[np.int64]:
        """Rows with less than edges[0] steps, in [edges[0], edges[1]), …, and from the last edge on."""
        cuts = Cut(column, self._grid(column), tuple(int(edge) for edge in edges))
        found = self.store.cells(self.tree, ((cuts,), ()), self.caps.max_rows)
        counts = np.zeros(len(cuts.cuts) + 1, dtype=np.int64)
        counts[found.column("k0").to_numpy()] = found.column("n").to_numpy()
        return counts

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows, in an order that is drawn anew. The last resort."""
        return iter(self.store.rows(self.tree, self.caps.max_rows))

    def _placed(
        self, axes: Sequence[Axis], columns: Sequence[str], within: Sequence[Axis] = ()
    ) -> tuple[pa.Table, NDArray[np.int64], NDArray[np.bool_]]:
        """The cells that have rows, where each lies in the table, row by row, and which of them do."""
        sides(self, within)  # refuses what is not declared
        asked = [self._side(axis) for axis in (*axes, *map(_one_bin, within))]
        values = [(name, self._grid(name)) for name in columns]
        found = self.store.cells(self.tree, (asked, values), self.caps.max_rows)
        place, inside = np.zeros(found.num_rows, dtype=np.int64), np.ones(found.num_rows, dtype=np.bool_)
        for i, (side, length) in enumerate(zip(asked, sides(self, (*axes, *map(_one_bin, within))), strict=True)):
            own = _places(found.column(f"k{i}"), side, self._kind(side.column))
            place = place * length + own if i < len(axes) else place
            inside &= (own >= 0) & (own < length)
        return found, place, inside

    def _side(self, axis: Axis) -> Side:
        if isinstance(axis, str):
            return Keyed(axis, keys_of(self, axis))
        *edges, last = axis.edges
        return Cut(axis.column, self._grid(axis.column), (*edges, last + 1))  # the last bin has its upper edge

    def _kind(self, column: str) -> Type:
        return shape(self.tree).columns[column].type

    def _grid(self, column: str) -> Grid:
        grid = grid_of(self, column)
        return Grid(grid.low, grid.high, grid.step)


def _one_bin(axis: Axis) -> Axis:
    """All bins of an axis as one: which of them a row is in is not asked."""
    return axis if isinstance(axis, str) else Bins(axis.column, (axis.edges[0], axis.edges[-1]))


def _places(column: Any, side: Side, kind: Type) -> NDArray[np.int64]:  # noqa: ANN401  # Arrow's arrays have no types
    if isinstance(side, Cut):
        return np.asarray(column.to_numpy(), dtype=np.int64) - 1
    known = {key: place for place, key in enumerate(side.values)}
    coded = column.combine_chunks().dictionary_encode("encode")
    places = [known.get(canonical(value, kind), -1) for value in coded.dictionary.to_pylist()]
    found: NDArray[np.int64] = np.array(places, dtype=np.int64)[coded.indices.to_numpy()]
    return found
