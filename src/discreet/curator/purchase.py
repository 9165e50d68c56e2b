"""Purchase of noisy tables: spend durably, then read, then record. What was bought before is found again, free."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.curator.catalogue import Population
from discreet.curator.noisy_statistics import Engine, NoisyGroups, measure, restored, stored
from discreet.curator.price import Priced, priced
from discreet.curator.quote import Terms, fitting
from discreet.engines import DuckStore
from discreet.errors import Ground, OverBudget, Refusal
from discreet.ledger import Grant, Spend, SqliteLedger, StoredAnswer, payment
from discreet.ledger.entry_kinds import BudgetLoss, Entry, Plain, session_population
from discreet.noise import Entropy
from discreet.privacy import Budget
from discreet.sql.owned_rows import scanned


@dataclass(frozen=True)
class BoughtTable:
    """A noisy table, what was paid for it, and the ledger's entry that holds it."""

    price: Priced
    noisy: NoisyGroups
    entry: int


@dataclass(frozen=True)
class Purchase:
    """The tables of a question, those bought now among them, and whose budget paid."""

    tables: dict[str, BoughtTable]
    new: dict[str, BoughtTable]
    population: Population | None

    @property
    def cost(self) -> BudgetLoss | None:
        """What was paid in all; None if it was free."""
        return total([each.price.loss for each in self.new.values()])

    @property
    def cells(self) -> int:
        """How large it is."""
        return sum(len(row) for bought in self.tables.values() for row in bought.noisy.values)


class SingleFlight:
    """Questions that are being answered in this process: who asks the same meanwhile waits, and then it is free."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._under_way: dict[str, tuple[threading.Lock, int]] = {}  # with how many want it

    @contextmanager
    def alone(self, questions: Iterable[str]) -> Iterator[None]:
        """The only one who has these questions answered. All take them in one order, so nobody waits in a ring."""
        if os.getpid() != self._process:  # a child has the locks of its parent, and nobody who would open them
            self._begin()
        taken: list[tuple[str, threading.Lock]] = []
        try:
            for question in sorted(set(questions)):
                with self._lock:
                    lock, many = self._under_way.get(question, (threading.Lock(), 0))
                    self._under_way[question] = lock, many + 1
                lock.acquire()
                taken.append((question, lock))
            yield
        finally:
            for question, lock in taken:
                lock.release()
                with self._lock:
                    _, many = self._under_way.pop(question)
                    if many > 1:
                        self._under_way[question] = lock, many - 1


@dataclass(frozen=True)
class Buyer:
    """One principal who gets noisy tables about one population: those bought before, and others at their price."""

    ledger: SqliteLedger
    principal: str
    population: Population
    store: DuckStore
    flight: SingleFlight
    engine: Engine
    rng: Entropy

    def paid(self, prices: Sequence[Priced], sql: str, asked: Terms) -> Purchase:
        """Find what was bought before, and buy the rest."""
        with self.flight.alone(() if asked.fresh else [price.part.measurement.question for price in prices]):
            known = {} if asked.fresh else self._bought_before(prices, asked)
            wanted = [price for price in prices if price.part.name not in known]
            if wanted and not asked.named:
                self.refuse_unpriced()
            with self.store.opened(price.part.measurement.rows for price in wanted):  # before anything is paid
                bought = self.buy(wanted, sql, within=asked.within)
        return Purchase({**known, **bought}, bought, self.population)

    def _bought_before(self, prices: Sequence[Priced], asked: Terms) -> dict[str, BoughtTable]:
        known = self.dearest(prices) if asked.free and not asked.named else self.known(prices)
        if asked.free and len(known) < len(prices):
            raise Refusal(
                "this was not bought before, or its tables have changed since", hint="ask it again, and pay for it"
            )
        return known

    def known(self, prices: Sequence[Priced]) -> dict[str, BoughtTable]:
        """Answers that were bought before and are at least as exact as what is asked for now."""
        bought: dict[str, BoughtTable] = {}
        for price in prices:
            for paid, said, number in self.ledger.answered(price.part.measurement.question):
                if paid.loss.covers(price.loss):  # the latest one counts, so that the stages of a question agree
                    bought[price.part.name] = self._bought(price, paid.loss, said, number)
        return bought

    def dearest(self, prices: Sequence[Priced]) -> dict[str, BoughtTable]:
        """Of the answers that were bought before the most exact, the latest of equals: a cheap one hides no other."""
        bought: dict[str, BoughtTable] = {}
        for price in prices:
            best = None
            for paid, said, number in self.ledger.answered(price.part.measurement.question):
                if best is None or not best.covers(paid.loss) or best == paid.loss:
                    best = paid.loss
                    bought[price.part.name] = self._bought(price, paid.loss, said, number)
        return bought

    def _bought(self, price: Priced, paid: BudgetLoss, said: StoredAnswer, number: int) -> BoughtTable:
        return BoughtTable(
            priced([price.part], paid, self.population.neighbours)[0],
            restored(said.answer, price.part.measurement),
            number,
        )

    def buy(self, prices: Sequence[Priced], sql: str, *, within: bool = False) -> dict[str, BoughtTable]:
        """Spend, then read, then record."""
        if not prices:
            return {}
        spends = [
            Spend(
                self.population.name,
                price.loss,
                self.principal,
                price.part.measurement.question,
                sorted(price.part.measurement.shape.tables),
                {"sql": sql},
                {table.name: table.version for table in scanned(price.part.measurement.rows)},
            )
            for price in prices
        ]
        bought = {}
        try:
            with payment(self.ledger, spends) as paid:
                for price, entry in zip(prices, paid.entries, strict=True):
                    noisy = measure(price, self.engine, rng=self.rng)
                    bought[price.part.name] = BoughtTable(price, noisy, paid.record(entry, stored(noisy)))
        except OverBudget:
            if not within:
                raise
            return self.buy(self._cheaper(prices), sql)
        return bought

    def refuse_unpriced(self) -> None:
        """Refuse a question without a price where a custodian asks for one; what was bought before is free anyway."""
        who = requires_price(self.population, self.ledger.books().grant(self.principal))
        if who is not None:
            word = self.population.total.word
            raise Refusal(
                f"name a price: {who}",
                hint=f"SET discreet.{word} = 0.1 in SQL, --{word} 0.1 on the command line, {word}=0.1 in Python, "
                f'"{word}": "0.1" over HTTP, or the price beside the question in the console; EXPLAIN is free',
                ground=Ground.VALUE,
            )

    def _cheaper(self, prices: Sequence[Priced]) -> tuple[Priced, ...]:
        """The same for as much as is left, because the analyst said so."""
        asked, rest = total([price.loss for price in prices]), self._left()
        if asked is None or not rest.amount:
            raise OverBudget(f"nothing is left of the budget of {self.population.name!r}")
        less = asked.meet(rest).rounded_down()
        return fitting(priced([price.part for price in prices], less, self.population.neighbours))

    def _left(self) -> BudgetLoss:
        """What this principal may still spend: of the population's budget, and of their allowance."""
        books = self.ledger.books()
        account, grant = books.account(self.population.name), books.grant(self.principal)
        if grant is None or grant.allowance is None:
            return account.budget.left
        own = Budget(grant.allowance, books.spent_by(self.principal, self.population.name), account.neighbours)
        return account.budget.left.meet(own.left)


