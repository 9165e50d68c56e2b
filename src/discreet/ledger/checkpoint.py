"""A checkpoint: the books after some entry, so that opening a long ledger reads only what came since.

It is a copy of what the entries add up to, and is believed only if the holder of the ledger's key wrote it for the very
entry that stands there: a message authentication code (HMAC-SHA256, RFC 2104) covers the sums, the number and the hash
of the last entry. `verify` does not look at checkpoints but adds everything up again.
"""

from __future__ import annotations

import hmac
import sqlite3
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from discreet.errors import Refusal
from discreet.ledger import index
from discreet.ledger.books import Account, Books
from discreet.ledger.entry import (
    GENESIS,
    BudgetLoss,
    Dataset,
    Entry,
    Event,
    Grant,
    Plain,
    canonical,
    read_event,
    read_neighbours,
    write_event,
    write_neighbours,
)
from discreet.ledger.head import signing_key, strict_json
from discreet.ledger.merkle import Frontier, leaf
from discreet.privacy import Approximate, Budget, Concentrated, Pure

EVERY = 256  # entries between two: as many are read at most when a ledger is opened
_MEASURES: dict[str, type[BudgetLoss]] = {kind.__name__: kind for kind in (Pure, Approximate, Concentrated)}
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)  # what bad bytes raise


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
    kept = index.checkpoint(file)
    if kept is None:
        return None
    if not key.exists():
        raise Refusal(f"{key.name} is missing", hint="put the one back that the ledger was signed with")
    state = read_checkpoint(*kept, signing_key(key))
    state.books.unanswered.update(index.waiting(file, state.books.size))
    return state


def store(state: Checkpoint, file: sqlite3.Connection, key: Path) -> None:
    """Make this the newest one."""
    text = state.text()
    index.put_checkpoint(file, state.books.size, text, seal(text, signing_key(key)))


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
