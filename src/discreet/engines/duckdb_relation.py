"""The rows that a SELECT names, as a mechanism sees them: counted and summed in the engine, never pulled."""

from __future__ import annotations

import math
import secrets
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.column import with_keys
from discreet.declared.grid import Grid, whole
from discreet.declared.group_key import Key, Type, canonical
from discreet.declared.table import grid_of, keys_of, line_of
from discreet.engines.duckdb import DuckStore
from discreet.exact import Number, count
from discreet.mechanisms import Axis, Bins, Caps, Column
from discreet.mechanisms.private_rows import rate_of, sides, squares
from discreet.noise import SECURE, Entropy, flips, permutation
from discreet.noise.secure_random import words
from discreet.privacy import Neighbours
from discreet.sql.cell_numbers import (
    LIMB,
    BoundedRows,
    CutColumn,
    Keyed,
    Side,
    limbs,
    listed,
    multiplied,
    summed,
    units_by_value,
)
from discreet.sql.owned_rows import Rows
from discreet.sql.relation_facts import shape
from discreet.sql.render import UNIT, quoted

_AT_ONCE = 1 << 16  # rows on their way between the engine and here
_VALUES = (Type.VARCHAR, Type.BIGINT)  # types of values that are counted without being declared
_KEY = "#key"  # no column of ours can be called so: where a row goes


@dataclass(frozen=True, eq=False)
class UnitSample:
    """Table of the units that one draw took, in the engine's memory and its spill; gone when nobody needs it."""

    name: str


