"""Was the ledger rewritten? Everything is recomputed from the stored bytes; nothing that is stored is believed.

Who has the file recomputes all of it. Who has not checks a receipt or an extension against what they kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger import merkle
from discreet.ledger.balances import Books
from discreet.ledger.entry_kinds import GENESIS, Adopted, Entry, canonical, read_entry
from discreet.ledger.signed_head import Head, head_of, is_hex, strict_json

Row = tuple[int, str, bytes]  # number, stored hash, body
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)  # what bad bytes raise
_UNBOUND = "it does not show that its ledger goes on from the head that you kept: give that one to whoever proves it"


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


def verify(rows: Sequence[Row], *, heads: Sequence[Head] = (), key: str | None = None) -> Report:
    """Check numbers, hashes, canonical bytes and budgets entry by entry, then every head that somebody kept.

    A head says something only if it is signed by the ledger's key, so whoever knows that key gives it.
    """
    books, previous, frontier, leaves, faults = Books(), GENESIS, merkle.Frontier(), [], []
    for place, row in enumerate(rows, start=1):
        try:
            entry = _in_place(place, row, previous)
            books.apply(entry)
            _refuse_another_head(entry, frontier)
        except (Refusal, *_MALFORMED) as broken:
            faults.append(f"entry {place}: {broken}")
            break
        previous = entry.hash
        leaves.append(merkle.leaf(bytes.fromhex(previous)))
        frontier, _ = frontier.grown(leaves[-1])
    if not faults:
        faults += [
            f"the head of {head.time} was signed by another key" for head in heads if key not in (None, head.key)
        ]
        faults += [fault for head in heads for fault in _against(head, leaves)]
    return Report(len(leaves), frontier.root.hex(), tuple(faults))


def _refuse_another_head(entry: Entry, before: merkle.Frontier) -> None:
    """Refuse that a copy was adopted by another head than it had."""
    if isinstance(entry.event, Adopted) and entry.event.head != before.root.hex():
        raise Refusal(f"it names another head than that of the entries before it: {entry.event.head}")


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
    """That the hash of one entry lies under a head."""

    number: int
    hash: str
    siblings: tuple[str, ...]
    head: Head

    def holds(self) -> bool:
        """Whether the head is genuine, by whatever key, and the entry lies under its root."""
        return self.head.genuine() and merkle.included(
            merkle.leaf(bytes.fromhex(self.hash)),
            self.number - 1,
            self.head.size,
            [bytes.fromhex(sibling) for sibling in self.siblings],
            bytes.fromhex(self.head.root),
        )


def prove(hashes: Sequence[str], number: int, head: Head) -> Inclusion:
    """The proof that entry `number` is among the first `head.size`."""
    if not 1 <= number <= head.size:
        raise Refusal(f"there is no entry {number} under a head of {head.size} entries")
    leaves = [merkle.leaf(bytes.fromhex(value)) for value in hashes[: head.size]]
    siblings = tuple(sibling.hex() for sibling in merkle.inclusion(merkle.kept_in(leaves), head.size, number - 1))
    return Inclusion(number, hashes[number - 1], siblings, head)


@dataclass(frozen=True)
class Pinned:
    """What a sceptic has from before: a key, and perhaps a head. Nothing that a proof carries takes their place."""

    key: str
    head: Head | None = None


def pin(head: Head) -> Pinned:
    """Hold on to a head, and to its key."""
    if not head.genuine():
        raise Refusal(f"the head of {head.time} that you kept is not signed by its key", hint="its file was changed")
    return Pinned(head.key, head)


@dataclass(frozen=True)
class Extension:
    """That the ledger under `head` begins with the whole of one of `size` entries.

    The older head is not in it: whoever checks it brings the one they kept, and with it the key.
    """

    size: int
    siblings: tuple[str, ...]
    head: Head

    def faults(self, pinned: Pinned) -> tuple[str, ...]:
        """Why it does not show that the ledger goes on from the head that was kept; empty if it does."""
        if pinned.head is None:
            return ("it is about a head that you kept, and none was given",)
        return _signed(self.head, pinned) or self._apart(pinned.head)

    def _apart(self, kept: Head) -> tuple[str, ...]:
        if self.size != kept.size:
            return (f"it goes on from {self.size} entries, the head that you kept has {kept.size}",)
        if not merkle.consistent(
            kept.size,
            bytes.fromhex(kept.root),
            self.head.size,
            bytes.fromhex(self.head.root),
            [bytes.fromhex(sibling) for sibling in self.siblings],
        ):
            return (f"its {self.head.size} entries do not begin with the {kept.size} of the head that you kept",)
        return ()

    def text(self) -> str:
        """The proof as JSON."""
        return json.dumps(
            {"kind": "extension", "size": self.size, "siblings": self.siblings, "head": self.head.__dict__}
        )


@dataclass(frozen=True)
class Receipt:
    """One entry, word for word, and that it lies under a head; for who kept a head, also that this one goes on from it.

    It needs neither the home nor any other entry to be checked.
    """

    entry: Entry
    siblings: tuple[str, ...]
    head: Head
    extension: Extension | None = None

    def faults(self, pinned: Pinned) -> tuple[str, ...]:
        """Why it does not show that the entry is in the ledger of whom it is held against; empty if it does."""
        if faults := _signed(self.head, pinned):
            return faults
        if not Inclusion(self.entry.number, self.entry.hash, self.siblings, self.head).holds():
            return (f"entry {self.entry.number} is not under its head as it stands here",)
        if pinned.head is None or (self.head.size, self.head.root) == (pinned.head.size, pinned.head.root):
            return ()
        if self.extension is None:
            return (_UNBOUND,)
        return self.extension.faults(pinned)

    def text(self) -> str:
        """The receipt as JSON."""
        body = {"kind": "receipt", "entry": json.loads(self.entry.body), "previous": self.entry.previous}
        body |= {"siblings": self.siblings, "head": self.head.__dict__}
        if self.extension is not None:
            body["extends"] = {"size": self.extension.size, "siblings": self.extension.siblings}
        return json.dumps(body, ensure_ascii=False)


def _signed(head: Head, pinned: Pinned) -> tuple[str, ...]:
    if head.key != pinned.key:
        return (f"its head is signed by the key {head.key}, not by the one that you kept",)
    return () if head.genuine() else ("its head is not signed by its key",)


def extend(rows: Sequence[Row], kept: Head, head: Head) -> Extension:
    """The proof that the ledger of these rows, with this head, goes on from a head that somebody kept."""
    leaves = [merkle.leaf(bytes.fromhex(stored)) for _, stored, _ in rows]
    faults = _against(kept, leaves)
    if kept.key != head.key:
        faults.append(f"the head of {kept.time} was signed by another key")
    if faults:
        raise Refusal(f"the ledger does not go on from this head: {'; '.join(faults)}")
    return Extension(
        kept.size,
        tuple(part.hex() for part in merkle.consistency(merkle.kept_in(leaves), kept.size, len(leaves))),
        head,
    )


def receipt(rows: Sequence[Row], number: int, head: Head, kept: Head | None = None) -> Receipt:
    """The receipt of one entry under the head of these rows, for somebody who kept a head or has the key alone."""
    inclusion = prove([stored for _, stored, _ in rows], number, head)
    try:
        entry = _in_place(number, rows[number - 1], rows[number - 2][1] if number > 1 else GENESIS)
    except (Refusal, *_MALFORMED) as broken:
        raise Refusal(f"entry {number}: {broken}", hint="run discreet ledger verify") from None
    return Receipt(entry, inclusion.siblings, head, None if kept is None else extend(rows, kept, head))


def read_proof(text: str) -> Receipt | Extension:
    """The receipt or the extension that `text` wrote. Reading it says nothing of whether it holds."""
    try:
        return _proof(strict_json(text))
    except (Refusal, *_MALFORMED):
        raise Refusal(
            f"this is neither a receipt nor an extension of a ledger: {shown(text)}",
            hint="they are what `discreet ledger prove` and `discreet ledger extends` print",
        ) from None


def _proof(body: object) -> Receipt | Extension:
    match body:
        case {"kind": "extension", "size": int(size), "siblings": siblings, "head": head, **rest} if not rest:
            return Extension(size, _hashes(siblings), head_of(head))
        case {"kind": "receipt", "entry": entry, "previous": str(previous), "siblings": siblings, "head": head, **rest}:
            signed, read = head_of(head), read_entry(canonical(entry), previous)
            if not is_hex(previous, 32) or not isinstance(read.number, int):
                raise ValueError(body)
            return Receipt(read, _hashes(siblings), signed, _bridge(rest, signed))
        case _:
            raise ValueError(body)


def _bridge(rest: Mapping[object, object], head: Head) -> Extension | None:
    match rest:
        case {"extends": {"size": int(size), "siblings": siblings, **others}, **more} if not others and not more:
            return Extension(size, _hashes(siblings), head)
        case _ if rest:
            raise ValueError(rest)
        case _:
            return None


def _hashes(siblings: object) -> tuple[str, ...]:
    if not isinstance(siblings, list) or not all(isinstance(part, str) and is_hex(part, 32) for part in siblings):
        raise ValueError(siblings)
    return tuple(siblings)