def requires_price(population: Population, grant: Grant | None) -> str | None:
    """Why a question must name a price; None: it need not."""
    if grant is not None and grant.require_price:
        return "the custodian asks you to name one for each question"
    if population.require_price:
        return f"the custodian asks for one with each question about {population.name!r}"
    return None


def total(losses: Sequence[BudgetLoss]) -> BudgetLoss | None:
    """The sum of losses in one measure; None of no losses."""
    added: BudgetLoss | None = None
    for loss in losses:
        added = loss if added is None else added + loss  # type: ignore[operator]
    return added


@dataclass(frozen=True)
class PastPayment:
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
    session: bool = False  # whether a session was bought: then its answer comes when it is closed


def past_payments(payments: Iterable[tuple[Entry, Entry | None]]) -> list[PastPayment]:
    """Payments and the entries that answer them, as people read them."""
    return [_past(entry, entry.event, said) for entry, said in payments if isinstance(entry.event, Spend)]


def _past(entry: Entry, spend: Spend, said: Entry | None) -> PastPayment:
    name = _name(said.event.answer) if said is not None and isinstance(said.event, StoredAnswer) else ""
    return PastPayment(
        entry.number,
        entry.time,
        spend.principal,
        spend.population,
        spend.loss,
        _asked(spend.what),
        tuple(spend.tables),
        None if said is None else said.number,
        name if _is_release(spend.what) else None,
        session_population(spend.question) is not None,
    )


def _asked(what: Plain) -> str:
    """The question in SQL; of a session, which mechanism it is of; of a stream, its name."""
    match what:
        case {"sql": sql}:
            return str(sql)
        case {"stream": str(name), "session": _}:
            return f"stream {name}"
        case {"visitors": str(name), "session": _}:
            return f"visitors {name}"
        case {"session": {"name": str(name)}}:
            return f"a session of {name}"
    return ""


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
