"""Rows out of DuckDB as they go by: owners, groups as codes, values. `one_pass` adds them up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.group_key import Key, Type
from discreet.declared.table import Table
from discreet.engines.one_pass_bounding import (
    FARTHEST,
    MOST_KEYS,
    WIDTH,
    Number,
    OwnedRows,
    Rules,
    Unsigned,
    Unsuited,
    Value,
    tally,
)
from discreet.sql.bounding import among, plain, row_cap, summands
from discreet.sql.expression import Field
from discreet.sql.owned_rows import scanned
from discreet.sql.plan import GroupKey, Measurement, Statistic
from discreet.sql.render import UNIT, Located, code_name, expression, kept_code, kept_column, quoted, rows
from discreet.sql.row_cap import is_plain

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
        coded = column.dictionary_encode("encode")
        codes: NDArray[np.integer] = self.learn(coded.dictionary.to_pylist())[_numbers(coded.indices)]
        return codes


def _numbers(column: pa.Array) -> NDArray[np.integer]:
    numbers: NDArray[np.integer] = column.to_numpy()
    return numbers


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
        added = tally(_rows(connection, stream, names), rules, threads)
    except Unsuited:
        return None
    mask = (1 << WIDTH) - 1
    groups = [tuple(name.values[group >> WIDTH * name.place & mask] for name in names) for group in added.groups]
    numbers_of = zip(*added.numbers, strict=True) if numbers else [()] * len(groups)
    return dict(zip(groups, zip(added.units, numbers_of, strict=True), strict=True))


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


def _rows(connection: duckdb.DuckDBPyConnection, stream: Stream, names: Sequence[Names]) -> Iterator[OwnedRows]:
    width = 1 + len(names)
    for batch in connection.sql(stream.text).to_arrow_reader(_AT_ONCE):
        if not batch.num_rows:
            continue
        codes = [name.coded(column) for name, column in zip(names, batch.columns[1:width], strict=True)]
        values = tuple(_value(column) for column in batch.columns[width:])
        rows = OwnedRows(
            batch.column(0).to_numpy(), _groups(codes, batch.num_rows), values, tuple(n.digests for n in names)
        )
        yield from _answered(rows, names, codes)


def _groups(codes: Sequence[NDArray[np.integer]], number: int) -> NDArray[np.integer]:
    """The codes of keys in one number each."""
    if not codes:
        return np.zeros(number, np.uint16)
    if len(codes) == 1:
        return codes[0]
    joined = np.zeros(number, np.int64)
    for place, code in enumerate(codes):
        joined |= code.astype(np.int64) << (WIDTH * place)
    return joined


def _value(column: pa.Array) -> Value:
    if not column.null_count:
        return _numbers(column), None
    return _numbers(column.fill_null(0)), column.is_valid().to_numpy(zero_copy_only=False)


def _answered(rows: OwnedRows, names: Sequence[Names], codes: Sequence[NDArray[np.integer]]) -> Iterator[OwnedRows]:
    """Those rows whose keys are answered."""
    tests = [
        name.wanted[code]
        for name, code in zip(names, codes, strict=True)
        if name.wanted is not None and not name.wanted.all()
    ]
    if not tests:
        yield rows
        return
    wanted = rows.some(np.flatnonzero(np.logical_and.reduce(tests)))
    if len(wanted.owners):
        yield wanted


_NAMED = (Type.VARCHAR, Type.BIGINT, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP)  # equal values are one value
_KINDS = ("rows", "units", "present", "total", "centred")


@dataclass(frozen=True)
class Stream:
    """Owners, then a column for each key, then one for each value."""

    text: str
    table: Table
    coded: tuple[str | None, ...]  # for each key the column whose codes come instead of it, if they are kept
    places: tuple[int, ...]  # for each statistic that of its value, or 0


def streamed(tree: Measurement, located: Located, farthest: int) -> Stream | None:
    """The rows of a measurement, if they come in the order in which they are kept and its numbers are near enough.

    All of its statistics are of the same kept rows, so one that a stream does not know takes the others with it.
    Files are sorted by their unit, and nothing that is plain changes the order of rows.
    """
    table = scanned(tree.rows)[0]
    grids = [s.grid for s in plain(tree) if s.grid is not None]
    if (
        not is_plain(tree.rows)
        or table.unit is None
        or table.column(table.unit).type is not Type.BIGINT
        or any(not isinstance(s, Statistic) or s.kind not in _KINDS for s in tree.statistics)
        or any(key.expression.type not in _NAMED for key in tree.keys)
        or any(grid.reach >= farthest for grid in grids)
    ):
        return None
    values = summands(tree, located)
    coded = tuple(_coded(key, tree, located) for key in tree.keys)
    keys = [
        f"{expression(key.expression) if code is None else quoted(code_name(code))} AS {key.name}"
        for key, code in zip(tree.keys, coded, strict=True)
    ]
    tests = [
        among(key.name, key.values, key.expression.type)
        for key, code in zip(tree.keys, coded, strict=True)
        if key.values is not None and code is None
    ]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    items = ", ".join([f"{quoted(UNIT)} AS u", *keys, *values.rows])
    text = f"SELECT * FROM (SELECT {items} FROM ({rows(tree.rows, located)})){where}"  # noqa: S608  # from our own trees
    return Stream(text, table, coded, tuple(values.places.get(s, 0) for s in plain(tree)))


def _coded(key: GroupKey, tree: Measurement, located: Located) -> str | None:
    """The column of the table that a key is, if its codes are kept."""
    if not isinstance(key.expression, Field):
        return None
    kept = kept_column(tree.rows, key.expression.name, kept_code, located)
    return None if kept is None else kept.removeprefix(code_name(""))


def middle(statistic: Statistic) -> int:
    """What a statistic is counted from."""
    return statistic.grid.middle if statistic.kind == "centred" and statistic.grid is not None else 0
