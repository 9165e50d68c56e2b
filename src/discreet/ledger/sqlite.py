"""The ledger in a SQLite file: append-only, durable before it returns, shared by any number of processes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from discreet.errors import Refusal
from discreet.ledger.access import busy, damaged, had, patience, unusable, waited
from discreet.ledger.books import Books
from discreet.ledger.entry import GENESIS, Answer, Entry, Event, Hold, Spend, chained, read_entry

_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)  # what bad bytes raise
_PAUSE = 0.001  # seconds between two looks whether it is over

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

# One at a time in this process, and nobody while it forks: a child then inherits no file that is open, no SQLite
# lock that it does not have, and no lock of ours that nobody would release.
_ALONE = threading.RLock()
os.register_at_fork(before=_ALONE.acquire, after_in_parent=_ALONE.release, after_in_child=_ALONE.release)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _connect(path: Path) -> sqlite3.Connection:
    """The file that the path names now. It is never made here: an empty ledger in place of a lost one is a refill."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        timeout=patience(path),
        isolation_level=None,
        check_same_thread=False,
    )
    (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    if mode != "delete":
        connection.close()
        raise Refusal("another program holds the ledger open in a way of its own", hint="close it and try again")
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")
    return connection


Glimpse = tuple[int, int, int, int, int, bytes]


def _glimpse(path: Path) -> Glimpse | None:
    """What changes with every commit, wherever it was made; None while one is under way, or was cut off.

    The header of a SQLite file has a counter of commits. Whoever writes keeps a journal beside the file until all of it
    is written. So without a journal, a counter that is still the same stands for pages that are still the same, and a
    file put in place of another has another inode or other times.
    """
    journal = f"{path}-journal"
    if os.path.exists(journal):  # noqa: PTH110  # a path is made slowly, and every question looks several times
        return None
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found, header = os.fstat(file), os.read(file, 100)
        finally:
            os.close(file)
    except OSError:
        return None
    if os.path.exists(journal):  # noqa: PTH110  # begun meanwhile: its counter may be rolled back, and counted again
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, header


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone among all processes.

    SQLite's own lock is lost when anything in this process closes the file, as a copy of the home does. This one lies
    on a file of its own, and belongs to the descriptor that took it.
    """
    lock = path.with_name(f"{path.name}.lock")
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
        end = time.monotonic() + patience(lock)
        while not _taken(file):
            waited(lock)
            if time.monotonic() > end:
                raise busy()
            time.sleep(_PAUSE)
        had(lock)
        yield


def _taken(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class SqliteLedger:
    """Entries in one file. Every `append` is one transaction: read what others wrote, check, insert, fsync.

    Guarantee: an event is in the file, and on the disk, before `append` returns; no two appends anywhere see the same
        books, so the sum of all spends never exceeds a budget whatever the number of threads and processes.
    Proof: a lock of this process and one on a file beside the ledger admit one writer at a time; inside them the books
        are brought up to date from the file itself. The file is opened for each transaction by its path and closed
        after it, so no descriptor and no lock outlives a fork, and none is held while the home is copied or restored. A
        rollback journal with synchronous=EXTRA syncs journal, file and folder before COMMIT returns. (A write-ahead log
        is faster and is not used: it is shared through locks that a fork or a copy takes away, and a commit into a log
        that another process has just removed is lost.) After COMMIT the entries are read back from the path.
    """

    def __init__(self, path: Path, *, clock: Callable[[], str] = _now, new: bool = True) -> None:
        """`new`: whether a ledger may begin here. Where there was one, an empty one in its place would be a refill."""
        self._path, self._clock = path, clock
        self._books = Books()
        self._hashes: list[str] = []  # of the entries in the books
        self._seen: Glimpse | None = None  # what the file looked like before it was last read
        self._owed: dict[
            str, int
        ] = {}  # populations whose hold could not be written yet, and how many entries there were
        if not path.exists():
            if not new:
                raise _missing(path)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        with self._file() as file:
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'entry'").fetchall():
                if path.stat().st_size:  # a ledger that began has its table: never begin again in its place
                    raise damaged()
                if not new:
                    raise _missing(path)
                file.executescript(_SCHEMA)

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        """The file, to oneself. What SQLite has to say is about a file, never about a row of a table."""
        try:
            with _ALONE, _locked(self._path), closing(_connect(self._path)) as file:
                yield file
            had(self._path)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as broken:  # the last is of words in a damaged schema
            raise unusable(broken, self._path) from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._file() as file:  # which is closed in any case, and what was not committed is then rolled back
            file.execute("BEGIN IMMEDIATE")
            yield file
            file.execute("COMMIT")

    def append(self, event: Event) -> Entry:
        """Write one event; refuses, writing nothing, if it does not fit the books."""
        return self.append_all([event])[0]

    def append_all(self, events: Sequence[Event]) -> list[Entry]:
        """Write several events or none: each must fit the books after those before it."""
        with _ALONE:
            self.settle()
            return self._append_all(events)

    def _append_all(self, events: Sequence[Event]) -> list[Entry]:
        written: list[Entry] = []
        with self._transaction() as file:
            self._catch_up(file)
            trial, last = self._books.copy(), self._last
            for event in events:
                entry = Entry(trial.size + 1, self._clock(), secrets.token_hex(16), last, event)
                trial.apply(entry)
                file.execute(
                    "INSERT INTO entry (number, hash, body) VALUES (?, ?, ?)", (entry.number, entry.hash, entry.body)
                )
                written.append(entry)
                last = entry.hash
        with self._file() as file:  # opened anew: the path has the last word on what was written
            self._catch_up(file)
        if written and self._hashes[written[0].number - 1 : written[-1].number] != [entry.hash for entry in written]:
            raise Refusal("an entry was not kept by the ledger's file", hint="somebody changed it: see discreet doctor")
        return written

    def rehearse(self, events: Sequence[Event]) -> None:
        """Refuse events that do not fit the books as they are. Nothing is written."""
        trial = self.books().copy()
        for event in events:
            trial.apply(Entry(trial.size + 1, "", "", GENESIS, event))

    # holds -----------------------------------------------------------------------------------------------------------

    def hold(self, population: str) -> None:
        """Close a population until a custodian lifts the hold, even if the ledger cannot be written now.

        What cannot be written is owed: an empty file beside the ledger says so, which needs no room on a full disk, and
        nothing else is appended by anyone before the hold is.
        """
        with _ALONE:
            try:
                self.append(Hold(population, held=True))
            except (Refusal, OSError):
                self._owed[population] = self._books.size
                with suppress(OSError):
                    os.close(os.open(self._mark(population), os.O_WRONLY | os.O_CREAT, 0o600))

    def _mark(self, population: str) -> Path:
        digest = hashlib.sha256(population.encode(errors="replace")).hexdigest()
        return self._path.with_name(f"{self._path.name}.hold.{digest}")

    def settle(self) -> None:
        """Write the holds that are owed."""
        marked = any(self._path.parent.glob(f"{self._path.name}.hold.*"))
        if not marked and not self._owed:
            return
        for population in list(self.books().accounts):
            if self._mark(population).exists() or self._unwritten(population):
                self._append_all([Hold(population, held=True)])
                self._mark(population).unlink(missing_ok=True)
            self._owed.pop(population, None)

    def _unwritten(self, population: str) -> bool:
        """Whether this process owes a hold that nobody has written since: who found the mark did, and removed it.

        To write it again would close the population that a custodian may have opened meanwhile.
        """
        if population not in self._owed:
            return False
        since = self.entries()[self._owed[population] :]
        return Hold(population, held=True) not in [entry.event for entry in since]

    # reading ---------------------------------------------------------------------------------------------------------

    @property
    def _last(self) -> str:
        return self._hashes[-1] if self._hashes else GENESIS

    def _catch_up(self, file: sqlite3.Connection) -> None:
        """Take the entries that anyone has written since into the books."""
        size = self._books.size
        known = file.execute("SELECT hash, body FROM entry WHERE number = ?", (size,)).fetchall()
        before = self._hashes[-2] if size > 1 else GENESIS
        if size and [(self._last, self._last)] != [(stored, chained(before, body)) for stored, body in known]:
            raise Refusal(
                "the ledger's file is not the one that was read before: it was replaced, cut or rolled back",
                hint="put the newest ledger back, or open the home again",
            )
        for entry in _entries(file, size, self._last):
            try:
                self._books.apply(entry)
            except _MALFORMED:
                raise Refusal(
                    f"entry {entry.number} does not fit the books", hint="run discreet ledger verify"
                ) from None
            self._hashes.append(entry.hash)

    def books(self) -> Books:
        """The books as they are now. Do not change them."""
        with _ALONE:
            seen = _glimpse(self._path)
            if seen is None or seen != self._seen:
                with self._file() as file:
                    self._catch_up(file)
                self._seen = seen  # taken before it was read, so that a change in between is seen next time
            return self._books

    def still(self) -> Books | None:
        """The books as they are now, if that is known without reading them anew; None else. Waits for nobody."""
        if not _ALONE.acquire(blocking=False):
            return None
        try:
            seen = _glimpse(self._path)
            return self._books if seen is not None and seen == self._seen else None
        finally:
            _ALONE.release()

    def entries(self) -> list[Entry]:
        """All entries, from the file."""
        with self._file() as file:
            return list(_entries(file, 0, GENESIS))

    def entry(self, number: int) -> Entry:
        """One entry by its number."""
        with self._file() as file:
            self._catch_up(file)
            return self._entry(file, number)

    def _entry(self, file: sqlite3.Connection, number: int) -> Entry:
        if not 1 <= number <= self._books.size:
            raise Refusal(f"there is no entry {number}", hint="see discreet ledger export")
        ((body,),) = file.execute("SELECT body FROM entry WHERE number = ?", (number,)).fetchall() or ((b"",),)
        return _checked(number, self._hashes[number - 1], body, self._hashes[number - 2] if number > 1 else GENESIS)

    def answered(self, question: str) -> list[tuple[Spend, Answer, int]]:
        """Every answer that a question was ever given, with what was paid for it and its entry's number."""
        found = []
        with self._file() as file:
            self._catch_up(file)
            for number in self._books.answers.get(question, ()):
                answer = self._entry(file, number).event
                if isinstance(answer, Answer):
                    paid = self._entry(file, answer.spend).event
                    if isinstance(paid, Spend):
                        found.append((paid, answer, number))
        return found

    def rows(self) -> list[tuple[int, str, bytes]]:
        """The file as it is, unchecked: number, hash, body."""
        with self._file() as file:
            return list(file.execute("SELECT number, hash, body FROM entry ORDER BY number"))

    def close(self) -> None:
        """Let go of the file: nothing to do, it is held only while something is read or written."""


def _missing(path: Path) -> Refusal:
    return Refusal(
        f"there is no ledger {path.name} in {str(path.parent)!r}",
        hint="put the newest copy of it back: without it nobody knows what was spent",
    )


def _entries(file: sqlite3.Connection, after: int, previous: str) -> Iterator[Entry]:
    rows = file.execute("SELECT number, hash, body FROM entry WHERE number > ? ORDER BY number", (after,))
    for number, stored, body in rows:
        entry = _checked(number, stored, body, previous)
        previous = entry.hash
        yield entry


def _checked(number: int, stored: str, body: bytes, previous: str) -> Entry:
    """The entry of a row, if it is what its hash says."""
    try:
        entry = read_entry(body, previous)
    except (Refusal, *_MALFORMED):
        entry = None
    if entry is None or entry.number != number or entry.hash != stored:
        raise Refusal(f"entry {number} does not match its hash", hint="run discreet ledger verify")
    return entry
