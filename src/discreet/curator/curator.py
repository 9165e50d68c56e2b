"""The curator: plan, price, spend durably, read, record, speak. In this order, always."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from discreet.curator import above, catalogue
from discreet.curator.advice import (
    BoundsAdvice,
    CapsAdvice,
    advise_bounds,
    advise_caps,
    bounds_parts,
    caps_parts,
)
from discreet.curator.answer import Answer
from discreet.curator.estimate import estimates
from discreet.curator.explain import Explanation, error_of, explained
from discreet.curator.measure import Engine, Noisy, measure, restored, stored
from discreet.curator.price import Priced, priced
from discreet.curator.run import RowMechanism, Run, run
from discreet.engines import DuckStore
from discreet.errors import Fault, OverBudget, Refusal
from discreet.exact import Number, positive, probability, share
from discreet.ledger import Answer as Said
from discreet.ledger import Grant, Hold, Spend, SqliteLedger
from discreet.ledger.entry import BudgetLoss
from discreet.mechanisms.mechanism import USUAL
from discreet.noise import SECURE, Entropy, Secure
from discreet.privacy import Approximate, Budget, Concentrated, Pure
from discreet.sql.plan import shape
from discreet.sql.question import Part, Question
from discreet.sql.schema import Table
from discreet.sql.split import Caps, question, rows_of

T = TypeVar("T")

_DELTA_SHARE = 1000  # the part of a population's δ that one question may use to name groups

BOUNDING = (
    "Error bars cover the noise. They do not cover what was cut off before it: values beyond the declared bounds, "
    "rows beyond max_rows and groups beyond max_groups of one unit."
)


@dataclass(frozen=True)
class Terms:
    """What a question is asked for: a price or an error, and how."""

    epsilon: Number | None = None
    rho: Number | None = None
    error: Number | None = None
    delta: Number | None = None
    confidence: Number = USUAL
    fresh: bool = False
    within: bool = False  # answer with what is left if the price does not fit
    max_rows: int | None = None
    max_groups: int | None = None


class Curator:
    """Answers questions about the tables of one home, within their populations' budgets."""

    def __init__(self, home: Path, *, principal: str = "custodian", rng: Entropy = SECURE) -> None:
        if not isinstance(rng, Secure):
            raise Refusal("a curator takes no randomness but the operating system's")
        self._home, self._principal = home, principal
        self._catalogue = catalogue.read(home)
        self._ledger = SqliteLedger(home / "ledger.db")
        self._store = DuckStore(home / "tables")
        self._agree()

    def _agree(self) -> None:
        """The ledger has the last word on budgets; declarations that say otherwise are refused."""
        books = self._ledger.books()
        books.grant(self._principal)
        for population in self._catalogue.populations.values():
            account = books.account(population.name)
            if (account.budget.total, account.neighbours) != (population.total, population.neighbours):
                raise Refusal(
                    f"discreet.toml gives {population.name!r} {population.total}, the ledger {account.budget.total}",
                    hint="a budget is set once: write what the ledger says",
                )

    # asking ----------------------------------------------------------------------------------------------------------

    def query(self, sql: str, **terms: object) -> Answer:
        """The answer to a question. Spends its price, unless the same was answered before."""
        return self._answer(sql, Terms(**terms), self._store, SECURE)  # type: ignore[arg-type]

    def explain(self, sql: str, **terms: object) -> Explanation:
        """What a question would cost and how exact it would be. Free, and the same for every database of a schema."""
        asked = Terms(**terms)  # type: ignore[arg-type]
        found = self._question(sql, asked)
        prices = self._priced(found.parts, asked)
        return explained(found, prices, share(asked.confidence, "confidence"), self._named(asked, found))

    def budget(self, population: str) -> Budget[BudgetLoss]:
        """What a population may lose in all and has lost."""
        return self._ledger.books().account(population).budget

    def populations(self) -> list[str]:
        """The populations that have a budget."""
        return sorted(self._ledger.books().accounts)

    def grants(self) -> list[Grant]:
        """Who may ask."""
        return list(self._ledger.books().grants.values())

    def bounds(self, table: str, column: str, **terms: object) -> BoundsAdvice | None:
        """Buy advice on the bounds of a column; None if nothing stands out of the noise at this price."""
        bought = self._advice(bounds_parts(self._private(table), column), f"bounds {table} {column}", terms)
        return advise_bounds(bought["part_0"], bought.get("part_1"))

    def caps(self, table: str, **terms: object) -> CapsAdvice:
        """Buy advice on how many rows of one unit an answer should count."""
        declared = self._private(table)
        return advise_caps(self._advice(caps_parts(declared), f"caps {table}", terms)["part_0"][1], declared.max_rows)

    def _private(self, table: str) -> Table:
        found = self._catalogue.schema.table(table)
        if found.public:
            raise Refusal(f"table {table!r} is public: nothing of it is bounded")
        return found

    def _advice(self, parts: tuple[Part, ...], what: str, terms: dict[str, object]) -> dict[str, tuple[Priced, Noisy]]:
        asked = Terms(**terms)  # type: ignore[arg-type]
        self._allowed_tables(set(parts[0].measurement.shape.tables))
        prices = self._priced(parts, asked)
        known = {} if asked.fresh else self._known(prices)
        missing = [price for price in prices if price.part.name not in known]
        bought = {**known, **self._buy(missing, what, asked, self._store, SECURE)}
        return {name: (price, noisy) for name, (price, noisy, _) in bought.items()}

    def run(self, mechanism: RowMechanism[T], rows_sql: str, *, max_rows: int | None = None) -> T:
        """Run a mechanism once on the rows that a SELECT names, at its own price, in the custodian's process.

        Each unit keeps at most `max_rows` rows, by default as declared, and the price is the mechanism's for that many.
        """
        self._allowed_tables(set(shape(rows_of(rows_sql, self._catalogue.schema)).tables))
        return run(self._ledger, self._store, self._catalogue, self._principal, Run(mechanism, rows_sql, max_rows))

    def _question(self, sql: str, asked: Terms) -> Question:
        found = question(sql, self._catalogue.schema, Caps(asked.max_rows, asked.max_groups))
        self._allowed(found)
        return found

    def _allowed(self, found: Question) -> None:
        self._allowed_tables({name for part in found.parts for name in part.measurement.shape.tables} | found.public)

    def _allowed_tables(self, tables: set[str]) -> None:
        grant = self._ledger.books().grant(self._principal)
        if grant is None or grant.tables is None:
            return
        for table in sorted(tables):
            if table not in grant.tables:
                raise Refusal(f"you may not ask about table {table!r}", hint="a custodian can grant it")

    def _answer(self, sql: str, asked: Terms, engine: Engine, rng: Entropy) -> Answer:
        share(asked.confidence, "confidence")  # everything that can be refused is refused before anything is paid
        found = self._question(sql, asked)
        prices = self._priced(found.parts, asked)
        above.rehearse(found, self._files(found))
        known = {} if asked.fresh else self._known(prices)
        bought = self._buy([price for price in prices if price.part.name not in known], sql, asked, engine, rng)
        return self._spoken(found, prices, {**known, **bought}, asked, [p for p in prices if p.part.name in bought])

    # paying ----------------------------------------------------------------------------------------------------------

    def _named(self, asked: Terms, found: Question) -> bool:
        return not found.parts or any(value is not None for value in (asked.epsilon, asked.rho, asked.error))

    def _priced(self, parts: Sequence[Part], asked: Terms) -> tuple[Priced, ...]:
        populations = {part.measurement.shape.population for part in parts}
        if not populations:
            return ()
        if len(populations) > 1:
            raise Refusal(
                f"one question asks about one population, got {sorted(populations)}", hint="ask each by itself"
            )
        population = self._catalogue.population(populations.pop())
        needs = any(not part.measurement.declared for part in parts)
        if asked.error is not None:
            return self._accurate(parts, population, asked, needs=needs)
        return priced(parts, self._loss(population, asked, needs=needs), population.neighbours)

    def _loss(self, population: catalogue.Population, asked: Terms, *, needs: bool) -> BudgetLoss:
        total = population.total
        word, other = ("rho", asked.epsilon) if isinstance(total, Concentrated) else ("epsilon", asked.rho)
        if other is not None:
            raise Refusal(f"the budget of {population.name!r} is kept in {word}", hint=f"name a price with {word}=")
        given = asked.rho if isinstance(total, Concentrated) else asked.epsilon
        amount = population.default if given is None else positive(given, word)
        delta = self._delta(total, asked) if needs else Fraction(0)
        if isinstance(total, Concentrated):
            return Concentrated(amount, delta)
        return Approximate(amount, delta) if isinstance(total, Approximate) else Pure(amount)

    @staticmethod
    def _delta(total: BudgetLoss, asked: Terms) -> Fraction:
        if asked.delta is not None:
            return probability(asked.delta, "delta")
        return Fraction(0) if isinstance(total, Pure) else total.delta / _DELTA_SHARE

    def _accurate(
        self, parts: Sequence[Part], population: catalogue.Population, asked: Terms, *, needs: bool
    ) -> tuple[Priced, ...]:
        """The cheapest price at which every number of the question is within the error asked for."""
        wanted, sure = positive(asked.error or 0, "error"), share(asked.confidence, "confidence")
        word = "rho" if isinstance(population.total, Concentrated) else "epsilon"

        def at(amount: Fraction) -> tuple[Priced, ...]:
            loss = self._loss(population, Terms(**{word: amount, "delta": asked.delta}), needs=needs)  # type: ignore[arg-type]
            return priced(parts, loss, population.neighbours)

        def fits(amount: Fraction) -> bool:
            return all(error <= wanted for price in at(amount) for error in data_free_errors(price, sure))

        high = Fraction(1)
        while not fits(high):
            high *= 2
            if high > 1 << 40:
                raise Refusal(f"no price is high enough for error={asked.error}")
        low = high / 2
        while low > Fraction(1, 1 << 40) and fits(low):
            high, low = low, low / 2
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        return at(high)

    def _known(self, prices: Sequence[Priced]) -> dict[str, tuple[Priced, Noisy, int]]:
        """Answers that were bought before and are at least as exact as what is asked for now."""
        found: dict[str, tuple[Priced, Noisy, int]] = {}
        for price in prices:
            for paid, said, number in self._ledger.answered(price.part.measurement.question):
                if _covers(paid.loss, price.loss):
                    neighbours = self._catalogue.population(paid.population).neighbours
                    again = priced([price.part], paid.loss, neighbours)[0]
                    found[price.part.name] = (again, restored(said.answer), number)
        return found

    def _buy(
        self, prices: Sequence[Priced], sql: str, asked: Terms, engine: Engine, rng: Entropy
    ) -> dict[str, tuple[Priced, Noisy, int]]:
        """Spend, then read, then record. A crash after the spend leaves it spent."""
        if not prices:
            return {}
        spends = [
            Spend(
                price.part.measurement.shape.population,
                price.loss,
                self._principal,
                price.part.measurement.question,
                sorted(price.part.measurement.shape.tables),
                {"sql": sql},
            )
            for price in prices
        ]
        try:
            paid = self._ledger.append_all(spends)
        except OverBudget:
            if not asked.within:
                raise
            return self._within(prices, sql, engine, rng)
        bought = {}
        for price, entry in zip(prices, paid, strict=True):
            noisy = self._measured(price, engine, rng)
            said = self._ledger.append(Said(entry.number, price.part.measurement.question, stored(noisy)))
            bought[price.part.name] = (price, noisy, said.number)
        return bought

    def _measured(self, price: Priced, engine: Engine, rng: Entropy) -> Noisy:
        """Read and randomise. A failure could tell of a row, so it closes the population until a custodian looks."""
        try:
            return measure(price, engine, rng=rng)
        except Fault:
            self._ledger.append(Hold(price.part.measurement.shape.population, held=True))
            raise

    def _within(
        self, prices: Sequence[Priced], sql: str, engine: Engine, rng: Entropy
    ) -> dict[str, tuple[Priced, Noisy, int]]:
        """Ask for as much as is left, because the analyst said so."""
        name = prices[0].part.measurement.shape.population
        asked = _sum([price.loss for price in prices])
        rest = self._left(name)
        if asked is None or not (rest.rho if isinstance(rest, Concentrated) else rest.epsilon):
            raise OverBudget(f"nothing is left of the budget of {name!r}")
        neighbours = self._catalogue.population(name).neighbours
        cheaper = priced([price.part for price in prices], smaller(asked, rest), neighbours)
        return self._buy(cheaper, sql, Terms(), engine, rng)

    def _left(self, population: str) -> BudgetLoss:
        """What this principal may still spend: of the population's budget, and of their allowance."""
        books = self._ledger.books()
        rest, grant = books.account(population).budget.left, books.grant(self._principal)
        if grant is None or grant.allowance is None:
            return rest
        own = Budget(grant.allowance, books.spent_by(self._principal, population), books.account(population).neighbours)
        return smaller(rest, own.left)

    def _files(self, found: Question) -> dict[str, str]:
        """Where the public tables of a question are kept."""
        return {name: str(self._store.path(self._catalogue.schema.table(name))) for name in found.public}

    # speaking --------------------------------------------------------------------------------------------------------

    def _spoken(
        self,
        found: Question,
        prices: Sequence[Priced],
        noisy: Mapping[str, tuple[Priced, Noisy, int]],
        asked: Terms,
        paid: Sequence[Priced],
    ) -> Answer:
        files = self._files(found)

        def at(confidence: Fraction) -> above.Result:
            tables = {
                name: above.noisy_table(
                    price.part, table.groups, [estimates(price, row, confidence) for row in table.values]
                )
                for name, (price, table, _) in noisy.items()
            }
            return above.run(found, tables, files)

        confidence = share(asked.confidence, "confidence")
        result = at(confidence)
        population = prices[0].part.measurement.shape.population if prices else None
        bought = [noisy[price.part.name][0].loss for price in paid]
        return Answer(
            tuple(name for name, _ in result.columns),
            tuple(kind for _, kind in result.columns),
            result.rows,
            _sum(bought),
            None if population is None else self.budget(population).left,
            ",".join(str(number) for _, _, number in noisy.values()),
            BOUNDING if noisy else "",
            confidence,
            at,
        )


