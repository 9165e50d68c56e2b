"""What was asked and paid, read back from the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.ledger import Answer, Spend
from discreet.ledger.entry import BudgetLoss, Entry


@dataclass(frozen=True)
class Receipt:
    """One payment: who, when, for what, how much, and the entry that holds the answer, if it came to one."""

    entry: int
    time: str
    principal: str
    population: str
    loss: BudgetLoss
    sql: str
    tables: tuple[str, ...]
    answer: int | None


def receipts(entries: Iterable[Entry], principal: str | None) -> list[Receipt]:
    """The payments of a person, or of everybody, the latest first."""
    spends: dict[int, tuple[Entry, Spend]] = {}
    answers: dict[int, int] = {}
    for entry in entries:
        if isinstance(entry.event, Spend) and principal in (None, entry.event.principal):
            spends[entry.number] = entry, entry.event
        elif isinstance(entry.event, Answer):
            answers[entry.event.spend] = entry.number
    return [
        Receipt(
            number,
            entry.time,
            spend.principal,
            spend.population,
            spend.loss,
            str(spend.what.get("sql", "")) if isinstance(spend.what, dict) else "",
            tuple(spend.tables),
            answers.get(number),
        )
        for number, (entry, spend) in sorted(spends.items(), reverse=True)
    ]
