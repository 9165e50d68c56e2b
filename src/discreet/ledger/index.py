"""Index and checkpoint of a ledger, in the same file: what is looked up at once, however long the ledger is.

Nothing here is believed by itself. An entry that was found is checked against the tree of all hashes, whose root comes
from the entries or from a sealed checkpoint; a row that is missing costs somebody a second payment and no one their
privacy. A checkpoint is the books after some entry, so that opening a long ledger reads only what came since: a copy of
what the entries add up to, believed only if the holder of the ledger's key wrote it for the very entry that stands
there. A message authentication code (HMAC-SHA256, RFC 2104) covers the sums, the number and the hash of the last entry.
`verify` does not look at checkpoints but adds everything up again.
"""

from __future__ import annotations

import hmac
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from discreet.errors import Refusal
from discreet.ledger import merkle
from discreet.ledger.balances import Account, Books
from discreet.ledger.entry_kinds import (
    GENESIS,
    SESSION,
    BudgetLoss,
    Dataset,
    Entry,
    Event,
    Grant,
    Plain,
    Spend,
    StoredAnswer,
    canonical,
    read_event,
    read_neighbours,
    write_event,
    write_neighbours,
)
from discreet.ledger.merkle import Frontier, Node, leaf
from discreet.ledger.signed_head import Head, signing_key, strict_json
from discreet.privacy import Approximate, Budget, Concentrated, Pure

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
            raise Refusal(f"part {place} of level {level} of the ledger's index is missing", hint=_UPGRADE)
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
            raise Refusal(f"the ledger's index does not fit its first {size} entries", hint=_UPGRADE)
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


EVERY = 256  # entries between two: as many are read at most when a ledger is opened
_MEASURES: dict[str, type[BudgetLoss]] = {kind.__name__: kind for kind in (Pure, Approximate, Concentrated)}
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)  # what bad bytes raise


# checkpoints ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """The books after an entry, its hash and that of the one before it, and the tree over all hashes.

    Payments that wait for their answers are not among the books here: whoever opens a ledger finds them in its index.
    """

    books: Books
    frontier: Frontier
    last: str
    before: str

    def copy(self) -> Checkpoint:
        """One whose books can be tried out."""
        return replace(self, books=self.books.copy())

    def following(self, entry: Entry) -> tuple[Checkpoint, list[tuple[int, int, bytes]]]:
        """After one more entry, which the books take in; and the whole trees that are new with it."""
        try:
            self.books.apply(entry)
        except _MALFORMED:
            raise Refusal(f"entry {entry.number} does not fit the books", hint="run discreet ledger verify") from None
        frontier, nodes = self.frontier.grown(leaf(bytes.fromhex(entry.hash)))
        return Checkpoint(self.books, frontier, entry.hash, entry.previous), nodes

    def text(self) -> bytes:
        """All of it, in one spelling."""
        books = self.books
        return canonical(
            {
                "size": books.size,
                "last": self.last,
                "before": self.before,
                "peaks": [peak.hex() for peak in self.frontier.peaks],
                "accounts": {name: _account(account) for name, account in books.accounts.items()},
                "grants": [write_event(grant) for grant in books.grants.values()],
                "used": [[*key, _loss(loss)] for key, loss in books.used.items()],
                "datasets": [write_event(dataset) for dataset in books.datasets.values()],
                "owners": [write_event(dataset) for dataset in books.owners.values()],
                "removed": dict(books.removed),
                **({"adopted": books.adopted} if books.adopted else {}),  # as before it was written down
            }
        )


def beginning() -> Checkpoint:
    """Before the first entry."""
    return Checkpoint(Books(), Frontier(), GENESIS, GENESIS)


def seal(text: bytes, key: Ed25519PrivateKey) -> bytes:
    """What only the holder of the key can write under a checkpoint."""
    raw = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return hmac.digest(hmac.digest(raw, b"discreet ledger checkpoint", "sha256"), text, "sha256")


def read_checkpoint(text: bytes, sealed: bytes, key: Ed25519PrivateKey) -> Checkpoint:
    """The checkpoint that `text` wrote, if it was sealed with this key."""
    if not hmac.compare_digest(seal(text, key), sealed):
        raise Refusal(
            "the ledger's checkpoint was not written with ledger.key: one of the two was changed",
            hint="put both back as they were, or add everything up anew with discreet ledger upgrade",
        )
    try:
        return _checkpoint(strict_json(text.decode()))
    except _MALFORMED:
        raise Refusal("the ledger's checkpoint cannot be read", hint="run discreet ledger upgrade") from None


def stored(file: sqlite3.Connection, key: Path) -> Checkpoint | None:
    """The newest checkpoint in a ledger's file, if there is one, with the payments that waited then."""
    kept = checkpoint(file)
    if kept is None:
        return None
    if not key.exists():
        raise Refusal(f"{key.name} is missing", hint="put the one back that the ledger was signed with")
    state = read_checkpoint(*kept, signing_key(key))
    state.books.unanswered.update(waiting(file, state.books.size))
    return state


