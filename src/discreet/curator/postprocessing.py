"""SQL above the noise: it runs on noisy tables, in a database that never saw a private row."""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.curator.answer import Estimate
from discreet.curator.answer_formulas import ROW, Side, traced
from discreet.declared.group_key import Key, Type
from discreet.errors import Exceeded, Fault, Refusal
from discreet.sandbox import room
from discreet.sql import arithmetic, postgres_input_forms
from discreet.sql.plan import GroupKey, Part, Question

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
    file_state = Path(file).stat()
    tables.show(name, _public(file, (file_state.st_ino, file_state.st_mtime_ns), file_state.st_size))


@lru_cache(maxsize=16)
def _public(file: str, _identity: tuple[int, int], size: int) -> pa.Table:
    """A version's file is written once; a home may be made anew in the place of another."""
    room(_UNPACKED * size)  # how large it is was the custodian's choice
    text = file.replace("'", "''")
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{text}' AS public_file (READ_ONLY)")
        return reader.sql("SELECT * FROM public_file.rows").to_arrow_table()


Cell = bool | int | float | str | None | object
Named = tuple[tuple[str, str], ...]  # (name, SQL type)
Table = tuple[Named, tuple[tuple[Cell, ...], ...]]  # columns, rows


@dataclass(frozen=True)
class Result:
    """Columns with their SQL types, rows, and the hidden cells of each row, which say where its numbers come from."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]
    hidden: tuple[tuple[Cell, ...], ...]


def noisy_table(part: Part, groups: Sequence[tuple[Key, ...]], rows: Sequence[Sequence[Estimate]]) -> Table:
    """A part's table: its keys, its values, and the numbers of its rows."""
    columns = [(key.name, key.expression.type.value) for key in part.measurement.keys]
    columns += [(aggregate.name, aggregate.type.value) for aggregate in part.aggregates]
    cells = tuple((*group, *row, place) for place, (group, row) in enumerate(zip(groups, rows, strict=True)))
    return (*columns, (ROW, "bigint")), cells


@dataclass(frozen=True)
class Upper:
    """The upper half of a question as the database above the noise reads it."""

    question: Question
    text: str
    sides: tuple[Side, ...]  # what its columns are; none where that is not known
    hidden: int  # columns at the end of a row that are not the answer's
    columns: tuple[tuple[str, str], ...] = ()  # of the answer, once it was rehearsed

    @property
    def noisy(self) -> tuple[bool, ...]:
        """Which columns have noise in them: of what is not known, all."""
        width = len(self.question.columns)
        if not self.sides:
            return (bool(self.question.parts),) * width
        return tuple(any(side.noisy[i] for side in self.sides) for i in range(width))

    @property
    def unbarred(self) -> Upper:
        """The same, none of whose numbers has an error bar."""
        return replace(self, sides=tuple(side.without_formulas for side in self.sides))


def rehearse(question: Question, public: Mapping[str, str]) -> Upper:
    """Run the upper half of a question on made-up tables: what does not work out is refused before it is paid.

    On a few rows of ordinary numbers, which meet what only fails on rows, and on none where there may be none. All of
    it depends on public facts alone, so what went well once is not tried again.
    """
    above = upper(question)
    names: Named = ()
    try:
        for tables in _turns(question):
            names = _executed(above.text, dict(tables), public)[0] if public else _tried(above.text, tables)
    except Fault:
        raise _unworkable() from None
    return replace(above, columns=_columns(above, names))


@lru_cache(maxsize=256)
def _tried(text: str, tables: tuple[tuple[str, Table], ...]) -> Named:
    """The columns that come of made-up tables. Most questions differ below the noise, and are alike above it."""
    return _executed(text, dict(tables), {})[0]


_NUMBERS = (0, 1, 1_000_003, -7)
_KEYS: dict[Type, tuple[Key, ...]] = {
    Type.BOOLEAN: (False, True, None, True),
    Type.BIGINT: (0, 1, 1_000_003, -7),
    Type.VARCHAR: ("a", "b", None, ""),
    Type.DATE: ("2024-02-29", "2025-01-01", None, "2025-01-01"),
    Type.TIMESTAMP: ("2024-02-29 12:00:00", "2025-01-01 00:00:00", None, "2025-01-01 00:00:00"),
}


