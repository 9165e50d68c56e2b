"""Store of a collector, one SQLite file: never a raw answer, and never a report beside an id or a token.

task        documents, each version
collection  of each version: the tally, how many were accepted, whether it is closed, the frozen results
invited     digests of tokens, and how many reports each sent
seen        report ids, sorted, in runs
waiting     reports that are not a batch yet, in no order, in runs
counted     how often what was accepted or refused
handover    from one key to the next

What comes changes places with what is there, so that neither a run nor its number tells when something came, and the
run that grows last holds no pair of an id and its report. There is a rollback journal, not a write-ahead log: a log
would keep the tally before and after a report beside its id. What is deleted is overwritten in the file; the journal
of each transaction is unlinked, and a disk may keep its blocks for a while.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from discreet.ledger.file_access import Called
from discreet.noise import Entropy, below, permutation
from discreet.transport.private_file import PrivateFile

_CALLED = Called(
    "the surveys' file", "nothing was kept", "put the newest copy of it back; who sent something may send it again"
)
_RUN = 1 << 14  # bytes of a run: it is written whole each time
_FEWEST = 16  # items of a full run, however wide they are: each hides among the others

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
_LAST, _ONE, _HELD, _PUT = (
    {name: sql.replace("ITEMS", name) for name in ("seen", "waiting")}
    for sql in (
        "SELECT max(run) FROM ITEMS WHERE digest = ?",
        "SELECT held FROM ITEMS WHERE digest = ? AND run = ?",
        "SELECT held FROM ITEMS WHERE digest = ? ORDER BY run",
        "INSERT OR REPLACE INTO ITEMS (digest, run, held) VALUES (?, ?, ?)",
    )
)


class Store(PrivateFile):
    """What a collector keeps."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _CALLED, _SCHEMA)


def held(file: sqlite3.Connection, name: str, digest: bytes) -> list[bytes]:
    """All runs of ids or of reports."""
    return [part for (part,) in file.execute(_HELD[name], (digest,))]


def mingle(  # noqa: PLR0913  # what, whose, and by whose coins
    file: sqlite3.Connection, name: str, digest: bytes, new: bytes, *, width: int, rng: Entropy
) -> None:
    """Add items of one width. They change places at random with those of the last run and of one earlier run.

    So nobody who has a copy of the file finds the last that came: it is as likely any of two runs, which are full
    unless there are not so many yet. Ids are sorted in each run beside that.
    """
    last = file.execute(_LAST[name], (digest,)).fetchone()[0]
    chosen = [] if last is None else [last] if last == 0 else [below(last, rng=rng), last]
    before = [bytes(file.execute(_ONE[name], (digest, run)).fetchone()[0]) for run in chosen]
    items = np.frombuffer(b"".join([*before, new]), dtype=f"V{width}")
    items = items[permutation(items.size, rng=rng)]
    full, first = max(_FEWEST, _RUN // width), len(before[0]) // width if len(chosen) > 1 else 0
    cuts = [first, *range(first + full, items.size, full)] if first else list(range(full, items.size, full))
    parts = np.split(items, cuts)
    after = 0 if last is None else last + 1
    numbers = [*chosen, *range(after, after + len(parts) - len(chosen))]
    for run, part in zip(numbers, parts, strict=True):  # a part without a number would be lost
        ordered = np.sort(part.view(f"S{width}")) if name == "seen" else part
        file.execute(_PUT[name], (digest, run, ordered.tobytes()))


def pruned(file: sqlite3.Connection, digest: bytes, now: str) -> None:
    """Delete ids, tokens and waiting reports of a version, which is closed; what was there is overwritten."""
    for name in ("seen", "waiting", "invited"):
        file.execute(f"DELETE FROM {name} WHERE digest = ?", (digest,))  # noqa: S608  # our own names
    new = secrets.token_bytes(16)  # whoever has the ids in memory must look again
    file.execute(
        "UPDATE collection SET waiting = 0, state = ?, closed = coalesce(closed, ?) WHERE digest = ?",
        (new, now, digest),
    )


def counted(file: sqlite3.Connection, digest: bytes, numbers: Mapping[str, int]) -> None:
    """Count what was accepted or refused."""
    file.executemany(
        "INSERT INTO counted (digest, kind, number) VALUES (?, ?, ?)"
        " ON CONFLICT (digest, kind) DO UPDATE SET number = number + excluded.number",
        [(digest, kind, number) for kind, number in numbers.items() if number],
    )
