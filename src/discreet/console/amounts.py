"""Receipts and prices put together for people: how much, how often still, and when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from discreet.curator.purchase import PastPayment, total
from discreet.errors import Refusal
from discreet.ledger.entry import BudgetLoss

_DIGITS = 6
_SMALL = -5  # the power of ten below which a number is written with one


@dataclass(frozen=True)
class Asked:
    """A question of one person, and everything they ever paid for it, the latest first."""

    principal: str
    sql: str
    population: str
    payments: tuple[PastPayment, ...]

    @property
    def latest(self) -> PastPayment:
        """The newest payment."""
        return self.payments[0]

    @property
    def release(self) -> str | None:
        """The name of the release that was bought; None if it was no release."""
        return self.latest.release

    @property
    def paid(self) -> BudgetLoss:
        """The sum of them."""
        return total([each.loss for each in self.payments]) or self.latest.loss

    @property
    def price(self) -> BudgetLoss:
        """What it cost the last time: its parts are paid at once, so their entries follow each other."""
        parts = [each.loss for place, each in enumerate(self.payments) if each.entry == self.latest.entry - place]
        return total(parts) or self.latest.loss

    @property
    def is_question(self) -> bool:
        """Whether it is SQL that can be asked again: advice on bounds and mechanisms are paid for as well."""
        begins = self.sql.lstrip(" \t\r\n(").lower()
        return self.release is None and begins.startswith(("select", "with", "from", "values"))

    @property
    def unanswered(self) -> bool:
        """Whether something was paid for which no answer is kept."""
        return any(each.answer is None for each in self.payments)

    def holds(self, text: str) -> bool:
        """Whether somebody who looks for this text would want to see it."""
        entries = " ".join(str(each.entry) for each in self.payments)
        words = f"{self.release or ''} {self.sql} {self.principal} {self.population} {entries}"
        return all(word in words.lower() for word in text.lower().split())


def grouped(receipts: Iterable[PastPayment]) -> list[Asked]:
    """The questions that receipts are for, the one that was paid last first."""
    found: dict[tuple[str, str, str, int], list[PastPayment]] = {}
    for each in sorted(receipts, key=lambda receipt: -receipt.entry):
        alone = 0 if each.release is None else each.entry  # releases of the same rows are different ones
        found.setdefault((each.principal, each.sql, each.population, alone), []).append(each)
    return [Asked(*key[:3], tuple(payments)) for key, payments in found.items()]


def figure(value: Fraction, *, up: bool = False) -> str:
    """A number for people, in few digits: what is left never as more; with `up`, what is spent never as less."""
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    rounded = context.normalize(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return f"{rounded:f}" if not rounded or rounded.adjusted() >= _SMALL else f"{rounded:e}"


def price(loss: BudgetLoss) -> str:
    """A price in words."""
    return f"price {figure(loss.amount, up=True)}"


def part(spent: BudgetLoss, whole: BudgetLoss) -> float:
    """Which part of a budget something is, between 0 and 1."""
    return float(min(Fraction(1), spent.amount / whole.amount)) if whole.amount else 1.0


def rest(whole: BudgetLoss, used: BudgetLoss) -> BudgetLoss:
    """What is left of an allowance; nothing if a later one is smaller than what was used before."""
    try:
        return whole.less(used)  # type: ignore[arg-type]
    except Refusal:
        return 0 * whole


def more(left: BudgetLoss, each: BudgetLoss) -> int | None:
    """How many questions of this price fit into what is left; None if the two are not comparable, or it is free."""
    if type(left) is not type(each):
        return None
    parts = [(getattr(left, name.name), getattr(each, name.name)) for name in fields(left)]
    counts = [int(have // need) for have, need in parts if need]
    return min(counts) if counts else None


def about(count: int) -> str:
    """A number of questions, as one says it."""
    if count > 99:
        digits = len(str(count)) - 2
        return f"{count // 10**digits * 10**digits:,}"
    return str(count)


def moment(time: str) -> datetime:
    """The time of an entry."""
    return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def when(time: str) -> str:
    """The time of an entry, for people."""
    return f"{moment(time):%-d %b %Y, %H:%M} UTC"


@dataclass(frozen=True)
class Step:
    """So much was spent in all since then."""

    since: datetime
    amount: Fraction


def stairs(receipts: Iterable[PastPayment], population: str) -> list[Step]:
    """How spending grew, one step for each payment."""
    steps: list[Step] = []
    for each in sorted(receipts, key=lambda receipt: receipt.entry):
        if each.population == population:
            before = steps[-1].amount if steps else Fraction(0)
            steps.append(Step(moment(each.time), before + each.loss.amount))
    return steps


def path(steps: Sequence[Step], now: datetime, whole: Fraction, area: tuple[float, float]) -> str:
    """The steps as the path of an SVG, from the first payment to now, in an area of this width and height."""
    if not steps or not whole:
        return ""
    width, height = area
    begin = steps[0].since
    long = max((now - begin).total_seconds(), 1.0)
    drawn = [f"M0 {height:.1f}"]
    for step in steps:
        x = width * min(1.0, (step.since - begin).total_seconds() / long)
        drawn.append(f"H{x:.1f}V{height * (1 - float(min(Fraction(1), step.amount / whole))):.1f}")
    return f"{''.join(drawn)}H{width:.1f}"
