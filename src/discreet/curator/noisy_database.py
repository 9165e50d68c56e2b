"""Databases for what is computed above the noise: each holds one question at a time, and can reach nothing else."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.sandbox import room

LONGEST = 30.0  # seconds; noisy tables are small, so only a question made to be slow meets it
MEMORY = "1GB"
_LOOKS = 0.5  # seconds between two looks whether it is over
_MOST_IDLE = 4
_UNPACKED = 20  # bytes in memory for each in a file, at most: files are compressed

_ARROW = {
    "boolean": pa.bool_(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}

Columns = Sequence[tuple[str, str]]  # names with their SQL types
Connection = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Tables:
    """A database, and the names of the tables that one question has in it."""

    connection: Connection
    shown: list[str]

    def show(self, name: str, rows: pa.Table) -> None:
        """Let the question see rows under a name."""
        self.connection.register(name, rows)
        self.shown.append(name)


class _Watch:
    """Interrupts what takes too long. One thread for all: to start one for each question takes longer than it does."""

    def __init__(self) -> None:
        self._ends: dict[int, tuple[Connection, float]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    @contextmanager
    def over(self, connection: Connection) -> Iterator[None]:
        """While a question uses a database."""
        with self._lock:
            self._ends[id(connection)] = connection, time.monotonic() + LONGEST
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="above", daemon=True)
                self._thread.start()
                atexit.register(self._close, self._thread, os.getpid())
        try:
            yield
        finally:
            with self._lock:  # after it, nobody is interrupted here who comes next
                del self._ends[id(connection)]

    def _look(self) -> None:
        while not self._closing.wait(_LOOKS):
            with self._lock:
                now = time.monotonic()
                for connection, end in self._ends.values():
                    if end < now:
                        with suppress(duckdb.Error):  # the watch goes on in any case
                            connection.interrupt()

    def _close(self, thread: threading.Thread, process: int) -> None:
        """Before the interpreter is taken down, and what the thread still holds with it."""
        if os.getpid() == process:  # a child has no such thread
            self._closing.set()
            thread.join()


class _Pool:
    """Databases that nobody uses at the moment, and the watch over those that somebody does."""

    def __init__(self) -> None:
        self.idle: list[Connection] = []
        self.lock = threading.Lock()
        self.watch = _Watch()


_pools = [_Pool()]  # the last is in use; those before it are a parent's, and closing one would wait for its threads
os.register_at_fork(after_in_child=lambda: _pools.append(_Pool()))


def _opened() -> Connection:
    connection = duckdb.connect(config={"memory_limit": MEMORY, "threads": 1, "python_enable_replacements": False})
    connection.execute("SET temp_directory = ''")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@contextmanager
def database() -> Iterator[Tables]:
    """An empty database, for one question. It is emptied afterwards, or thrown away if anything went wrong in it."""
    pool = _pools[-1]
    with pool.lock:
        connection = pool.idle.pop() if pool.idle else None
    connection = connection or _opened()
    try:
        shown: list[str] = []
        with pool.watch.over(connection):
            yield Tables(connection, shown)
        for name in shown:
            connection.unregister(name)
    except BaseException:
        connection.close()
        raise
    with pool.lock:
        keep = len(pool.idle) < _MOST_IDLE
        if keep:
            pool.idle.append(connection)
    if not keep:
        connection.close()


def fill(tables: Tables, name: str, columns: Columns, rows: Sequence[tuple[object, ...]]) -> None:
    """A table with these rows."""
    if not columns:
        columns, rows = [("nothing", "bigint")], [(None,) for _ in rows]
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [_array(each, kind) for each, (_, kind) in zip(cells, columns, strict=True)]
    tables.show(name, pa.table(arrays, names=[column for column, _ in columns]))


def _array(cells: Sequence[object], kind: str) -> pa.Array:
    """A column. Keys that are days, moments or numbers with digits after the point are text in their one spelling."""
    if any(isinstance(cell, str) for cell in cells):
        return pa.array(cells, pa.string()).cast(_ARROW[kind])
    if kind == "double":  # Arrow takes no whole number that a double does not hold exactly
        cells = [float(cell) if isinstance(cell, int) else cell for cell in cells]
    return pa.array(cells, _ARROW[kind])


def show(tables: Tables, name: str, file: str) -> None:
    """A public table, in memory: an attached file would stay open to whatever SQL runs here."""
    found = Path(file).stat()
    tables.show(name, _public(file, (found.st_ino, found.st_mtime_ns), found.st_size))


@lru_cache(maxsize=16)
def _public(file: str, _identity: tuple[int, int], size: int) -> pa.Table:
    """A version's file is written once; a home may be made anew in the place of another."""
    room(_UNPACKED * size)  # how large it is was the custodian's choice
    text = file.replace("'", "''")
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{text}' AS public_file (READ_ONLY)")
        return reader.sql("SELECT * FROM public_file.rows").to_arrow_table()
