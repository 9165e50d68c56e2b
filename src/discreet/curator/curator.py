"""The curator: plan, price, spend durably, read, record, speak. In this order, always."""

from __future__ import annotations

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
from discreet.curator.explain import Explanation, explained
from discreet.curator.measure import Engine
from discreet.curator.price import Priced
from discreet.curator.quote import Terms, quote
from discreet.curator.run import RowMechanism, Run, run
from discreet.curator.till import Bought, Till, cost
from discreet.engines import DuckStore
from discreet.errors import Refusal
from discreet.exact import share
from discreet.ledger import Dataset, Grant, SqliteLedger
from discreet.ledger.entry import BudgetLoss
from discreet.noise import SECURE, Entropy, Secure
from discreet.privacy import Budget
from discreet.sql.plan import shape
from discreet.sql.question import Part, Question
from discreet.sql.schema import Table
from discreet.sql.split import Caps, question, rows_of

T = TypeVar("T")

BOUNDING = (
    "Error bars cover the noise. They do not cover what was cut off before it: values beyond the declared bounds, "
    "rows beyond max_rows and groups beyond max_groups of one unit."
)


@dataclass(frozen=True)
class _Paid:
    """The tables of a question, those bought now among them, and whose budget paid."""

    tables: dict[str, Bought]
    new: dict[str, Bought]
    population: str | None


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
        """The ledger has the last word on budgets and owners; declarations that say otherwise are refused."""
        books = self._ledger.books()
        books.grant(self._principal)
        for population in self._catalogue.populations.values():
            account = books.account(population.name)
            if (account.budget.total, account.neighbours) != (population.total, population.neighbours):
                raise Refusal(
                    f"discreet.toml gives {population.name!r} {population.total} for {population.neighbours}, "
                    f"the ledger {account.budget.total} for {account.neighbours}",
                    hint="a budget and its neighbours are set once: write what the ledger says",
                )
        for table in self._catalogue.tables.values():
            known = books.datasets.get(table.name)
            if known is None or (known.population, known.unit, known.version) != (
                table.population,
                table.unit,
                table.version,
            ):
                raise Refusal(
                    f"discreet.toml and the ledger disagree about whose rows table {table.name!r} holds",
                    hint="population, unit, public and version are not edited: remove the table and add it anew",
                )
            if known.declaration != catalogue.declaration(
                table
            ):  # bounds, caps, keys may be edited, but not in silence
                self._ledger.append(
                    Dataset(table.name, known.population, known.unit, known.version, catalogue.declaration(table))
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
        return explained(found, prices, share(asked.confidence, "confidence"), asked.named)

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
        return advise_caps(self._advice(caps_parts(declared), f"caps {table}", terms)["part_0"], declared.max_rows)

    def _private(self, table: str) -> Table:
        found = self._catalogue.schema.table(table)
        if found.public:
            raise Refusal(f"table {table!r} is public: nothing of it is bounded")
        return found

    def _advice(self, parts: tuple[Part, ...], what: str, terms: dict[str, object]) -> dict[str, Bought]:
        asked = Terms(**terms)  # type: ignore[arg-type]
        self._allowed_tables(set(parts[0].measurement.shape.tables))
        return self._paid(self._priced(parts, asked), what, asked, self._store, SECURE).tables

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
        return self._spoken(found, self._paid(prices, sql, asked, engine, rng), asked)

    def _priced(self, parts: tuple[Part, ...], asked: Terms) -> tuple[Priced, ...]:
        population = self._population(parts)
        return () if population is None else quote(parts, population, asked)

    def _population(self, parts: tuple[Part, ...]) -> catalogue.Population | None:
        names = {part.measurement.shape.population for part in parts}
        if len(names) > 1:
            raise Refusal(f"one question asks about one population, got {sorted(names)}", hint="ask each by itself")
        return self._catalogue.population(names.pop()) if names else None

    def _paid(self, prices: tuple[Priced, ...], sql: str, asked: Terms, engine: Engine, rng: Entropy) -> _Paid:
        population = self._population(tuple(price.part for price in prices))
        if population is None:
            return _Paid({}, {}, None)
        till = Till(self._ledger, self._principal, population, engine, rng)
        known = {} if asked.fresh else till.known(prices)
        bought = till.buy([price for price in prices if price.part.name not in known], sql, within=asked.within)
        return _Paid({**known, **bought}, bought, population.name)

    def _files(self, found: Question) -> dict[str, str]:
        """Where the public tables of a question are kept."""
        return {name: str(self._store.path(self._catalogue.schema.table(name))) for name in found.public}

    def _spoken(self, found: Question, paid: _Paid, asked: Terms) -> Answer:
        files = self._files(found)

        def at(confidence: Fraction) -> above.Result:
            tables = {
                name: above.noisy_table(
                    bought.price.part,
                    bought.noisy.groups,
                    [estimates(bought.price, row, confidence) for row in bought.noisy.values],
                )
                for name, bought in paid.tables.items()
            }
            return above.run(found, tables, files)

        confidence = share(asked.confidence, "confidence")
        result = at(confidence)
        return Answer(
            tuple(name for name, _ in result.columns),
            tuple(kind for _, kind in result.columns),
            result.rows,
            cost(paid.new),
            None if paid.population is None else self.budget(paid.population).left,
            ",".join(str(bought.entry) for bought in paid.tables.values()),
            BOUNDING if paid.tables else "",
            confidence,
            at,
        )
