"""Reads what is pushed: a file or an Arrow table becomes the rows of one step, as their columns were declared."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather

from discreet.declared.column import Column
from discreet.engines.ingest import read_source, typed
from discreet.errors import Refusal
from discreet.sql.render import quoted
from discreet.stream.declaration import StreamDeclaration, key_text
from discreet.stream.step_rows import Pushed, Whole

_ARROW = (".arrow", ".feather")


def read_pushed(declared: StreamDeclaration, source: object) -> tuple[Pushed, str]:
    """The rows of one step and a digest of them. A cell that does not fit is as if it were not there."""
    rows = _selected(declared, _opened(source))
    if rows is None:
        rows = pa.table({name: pa.array([], pa.string()) for name in ("owner", "key", "amount")})
    owners, owner = _codes(rows["owner"])
    names, named = _codes(rows["key"])
    places = {key_text(key): place for place, key in enumerate(declared.keys)} or {"": 0}
    key = np.array([places.get(name, -1) for name in names] or [-1], dtype=np.int64)[named]
    amount = rows["amount"].to_numpy().astype(np.int64)
    there = key >= 0
    pushed = Pushed(tuple(owners), owner[there], key[there], amount[there])
    seen = hashlib.sha256(json.dumps(pushed.owners).encode())
    for column in (pushed.owner, pushed.key, pushed.amount):
        seen.update(column.tobytes())
    return pushed, seen.hexdigest()


def columns_left_out(declared: StreamDeclaration, source: object) -> tuple[str, ...]:
    """The columns with a cell for which a row does not count, or counts as another number: for who pushes it alone."""
    opened = _opened(source)
    if opened is None or (isinstance(opened, pa.Table) and not opened.num_columns):
        return ()
    tests = _tests(declared)
    with duckdb.connect() as connection:
        text = _found(declared, connection, opened)
        asked = ", ".join(f"coalesce(bool_or({test}), false)" for test in tests.values())
        [there] = connection.execute(f"SELECT {asked or 'NULL'} FROM {text}").fetchall()  # noqa: S608
    return tuple(name for name, wrong in zip(tests, there, strict=False) if wrong)


def text_rows(data: bytes) -> pa.Table:
    """Rows of CSV as columns of text, the first line their names. What is missing at the end of a line is NULL."""
    lines = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline="")))
    names = lines[0] if lines else []
    columns = {name: [line[at] if at < len(line) else None for line in lines[1:]] for at, name in enumerate(names)}
    return pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})


def _opened(source: object) -> object:
    """A source that the engine reads; None for a file of no byte."""
    if not isinstance(source, (str, Path)):
        return source
    path = Path(source)
    if not path.exists():
        return source
    if path.is_file() and not path.stat().st_size:
        return None
    if path.suffix.lower() in _ARROW:
        try:
            return pyarrow.feather.read_table(path, memory_map=False)
        except (OSError, pa.ArrowException):
            raise Refusal(f"{path.name!r} cannot be read as Arrow") from None
    return source


def _selected(declared: StreamDeclaration, source: object) -> pa.Table | None:
    """Owner and key as text and the amount in steps, of the rows that have them; None if there is no row at all."""
    if source is None or (isinstance(source, pa.Table) and not source.num_columns):
        return None
    with duckdb.connect() as connection:
        text = _found(declared, connection, source)
        try:
            return connection.sql(_sql(declared, text)).to_arrow_table()
        except duckdb.Error:
            raise _unread() from None


def _found(declared: StreamDeclaration, connection: duckdb.DuckDBPyConnection, source: object) -> str:
    """SQL that reads a source, refused if it lacks a column."""
    try:
        text = read_source(connection, source)
        there = [str(row[0]) for row in connection.sql(f"SELECT * FROM {text}").description]  # noqa: S608
    except duckdb.Error:
        raise _unread() from None
    for column in declared.table.columns:
        if column.name not in there:
            raise Refusal(f"there is no column {column.name!r} in what is pushed", hint=f"it has {there}")
    return text


def _tests(declared: StreamDeclaration) -> dict[str, str]:
    """By column, whether a cell keeps a row from counting as it is."""
    table, tests = declared.table, {}
    if table.unit is not None:
        tests[table.unit] = f"{typed(table.column(table.unit), table)} IS NULL"
    if declared.by is not None:
        keys = ", ".join("'" + key_text(key).replace("'", "''") + "'" for key in declared.keys)
        tests[declared.by] = f"coalesce({_key(declared)} NOT IN ({keys}), true)"
    if declared.value is not None:
        number = _number(table.column(declared.value))
        low, high = (float(end * declared.grid.step) for end in (declared.grid.low, declared.grid.high))
        tests[declared.value] = f"coalesce(isnan({number}) OR {number} < {low!r} OR {number} > {high!r}, true)"
    return tests


def _sql(declared: StreamDeclaration, source: str) -> str:
    table = declared.table
    owner = "''" if table.unit is None else f"CAST({typed(table.column(table.unit), table)} AS VARCHAR)"
    amount = "1" if declared.value is None else _steps(table.column(declared.value), declared)
    inner = f"SELECT {owner} AS owner, {_key(declared)} AS key, {amount} AS amount FROM {source}"  # noqa: S608  # names are quoted
    return f"SELECT * FROM ({inner}) WHERE owner IS NOT NULL AND key IS NOT NULL AND amount IS NOT NULL"  # noqa: S608


def _key(declared: StreamDeclaration) -> str:
    """A row's key as text; NULL if there is none."""
    if declared.by is None:
        return "''"
    column = declared.table.column(declared.by)
    if not declared.edges:
        return f"CAST({typed(column, declared.table)} AS VARCHAR)"
    number, edges = _number(column), [float(edge) for edge in declared.edges]
    bins = zip(pairwise(edges), declared.keys, strict=True)
    cases = " ".join(f"WHEN {number} >= {low!r} AND {number} < {high!r} THEN '{key}'" for (low, high), key in bins)
    return f"CASE {cases} END"


def _number(column: Column) -> str:
    return f"TRY_CAST({quoted(column.name)} AS DOUBLE)"


def _steps(column: Column, declared: StreamDeclaration) -> str:
    """A number in whole steps within the bounds; NULL if there is none."""
    grid = declared.grid
    number = _number(column)
    near = f"greatest({float(grid.lower)!r}, least({float(grid.upper)!r}, {number}))"
    steps = f"greatest({grid.low}, least({grid.high}, TRY_CAST(round({near} / {float(grid.step)!r}) AS BIGINT)))"
    return f"CASE WHEN {number} IS NULL OR isnan({number}) THEN NULL ELSE {steps} END"


def _unread() -> Refusal:
    return Refusal("what is pushed cannot be read", hint="push a .csv, .parquet or .arrow file, or an Arrow table")


def _codes(column: pa.ChunkedArray) -> tuple[list[str], Whole]:
    """The values that occur, and which of them each row has."""
    coded = column.combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
