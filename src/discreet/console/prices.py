"""Prices for people: numbers in few digits, what is left and how far it reaches, and the price tag of a question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from discreet.curator import Answer
from discreet.curator.explain import LATER, NONE
from discreet.desk import Desk, Terms, Visitor
from discreet.desk.desk import Person
from discreet.errors import Refusal
from discreet.ledger.balances import Account
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.mechanisms.mechanism import USUAL

_DIGITS = 6
_SMALL = -5  # the power of ten below which a number is written with one
HELD = "This population is closed for maintenance. What was bought before can still be shown."
RETIRED = "This population is closed for good. What was bought before can still be shown."
_ROUND = tuple(Fraction(each, 10) for each in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80))
_CHEAPEST = 100  # the cheapest price is so many times below the usual one


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
class PriceWish:
    """What somebody wants: a price, or an error, or neither; and settings for experts."""

    price: Fraction | None = None
    error: Fraction | None = None
    confidence: Fraction = USUAL
    delta: Fraction | None = None
    max_rows: int | None = None
    max_groups: int | None = None

    def plain(self) -> dict[str, object]:
        """The terms at the usual price."""
        given = {"delta": self.delta, "max_rows": self.max_rows, "max_groups": self.max_groups}
        return {"confidence": self.confidence} | {name: each for name, each in given.items() if each is not None}

    def terms(self, budget: BudgetLoss | None) -> dict[str, object]:
        """The terms for a question that is charged to this budget."""
        if budget is None:
            return self.plain()
        given = {budget.word: self.price, "error": self.error}
        return self.plain() | {name: each for name, each in given.items() if each is not None}


@dataclass(frozen=True)
class Purse:
    """A population's budget, as whoever asks may use it."""

    population: str
    total: BudgetLoss
    left: BudgetLoss
    closed: str = ""  # why nothing can be bought


@dataclass(frozen=True)
class Tag:
    """The price tag of one question."""

    sql: str
    terms: Mapping[str, object]
    price: BudgetLoss | None  # None: it asks about public tables alone
    due: BudgetLoss | None  # what would be charged now: nothing for what was bought before
    usual: BudgetLoss | None  # the price when none is named
    purse: Purse | None
    columns: tuple[tuple[str, Fraction | None], ...]  # None: the error is known after paying, or there is none
    plan: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()  # what in it is hardly meant, and groups that will not be shown
    unbarred: tuple[str, ...] = ()  # the columns that will have no error bar
    bounding: str = ""  # what it leaves out before the noise

    @property
    def bought(self) -> bool:
        """Whether it was answered before, so that it costs nothing."""
        return self.purse is not None and self.due is None

    @property
    def over(self) -> bool:
        """Whether it costs more than is left."""
        return self.purse is not None and self.due is not None and not _fits(self.due, self.purse.left)

    @property
    def after(self) -> BudgetLoss | None:
        """What is left when it is paid."""
        if self.purse is None or self.over:
            return None
        return self.purse.left if self.due is None else rest(self.purse.left, self.due)

    @property
    def again(self) -> int | None:
        """How many more questions of this price can be paid after it."""
        return None if self.price is None or self.after is None else more(self.after, self.price)

    @property
    def payment(self) -> dict[str, object]:
        """The terms that name exactly this price."""
        if self.price is None:
            return dict(self.terms)
        return {**self.terms, self.price.word: self.price.amount}

    @property
    def error(self) -> Fraction | None:
        """The largest error of its columns, if none of them depends on the data."""
        known = [error for _, error in self.columns if error is not None]
        return max(known) if known and len(known) == len(self.columns) else None

    def exactness(self, name: str) -> str:
        """How exact a column will be of which no error is known."""
        return NONE if name in self.unbarred else LATER

    def affordable(self, wish: PriceWish) -> PriceWish | None:
        """The same wish for what is left; None if nothing is."""
        if self.purse is None or self.due is None or self.price is None:
            return None
        left = self.purse.left
        amount, delta = below(min(left.amount, self.price.amount)), wish.delta
        if self.price.delta > left.delta:
            delta = below(left.delta)
        if not amount or (delta == 0 and wish.delta != 0):
            return None
        return replace(wish, price=amount, error=None, delta=delta)


