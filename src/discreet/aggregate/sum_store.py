"""Store of an aggregator, one SQLite file: who joined, what was sent in the epoch that is under way, and the sums.

plan      what each sum asks, while people join
person    the public key of each who joined, in the order in which they came
invited   digests of tokens, and whose key came with it
task      signed documents, each version
message   what was said in each step of an epoch, until the epoch is over; of boxes only their hash
box       boxes by whom they are for
step      when a step began, whether it is over, and then what everybody needs of it
outcome   of each epoch: the sum, over how many people; or why there is none
handover  from one key to the next
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from discreet.ledger.file_access import Called
from discreet.transport.private_file import PrivateFile

_CALLED = Called(
    "the file of the sums", "nothing was kept", "put the newest copy of it back; who sent something may send it again"
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS plan (
    id TEXT PRIMARY KEY, document TEXT NOT NULL, closes TEXT NOT NULL, closed TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS person (number INTEGER PRIMARY KEY, id TEXT, key TEXT, UNIQUE (id, key)) STRICT;
CREATE TABLE IF NOT EXISTS invited (
    id TEXT, token BLOB, key TEXT, PRIMARY KEY (id, token)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS task (
    digest BLOB PRIMARY KEY, id TEXT NOT NULL, version INTEGER NOT NULL, document BLOB NOT NULL, UNIQUE (id, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS message (
    digest BLOB, epoch INTEGER, step INTEGER, place INTEGER, content BLOB NOT NULL,
    PRIMARY KEY (digest, epoch, step, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS box (
    digest BLOB, epoch INTEGER, receiver INTEGER, sender INTEGER, content TEXT NOT NULL,
    PRIMARY KEY (digest, epoch, receiver, sender)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS step (
    digest BLOB, epoch INTEGER, step INTEGER, began TEXT NOT NULL, over INTEGER NOT NULL, told TEXT,
    PRIMARY KEY (digest, epoch, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcome (
    digest BLOB, epoch INTEGER, total TEXT, people INTEGER NOT NULL, refused TEXT NOT NULL,
    PRIMARY KEY (digest, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS handover (number INTEGER PRIMARY KEY, document TEXT NOT NULL) STRICT;
"""


class SumStore(PrivateFile):
    """What an aggregator keeps."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _CALLED, _SCHEMA)


def said(file: sqlite3.Connection, digest: bytes, epoch: int, step: int) -> dict[int, bytes]:
    """What was said in a step, by whom."""
    found = file.execute(
        "SELECT place, content FROM message WHERE digest = ? AND epoch = ? AND step = ? ORDER BY place",
        (digest, epoch, step),
    )
    return {place: bytes(content) for place, content in found}


def senders(file: sqlite3.Connection, digest: bytes, epoch: int, step: int) -> list[int]:
    """Who said something in a step."""
    found = file.execute(
        "SELECT place FROM message WHERE digest = ? AND epoch = ? AND step = ? ORDER BY place", (digest, epoch, step)
    )
    return [place for (place,) in found]


def forget(file: sqlite3.Connection, digest: bytes, epoch: int) -> None:
    """Delete what was said in an epoch that is over; what was there is overwritten."""
    file.execute("DELETE FROM message WHERE digest = ? AND epoch = ?", (digest, epoch))
    file.execute("DELETE FROM box WHERE digest = ? AND epoch = ?", (digest, epoch))
    file.execute("UPDATE step SET told = NULL WHERE digest = ? AND epoch = ?", (digest, epoch))
