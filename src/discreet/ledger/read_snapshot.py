"""Snapshot of a ledger at one moment: its entries one by one, and proofs about them, from a few rows of its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import Refusal
from discreet.ledger import index
from discreet.ledger.entry_kinds import GENESIS, Entry, Spend, StoredAnswer, read_entry
from discreet.ledger.index import Past
from discreet.ledger.signed_head import Head, sign_root
from discreet.ledger.verify import Extension, Receipt

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)  # what bad bytes raise


@dataclass(frozen=True)
class View:
    """The file while nobody writes, and the root of all its entries, by which everything that is read is checked."""

    file: sqlite3.Connection
    past: Past

    @property
    def size(self) -> int:
        """How many entries there are."""
        return self.past.frontier.size

    @property
    def origin(self) -> str:
        """The hash of the first entry; nothing before there is one."""
        return self._hash(1) if self.size else ""

    def entry(self, number: int) -> Entry:
        """One entry by its number, if it is the one that lies under the root."""
        if not 1 <= number <= self.size:
            raise Refusal(f"there is no entry {number}", hint="see discreet ledger export")
        rows = self.file.execute("SELECT hash, body FROM entry WHERE number = ?", (number,)).fetchall()
        stored, body = rows[0] if rows else ("", b"")
        entry = checked(number, stored, body, self._hash(number - 1))
        if not self.past.holds(number, entry.hash):
            raise _unmatched(number)
        return entry

    def _hash(self, number: int) -> str:
        if not number:
            return GENESIS
        rows = self.file.execute("SELECT hash FROM entry WHERE number = ?", (number,)).fetchall()
        return str(rows[0][0]) if rows else ""

    def answered(self, question: str) -> list[tuple[Spend, StoredAnswer, int]]:
        """Every answer that a question was ever given, with what was paid for it and its entry's number."""
        return [
            (paid, said, number)
            for number in index.answers(self.file, question)
            for paid, said in [self._both(number)]
            if said.question == question
        ]

    def _both(self, number: int) -> tuple[Spend, StoredAnswer]:
        """A payment and its answer, by the number of the answer."""
        said = self.entry(number).event
        paid = self.entry(said.spend).event if isinstance(said, StoredAnswer) else None
        if not isinstance(said, StoredAnswer) or not isinstance(paid, Spend):
            raise Refusal(f"the ledger's index does not fit entry {number}", hint="run discreet ledger upgrade")
        return paid, said

    def payments(
        self, principal: str | None, before: int | None = None, most: int | None = None
    ) -> list[tuple[Entry, Entry | None]]:
        """The latest payments of a person, or of everybody, and what was answered."""
        numbers = index.payments(self.file, principal, before, most)
        entry = (
            self.entry if len(numbers) < self.size // 20 else self._every()
        )  # each by its proof, or all by their chain
        return [(entry(paid), None if said is None else entry(said)) for paid, said in numbers]

    def _every(self) -> Callable[[int], Entry]:
        """All entries, each checked against the one before it, and the last against the root."""
        entries = list(entries_after(self.file, 0, GENESIS))
        if len(entries) != self.size or (entries and not self.past.holds(self.size, entries[-1].hash)):
            raise _unmatched(self.size)
        return lambda number: entries[number - 1]

    def releases(self) -> list[tuple[Spend, Entry]]:
        """What was published, the latest first: what was paid, and the entry that holds its digest."""
        return [(self._both(said)[0], self.entry(said)) for _, said in index.releases(self.file)]

    def release(self, number: int) -> tuple[Spend, Entry] | None:
        """One of them by the number of its entry; None if that is no release."""
        entry = self.entry(number) if 1 <= number <= self.size else None
        if entry is None or not isinstance(entry.event, StoredAnswer) or not index.is_release(entry.event.answer):
            return None
        return self._both(number)[0], entry

    def sessions(self) -> list[tuple[Entry, Entry | None]]:
        """The payments for sessions, the latest first, and the entries that closed them."""
        numbers = index.sessions(self.file)
        return [(self.entry(paid), None if said is None else self.entry(said)) for paid, said in numbers]

    # proofs ----------------------------------------------------------------------------------------------------------

    def head(self, time: str, key: Ed25519PrivateKey, size: int | None = None) -> Head:
        """A signed head of the ledger, or of its first entries."""
        if size is None or size == self.size:
            return sign_root(self.size, self.past.frontier.root, time, key)
        return sign_root(size, self.past.root_at(size), time, key)

    def extension(self, kept: Head, head: Head) -> Extension:
        """The proof that the ledger, with this head of all of it, goes on from a head that somebody kept."""
        faults = []
        if not kept.genuine():
            faults.append(f"the head of size {kept.size} is not signed by its key")
        elif kept.size > self.size:
            faults.append(f"a head of {kept.time} knew {kept.size} entries, the ledger has {self.size}: it was cut")
        elif not self.past.begins_with(kept):
            faults.append(
                f"the first {kept.size} entries are not those of the head of {kept.time}: they were rewritten"
            )
        if kept.key != head.key:
            faults.append(f"the head of {kept.time} was signed by another key")
        if faults:
            raise Refusal(f"the ledger does not go on from this head: {'; '.join(faults)}")
        return Extension(kept.size, self.past.since(kept.size), head)

    def receipt(self, number: int, head: Head, kept: Head | None = None) -> Receipt:
        """The receipt of one entry under a head of this ledger, for somebody who kept a head or has the key alone."""
        if not 1 <= number <= head.size:
            raise Refusal(f"there is no entry {number} under a head of {head.size} entries")
        extension = None if kept is None else self.extension(kept, head)
        return Receipt(self.entry(number), self.past.siblings(number, head.size), head, extension)


def entries_after(file: sqlite3.Connection, after: int, previous: str) -> Iterator[Entry]:
    """The entries that follow one, each checked against the one before it."""
    rows = file.execute("SELECT number, hash, body FROM entry WHERE number > ? ORDER BY number", (after,))
    for number, stored, body in rows:
        entry = checked(number, stored, body, previous)
        previous = entry.hash
        yield entry


def checked(number: int, stored: str, body: bytes, previous: str) -> Entry:
    """The entry of a row, if it is what its hash says."""
    try:
        entry = read_entry(body, previous)
        fits = entry.number == number and entry.hash == stored
    except (Refusal, *MALFORMED):
        raise _unmatched(number) from None
    if not fits:
        raise _unmatched(number)
    return entry


def _unmatched(number: int) -> Refusal:
    return Refusal(f"entry {number} does not match its hash", hint="run discreet ledger verify")