@dataclass(frozen=True, eq=False)
class DuckRelation:
    """A relation in DuckDB. A unit has at most `caps.max_rows` rows in it, the same ones whatever is asked."""

    store: DuckStore
    tree: Rows
    schema: Mapping[str, Column]
    caps: Caps
    neighbours: Neighbours
    samples: tuple[UnitSample, ...] = ()

    def counts(self, axes: Sequence[Axis], /, within: Sequence[Axis] = ()) -> NDArray[np.int64]:
        """Rows for each combination of keys and bins. Those that are in no cell of any axis named are left out."""
        shape = sides(self, axes)
        cells, place, inside = self._placed(axes, (), within)
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(counts, place[inside], cells.column("n").to_numpy()[inside])
        return counts.reshape(shape)

    def sums(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.int64]:
        """Sums in steps of each numeric column for each combination of keys; the columns are the last axis."""
        shape = sides(self, by)
        cells, place, inside = self._placed(by, columns)
        sums = np.zeros((math.prod(shape), len(columns)), dtype=np.int64)
        for i in range(len(columns)):
            sums[place[inside], i] = whole(_integers(cells, f"s{i}"))[inside]  # clamped: none moves further
        return sums.reshape((*shape, len(columns)))

    def products(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.object_]:
        """For each combination of keys the matrix of sums of products of 1 and the columns, in steps, exactly."""
        shape, grids = squares(self, by, columns), [grid_of(self, name) for name in columns]
        cells, place, inside = self._placed(by, columns, text=multiplied)
        products = np.zeros((math.prod(shape[:-2]), *shape[-2:]), dtype=object)

        def put(i: int, j: int, values: NDArray[np.object_]) -> None:
            products[place[inside], i, j] = products[place[inside], j, i] = values[inside]

        put(0, 0, np.array(cells.column("n").to_pylist(), dtype=object))
        for i, one in enumerate(grids):
            put(0, i + 1, _integers(cells, f"s{i}"))
            for j, two in enumerate(grids[i:], start=i):
                parts = [_integers(cells, f"p{i}_{j}_{place}") for place in range(limbs(one, two))]
                put(i + 1, j + 1, parts[0] if len(parts) == 1 else parts[0] * (1 << LIMB) + parts[1])
        return products.reshape(shape)

    def quantile_counts(self, column: str, edges: Sequence[int], /) -> NDArray[np.int64]:
        """Rows with less than edges[0] steps, in [edges[0], edges[1]), …, and from the last edge on."""
        cuts = CutColumn(column, grid_of(self, column), tuple(int(edge) for edge in edges))
        with self.store.reading(self.tree) as (connection, salt, located):
            cells = connection.sql(summed(self._source, ((cuts,), ()), located, salt)).to_arrow_table()
        counts = np.zeros(len(cuts.cuts) + 1, dtype=np.int64)
        counts[cells.column("k0").to_numpy()] = cells.column("n").to_numpy()
        return counts

    def units(self, column: str, /) -> Mapping[Key, int]:
        """The distinct units of each value of a column of text or whole numbers."""
        with self.store.reading(self.tree) as (connection, salt, located):
            text = units_by_value(self._source, column, located, salt)
            found = connection.execute(text).fetchall() if self._kind(column) in _VALUES else []
        return dict(found)

    def keyed(self, keys: Mapping[str, Sequence[Key]], /) -> DuckRelation:
        """The same rows, of which columns have these keys."""
        schema = {name: with_keys(each, keys[name]) if name in keys else each for name, each in self.schema.items()}
        return replace(self, schema=schema)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows, in an order that is drawn anew. The last resort."""
        return iter(self.store.rows(self._source))

    def batches(
        self, size: int, /, numbers: Collection[str] = (), *, rng: Entropy = SECURE
    ) -> Iterator[pa.RecordBatch]:
        """All rows in an order that is drawn anew, so many at once: keys as their places, numbers in steps.

        Each row gets 64 fresh bits, and the engine sorts by them, in its spill where its memory ends. Rows that get the
        same bits are put in order here. Thus rows fall independently into 2^64 places and are in a uniform order within
        each, which is a uniform order of all, whatever order the engine had them in.
        """
        return self._batches(count(size, "size"), numbers, rng)

    def sample(self, rate: Number, /, *, rng: Entropy = SECURE) -> DuckRelation:
        """The relation of a Poisson sample of the units: each is in it with this probability, by a fresh coin.

        The engine lists the different units, a coin is drawn here for each, and the engine keeps those with heads.
        Which they are, and how many, stays there.
        """
        return self._drawn(rate, rng, "heads")[0]

    def split(self, rate: Number, /, *, rng: Entropy = SECURE) -> tuple[DuckRelation, DuckRelation]:
        """The relation of a Poisson sample of the units, and that of all others."""
        taken, left = self._drawn(rate, rng, "heads", "NOT heads")
        return taken, left

    def _drawn(self, rate: Number, rng: Entropy, *sides: str) -> list[DuckRelation]:
        """The relations of units with heads, or without, in tables of their own."""
        chance, both = rate_of(rate), f'"#coins {secrets.token_hex(8)}"'
        names = [f"memory.main.units_{secrets.token_hex(16)}" for _ in sides]
        with self.store.reading(self.tree) as (connection, salt, located):
            owners = f"SELECT DISTINCT {quoted(UNIT)} AS unit FROM ({self._source.text(located, salt)})"
            beside = _beside(connection, owners, "heads", lambda size: flips(chance, size, rng=rng))
            connection.execute(f"CREATE TEMP TABLE {both} AS SELECT unit, heads FROM ({beside})").fetchall()
            for name, side in zip(names, sides, strict=True):
                connection.execute(f"CREATE TABLE {name} AS SELECT unit FROM {both} WHERE {side}").fetchall()
            connection.execute(f"DROP TABLE {both}").fetchall()
        return [self._of(name) for name in names]

    def _of(self, name: str) -> DuckRelation:
        drawn = UnitSample(name)
        weakref.finalize(drawn, self.store.forget, self.tree, name)
        samples = (*self.samples, drawn)
        return DuckRelation(self.store, self.tree, self.schema, self.caps, self.neighbours, samples)

    @property
    def _source(self) -> BoundedRows:
        return BoundedRows(self.tree, self.caps.rows, tuple(drawn.name for drawn in self.samples))

    def _batches(self, size: int, numbers: Collection[str], rng: Entropy) -> Iterator[pa.RecordBatch]:
        columns: dict[str, Keyed | tuple[str, Grid]] = {}
        for name, known in self.schema.items():
            if known.keys is not None and name not in numbers:
                columns[name] = Keyed(name, known.keys)
            elif known.grid is not None or name in numbers:
                columns[name] = name, grid_of(self, name)
        with self.store.reading(self.tree) as (connection, salt, located):
            text = listed(self._source, list(columns.values()), located, salt)
            beside = _beside(connection, text, _KEY, lambda size: words(size, rng=rng))
            ordered = connection.sql(f"{beside} ORDER BY {quoted(_KEY)}").to_arrow_reader(_AT_ONCE)
            for rows in _rebatched(_untied(ordered, rng), size):
                yield pa.record_batch(
                    [self._coded(rows, i, each) for i, each in enumerate(columns.values())], [*columns]
                )

    def _coded(self, rows: pa.Table, i: int, column: Keyed | tuple[str, Grid]) -> pa.Array:
        """A column of `listed` rows as a mechanism gets it."""
        if not isinstance(column, Keyed):
            return rows.column(f"x{i}").combine_chunks()
        places = _places(rows.column(f"k{i}"), column, self._kind(column.column))
        known = rows.column(f"a{i}").to_numpy()
        return pa.array(np.where(known, places, -1).astype(np.int32))

    def _placed(
        self,
        axes: Sequence[Axis],
        columns: Sequence[str],
        within: Sequence[Axis] = (),
        text: Callable[..., str] = summed,
    ) -> tuple[pa.Table, NDArray[np.int64], NDArray[np.bool_]]:
        """The cells that have rows, where each lies in the table, row by row, and which of them do."""
        sides(self, within)  # refuses what is not declared
        asked = [self._side(axis) for axis in (*axes, *map(_one_bin, within))]
        values = [(name, grid_of(self, name)) for name in columns]
        with self.store.reading(self.tree) as (connection, salt, located):
            cells = connection.sql(text(self._source, (asked, values), located, salt)).to_arrow_table()
        place, inside = np.zeros(cells.num_rows, dtype=np.int64), np.ones(cells.num_rows, dtype=np.bool_)
        for i, (side, length) in enumerate(zip(asked, sides(self, (*axes, *map(_one_bin, within))), strict=True)):
            own = _places(cells.column(f"k{i}"), side, self._kind(side.column))
            place = place * length + own if i < len(axes) else place
            inside &= (own >= 0) & (own < length)
        return cells, place, inside

    def _side(self, axis: Axis) -> Side:
        if isinstance(axis, str):
            return Keyed(axis, keys_of(self, axis))
        *edges, last = axis.edges
        return CutColumn(axis.column, line_of(self, axis.column), (*edges, last + 1))  # the last bin has its upper edge

    def _kind(self, column: str) -> Type:
        return shape(self.tree).columns[column].type


def _one_bin(axis: Axis) -> Axis:
    """All bins of an axis as one: which of them a row is in is not asked."""
    return axis if isinstance(axis, str) else Bins(axis.column, (axis.edges[0], axis.edges[-1]))


def _places(column: Any, side: Side, kind: Type) -> NDArray[np.int64]:  # noqa: ANN401  # Arrow's arrays have no types
    if isinstance(side, CutColumn):
        return np.asarray(column.to_numpy(), dtype=np.int64) - 1
    known = {key: place for place, key in enumerate(side.values)}
    coded = column.combine_chunks().dictionary_encode("encode")
    places = [known.get(canonical(value, kind), -1) for value in coded.dictionary.to_pylist()]
    own: NDArray[np.int64] = np.array(places, dtype=np.int64)[coded.indices.to_numpy()]
    return own


def _integers(cells: pa.Table, name: str) -> NDArray[np.object_]:
    """A column of whole numbers of any size, which come as texts."""
    return np.array([int(text) for text in cells.column(name).to_pylist()], dtype=object)


def _beside(
    connection: duckdb.DuckDBPyConnection, text: str, name: str, draw: Callable[[int], NDArray[np.generic]]
) -> str:
    """A SELECT of rows with a column beside them that is drawn here, independently for each of them.

    The rows are kept by the engine meanwhile. Which of the draws stands beside which row is not said: the rows and the
    draws come in orders that know nothing of each other.
    """
    kept, drawn = (f'"#{word} {secrets.token_hex(8)}"' for word in ("kept", "drawn"))
    connection.execute(f"CREATE TEMP TABLE {kept} AS {text}").fetchall()
    [(total,)] = connection.execute(f"SELECT count(*) FROM {kept}").fetchall()
    kind = pa.field(name, pa.array(draw(0)).type)

    def stream() -> Iterator[pa.RecordBatch]:
        for start in range(0, total, _AT_ONCE):
            yield pa.record_batch([pa.array(draw(min(_AT_ONCE, total - start)))], schema=pa.schema([kind]))

    connection.register(drawn.strip('"'), pa.RecordBatchReader.from_batches(pa.schema([kind]), stream()))
    return f"SELECT * FROM {kept} POSITIONAL JOIN {drawn}"


def _untied(ordered: pa.RecordBatchReader, rng: Entropy) -> Iterator[pa.Table]:
    """Rows in order of their keys; those that have the same key in a uniform order."""
    held = ordered.schema.empty_table()
    for batch in ordered:
        rows = pa.concat_tables([held, pa.Table.from_batches([batch])])
        keys = rows.column(_KEY).to_numpy()
        last = int(np.searchsorted(keys, keys[-1])) if keys.size else 0  # others of this key may still come
        yield _settled(rows.slice(0, last), rng)
        held = rows.slice(last)
    yield _settled(held, rng)


def _settled(rows: pa.Table, rng: Entropy) -> pa.Table:
    keys = rows.column(_KEY).to_numpy()
    if not np.any(keys[1:] == keys[:-1]):
        return rows
    order = permutation(keys.size, rng=rng)
    return rows.take(order[np.argsort(keys[order], kind="stable")])


def _rebatched(tables: Iterator[pa.Table], size: int) -> Iterator[pa.Table]:
    """The same rows, so many at once; the last ones may be fewer."""
    parts: list[pa.Table] = []
    for table in tables:
        parts.append(table)
        if sum(part.num_rows for part in parts) >= size:
            rows = pa.concat_tables(parts)
            full = rows.num_rows - rows.num_rows % size
            yield from (rows.slice(start, size) for start in range(0, full, size))
            parts = [rows.slice(full)]
    if any(part.num_rows for part in parts):
        yield pa.concat_tables(parts)
