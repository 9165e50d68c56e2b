"""What a collector keeps, in one SQLite file: never a raw answer, and never a report beside an id or a token.

task        documents, each version
collection  of each version: the tally, how many were accepted, whether it is closed, the frozen results
invited     digests of tokens, and how many reports each sent
seen        report ids, sorted, in runs
waiting     reports that are not a batch yet, in no order, in runs
counted     how often what was accepted or refused
handover    from one key to the next

Runs are sorted or mixed anew whenever one grows, so that the order in which reports came is in none of them. There is
a rollback journal, not a write-ahead log: a log would keep the tally before and after a report beside its id. What is
deleted is overwritten.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from discreet.errors import Refusal

_PATIENCE = 60.0  # seconds to wait for another process's transaction; each lasts milliseconds
_RUN = 1 << 14  # bytes from which on a run grows no more: it is written whole each time

_SCHEMA = """
CREATE TABLE IF NOT EXISTS task (
    digest BLOB PRIMARY KEY, id TEXT NOT NULL, version INTEGER NOT NULL, document BLOB NOT NULL, UNIQUE (id, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS collection (
    digest BLOB PRIMARY KEY, state BLOB NOT NULL, accepted INTEGER NOT NULL, waiting INTEGER NOT NULL,
    tally BLOB NOT NULL, closed TEXT, collected TEXT, results BLOB
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS invited (
    digest BLOB NOT NULL, token BLOB NOT NULL, sent INTEGER NOT NULL, PRIMARY KEY (digest, token)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (
    digest BLOB NOT NULL, run INTEGER NOT NULL, held BLOB NOT NULL, PRIMARY KEY (digest, run)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waiting (
    digest BLOB NOT NULL, run INTEGER NOT NULL, held BLOB NOT NULL, PRIMARY KEY (digest, run)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counted (
    digest BLOB NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (digest, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS handover (number INTEGER PRIMARY KEY, document TEXT NOT NULL) STRICT;
"""
_TAIL = {
    name: f"SELECT run, held FROM {name} WHERE digest = ? ORDER BY run DESC LIMIT 1"  # noqa: S608  # our own names
    for name in ("seen", "waiting")
}
_HELD = {
    name: f"SELECT held FROM {name} WHERE digest = ? ORDER BY run"  # noqa: S608
    for name in ("seen", "waiting")
}
_PUT = {
    name: f"INSERT OR REPLACE INTO {name} (digest, run, held) VALUES (?, ?, ?)"  # noqa: S608
    for name in ("seen", "waiting")
}

# One at a time in this process, and nobody while it forks: a child then inherits no file that is open.
_ALONE = threading.RLock()
os.register_at_fork(before=_ALONE.acquire, after_in_parent=_ALONE.release, after_in_child=_ALONE.release)


class Store:
    """The file. It is opened for each transaction and closed after it; what was committed is on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept."""
        return self.path.exists()

    @contextmanager
    def transaction(self, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """The file to oneself: all that is done inside is kept, or nothing is. `new`: it may be made here."""
        if new and not self.exists:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        with self._file() as file:
            file.execute("BEGIN IMMEDIATE")
            if new:
                for statement in _SCHEMA.split(";")[:-1]:
                    file.execute(statement)
            yield file
            file.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The file as it is."""
        with self._file() as file:
            yield file

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        """What SQLite has to say is about a file, never about what is in it."""
        try:
            with _ALONE, closing(_connect(self.path)) as file:
                yield file
        except (sqlite3.Error, OSError) as broken:
            raise Refusal(
                f"the surveys' file cannot be read or written: {type(broken).__name__}", hint="is the disk full?"
            ) from None


def _connect(path: Path) -> sqlite3.Connection:
    where = f"file:{quote(str(path))}?mode=rw"
    file = sqlite3.connect(where, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    file.execute("PRAGMA journal_mode = DELETE")
    file.execute("PRAGMA synchronous = FULL")
    file.execute("PRAGMA fullfsync = ON")
    file.execute("PRAGMA secure_delete = ON")
    return file


def held(file: sqlite3.Connection, name: str, digest: bytes) -> list[bytes]:
    """All runs of ids or of reports."""
    return [part for (part,) in file.execute(_HELD[name], (digest,))]


def tail(file: sqlite3.Connection, name: str, digest: bytes) -> tuple[int, bytes]:
    """The run that still grows, by its number and what it holds; or a new one."""
    found = file.execute(_TAIL[name], (digest,)).fetchone()
    if found is None:
        return 0, b""
    number, content = found
    return (number, content) if len(content) < _RUN else (number + 1, b"")


def put(file: sqlite3.Connection, name: str, digest: bytes, run: int, content: bytes) -> None:
    """Write a run."""
    file.execute(_PUT[name], (digest, run, content))


def counted(file: sqlite3.Connection, digest: bytes, numbers: Mapping[str, int]) -> None:
    """Count what was accepted or refused."""
    file.executemany(
        "INSERT INTO counted (digest, kind, number) VALUES (?, ?, ?)"
        " ON CONFLICT (digest, kind) DO UPDATE SET number = number + excluded.number",
        [(digest, kind, number) for kind, number in numbers.items() if number],
    )
