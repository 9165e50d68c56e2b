"""Rows in DuckDB files: one file for each version of a table, written once, then read-only to everyone.

A query connection sees only attached files, cannot reach anything else, and cannot change its own settings. Whatever
the engine has to say about data stays here: after a row was read, its errors become one constant sentence.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from discreet import durable
from discreet.declared.group_key import Key
from discreet.declared.table import RESERVED, Table
from discreet.engines import stream_rows
from discreet.engines.ingest import SAFE, Progress, copy_rows, watched
from discreet.engines.spill_folder import Spill, flocked
from discreet.errors import Fault, Refusal
from discreet.noise import SECURE, Entropy, permutation
from discreet.sql import bounding, fanout, render
from discreet.sql.cell_numbers import BoundedRows
from discreet.sql.expression import Expression
from discreet.sql.owned_rows import Rows, scanned
from discreet.sql.plan import Measurement, Rank, Statistic
from discreet.sql.relation_facts import shape

Group = tuple[Key, ...]
Naming = Callable[[Table], str]  # the random name in the file of a table's version; nothing: any file will do
_Key = tuple[tuple[str, int], ...]  # tables and their versions

_REMEMBERED = 256  # counts of public rows


@dataclass(frozen=True)
class Counted:
    """The exact statistics of one measurement, group by group. Private: they only feed a mechanism."""

    units: Mapping[Group, int]
    values: Mapping[Group, tuple[int, ...]]  # in the order of the measurement's statistics that are no ranks


@dataclass(frozen=True)
class _Opened:
    """Files that are open together: the secret salt of each, and the columns of ours that it has."""

    connection: duckdb.DuckDBPyConnection
    salts: Mapping[str, int]
    stored: Mapping[str, frozenset[str]]


def _nameless(_: Table) -> str:
    return ""


def _key(tables: Sequence[Table]) -> _Key:
    return tuple(sorted((table.name, table.version) for table in tables))


def _file(folder: Path, version: tuple[str, int]) -> Path:
    return folder / f"{version[0]}.{version[1]}.duckdb"


_STORES: weakref.WeakSet[DuckStore] = weakref.WeakSet()


def _after_fork() -> None:
    for store in list(_STORES):
        store.after_fork()


os.register_at_fork(after_in_child=_after_fork)


class DuckStore:
    """The tables of one home, in files that hold nothing else."""

    def __init__(
        self, folder: Path, *, names: Naming = _nameless, memory: str = "4GB", threads: int | None = None
    ) -> None:
        self._folder, self._memory, self._threads = folder, memory, threads or os.cpu_count() or 1
        self._names = names
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._inherited: list[object] = []
        self._begin()
        self._sweep()
        _STORES.add(self)

    def _begin(self) -> None:
        """With nothing open: at first, and in a child after a fork, which has none of the engine's threads."""
        self._lock = threading.Lock()
        self._open: dict[_Key, _Opened] = {}
        self._alike: dict[tuple[Rows, tuple[Expression, ...]], int] = {}  # of a version, which never changes
        self._uses: Counter[_Key] = Counter()
        self._spill = Spill(self._folder / "spill")
        weakref.finalize(self, self._spill.close)

    def after_fork(self) -> None:
        """Leave everything that is open to the parent; closing it here would wait for threads that do not exist."""
        self._inherited += [self._open, self._spill]
        self._begin()

    def _sweep(self) -> None:
        """Take away what killed processes left: rows that were spilled, and an ingest unless one is going on."""
        self._spill.sweep()
        with flocked(self._folder, fcntl.LOCK_EX) as alone:
            for left in self._folder.glob(".*.duckdb*") if alone else ():
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder

    def name(self, table: Table) -> str:
        """The name under which a table's version was ingested; nothing if there is none."""
        return self._names(table)

    def path(self, table: Table) -> Path:
        """The file of a table's version."""
        return _file(self._folder, (table.name, table.version))

    def checked(self, table: Table) -> Path:
        """The file of a table's version, if its rows are those that were once ingested under this name."""
        with duckdb.connect() as connection:
            self._attach(connection, table)
        return self.path(table)

    def ingest(
        self, table: Table, source: object, progress: Progress | None = None, owners: Table | None = None
    ) -> str:
        """Write a new version: types as declared, what does not parse NULL, sorted by the unit. Returns its name.

        `progress` hears the share of the work that is done, from another thread, for the custodian's eyes only.
        `owners` is the table that this one's link leads to.
        """
        aside, name = self._folder / f".{table.name}.{secrets.token_hex(8)}.duckdb", secrets.token_hex(16)
        with flocked(self._folder, fcntl.LOCK_SH):
            self._ingest(aside, table, source, (progress, owners), name)
        return name

    def _ingest(
        self, aside: Path, table: Table, source: object, how: tuple[Progress | None, Table | None], name: str
    ) -> None:
        progress, owners = how
        old = os.umask(0o077)
        try:
            # a small file may hold a great many rows
            with duckdb.connect(
                str(aside), config={"memory_limit": self._memory, "threads": self._threads}
            ) as connection:
                connection.execute(SAFE)
                connection.execute("SET preserve_insertion_order = false")
                with watched(connection, progress):
                    copy_rows(connection, table, source, None if owners is None else self.checked(owners))
                connection.execute("CREATE TABLE file AS SELECT CAST(? AS VARCHAR) AS name", [name])
            durable.sync(aside)
            durable.move(aside, self.path(table))
        finally:
            os.umask(old)
            aside.unlink(missing_ok=True)

    def remove(self, table: Table) -> None:
        """Forget the rows of a version."""
        self.path(table).unlink(missing_ok=True)

    @contextmanager
    def opened(self, relations: Iterable[Rows]) -> Iterator[None]:
        """Keep the files of these relations open. Whoever replaces or removes them meanwhile changes nothing here."""
        kept: list[_Key] = []
        try:
            for tables in map(scanned, relations):
                with self._lock:
                    self._ensured(tables)
                    self._uses[_key(tables)] += 1
                kept.append(_key(tables))
            yield
        finally:
            with self._lock:
                self._uses.subtract(kept)
                for key in [key for key in self._open if not self._uses[key]]:
                    if not all(_file(self._folder, each).exists() for each in key):  # nobody will ask for it again
                        self._open.pop(key).connection.close()

    def keep(self, versions: Collection[tuple[str, int]]) -> None:
        """Forget the rows of every other version."""
        kept = {_file(self._folder, version) for version in versions}
        for file in self._folder.glob("[!.]*.duckdb"):
            if file not in kept:
                file.unlink(missing_ok=True)

    def _connection(self, tables: Sequence[Table]) -> duckdb.DuckDBPyConnection:
        with self._lock:
            return self._ensured(tables).connection.cursor()

    def _ensured(self, tables: Sequence[Table]) -> _Opened:
        key = _key(tables)
        if key not in self._open:
            self._open[key] = self._connect(tables)
        return self._open[key]

    def _connect(self, tables: Sequence[Table]) -> _Opened:
        connection = duckdb.connect(
            config={
                "memory_limit": self._memory,
                "threads": self._threads,
                "temp_directory": str(self._spill.folder()),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
            }
        )
        for table in tables:
            self._attach(connection, table)
        own = {table.name: _own(connection, table) for table in tables if not table.public}
        connection.execute(SAFE)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return _Opened(
            connection,
            {name: salt for name, (salt, _) in own.items()},
            {name: stored for name, (_, stored) in own.items()},
        )

    def _attach(self, connection: duckdb.DuckDBPyConnection, table: Table) -> None:
        """Open a table's file. Nothing of its rows is read, so what is wrong with it may be said."""
        if not self.path(table).exists():
            raise Refusal(f"the rows of table {table.name!r} are missing", hint="add it again, or restore the home")
        file, name = str(self.path(table)).replace("'", "''"), render.quoted("t_" + table.name)
        wanted = self._names(table)
        try:
            connection.execute(f"ATTACH '{file}' AS {name} (READ_ONLY)")
            names = connection.execute(f"SELECT name FROM {name}.file").fetchall() if wanted else []
        except duckdb.Error:
            raise Refusal(f"the file of table {table.name!r} cannot be opened", hint="restore the home") from None
        if wanted and names != [(wanted,)]:
            raise Refusal(
                f"the file of table {table.name!r} is not the one that the ledger knows",
                hint="put the right one back, or bring the rows again with discreet update",
            )
        described = connection.execute(f"DESCRIBE {name}.rows").fetchall()
        kinds = {str(row[0]): str(row[1]).lower() for row in described}
        for column in table.columns:
            if kinds.get(column.name) != column.type.value:
                raise Refusal(
                    f"column {column.name!r} of table {table.name!r} is not {column.type.value} in its rows",
                    hint="a type is not edited: bring the rows again with discreet update",
                )

    def counted(self, measurement: Measurement) -> Counted:
        """The statistics of the bounded rows. An empty table still has its one group if there are no keys."""
        with self.reading(measurement.rows) as (connection, salt, located):
            groups = stream_rows.totals(connection, measurement, located, salt, self._threads)
            if groups is None:
                rows = connection.execute(bounding.counts(measurement, located, salt)).fetchall()
                width = len(measurement.keys)
                groups = {
                    tuple(row[:width]): (int(row[width]), bounding.numbers(measurement, row[width + 1 :]))
                    for row in rows
                }
        if not measurement.keys and not groups:
            groups = {(): (0, (0,) * len(bounding.plain(measurement)))}
        return Counted(
            {group: units for group, (units, _) in groups.items()},
            {group: numbers for group, (_, numbers) in groups.items()},
        )

    def ranked(self, measurement: Measurement, rank: Rank) -> Mapping[Group, Mapping[int, int]]:
        """For each group, how many bounded rows have each value in steps."""
        rows = self._run(measurement.rows, lambda located, salt: bounding.ranks(measurement, rank, located, salt))
        groups: dict[Group, dict[int, int]] = {}
        for *group, value, number in rows:
            groups.setdefault(tuple(group), {})[int(value)] = int(number)
        return groups

    def distinct(self, measurement: Measurement, statistic: Statistic) -> Mapping[Group, int]:
        """For each group, how many values the bounded rows have."""
        rows = self._run(
            measurement.rows, lambda located, salt: bounding.distinct(measurement, statistic, located, salt)
        )
        return {tuple(group): int(number) for *group, number in rows}

    def values(self, public: Rows, column: str) -> tuple[object, ...]:
        """The values of a public column, in their own order. Nobody's data is read."""
        text = render.rows(public, render.Located(_where))
        name = render.quoted(column)
        values = self._connection(scanned(public)).execute(f"SELECT DISTINCT {name} FROM ({text}) ORDER BY {name}")
        return tuple(row[0] for row in values.fetchall())

    def alike(self, public: Rows, values: tuple[Expression, ...]) -> int:
        """The largest number of public rows that have the same values, none of them NULL. Nobody's data is read."""
        if (public, values) not in self._alike:
            text = fanout.counted(public, values, render.Located(_where))
            [(most,)] = self._connection(scanned(public)).execute(text).fetchall()
            self._alike = {**dict(list(self._alike.items())[-_REMEMBERED:]), (public, values): int(most)}
        return self._alike[public, values]

    def rows(self, source: BoundedRows, *, rng: Entropy = SECURE) -> list[tuple[object, ...]]:
        """All these rows, in a uniform order. The last resort: large tables are summed where they are.

        The engine's own order is decided by all rows together, and so by each unit: nobody may see it (SOUNDNESS 35).
        """
        names = ", ".join(render.quoted(name) for name in shape(source.tree).columns)
        rows = self._run(source.tree, lambda located, salt: f"SELECT {names} FROM ({source.text(located, salt)})")
        return [rows[place] for place in permutation(len(rows), rng=rng).tolist()]

    def _run(self, tree: Rows, text: Callable[[render.Located, int], str]) -> list[tuple[Any, ...]]:
        with self.reading(tree) as (connection, salt, located):
            return connection.execute(text(located, salt)).fetchall()

    @contextmanager
    def reading(self, tree: Rows) -> Iterator[tuple[duckdb.DuckDBPyConnection, int, render.Located]]:
        """A connection to a relation's tables, the salt of the first private one, and where everything lies."""
        tables = scanned(tree)
        with self._lock:
            opened = self._ensured(tables)
            connection = opened.connection.cursor()
        salt = opened.salts[next(table.name for table in tables if not table.public)]
        try:
            yield connection, salt, render.Located(_where, opened.stored, salt)
        except (duckdb.Error, pa.ArrowException, OSError, OverflowError, ValueError, MemoryError):
            raise Fault from None
        finally:
            connection.close()

    def forget(self, tree: Rows, name: str) -> None:
        """Drop a table that was made in memory beside a relation's files, if they are open still."""
        opened = self._open.get(_key(scanned(tree)))  # without the lock, which whoever collects garbage may hold
        if opened is not None:
            with suppress(duckdb.Error):
                opened.connection.cursor().execute(f"DROP TABLE IF EXISTS {name}").fetchall()

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for opened in self._open.values():
                opened.connection.close()
            self._open.clear()
            self._spill.close()