def _covers(paid: BudgetLoss, wanted: BudgetLoss) -> bool:
    """Whether one price is at least the other. Prices in two measures are not compared."""
    match wanted, paid:
        case Pure() as less, Pure() as more:
            return less <= more
        case Approximate() as less, Approximate() as more:
            return less <= more
        case Concentrated() as less, Concentrated() as more:
            return less <= more
        case _:
            return False


def smaller(one: BudgetLoss, other: BudgetLoss) -> BudgetLoss:
    """The smaller of two losses in one measure, number by number."""
    match one, other:
        case Pure() as a, Pure() as b:
            return Pure(min(a.epsilon, b.epsilon))
        case Approximate() as a, Approximate() as b:
            return Approximate(min(a.epsilon, b.epsilon), min(a.delta, b.delta))
        case Concentrated() as a, Concentrated() as b:
            return Concentrated(min(a.rho, b.rho), min(a.delta, b.delta))
        case _:
            raise Refusal(f"{one} and {other} are kept in two measures")


def _sum(losses: Sequence[BudgetLoss]) -> BudgetLoss | None:
    total: BudgetLoss | None = None
    for loss in losses:
        total = loss if total is None else total + loss  # type: ignore[operator]
    return total


def data_free_errors(price: Priced, confidence: Fraction) -> list[Fraction]:
    """The errors of a part's numbers in their own units; refuses if one of them depends on the data."""
    errors = []
    for aggregate in price.part.aggregates:
        error = error_of(aggregate, price, confidence)
        if error is None:
            raise Refusal(
                f"the error of {aggregate.kind.upper()} depends on the data, so it cannot be asked for",
                hint="name a price, or ask for COUNT and SUM and divide",
            )
        errors.append(error)
    return errors
