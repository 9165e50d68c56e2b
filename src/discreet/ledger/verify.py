"""Was the ledger rewritten? Everything is recomputed from the stored bytes; nothing that is stored is believed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import Refusal
from discreet.ledger import merkle
from discreet.ledger.books import Books
from discreet.ledger.entry import GENESIS, Entry, read_entry
from discreet.ledger.head import Head

Row = tuple[int, str, bytes]  # number, stored hash, body


@dataclass(frozen=True)
class Report:
    """What a verification found. `faults` is empty if the ledger holds."""

    size: int
    root: str
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.faults


def verify(rows: Sequence[Row], *, heads: Sequence[Head] = ()) -> Report:
    """Check numbers, hashes, canonical bytes and budgets entry by entry, then every head that somebody kept."""
    books, previous, hashes, faults = Books(), GENESIS, [], []
    for place, row in enumerate(rows, start=1):
        try:
            entry = _in_place(place, row, previous)
            books.apply(entry)
        except (Refusal, ValueError, KeyError, TypeError, AttributeError) as found:
            faults.append(f"entry {place}: {found}")
            break
        previous = entry.hash
        hashes.append(bytes.fromhex(previous))
    leaves = [merkle.leaf(value) for value in hashes]
    if not faults:
        faults += [fault for head in heads for fault in _against(head, leaves)]
    return Report(len(leaves), merkle.root(leaves).hex(), tuple(faults))


def _in_place(place: int, row: Row, previous: str) -> Entry:
    """The entry of a row, if it is the one that belongs here."""
    number, stored, body = row
    entry = read_entry(body, previous)
    if not number == entry.number == place:
        raise Refusal(f"it is number {entry.number} in place {place}")
    if entry.hash != stored:
        raise Refusal("its hash does not follow from its bytes and the entry before")
    return entry


def _against(head: Head, leaves: Sequence[bytes]) -> list[str]:
    if not head.genuine():
        return [f"the head of size {head.size} is not signed by its key"]
    if head.size > len(leaves):
        return [
            f"a head of {head.time} knew {head.size} entries, the ledger has {len(leaves)}: it was cut or rolled back"
        ]
    if merkle.root(leaves[: head.size]).hex() != head.root:
        return [f"the first {head.size} entries are not those of the head of {head.time}: they were rewritten"]
    return []


@dataclass(frozen=True)
class Inclusion:
    """That one entry is in a ledger with a known head: what an analyst keeps with a receipt."""

    number: int
    hash: str
    siblings: tuple[str, ...]
    head: Head

    def holds(self) -> bool:
        """Whether the head is genuine and the entry lies under its root."""
        return self.head.genuine() and merkle.included(
            merkle.leaf(bytes.fromhex(self.hash)),
            self.number - 1,
            self.head.size,
            [bytes.fromhex(sibling) for sibling in self.siblings],
            bytes.fromhex(self.head.root),
        )

    def text(self) -> str:
        """The proof as JSON."""
        return json.dumps(
            {"entry": self.number, "hash": self.hash, "siblings": self.siblings, "head": self.head.__dict__},
            sort_keys=True,
        )


def prove(hashes: Sequence[str], number: int, head: Head) -> Inclusion:
    """The proof that entry `number` is among the first `head.size`."""
    if not 1 <= number <= head.size:
        raise Refusal(f"there is no entry {number} under a head of {head.size} entries")
    leaves = [merkle.leaf(bytes.fromhex(value)) for value in hashes[: head.size]]
    siblings = tuple(sibling.hex() for sibling in merkle.inclusion(leaves, number - 1))
    return Inclusion(number, hashes[number - 1], siblings, head)
