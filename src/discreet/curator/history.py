"""What was asked and paid, read back from the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.ledger import Answer, Spend
from discreet.ledger.entry import BudgetLoss, Entry, Plain


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
    release: str | None = None  # its name, if it is one that was bought: then the answer is no rows


def receipts(entries: Iterable[Entry], principal: str | None) -> list[Receipt]:
    """The payments of a person, or of everybody, the latest first."""
    spends: dict[int, tuple[Entry, Spend]] = {}
    answers: dict[int, int] = {}
    named: dict[int, str] = {}
    for entry in entries:
        if isinstance(entry.event, Spend) and principal in (None, entry.event.principal):
            spends[entry.number] = entry, entry.event
        elif isinstance(entry.event, Answer):
            answers[entry.event.spend] = entry.number
            named[entry.event.spend] = _name(entry.event.answer)
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
            named.get(number, "") if _is_release(spend.what) else None,
        )
        for number, (entry, spend) in sorted(spends.items(), reverse=True)
    ]


def _is_release(what: Plain) -> bool:
    match what:
        case {"mechanism": {"release": dict()}}:
            return True
    return False


def _name(answer: Plain) -> str:
    match answer:
        case {"release": {"name": str(name)}}:
            return name
    return ""
