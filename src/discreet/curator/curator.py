"""Curator of one home: plans, prices, spends durably, reads, records and speaks. In this order, always."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, Unpack

from discreet.curator import bounds_advice, catalogue, postprocessing
from discreet.curator.answer import Answer
from discreet.curator.cache import Allow, AtHand, Plans, Recall, answer_key, key_of
from discreet.curator.catalogue import Population
from discreet.curator.declarations import Declarations, recorded_file
from discreet.curator.explain import Due, Explanation, bounding, notices
from discreet.curator.noisy_statistics import Engine
from discreet.curator.price import Priced, priced
from discreet.curator.purchase import Buyer, PastPayment, Purchase, SingleFlight, past_payments, requires_price, total
from discreet.curator.quote import Terms, TermsGiven
from discreet.curator.run import Offer, Run, Runnable, Telling, Wanted, planned, run
from discreet.curator.sandboxed_planner import Planner
from discreet.curator.sessions import Sessions
from discreet.declared.table import Caps, Table
from discreet.engines import DuckStore
from discreet.errors import Refusal
from discreet.exact import Number, share, shown
from discreet.ledger import Books, Grant, Spend, open_ledger
from discreet.ledger.balances import OWNER
from discreet.ledger.entry_kinds import BudgetLoss, refuse_half_characters
from discreet.noise import SECURE, Entropy, Secure
from discreet.privacy import Budget
from discreet.sandbox import DIRECT, Sandbox
from discreet.sql.owned_rows import Rows
from discreet.sql.plan import Part, Question
from discreet.sql.present_moment import bound
from discreet.sql.relation_facts import shape

T = TypeVar("T")
P = ParamSpec("P")


def _asked_now(method: Callable[Concatenate[Curator, P], T]) -> Callable[Concatenate[Curator, P], T]:
    """A question is planned, paid and answered under the declarations of the moment in which it is asked.

    If they changed before it was paid, and so it was refused, it is asked once more under the new ones.
    """

    @wraps(method)
    def ask(self: Curator, /, *given: P.args, **named: P.kwargs) -> T:
        known, used = self._declarations.now(self._principal), self._used()
        try:
            return method(self._under(known), *given, **named)
        except Refusal:
            newer = self._declarations.now(self._principal)
            if newer is known or self._used() != used:
                raise
        return method(self._under(newer), *given, **named)

    return ask


class Curator:
    """Answers questions about the tables of one home, within their populations' budgets.

    What is computed on the text of a question, before its price and above its noise, is computed in the `sandbox`.
    """

    def __init__(
        self, home: Path, *, principal: str = "custodian", rng: Entropy = SECURE, sandbox: Sandbox = DIRECT
    ) -> None:
        if not isinstance(rng, Secure):
            raise Refusal(f"a curator takes no randomness but the operating system's, got rng={shown(rng)}")
        catalogue.read(home)
        self._principal = principal
        self._within: frozenset[str] | None = None  # all tables, or those that this one is for
        self.ledger = open_ledger(home)
        self._store = DuckStore(home / "tables", names=lambda table: recorded_file(self.ledger.books(), table))
        self._declarations = Declarations(home, self.ledger)
        self._planner = Planner(sandbox, self._store)
        self._plans, self._recall, self._flight = Plans(), Recall(), SingleFlight()
        self.at_hand = AtHand(self._declarations, self.ledger, self._plans, self._recall)
        self._catalogue = self._seen = self._declarations.now(principal)
        self._granted: frozenset[str] | None = None
        self._books()

    def _under(self, known: catalogue.Catalogue) -> Curator:
        """This curator under these declarations, whatever happens to them meanwhile."""
        granted = self._may_ask()
        return self._with(_catalogue=known, _granted=granted, _seen=known.seen_by(granted))

    def _with(self, **changed: object) -> Curator:
        """The same curator with other values in some of its fields."""
        other = copy(self)
        vars(other).update(changed)
        return other

    def _may_ask(self) -> frozenset[str] | None:
        """The tables that the asker may ask about; None stands for all. The others are not there for them."""
        grant = self.ledger.books().grant(self._principal)
        tables = None if grant is None or grant.tables is None else frozenset(grant.tables)
        limits = [limit for limit in (self._within, tables) if limit is not None]
        return frozenset.intersection(*limits) if limits else None

    def _used(self) -> dict[str, BudgetLoss]:
        """What the asker has paid so far, of each population's budget."""
        used = dict(self._books().used)  # others may pay while it is read
        return {population: loss for (who, population), loss in used.items() if who == self._principal}

    def _books(self) -> Books:
        """The books, for who is still let in."""
        books = self.ledger.books()
        books.grant(self._principal)
        return books

    # asking ----------------------------------------------------------------------------------------------------------

    @_asked_now
    def query(self, /, sql: str, **terms: Unpack[TermsGiven]) -> Answer:
        """The answer to a question. Spends its price, unless the same was answered before."""
        return self._answer(bound(sql), Terms.of(terms), self._store, SECURE)

    @_asked_now
    def explain(self, /, sql: str, **terms: Unpack[TermsGiven]) -> Explanation:
        """What a question would cost and how exact it would be. Free, and the same for every database of a schema."""
        sql, asked = bound(sql), Terms.of(terms)
        question = self._question(sql, asked)

        def told(_: Allow) -> Explanation:
            prices = self._priced(question.every_part, asked, question)
            sure = share(asked.confidence, "confidence")
            return self._planner.explained(self._principal, question, prices, sure, named=asked.named)

        key = sql, repr(asked), self._granted
        explanation = self._plans.recalled(key, self._catalogue, told, self._allowed_tables)
        population = self._population(question.every_part)
        why = population and requires_price(population, self._books().grant(self._principal))
        return explanation if not why or asked.named else explanation.unpriced(why)

    @_asked_now
    def due(self, /, sql: str, **terms: Unpack[TermsGiven]) -> Due:
        """What would be charged for a question now. Of one in stages the whole price: its parts are known later."""
        sql, asked = bound(sql), Terms.of(terms)
        question = self._question(sql, asked)
        prices, population = self._priced(question.every_part, asked, question), self._population(question.every_part)
        if population is None:
            return Due(None, None)
        known = {} if question.first or asked.fresh else self._buyer(population).known(prices)
        return Due(population.name, total([price.loss for price in prices if price.part.name not in known]))

    @_asked_now
    def describe(self, /, sql: str, **terms: Unpack[TermsGiven]) -> tuple[tuple[str, str], ...]:
        """The columns of an answer and their types, from the plan alone. Free."""
        sql, asked = bound(sql), Terms.of(terms)
        return self._uppers(sql, asked, self._question(sql, asked))[-1].columns

    def sibling(self, principal: str) -> Curator:
        """The same curator, asked in another name."""
        other = self._with(_principal=principal)
        other._books()  # noqa: SLF001  # refuses who is not let in
        return other

    def within(self, tables: Collection[str] | None) -> Curator:
        """The same curator, for whom other tables are not there; None stands for all."""
        return self._with(_within=None if tables is None else frozenset(tables))

    @_asked_now
    def tables(self, /) -> list[Table]:
        """The tables that may be asked about, as they were declared."""
        return self._seen.shown()

    def history(
        self, *, everybody: bool = False, before: int | None = None, most: int | None = None
    ) -> list[PastPayment]:
        """What was asked and paid, the latest first; by everybody, only for a custodian.

        Of those before an entry, and so many at most, if it is said so.
        """
        grant = self._books().grant(self._principal)
        if everybody and grant is not None and grant.role != "custodian":
            raise Refusal(f"what others asked is shown to custodians, and {self._principal!r} is none")
        with self.ledger.looked_at() as view:
            return past_payments(view.payments(None if everybody else self._principal, before, most))

    def budget(self, population: str) -> Budget[BudgetLoss]:
        """What a population may lose in all and has lost."""
        accounts = self._books().accounts
        if population not in accounts:
            raise Refusal(f"there is no population {population!r}", hint=f"there are {self.populations()}")
        return accounts[population].budget

    def populations(self) -> list[str]:
        """The populations that have a budget."""
        return sorted(self._books().accounts)

    def declared(self) -> catalogue.Catalogue:
        """What is declared now."""
        return self._declarations.now(self._principal)

    def public_files(self) -> dict[str, tuple[Path, str]]:
        """The files of the public tables, and the names that the ledger has for them."""
        tables = [table for table in self.declared().tables.values() if table.public]
        return {table.name: (self._store.checked(table), self._store.name(table)) for table in tables}

    def grants(self) -> list[Grant]:
        """Who may ask."""
        return list(dict(self._books().grants).values())

    @_asked_now
    def bounds(self, /, table: str, column: str, **terms: Unpack[TermsGiven]) -> bounds_advice.BoundsAdvice:
        """Buy advice on the bounds of a column."""
        declared = bounds_advice.bounded(self._seen.schema.table(table))
        what = f"bounds {declared.name} {declared.column(column).name}"
        paid = self._advice(bounds_advice.bounds_parts(declared, column), what, terms)
        advised = bounds_advice.advise_bounds(paid.tables["#0"], paid.tables.get("#1"))
        return replace(advised, cost=paid.cost, left=self._left_of(paid.population))

    @_asked_now
    def caps(self, /, table: str, **terms: Unpack[TermsGiven]) -> bounds_advice.CapsAdvice:
        """Buy advice on how many rows of one unit an answer should count."""
        declared = bounds_advice.bounded(self._seen.schema.table(table))
        paid = self._advice(bounds_advice.caps_parts(declared), f"caps {declared.name}", terms)
        advised = bounds_advice.advise_caps(paid.tables["#0"], declared.max_rows)
        return replace(advised, cost=paid.cost, left=self._left_of(paid.population))

    def _advice(self, parts: tuple[Part, ...], what: str, terms: TermsGiven) -> Purchase:
        asked = Terms.of(terms)
        self._allowed_tables(set(parts[0].measurement.shape.tables))
        return self._paid(self._priced(parts, asked), what, asked, self._store, SECURE)

    def _left_of(self, population: Population | None) -> BudgetLoss | None:
        return None if population is None else self.budget(population.name).left

    @_asked_now
    def run(self, mechanism: Runnable[T], sql: str, *, max_rows: int | None = None, delta: Number | None = None) -> T:
        """Run a mechanism once on the rows that a SELECT names, at its own price, in the custodian's process.

        Each unit keeps at most `max_rows` rows, by default as declared, and the price is the mechanism's for that many.
        `delta` is where a loss that has an ε for every δ is charged, if the budget is kept in both.
        """
        if self._principal != OWNER:
            only = f"a mechanism is code among the rows: only the custodian runs one, not {self._principal!r}"
            raise Refusal(only, hint="ask in SQL")
        what = self._planned(Wanted(sql, lambda _: mechanism, max_rows, delta=delta))
        return run(self.ledger, self._store, self._principal, what)[0]

    def paid_sessions(self) -> Sessions:
        """The sessions of interactive mechanisms, opened and asked in this name."""
        return Sessions(self.ledger, self._store, self._principal, self.tables, self._planned_now)

    @_asked_now
    def _planned_now(self, sql: str, asked: Terms) -> Question:
        return self._question(sql, asked)

    def _planned(self, wanted: Wanted[T]) -> Run[T]:
        return planned(self._seen, wanted, self._rows(wanted.sql), self._allowed_tables)

    def _rows(self, sql: str) -> Rows:
        refuse_half_characters(sql)

        def selected(note: Allow) -> Rows:
            rows = self._planner.rows(self._principal, self._seen, sql)
            note(set(shape(rows).tables))
            return rows

        return self._plans.recalled(("rows", sql, self._granted), self._catalogue, selected, self._allowed_tables)

    @_asked_now
    def selected(self, /, rows_sql: str) -> tuple[str, ...]:
        """The names of the columns that a SELECT of rows has. Free."""
        return tuple(shape(self._rows(rows_sql)).columns)

    @_asked_now
    def offered(self, /, wanted: Wanted[T]) -> Offer[T]:
        """What a mechanism of ours would cost on the rows that a SELECT names. Free."""
        what = self._planned(wanted)
        return Offer(what, self.ledger.answered(what.question))

    @_asked_now
    def bought(self, /, wanted: Wanted[T], telling: Telling[T]) -> tuple[Offer[T], int]:
        """Run a mechanism of ours, unless it ran before: what it was before, and the entry of what was kept of it."""
        what = self._planned(wanted)
        with self._flight.alone([what.question]):
            before = Offer(what, self.ledger.answered(what.question))
            return before, before.entry or run(self.ledger, self._store, self._principal, what, telling)[1]

    def _question(self, sql: str, asked: Terms, scalars: Sequence[object] = ()) -> Question:
        refuse_half_characters(sql)
        caps = Caps(asked.max_rows, asked.max_groups)

        def planned(note: Allow) -> Question:
            text = sql, caps, scalars
            return self._planner.question(self._principal, self._seen, text, note)

        key = key_of(sql, caps, self._granted, scalars)
        return self._plans.recalled(key, self._catalogue, planned, self._allowed_tables)

    def _allowed_tables(self, tables: set[str]) -> None:
        """Refuse a table that is not granted in the words for one that is not there: nothing tells one from another."""
        seen = self._catalogue.seen_by(self._may_ask())
        for table in sorted(tables):
            seen.schema.table(table)

    def _answer(self, sql: str, asked: Terms, engine: Engine, rng: Entropy) -> Answer:
        share(asked.confidence, "confidence")  # everything that can be refused is refused before anything is paid
        question = self._question(sql, asked)
        key = answer_key(sql, asked, question, self.ledger.answers)
        again = self._recall.get(key, self._catalogue)
        if again is not None:
            return replace(again, left=self._left_of(self._population(question.parts)))
        prices = self._priced(question.every_part, asked, question)
        uppers = self._uppers(sql, asked, question)
        if question.first:
            return self._staged(sql, uppers, prices, asked, (engine, rng))
        paid = self._paid(prices, sql, asked, engine, rng)
        answer = self._spoken(uppers[-1], paid, asked)
        if answer.cost is None and not asked.fresh:  # then it follows from what is in the key alone
            self._recall.keep(key, self._catalogue, answer, (paid.cells, uppers[-1]))
        return answer

    def _uppers(self, sql: str, asked: Terms, question: Question) -> tuple[postprocessing.Upper, ...]:
        """The upper halves of what comes first and of the question itself, rehearsed."""

        def rehearsed(allow: Allow) -> tuple[postprocessing.Upper, ...]:
            allow(question.tables)
            every = (*question.first, question)
            return tuple(self._planner.rehearsed(self._principal, each, self._files(each)) for each in every)

        key = ("upper", sql, Caps(asked.max_rows, asked.max_groups), self._granted)
        return self._plans.recalled(key, self._catalogue, rehearsed, self._allowed_tables)

    def _staged(
        self,
        sql: str,
        uppers: tuple[postprocessing.Upper, ...],
        prices: tuple[Priced, ...],
        asked: Terms,
        by: tuple[Engine, Entropy],
    ) -> Answer:
        """Answer what comes first, put the answers into the question, and answer that. One price pays for all of it."""
        if asked.within:
            stages = f"a question in {len(uppers)} stages"
            raise Refusal(f"{stages} is not answered within the rest", hint="name a price that fits")
        population, price = self._population(uppers[-1].question.every_part), total([price.loss for price in prices])
        if population is not None and price is not None and not asked.free:  # before the first part of it is paid
            self.ledger.books().check(Spend(population.name, price, self._principal, "", [], {"sql": sql}))
        before: list[Purchase] = []
        scalars: list[object] = []
        for each in uppers[:-1]:
            paid = self._paid(prices[: len(each.question.parts)], sql, asked, *by)
            prices = prices[len(each.question.parts) :]
            answer = self._spoken(each, paid, asked)
            before.append(paid)
            scalars.append(answer.rows[0][0] if answer.rows else None)
        asked_now = self._question(sql, asked, scalars)  # its parts may differ from those that were priced
        rest = total([price.loss for price in prices])
        last = priced(asked_now.parts, rest, population.neighbours) if rest is not None and population else ()
        paid = self._paid(last, sql, asked, *by)
        last_upper, staged = self._planner.upper(self._principal, asked_now), asked_now.staged
        answer = self._spoken(last_upper.unbarred if staged else last_upper, paid, asked)
        every = (*before, paid)
        prices = tuple(bought.price for part in every for bought in part.tables.values())
        cost = total([part.cost for part in every if part.cost is not None])
        left_out = bounding(prices, partial=asked_now.partial, staged=staged)
        return replace(answer, cost=cost, bounding=left_out, notices=notices(prices))

    def _priced(self, parts: tuple[Part, ...], asked: Terms, question: Question | None = None) -> tuple[Priced, ...]:
        population = self._population(parts)
        if population is None:
            return ()
        if asked.free and not asked.named:  # nothing is bought, so no price is too low
            return priced(parts, population.total, population.neighbours)
        return self._planner.quoted(self._principal, parts, population, asked, question)

    def _population(self, parts: tuple[Part, ...]) -> Population | None:
        names = {part.measurement.shape.population or "" for part in parts}
        if len(names) > 1:
            raise Refusal(f"one question asks about one population, got {sorted(names)}", hint="ask each by itself")
        return self._catalogue.population(names.pop()) if names else None

    def _paid(self, prices: tuple[Priced, ...], sql: str, asked: Terms, engine: Engine, rng: Entropy) -> Purchase:
        population = self._population(tuple(price.part for price in prices))
        if population is None:
            return Purchase({}, {}, None)
        return self._buyer(population, engine, rng).paid(prices, sql, asked)

    def _buyer(self, population: Population, engine: Engine | None = None, rng: Entropy = SECURE) -> Buyer:
        where = self.ledger, self._principal, population, self._store, self._flight
        return Buyer(*where, engine or self._store, rng)

    def _files(self, question: Question) -> dict[str, str]:
        """Where the public tables of a question are kept."""
        tables = [self._catalogue.schema.table(name) for name in question.public_above]
        return {table.name: str(self._store.checked(table)) for table in tables}

    def _spoken(self, upper: postprocessing.Upper, paid: Purchase, asked: Terms) -> Answer:
        at = share(asked.confidence, "confidence"), self._left_of(paid.population)
        return self._planner.spoken(self._principal, upper, paid, self._files(upper.question), at)
