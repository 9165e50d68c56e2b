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


def receipts(payments: Iterable[tuple[Entry, Entry | None]]) -> list[Receipt]:
    """Payments and the entries that answer them, as people read them."""
    return [_receipt(entry, entry.event, said) for entry, said in payments if isinstance(entry.event, Spend)]


def _receipt(entry: Entry, spend: Spend, said: Entry | None) -> Receipt:
    name = _name(said.event.answer) if said is not None and isinstance(said.event, Answer) else ""
    return Receipt(
        entry.number,
        entry.time,
        spend.principal,
        spend.population,
        spend.loss,
        str(spend.what.get("sql", "")) if isinstance(spend.what, dict) else "",
        tuple(spend.tables),
        None if said is None else said.number,
        name if _is_release(spend.what) else None,
    )


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
