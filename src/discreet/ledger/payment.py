"""One payment: spent durably before a row is read, and recorded before anything is said."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from discreet.errors import Fault
from discreet.ledger.entry_kinds import Entry, Plain, Spend, StoredAnswer
from discreet.ledger.sqlite import SqliteLedger


@dataclass(frozen=True)
class Payment:
    """Spends that are in the ledger, and the way to record what was bought for each of them."""

    entries: tuple[Entry, ...]
    _ledger: SqliteLedger

    def record(self, entry: Entry, answer: Plain) -> int:
        """Write down what was said for one of them: the number of the entry that holds it."""
        spend = cast("Spend", entry.event)
        return self._ledger.append(StoredAnswer(entry.number, spend.question, answer)).number


@contextmanager
def payment(ledger: SqliteLedger, spends: Sequence[Spend]) -> Iterator[Payment]:
    """Spend; inside the block rows may be read and answers recorded. A crash after the spend leaves it spent.

    Whatever fails inside the block could tell of a row, so it is `silent`. Nothing is ever paid back.
    """
    entries = tuple(ledger.append_all(spends))
    with silent(ledger, {spend.population for spend in spends}):
        yield Payment(entries, ledger)


@contextmanager
def resumed(ledger: SqliteLedger, entry: Entry) -> Iterator[Payment]:
    """Go on with a payment that waits for its answer: refused where it could not be made now. Nothing more is paid."""
    spend = cast("Spend", entry.event)
    books = ledger.books()
    books.answering(spend.population)
    books.check_tables(spend)
    with silent(ledger, [spend.population]):
        yield Payment((entry,), ledger)


@contextmanager
def silent(ledger: SqliteLedger, populations: Collection[str]) -> Iterator[None]:
    """Whatever fails inside the block becomes one sentence, and closes these populations until a custodian looks."""
    try:
        yield
    except Exception:  # noqa: BLE001  # whatever it says, it says it after rows were read
        for population in sorted(populations):
            ledger.hold(population)
        raise Fault from None
