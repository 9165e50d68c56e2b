"""Where prices are paid: spend durably, then read, then record. What was paid before is found again, free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.curator.catalogue import Population
from discreet.curator.measure import Engine, Noisy, measure, restored, stored
from discreet.curator.price import Priced, priced
from discreet.curator.quote import fitting
from discreet.errors import Ground, OverBudget, Refusal
from discreet.ledger import Answer as Said
from discreet.ledger import Grant, Spend, SqliteLedger, payment
from discreet.ledger.entry import BudgetLoss
from discreet.noise import Entropy
from discreet.privacy import Budget
from discreet.sql.rows import scanned


@dataclass(frozen=True)
class Bought:
    """A noisy table, what was paid for it, and the ledger's entry that holds it."""

    price: Priced
    noisy: Noisy
    entry: int


@dataclass(frozen=True)
class Till:
    """Takes one principal's payments for one population."""

    ledger: SqliteLedger
    principal: str
    population: Population
    engine: Engine
    rng: Entropy

    def known(self, prices: Sequence[Priced]) -> dict[str, Bought]:
        """Answers that were bought before and are at least as exact as what is asked for now."""
        found: dict[str, Bought] = {}
        for price in prices:
            for paid, said, number in self.ledger.answered(price.part.measurement.question):
                if paid.loss.covers(price.loss):  # the latest one counts, so that the stages of a question agree
                    found[price.part.name] = self._bought(price, paid.loss, said, number)
        return found

    def dearest(self, prices: Sequence[Priced]) -> dict[str, Bought]:
        """Of the answers that were bought before the most exact, the latest of equals: a cheap one hides no other."""
        found: dict[str, Bought] = {}
        for price in prices:
            best = None
            for paid, said, number in self.ledger.answered(price.part.measurement.question):
                if best is None or not best.covers(paid.loss) or best == paid.loss:
                    best = paid.loss
                    found[price.part.name] = self._bought(price, paid.loss, said, number)
        return found

    def _bought(self, price: Priced, paid: BudgetLoss, said: Said, number: int) -> Bought:
        return Bought(
            priced([price.part], paid, self.population.neighbours)[0],
            restored(said.answer, price.part.measurement),
            number,
        )

    def buy(self, prices: Sequence[Priced], sql: str, *, within: bool = False) -> dict[str, Bought]:
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
                    bought[price.part.name] = Bought(price, noisy, paid.record(entry, stored(noisy)))
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


def cost(bought: Mapping[str, Bought]) -> BudgetLoss | None:
    """What was paid in all; None if it was free."""
    return total([each.price.loss for each in bought.values()])


def total(losses: Sequence[BudgetLoss]) -> BudgetLoss | None:
    """The sum of losses in one measure; None of no losses."""
    added: BudgetLoss | None = None
    for loss in losses:
        added = loss if added is None else added + loss  # type: ignore[operator]
    return added
