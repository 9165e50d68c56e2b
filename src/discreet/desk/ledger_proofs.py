"""Notary: what of the ledger goes through a door, signed heads, entries with their proofs, and witnesses."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from discreet.errors import Busy, Refusal
from discreet.ledger import Event, Grant, Head, Spend, SqliteLedger, StoredAnswer, signing_key, verify
from discreet.ledger.balances import Books
from discreet.ledger.entry_kinds import Entry
from discreet.ledger.home_ledger import Standing
from discreet.ledger.read_snapshot import View
from discreet.ledger.signed_head import now
from discreet.ledger.verify import Extension, Receipt

_RECENT = 10.0  # seconds for which what they said is repeated


class Lately:
    """Asks one call after another, with pauses. Any thread may want to know, and none waits for another's call."""

    def __init__(self, ask: Callable[[], Sequence[Standing]], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._asking = threading.Lock()
        self._said: tuple[float, Sequence[Standing]] | None = None

    def said(self) -> Sequence[Standing]:
        """What they said last, if that is not long ago or they are being asked already; else what they say now."""
        known = self._said
        if known is not None and self._clock() - known[0] < _RECENT:
            return known[1]
        if not self._asking.acquire(blocking=False):
            if known is not None:
                return known[1]
            raise Busy("the witnesses are being asked just now", hint="try again in a few seconds")
        try:
            if self._said is known:  # nobody has asked them meanwhile
                standings = self._ask()
                self._said = self._clock(), standings
            return self._said[1]  # type: ignore[index]
        finally:
            self._asking.release()


class Notary:
    """Signs what the ledger of a home says.

    What is signed goes on from everything that was signed before, and every entry is checked against it: both from a
    few hashes, however long the ledger is. `discreet ledger verify` recomputes all of it.
    """

    def __init__(self, home: Path, ledger: SqliteLedger) -> None:
        self._key, self._ledger = home / "ledger.key", ledger
        self._verifying = threading.Lock()

    def pepper(self) -> bytes:
        """A secret that stays the same as long as the home has its key, and tells nothing about the key."""
        raw = signing_key(self._key).private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        return hmac.digest(raw, b"what strangers are told", "sha256")

    def head(self) -> Head:
        """A head of the ledger as it is now."""
        with self._ledger.looked_at() as view:
            return self._signed(view)

    def extension(self, kept: Head) -> Extension:
        """That the ledger as it is now begins with all that a kept head knew. Refused if it does not."""
        with self._ledger.looked_at() as view:
            return view.extension(kept, self._signed(view))

    def verified(self, kept: Head) -> Extension:
        """The same, after recomputing all of it: every hash, and every sum."""
        if not self._verifying.acquire(blocking=False):  # one at a time: it takes a whole core
            raise Refusal("somebody has the ledger verified just now", hint="try again in a moment")
        try:
            if not verify(self._ledger.rows()).holds:
                raise Refusal("the ledger does not hold", hint="a custodian runs discreet ledger verify")
        finally:
            self._verifying.release()
        return self.extension(kept)

    def proof(self, reader: Grant | None, number: int) -> Receipt | None:
        """The receipt of an entry; None if it is not for this reader.

        An analyst reads their own payments, and answers to questions about tables that they may ask about: those they
        would get free. A custodian, or None for the home itself, reads everything but how a token is recognised, which
        stays in the home.
        """
        books = self._ledger.books()
        with self._ledger.looked_at() as view:
            if not _readable(reader, books, view, view.entry(number).event):
                return None
            return view.receipt(number, self._signed(view))

    def releases(self, reader: Grant | None) -> list[tuple[Spend, Entry]]:
        """What was published and a reader may have, the latest first; None is the home itself."""
        books = self._ledger.books()
        with self._ledger.looked_at() as view:
            return [each for each in view.releases() if books.may_read(reader, each[0])]

    def release(self, reader: Grant | None, number: int) -> tuple[Spend, Entry] | None:
        """One of them; None if the entry is no release, or none of theirs."""
        books = self._ledger.books()
        with self._ledger.looked_at() as view:
            known = view.release(number)
        return known if known is not None and books.may_read(reader, known[0]) else None

    def receipt(self, number: int) -> Receipt:
        """Of an entry, under the head that the ledger had with it: the same bytes whenever it is asked for."""
        with self._ledger.looked_at() as view:
            head = view.head(view.entry(number).time, signing_key(self._key), number)
            return view.receipt(number, head)

    def _signed(self, view: View) -> Head:
        return view.head(now(), signing_key(self._key))


def _readable(reader: Grant | None, books: Books, view: View, event: Event) -> bool:
    if isinstance(event, Grant):
        return False
    if reader is None or reader.role == "custodian":
        return True
    match event:
        case Spend():
            return event.principal == reader.principal
        case StoredAnswer():
            paid = view.entry(event.spend).event
            return isinstance(paid, Spend) and books.may_read(reader, paid)
        case _:
            return False