def store(state: Checkpoint, file: sqlite3.Connection, key: Path) -> None:
    """Make this the newest one."""
    text = state.text()
    put_checkpoint(file, state.books.size, text, seal(text, signing_key(key)))


def _checkpoint(body: Any) -> Checkpoint:  # noqa: ANN401  # it was sealed, so it is what `text` wrote
    datasets, owners = (_datasets(body[name]) for name in ("datasets", "owners"))
    books = Books(
        body["size"],
        {name: _read_account(account) for name, account in body["accounts"].items()},
        {grant.principal: grant for grant in map(read_event, body["grants"]) if isinstance(grant, Grant)},
        {(who, population): _read_loss(loss) for who, population, loss in body["used"]},
        {dataset.table: dataset for dataset in datasets},
        {dataset.population: dataset for dataset in owners if dataset.population is not None},
        removed=body["removed"],
        adopted=body.get("adopted", 0),
    )
    return Checkpoint(
        books, Frontier(books.size, tuple(map(bytes.fromhex, body["peaks"]))), body["last"], body["before"]
    )


def _datasets(bodies: list[Plain]) -> list[Dataset]:
    events: list[Event] = [read_event(body) for body in bodies]
    return [event for event in events if isinstance(event, Dataset)]


def _account(account: Account) -> dict[str, Plain]:
    budget = account.budget
    sessions: dict[str, Plain] = {"sessions": budget.sessions} if budget.sessions else {}  # as before there were any
    return {
        "total": _loss(budget.total),
        "spent": _loss(budget.spent),
        "neighbours": write_neighbours(budget.neighbours),
        "retired": account.retired,
        "held": account.held,
        **sessions,
    }


def _read_account(body: Any) -> Account:  # noqa: ANN401  # likewise
    total, spent = _read_loss(body["total"]), _read_loss(body["spent"])
    budget = Budget(total, spent, read_neighbours(body["neighbours"]), body.get("sessions", 0))
    return Account(budget, body["retired"], body["held"])


def _loss(loss: BudgetLoss) -> list[Plain]:
    """In hexadecimal digits: a sum of many prices may have more decimal ones than Python turns into text."""
    numbers = [Fraction(getattr(loss, part.name)) for part in fields(loss)]
    return [type(loss).__name__, *(f"{number.numerator:x}/{number.denominator:x}" for number in numbers)]


def _read_loss(body: list[str]) -> BudgetLoss:
    measure, *numbers = body
    parts = [part.name for part in fields(_MEASURES[measure])]
    return _MEASURES[measure](**dict(zip(parts, map(_number, numbers), strict=True)))


def _number(text: str) -> Fraction:
    top, bottom = text.split("/")
    return Fraction(int(top, 16), int(bottom, 16))
