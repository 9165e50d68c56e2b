"""The ledger in a SQLite file: append-only, durable before it returns, shared by any number of processes."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import Refusal
from discreet.ledger.books import Books
from discreet.ledger.entry import GENESIS, Answer, Entry, Event, Spend, read_entry

_PATIENCE = 60.0  # seconds to wait for another process's transaction; each lasts milliseconds

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    number INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    body BLOB NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS entry_stays BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entry_remains BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entry_follows BEFORE INSERT ON entry
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM entry)
BEGIN SELECT RAISE(ABORT, 'entries are numbered without gaps'); END;
"""


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    return connection


class SqliteLedger:
    """Entries in one file. Every `append` is one transaction: read what others wrote, check, insert, fsync.

    Guarantee: an event is in the file, and on the disk, before `append` returns; no two appends anywhere see the same
        books, so the sum of all spends never exceeds a budget whatever the number of threads and processes.
    Proof: BEGIN IMMEDIATE admits one writer at a time; inside it the books are brought up to date from the file itself;
        WAL with synchronous=FULL syncs the log before COMMIT returns.
    """

    def __init__(self, path: Path, *, clock: Callable[[], str] = _now) -> None:
        self._path, self._clock = path, clock
        self._lock = threading.RLock()
        self._books, self._last = Books(), GENESIS
        if not path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        self._owner, self._connection = os.getpid(), _connect(path)
        self._connection.executescript(_SCHEMA)

    @property
    def _file(self) -> sqlite3.Connection:
        if self._owner != os.getpid():  # a connection must not cross a fork
            self._owner, self._connection = os.getpid(), _connect(self._path)
        return self._connection

    def append(self, event: Event) -> Entry:
        """Write one event; refuses, writing nothing, if it does not fit the books."""
        return self.append_all([event])[0]

    def append_all(self, events: Sequence[Event]) -> list[Entry]:
        """Write several events or none: each must fit the books after those before it."""
        written: list[Entry] = []
        with self._transaction():
            self._catch_up()
            trial, last = self._books.copy(), self._last
            for event in events:
                entry = Entry(trial.size + 1, self._clock(), secrets.token_hex(16), last, event)
                trial.apply(entry)
                self._file.execute(
                    "INSERT INTO entry (number, hash, body) VALUES (?, ?, ?)", (entry.number, entry.hash, entry.body)
                )
                written.append(entry)
                last = entry.hash
        self._catch_up()
        return written

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            file = self._file
            file.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                file.execute("ROLLBACK")
                raise
            file.execute("COMMIT")

    def _catch_up(self) -> None:
        """Take the entries that anyone has written since into the books."""
        with self._lock:
            for entry in self._read(self._books.size, self._last):
                self._books.apply(entry)
                self._last = entry.hash

    def _read(self, after: int, previous: str) -> Iterator[Entry]:
        rows = self._file.execute("SELECT hash, body FROM entry WHERE number > ? ORDER BY number", (after,))
        for stored, body in rows:
            entry = read_entry(body, previous)
            if entry.hash != stored:
                raise Refusal(f"entry {entry.number} does not match its hash", hint="run discreet ledger verify")
            previous = entry.hash
            yield entry

    def books(self) -> Books:
        """The books as they are now. Do not change them."""
        with self._lock:
            self._catch_up()
            return self._books

    def entries(self) -> list[Entry]:
        """All entries, from the file."""
        with self._lock:
            return list(self._read(0, GENESIS))

    def entry(self, number: int) -> Entry:
        """One entry by its number."""
        with self._lock:
            rows = self._file.execute(
                "SELECT body, (SELECT hash FROM entry WHERE number = ?) FROM entry WHERE number = ?",
                (number - 1, number),
            ).fetchall()
        if not rows:
            raise Refusal(f"there is no entry {number}", hint="see discreet ledger export")
        body, previous = rows[0]
        return read_entry(body, previous or GENESIS)

    def answered(self, question: str) -> list[tuple[Spend, Answer, int]]:
        """Every answer that a question was ever given, with what was paid for it and its entry's number."""
        with self._lock:
            self._catch_up()
            numbers = list(self._books.answers.get(question, ()))
        found = []
        for number in numbers:
            answer = self.entry(number).event
            if isinstance(answer, Answer):
                paid = self.entry(answer.spend).event
                if isinstance(paid, Spend):
                    found.append((paid, answer, number))
        return found

    def rows(self) -> list[tuple[int, str, bytes]]:
        """The file as it is, unchecked: number, hash, body."""
        with self._lock:
            return list(self._file.execute("SELECT number, hash, body FROM entry ORDER BY number"))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
