"""What is looked up in a ledger, beside its entries and in the same file: found at once, however long the ledger is.

Nothing here is believed: an entry that was found is checked against the tree of all hashes, whose root comes from the
entries or from a sealed checkpoint. A row that is missing costs somebody a second payment and no one their privacy.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from discreet.errors import Refusal
from discreet.ledger import merkle
from discreet.ledger.entry import SESSION, Entry, Plain, Spend, StoredAnswer
from discreet.ledger.head import Head
from discreet.ledger.merkle import Frontier, Node

SCHEMA = """
CREATE TABLE IF NOT EXISTS node (
    level INTEGER NOT NULL, place INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS payment (
    number INTEGER PRIMARY KEY, principal TEXT NOT NULL, question TEXT NOT NULL, answer INTEGER, release INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS payment_by_question ON payment (question);
CREATE INDEX IF NOT EXISTS payment_by_principal ON payment (principal, number);
CREATE INDEX IF NOT EXISTS payment_by_answer ON payment (answer);
CREATE INDEX IF NOT EXISTS payment_of_release ON payment (answer) WHERE release = 1;
CREATE TABLE IF NOT EXISTS checkpoint (
    one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL, body BLOB NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS mark (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
"""
WITNESSED, PRACTICE = "witnessed", "practice"  # marks: its head is kept outside; it is for trying things out
_MOST = (1 << 63) - 1
_UPGRADE = "run discreet ledger verify; if it holds, discreet ledger upgrade makes the index anew"


def note(file: sqlite3.Connection, entry: Entry, nodes: Iterable[tuple[int, int, bytes]]) -> None:
    """Take one more entry in, and the whole trees that are new with it."""
    file.executemany("INSERT INTO node VALUES (?, ?, ?)", nodes)
    match entry.event:
        case Spend() as spend:
            new = entry.number, spend.principal, spend.question
            file.execute("INSERT INTO payment (number, principal, question) VALUES (?, ?, ?)", new)
        case StoredAnswer() as said:
            more = entry.number, is_release(said.answer), said.spend
            file.execute("UPDATE payment SET answer = ?, release = ? WHERE number = ?", more)


def is_release(answer: Plain) -> bool:
    """Whether an answer is one that was published: then it is a digest, and its file lies beside the ledger."""
    return isinstance(answer, dict) and "release" in answer


def reach(file: sqlite3.Connection) -> int:
    """How many entries were taken in."""
    ((most,),) = file.execute("SELECT max(place) FROM node WHERE level = 0").fetchall()
    return 0 if most is None else int(most) + 1


def entries(file: sqlite3.Connection) -> int:
    """How many entries there are."""
    ((most,),) = file.execute("SELECT coalesce(max(number), 0) FROM entry").fetchall()
    return int(most)


def checkpointed(file: sqlite3.Connection) -> int:
    """After how many entries the newest checkpoint was made."""
    ((size,),) = file.execute("SELECT coalesce(max(size), 0) FROM checkpoint").fetchall()
    return int(size)


def checkpoint(file: sqlite3.Connection) -> tuple[bytes, bytes] | None:
    """The newest checkpoint, and its seal."""
    kept = file.execute("SELECT body, seal FROM checkpoint").fetchall()
    return kept[0] if kept else None


def put_checkpoint(file: sqlite3.Connection, size: int, body: bytes, seal: bytes) -> None:
    """Make this the newest one."""
    file.execute("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?, ?)", (size, body, seal))


def mark(file: sqlite3.Connection, word: str) -> None:
    """Write a word down."""
    file.execute("INSERT OR IGNORE INTO mark VALUES (?)", (word,))


def marked(file: sqlite3.Connection, word: str) -> bool:
    """Whether a word was written down."""
    return bool(file.execute("SELECT 1 FROM mark WHERE word = ?", (word,)).fetchall())


def clear(file: sqlite3.Connection) -> None:
    """Forget all of it but the marks."""
    for table in ("node", "payment", "checkpoint"):
        file.execute(f"DELETE FROM {table}")  # noqa: S608  # our own names


def answers(file: sqlite3.Connection, question: str) -> tuple[int, ...]:
    """The numbers of the entries that answer a question."""
    asked = "SELECT answer FROM payment WHERE question = ? AND answer IS NOT NULL ORDER BY answer"
    return tuple(number for (number,) in file.execute(asked, (question,)))


def waiting(file: sqlite3.Connection, size: int) -> dict[int, str]:
    """Of the first entries the payments that had no answer among them, with their questions."""
    asked = "SELECT number, question FROM payment WHERE (answer IS NULL OR answer > ?) AND number <= ?"
    return dict(file.execute(asked, (size, size)))


def payments(
    file: sqlite3.Connection, principal: str | None, before: int | None, most: int | None
) -> list[tuple[int, int | None]]:
    """The latest payments of a person, or of everybody, and the entries that answer them."""
    whose, given = ("principal = ? AND", [principal]) if principal is not None else ("", [])
    asked = f"SELECT number, answer FROM payment WHERE {whose} number < ? ORDER BY number DESC LIMIT ?"  # noqa: S608  # our own words
    return file.execute(asked, (*given, _MOST if before is None else before, -1 if most is None else most)).fetchall()


def releases(file: sqlite3.Connection) -> list[tuple[int, int]]:
    """What was published, the latest first: its payment and its answer."""
    return file.execute("SELECT number, answer FROM payment WHERE release = 1 ORDER BY answer DESC").fetchall()


def sessions(file: sqlite3.Connection) -> list[tuple[int, int | None]]:
    """The payments for sessions, the latest first, and the entries that closed them."""
    among = "question >= ? AND question < ?"
    bounds = SESSION, SESSION[:-1] + chr(ord(SESSION[-1]) + 1)
    asked = f"SELECT number, answer FROM payment WHERE {among} ORDER BY number DESC"  # noqa: S608  # our own words
    return file.execute(asked, bounds).fetchall()


def nodes(file: sqlite3.Connection) -> Node:
    """The whole trees that are kept in the file."""

    @cache  # paths of many entries have their upper parts in common
    def node(level: int, place: int) -> bytes:
        kept = file.execute("SELECT hash FROM node WHERE level = ? AND place = ?", (level, place)).fetchall()
        if not kept:
            raise Refusal("a part of the ledger's index is missing", hint=_UPGRADE)
        return bytes(kept[0][0])

    return node


@dataclass(frozen=True)
class Past:
    """All entries so far, by the root of their tree, and what is kept of the tree to prove things with."""

    frontier: Frontier
    node: Node

    def root_at(self, size: int) -> bytes:
        """The root that the first entries had, proved from the root of them all."""
        root, proof = merkle.root_of(self.node, 0, size), merkle.consistency(self.node, size, self.frontier.size)
        if not merkle.consistent(size, root, self.frontier.size, self.frontier.root, proof):
            raise Refusal("the ledger's index does not fit its entries", hint=_UPGRADE)
        return root

    def siblings(self, number: int, size: int) -> tuple[str, ...]:
        """What proves that an entry is among the first ones."""
        return tuple(part.hex() for part in merkle.inclusion(self.node, size, number - 1))

    def since(self, size: int) -> tuple[str, ...]:
        """What proves that all entries begin with so many."""
        return tuple(part.hex() for part in merkle.consistency(self.node, size, self.frontier.size))

    def holds(self, number: int, hashed: str) -> bool:
        """Whether the entry of this number has this hash."""
        proof = merkle.inclusion(self.node, self.frontier.size, number - 1)
        leaf = merkle.leaf(bytes.fromhex(hashed))
        return merkle.included(leaf, number - 1, self.frontier.size, proof, self.frontier.root)

    def begins_with(self, head: Head) -> bool:
        """Whether the entries go on from those of a head."""
        return head.size <= self.frontier.size and self.root_at(head.size).hex() == head.root