def tagged(desk: Desk, visitor: Visitor, sql: str, wish: PriceWish) -> Tag:
    """The tag of a question. It blocks, and raises what the desk raises."""
    usual, due = desk.explained(visitor, sql, wish.plain()), desk.due(visitor, sql, wish.plain())
    purse = None if due.population is None else purse_of(desk, visitor, due.population)
    terms = wish.terms(None if purse is None else purse.total)
    try:
        explained = usual if terms == wish.plain() else desk.explained(visitor, sql, terms)
    except Refusal:
        if wish.error is None:
            raise
        return tagged(desk, visitor, sql, replace(wish, error=None))  # its error depends on the data: no price buys it
    if wish.error is not None and purse is not None and explained.price is not None:
        terms = replace(wish, error=None, price=above(explained.price.amount)).terms(purse.total)  # one can say it
        explained = desk.explained(visitor, sql, terms)
    due = due if terms == wish.plain() else desk.due(visitor, sql, terms)
    errors, described = dict(explained.error), desk.described(visitor, sql, wish.plain())
    columns = tuple((name, errors.get(name)) for name, _ in described if name in errors or name in explained.unbarred)
    told = explained.plan, explained.notices, explained.unbarred, explained.bounding
    return Tag(sql, terms, explained.price, due.loss, usual.price, purse, columns, *told)


def promised(tag: Tag, shown: Tag | None) -> bool:
    """Whether a tag costs at most what the one that was shown said. Where no price was seen, none is paid."""
    if tag.due is None:
        return True
    if shown is None or shown.due is None or shown.over or tag.over:
        return False
    return _fits(tag.due, shown.due)


def counter(desk: Desk, tag: Tag) -> Callable[[Visitor, str, Terms], Answer]:
    """Where a tag is cashed: what it calls free is never bought, whatever has changed since it was written."""
    return desk.shown if tag.due is None else desk.asked


def purse_of(desk: Desk, visitor: Visitor, population: str) -> Purse:
    """What a population has left for a visitor."""
    account = desk.accounts(visitor)[population]
    person = next((each for each in desk.people(visitor) if each.name == visitor.name), None)
    return Purse(population, account.budget.total, left_to(person, account, population), _closed(account))


def left_to(person: Person | None, account: Account, population: str) -> BudgetLoss:
    """What a person may still spend of a population's budget: all that is left, or the rest of their allowance."""
    left = account.budget.left
    if person is None or person.allowance is None:
        return left
    used = person.used.get(population)
    own = person.allowance if used is None else rest(person.allowance, used)
    return left.meet(own)


def _closed(account: Account) -> str:
    return RETIRED if account.retired else HELD if account.held else ""


def _fits(price: BudgetLoss, left: BudgetLoss) -> bool:
    return type(price) is type(left) and bool(price <= left)  # type: ignore[operator]


def ladder(usual: Fraction, most: Fraction) -> tuple[Fraction, ...]:
    """Prices from far below the usual one to the whole budget, cheapest first. The usual one is among them."""
    least, most = min(usual, most) / _CHEAPEST, max(usual, most)
    first, last = (math.floor(math.log10(each)) for each in (least, most))
    steps = {each * Fraction(10) ** power for power in range(first - 1, last + 2) for each in _ROUND}
    return tuple(sorted({each for each in steps if least <= each <= most} | {usual, most}))


def nearest(steps: tuple[Fraction, ...], price: Fraction) -> int:
    """Which step is nearest to a price, as prices are compared: by how many times one is the other."""
    if price <= 0:
        return 0
    return min(range(len(steps)), key=lambda each: abs(math.log(steps[each] / price)))


def above(price: Fraction, digits: int = 3) -> Fraction:
    """Hardly more than a price, in so many digits."""
    unit = _unit(price, digits)
    return math.ceil(price / unit) * unit


def below(price: Fraction, digits: int = 6) -> Fraction:
    """Hardly less than a price, in so many digits."""
    if price <= 0:
        return Fraction(0)
    unit = _unit(price, digits)
    return math.floor(price / unit) * unit


def _unit(price: Fraction, digits: int) -> Fraction:
    """What the last of so many digits counts."""
    return Fraction(10) ** (math.floor(math.log10(price)) + 1 - digits)