def _turns(question: Question) -> Iterator[tuple[tuple[str, Table], ...]]:
    """The tables to try. Where parts have all numbers at once, one turn is enough, and perhaps one without."""
    parts = question.parts
    if parts:
        for first in (0,) if all(len(_groups(part)) == len(_NUMBERS) for part in parts) else (0, 2):
            yield tuple((part.name, _made_up(part, first)) for part in parts)
    if not all(_has_rows(part) for part in parts) or not parts:
        yield tuple((part.name, noisy_table(part, [], [])) for part in parts)


def _has_rows(part: Part) -> bool:
    """Whether a part's table has rows whatever is in the data: one, or one for each of its declared keys."""
    return all(key.values for key in part.measurement.keys)


def _made_up(part: Part, first: int) -> Table:
    """A table such as the noise could make."""
    groups = _groups(part)
    numbers = [_NUMBERS[(first + i) % len(_NUMBERS)] for i in range(len(groups))]
    return noisy_table(part, groups, [[number for _ in part.aggregates] for number in numbers])


def _groups(part: Part) -> list[tuple[Key, ...]]:
    """As many groups as there are numbers, if there may be that many: no two are alike."""
    keys = part.measurement.keys
    return list(dict.fromkeys(tuple(_key(key, i) for key in keys) for i in range(len(_NUMBERS))))


def _key(key: GroupKey, place: int) -> Key:
    if key.values:
        return key.values[place % len(key.values)]
    return _KEYS[key.expression.type][place]


def _unworkable() -> Refusal:
    hint = "check the types of what is combined, and the columns that are named"
    return Refusal("this question does not work out above its aggregates", hint=hint)


def upper(question: Question) -> Upper:
    """What to run above the noise: one SELECT, whatever the text tries to be."""
    above = question.above.copy()
    for cast in list(above.find_all(exp.Cast)):
        if type(cast) is exp.Cast:  # what cannot be cast is NULL: it was paid for, and must not fail
            cast.replace(exp.TryCast(this=cast.this, to=cast.args["to"]))
    sides, hidden = traced(above, question)
    postgres_input_forms.written_out(above)
    arithmetic.written_out(above)
    text = above.sql(dialect="duckdb")
    _refuse_other_statements(text)
    return Upper(question, text, sides, hidden)


@lru_cache(maxsize=256)
def _refuse_other_statements(text: str) -> None:
    try:
        with database() as empty:
            kinds = [statement.type for statement in empty.connection.extract_statements(text)]
    except duckdb.Error:
        raise _unworkable() from None
    if kinds != [duckdb.StatementType.SELECT]:
        raise Refusal("this is not one SELECT", hint="see what may be asked in the docs")


def run(above: Upper, tables: Mapping[str, Table], public: Mapping[str, str]) -> Result:
    """Run the upper half of a question. `public` says in which file a public table is kept."""
    names, rows = _executed(above.text, tables, public)
    columns = _columns(above, names)
    width, noisy = len(columns), above.noisy
    told = (tuple(map(_finite, row[:width], noisy)) for row in rows)
    return Result(columns, tuple(told), tuple(row[width:] for row in rows))


def _finite(cell: Cell, noisy: bool) -> Cell:  # noqa: FBT001  # one cell, of one column
    """A cell as it is told: what noise made infinite, or no number, has no answer."""
    return None if noisy and isinstance(cell, float) and not math.isfinite(cell) else cell


def _executed(
    text: str, tables: Mapping[str, Table], public: Mapping[str, str]
) -> tuple[Named, list[tuple[Cell, ...]]]:
    try:
        with database() as given:
            for name, file in public.items():
                show(given, name, file)
            for name, (columns, rows) in tables.items():
                fill(given, name, columns, rows)
            cursor = given.connection.execute(text)
            names = tuple((column[0], str(column[1]).lower()) for column in cursor.description or [])
            return names, cursor.fetchall()
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise Exceeded from None
    except (duckdb.Error, pa.ArrowException, OverflowError):
        if tables:
            raise Fault from None
        raise _unworkable() from None


def _columns(above: Upper, names: Named) -> Named:
    """The columns of an answer, without the hidden ones."""
    width = len(names) - above.hidden
    if width != len(above.question.columns):  # a star under a name of its own
        raise _unworkable()
    return tuple(_typed(names[:width], above.question))


def _typed(names: Named, question: Question) -> list[tuple[str, str]]:
    """COUNT is bigint, SUM and AVG double, whatever the upper database called them."""
    kinds = {
        (part.name, aggregate.name): aggregate.type.value for part in question.parts for aggregate in part.aggregates
    }
    return [
        (label, kinds.get(source, kind) if source else kind)
        for (_, kind), source, label in zip(names, question.direct, question.columns, strict=True)
    ]
