"""Rows in DuckDB files: one file for each version of a table, written once, then read-only to everyone.

A query connection sees only attached files, cannot reach anything else, and cannot change its own settings. Whatever
the engine has to say about data stays here: after a row was read, its errors become one constant sentence.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from discreet.errors import Fault, Refusal
from discreet.sql import render
from discreet.sql.plan import Measurement, Rank, Rows, Scan
from discreet.sql.schema import Key, Table

Group = tuple[Key, ...]

# This optimizer moves a TRY_CAST into the reader of a file and makes an error of what should be NULL (seen in
# DuckDB 2.0).
_SAFE = "SET disabled_optimizers = 'type_pushdown'"


@dataclass(frozen=True)
class Counted:
    """The exact statistics of one measurement, group by group. Private: they only feed a mechanism."""

    units: Mapping[Group, int]
    values: Mapping[Group, tuple[int, ...]]  # in the order of the measurement's statistics that are no ranks


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class DuckStore:
    """The tables of one home, in files that hold nothing else."""

    def __init__(self, folder: Path, *, memory: str = "4GB", threads: int | None = None) -> None:
        self._folder, self._memory, self._threads = folder, memory, threads or os.cpu_count() or 1
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._open: dict[tuple[tuple[str, int], ...], duckdb.DuckDBPyConnection] = {}

    def path(self, table: Table) -> Path:
        """The file of a table's version."""
        return self._folder / f"{table.name}.{table.version}.duckdb"

    def ingest(self, table: Table, source: str | Path | object) -> None:
        """Write a new version: types as declared, what does not parse NULL, sorted by the unit."""
        aside = self._folder / f".{table.name}.{secrets.token_hex(8)}.duckdb"
        old = os.umask(0o077)
        try:
            with duckdb.connect(str(aside)) as connection:
                connection.execute(_SAFE)
                connection.execute("SET preserve_insertion_order = false")
                self._copy(connection, table, source)
            _sync(aside)
            aside.rename(self.path(table))
            _sync(self._folder)
        finally:
            os.umask(old)
            aside.unlink(missing_ok=True)

    def _copy(self, connection: duckdb.DuckDBPyConnection, table: Table, source: object) -> None:
        read = read_source(connection, source)
        columns = ", ".join(
            f"{render.as_type(render.quoted(column.name), column.type)} AS {render.quoted(column.name)}"
            for column in table.columns
        )
        order = f" ORDER BY {render.quoted(table.unit)}" if table.unit else ""
        try:
            connection.execute(f"CREATE TABLE rows AS SELECT {columns} FROM {read}{order}")
            connection.execute("CREATE TABLE salt AS SELECT CAST(? AS UBIGINT) AS salt", [secrets.randbits(64)])
        except duckdb.Error as broken:
            raise Refusal(f"table {table.name!r} could not be read: {_first_line(broken)}") from None

    def remove(self, table: Table) -> None:
        """Forget the rows of a version."""
        self.path(table).unlink(missing_ok=True)

    def _connection(self, tables: Sequence[Table]) -> duckdb.DuckDBPyConnection:
        key = tuple(sorted((table.name, table.version) for table in tables))
        with self._lock:
            if key not in self._open:
                self._open[key] = self._connect(tables)
            return self._open[key].cursor()

    def _connect(self, tables: Sequence[Table]) -> duckdb.DuckDBPyConnection:
        spill = self._folder / "spill"
        spill.mkdir(mode=0o700, exist_ok=True)
        connection = duckdb.connect(
            config={
                "memory_limit": self._memory,
                "threads": self._threads,
                "temp_directory": str(spill),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
            }
        )
        for table in tables:
            if not self.path(table).exists():
                raise Refusal(f"the rows of table {table.name!r} are missing", hint="add it again, or restore the home")
            file = str(self.path(table)).replace("'", "''")
            connection.execute(f"ATTACH '{file}' AS {render.quoted('t_' + table.name)} (READ_ONLY)")
        connection.execute(_SAFE)
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection

    def counted(self, measurement: Measurement) -> Counted:
        """The statistics of the bounded rows. An empty table still has its one group if there are no keys."""
        rows = self._run(measurement.rows, lambda salt: render.counts(measurement, _located, salt))
        width = len(measurement.keys)
        units = {tuple(row[:width]): int(row[width]) for row in rows}
        values = {tuple(row[:width]): tuple(int(cell) for cell in row[width + 1 :]) for row in rows}
        return Counted(units, values)

    def ranked(self, measurement: Measurement, rank: Rank) -> Mapping[Group, Mapping[int, int]]:
        """For each group, how many bounded rows have each value in steps."""
        rows = self._run(measurement.rows, lambda salt: render.ranks(measurement, rank, _located, salt))
        found: dict[Group, dict[int, int]] = {}
        for *group, value, number in rows:
            found.setdefault(tuple(group), {})[int(value)] = int(number)
        return found

    def rows(self, tree: Rows, cap: int) -> list[tuple[object, ...]]:
        """At most `cap` rows of each unit. The last resort: large tables are summed where they live."""
        return self._run(tree, lambda salt: render.bounded(tree, _located, salt, cap))

    def _run(self, tree: Rows, text: Callable[[int], str]) -> list[tuple[Any, ...]]:
        table = _scanned(tree)
        connection = self._connection([table])
        try:
            salt = connection.execute(f"SELECT salt FROM {render.quoted('t_' + table.name)}.salt").fetchall()[0][0]
            return connection.execute(text(salt)).fetchall()
        except (duckdb.Error, OverflowError, ValueError, MemoryError):
            raise Fault from None
        finally:
            connection.close()

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for connection in self._open.values():
                connection.close()
            self._open.clear()


def _located(table: Table) -> str:
    return f"{render.quoted('t_' + table.name)}.rows"


def _scanned(tree: Rows) -> Table:
    while not isinstance(tree, Scan):
        tree = tree.source
    return tree.table


def _first_line(broken: Exception) -> str:
    return str(broken).split("\n", maxsplit=1)[0][:200]


def read_source(connection: duckdb.DuckDBPyConnection, source: object) -> str:
    """SQL that reads a source: a Parquet, CSV or DuckDB file, or anything that speaks Arrow."""
    if not isinstance(source, (str, Path)):
        connection.register("source", source)
        return "source"
    path = Path(source)
    name, _, inner = str(source).partition("::")
    if inner:
        path = Path(name)
    if not path.exists():
        raise Refusal(f"there is no file {str(path)!r}")
    file = str(path).replace("'", "''")
    match path.suffix.lower():
        case ".parquet" | ".pq":
            return f"read_parquet('{file}')"
        case ".csv" | ".tsv" | ".txt":
            return f"read_csv('{file}', all_varchar = true, header = true)"
        case ".duckdb" | ".db":
            connection.execute(f"ATTACH '{file}' AS source_file (READ_ONLY)")
            if not inner:
                raise Refusal(f"{path.name} holds tables", hint=f"name one: {path.name}::TABLE")
            return f"source_file.{render.quoted(inner)}"
        case _:
            raise Refusal(
                f"{path.name!r} is of no kind that is read here", hint="use .parquet, .csv or FILE.duckdb::TABLE"
            )