def _where(table: Table) -> str:
    return f"{render.quoted('t_' + table.name)}.rows"


def _own(connection: duckdb.DuckDBPyConnection, table: Table) -> tuple[int, frozenset[str]]:
    """The secret salt of a file, and the columns of ours that it has: those of an older one are fewer."""
    try:
        [(salt,)] = connection.execute(f"SELECT salt FROM {render.quoted('t_' + table.name)}.salt").fetchall()
        columns = connection.execute(f"SELECT * FROM {_where(table)} LIMIT 0").description or []
        stored = frozenset(name for name, *_ in columns if name.startswith(RESERVED))
        for name in filter(render.is_steps, stored):
            _refuse_beyond(connection, table, name)
    except (duckdb.Error, ValueError, TypeError, ArithmeticError):
        raise Refusal(f"the file of table {table.name!r} cannot be opened", hint="restore the home") from None
    return int(salt), stored


def _refuse_beyond(connection: duckdb.DuckDBPyConnection, table: Table, name: str) -> None:
    """Questions do not clamp steps again that a file keeps clamped, so a file that does not is none of ours."""
    grid, column = render.stored_grid(name), render.quoted(name)
    [(low, high)] = connection.execute(f"SELECT min({column}), max({column}) FROM {_where(table)}").fetchall()
    if low is not None and not grid.low <= low <= high <= grid.high:
        raise Refusal(
            f"the file of table {table.name!r} was changed after it was written",
            hint="bring the rows again with discreet update",
        )
