"""Rows out of DuckDB as they go by: owners, groups as codes, values. What they add up to is `tally`'s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.key import Key
from discreet.engines.one_pass import FARTHEST, MOST_KEYS, WIDTH, Number, Rows, Rules, Unsigned, Unsuited, Value, tally
from discreet.sql.bounding import plain, row_cap
from discreet.sql.plan import Measurement
from discreet.sql.render import Located, quoted
from discreet.sql.stream import Stream, middle, streamed

Group = tuple[Key, ...]
Totals = Mapping[Group, tuple[int, tuple[int, ...]]]  # units and statistics

_AT_ONCE = 1 << 20  # rows in one batch; an engine gives fewer


@dataclass
class Names:
    """The values of a key that have been seen, their codes and digests."""

    place: int
    rules: Rules
    codes: dict[object, int] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)  # what a key may be, and dates
    digests: Unsigned = field(default_factory=lambda: np.empty(0, np.uint64))
    wanted: NDArray[np.bool_] | None = None  # codes that are answered, if not all are

    def learn(self, values: Sequence[object]) -> NDArray[np.int64]:
        """The codes of values."""
        new = [value for value in values if value not in self.codes]
        self.codes.update({value: len(self.values) + i for i, value in enumerate(new)})
        self.values += new
        fresh = np.array([self.rules.digest(self.place, value) for value in new], np.uint64)
        self.digests = np.concatenate([self.digests, fresh])
        return np.array([self.codes[value] for value in values], np.int64)

    def coded(self, column: pa.Array) -> NDArray[np.integer]:
        """A column as codes."""
        if self.wanted is not None:
            return _numbers(column)
        found = column.dictionary_encode("encode")
        codes: NDArray[np.integer] = self.learn(found.dictionary.to_pylist())[_numbers(found.indices)]
        return codes


def _numbers(column: pa.Array) -> NDArray[np.integer]:
    found: NDArray[np.integer] = column.to_numpy()
    return found


def totals(
    connection: duckdb.DuckDBPyConnection, measurement: Measurement, located: Located, salt: int, threads: int
) -> Totals | None:
    """What the bounded rows of a measurement add up to; None if they cannot be added up as they go by."""
    stream = streamed(measurement, located, FARTHEST)
    if stream is None or len(measurement.keys) > MOST_KEYS:
        return None
    statistics = zip(plain(measurement), stream.places, strict=True)
    numbers = tuple(Number(statistic.kind, place, middle(statistic)) for statistic, place in statistics)
    rules = Rules(measurement.max_groups, row_cap(measurement), numbers, salt.to_bytes(8, "little"))
    try:
        names = [_names(connection, measurement, stream, (place, located, rules)) for place in range(len(stream.coded))]
        found = tally(_rows(connection, stream, names), rules, threads)
    except Unsuited:
        return None
    mask = (1 << WIDTH) - 1
    groups = [tuple(name.values[group >> WIDTH * name.place & mask] for name in names) for group in found.groups]
    numbers_of = zip(*found.numbers, strict=True) if numbers else [()] * len(groups)
    return dict(zip(groups, zip(found.units, numbers_of, strict=True), strict=True))


def _names(
    connection: duckdb.DuckDBPyConnection, measurement: Measurement, stream: Stream, how: tuple[int, Located, Rules]
) -> Names:
    """What is known of a key before its rows come: everything, if its codes are kept."""
    place, located, rules = how
    names, column, declared = Names(place, rules), stream.coded[place], measurement.keys[place].values
    if column is not None:
        book = located.where(stream.table).removesuffix("rows") + quoted("codes")
        text = f"SELECT value FROM {book} WHERE name = ? ORDER BY code"  # noqa: S608  # a quoted name of ours
        kept = connection.execute(text, [column]).fetchall()
        names.learn([value for (value,) in kept])
        names.wanted = np.array([declared is None or value in declared for (value,) in kept], bool)
    return names


def _rows(connection: duckdb.DuckDBPyConnection, stream: Stream, names: Sequence[Names]) -> Iterator[Rows]:
    width = 1 + len(names)
    for batch in connection.sql(stream.text).to_arrow_reader(_AT_ONCE):
        if not batch.num_rows:
            continue
        codes = [name.coded(column) for name, column in zip(names, batch.columns[1:width], strict=True)]
        values = tuple(_value(column) for column in batch.columns[width:])
        rows = Rows(batch.column(0).to_numpy(), _groups(codes, batch.num_rows), values, tuple(n.digests for n in names))
        yield from _answered(rows, names, codes)


def _groups(codes: Sequence[NDArray[np.integer]], number: int) -> NDArray[np.integer]:
    """The codes of keys in one number each."""
    if not codes:
        return np.zeros(number, np.uint16)
    if len(codes) == 1:
        return codes[0]
    found = np.zeros(number, np.int64)
    for place, code in enumerate(codes):
        found |= code.astype(np.int64) << (WIDTH * place)
    return found


def _value(column: pa.Array) -> Value:
    if not column.null_count:
        return _numbers(column), None
    return _numbers(column.fill_null(0)), column.is_valid().to_numpy(zero_copy_only=False)


def _answered(rows: Rows, names: Sequence[Names], codes: Sequence[NDArray[np.integer]]) -> Iterator[Rows]:
    """Those rows whose keys are answered."""
    tests = [
        name.wanted[code]
        for name, code in zip(names, codes, strict=True)
        if name.wanted is not None and not name.wanted.all()
    ]
    if not tests:
        yield rows
        return
    found = rows.some(np.flatnonzero(np.logical_and.reduce(tests)))
    if len(found.owners):
        yield found
