"""Sessions of interactive mechanisms: paid whole when they are opened, asked in SQL, closed in the ledger.

Why asking one loses no more than was paid: docs/proofs/sessions.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar, cast

from sqlglot import exp

from discreet.curator.domain_cells import check_domain, counted_cells
from discreet.curator.noisy_statistics import Engine
from discreet.curator.paid_mechanism import PaidMechanism, SessionStatus, opened_whole
from discreet.curator.price import reach
from discreet.curator.quote import Terms
from discreet.declared.table import Table
from discreet.engines import DuckStore
from discreet.errors import Refusal
from discreet.ledger import Entry, Spend, SqliteLedger
from discreet.ledger.entry_kinds import (
    BudgetLoss,
    refuse_half_characters,
    session_population,
    session_question,
    stream_name,
    visitors_name,
)
from discreet.ledger.payment import silent
from discreet.mechanisms import CellCount, Openable, Takes
from discreet.mechanisms.registry import described
from discreet.mechanisms.session import AnyInteractive
from discreet.privacy import AddRemove, Guarantee, Neighbours, Replace, convert
from discreet.sql.owned_rows import scanned
from discreet.sql.plan import Measurement, Question, Statistic

A = TypeVar("A")

_UNNAMED = "row"  # the unit of a mechanism of which nobody said whom it is for


@dataclass(frozen=True)
class OpenSession(PaidMechanism[A]):
    """A session that was paid: asked by whoever paid for it, closed by them or by a custodian."""

    _planned: Callable[[str, Terms], Question]

    def ask(self, sql: str, *, number: int | None = None, max_rows: int | None = None, guess: int | None = None) -> A:
        """The answer to the next question, a SELECT of one COUNT or SUM; it is on disk before it is returned.

        After a crash, ask again with the same `number`: if an answer was drawn, it is that one. A mechanism that checks
        guesses, as `thresholdout` does, is given one.
        """
        refuse_half_characters(sql)
        if self.principal != self._spend.principal:
            raise Refusal(f"session {self.entry} is asked by {self._spend.principal!r}, who paid for it")
        if why := self._unreadable():  # in words that name no file
            raise self._refused(why)
        self._refuse_guess(guess)
        try:
            return self._session.answered(
                lambda: self._measured(sql, Terms(max_rows=max_rows), guess),
                number=number,
                question=json.dumps([sql, max_rows] if guess is None else [sql, max_rows, guess]),
            )[1]
        finally:
            self._settle()

    @contextmanager
    def _measured(self, sql: str, terms: Terms, guess: int | None) -> Iterator[Callable[[], object]]:
        """What a question asks for, exactly; with a domain also of which cells. What is refused is so on the way in."""
        if why := self._shut():
            raise self._refused(why)
        books = self._ledger.books()
        neighbours = books.answering(self._spend.population).neighbours
        books.check_tables(self._spend)
        measurement, statistic = scalar(self._planned(sql, terms))
        self._refuse_tables(measurement)
        self._refuse_beyond(*span(measurement, statistic, self.mechanism.neighbours), neighbours.unit)
        domain = getattr(self.mechanism, "domain", ())
        cells = counted_cells(measurement, statistic, domain) if domain else None
        with self._store.opened([measurement.rows]), silent(self._ledger, [self._spend.population]):
            yield lambda: self._asked_about(exactly(self._store, measurement, statistic), cells, guess)

    def _asked_about(self, value: int, cells: int | None, guess: int | None) -> object:
        if guess is not None:
            return self.mechanism.with_guess(value, guess)
        return value if cells is None else CellCount(value, cells)

    def _refuse_guess(self, guess: int | None) -> None:
        """A guess is asked for, or not, by the mechanism: a public fact."""
        takes_one = hasattr(self.mechanism, "with_guess")
        if takes_one == (guess is not None):
            return
        if takes_one:
            raise Refusal(
                f"session {self.entry} checks guesses, and none was given",
                hint="say what you take the number to be: what the same question gave on rows of which you know more",
            )
        raise Refusal(f"session {self.entry} checks no guesses, got guess={guess}", hint="leave it out")

    def _refuse_tables(self, measurement: Measurement) -> None:
        for table in scanned(measurement.rows):
            if not table.public and self._spend.versions.get(table.name) != table.version:
                raise Refusal(
                    f"session {self.entry} is about {', '.join(self._spend.tables)}, and this reads {table.name}",
                    hint="a session answers from the tables that it was opened for",
                )

    def _refuse_beyond(self, moved: Fraction, rises: bool, unit: str) -> None:  # noqa: FBT001
        sensitivity: Fraction | int = getattr(self.mechanism, "sensitivity", 0)
        if math.ceil(moved) > sensitivity:  # the value is rounded down, and two that differ by less may go apart by 1
            raise Refusal(
                f"one {unit} may move this by {math.ceil(moved)}, and the session was opened for {sensitivity}",
                hint="ask COUNT(DISTINCT unit), lower max_rows or closer bounds, or open one of a larger sensitivity",
            )
        if getattr(self.mechanism, "monotone", False) and not rises:
            raise Refusal(
                "the session was opened as monotone, and a sum with negative numbers falls where a count rises",
                hint="sum GREATEST(column, 0), or open a session without monotone",
            )


@dataclass(frozen=True)
class Sessions:
    """The sessions of a home, opened and looked at in one name."""

    ledger: SqliteLedger
    store: DuckStore
    principal: str
    tables: Callable[[], list[Table]]  # that may be asked about
    planned: Callable[[str, Terms], Question]

    def open(self, mechanism: Openable[Any, Any, A, Any], *tables: str) -> OpenSession[A]:
        """Pay for a session about these tables, then draw its secret and seal it. Refused before anything is paid."""
        named = self._named(tables)
        population = named[0].population or ""
        account = self.ledger.books().account(population)
        bound = _for(mechanism, account.neighbours)
        if domain := getattr(bound, "domain", ()):
            check_domain(domain, named)
        spend = Spend(
            population,
            price_in(bound, account.neighbours, type(account.budget.total)),
            self.principal,
            session_question(population),
            sorted(table.name for table in named),
            {"session": dict(described(bound))},
            {table.name: table.version for table in named},
        )
        return opened_whole(OpenSession, bound, self.store, lambda: self._opened(self.ledger.append(spend)))

    def one(self, entry: int) -> OpenSession[Any]:
        """A session by the number of its payment: one's own; for a custodian any."""
        paid = self.ledger.entry(entry) if 1 <= entry <= self.ledger.books().size else None
        if paid is None or not self._shown(paid):
            raise Refusal(f"there is no session {entry}", hint="see discreet session list")
        return self._opened(paid)

    def all(self) -> list[SessionStatus]:
        """One's own, the latest first; a custodian sees everybody's."""
        with self.ledger.looked_at() as view:
            paid = [entry for entry, _ in view.sessions()]
        return [self._opened(entry).status for entry in paid if self._shown(entry)]

    def _shown(self, paid: Entry) -> bool:
        """Whether an entry is a session's payment that this principal may look at."""
        spend, books = paid.event, self.ledger.books()
        if not isinstance(spend, Spend) or session_population(spend.question) is None:
            return False
        if stream_name(spend) or visitors_name(spend):
            return False
        grant = books.grant(self.principal)
        custodian = grant is None or grant.role == "custodian"
        return books.may_read(grant, spend) and (custodian or spend.principal == self.principal)

    def _opened(self, paid: Entry) -> OpenSession[Any]:
        spend = cast("Spend", paid.event)
        return OpenSession(paid, self.principal, spend, self.ledger, self.store, self.planned)

    def _named(self, names: Sequence[str]) -> list[Table]:
        known = {table.name: table for table in self.tables()}
        for name in names:
            if name not in known:
                raise Refusal(f"there is no table {name!r}", hint=f"there are {sorted(known)}")
        named = [known[name] for name in dict.fromkeys(names)]
        if not named or any(table.public for table in named):
            raise Refusal(
                f"a session is about tables of people, got {list(names)}", hint="name at least one, and no public one"
            )
        people = sorted({table.population or "" for table in named})
        if len(people) > 1:
            raise Refusal(f"a session is about one population, got {people}", hint="open one for each")
        return named


def _for(mechanism: object, neighbours: Neighbours) -> AnyInteractive:
    """The mechanism as a promise to the units of a population, refused unless it can be opened and asked in SQL.

    What it compares are values that move by at most its sensitivity, and whose unit moves them is for us to see to.
    """
    kind = type(mechanism).__name__
    if not isinstance(mechanism, Openable) or getattr(type(mechanism), "takes", None) is not Takes.STREAM:
        raise Refusal(
            f"{kind} is no mechanism for a session", hint="one is asked value by value, as sparse-vector is: see docs"
        )
    own: object = getattr(mechanism, "neighbours", None)
    if isinstance(own, (AddRemove, Replace)) and own.unit == _UNNAMED:
        return replace(mechanism, neighbours=replace(own, unit=neighbours.unit))  # type: ignore[type-var, return-value]
    return mechanism  # type: ignore[return-value]


def price_in(mechanism: AnyInteractive, neighbours: Neighbours, measure: type[BudgetLoss]) -> BudgetLoss:
    """The whole price in the measure of a budget, for its neighbours (SOUNDNESS 2)."""
    return convert(Guarantee(mechanism.privacy, mechanism.neighbours).under(neighbours).loss, measure)


_PARTS = ("expressions", "from_")  # of a SELECT that does nothing with the number
_ONE = "one count(*), count(DISTINCT unit), count(column) or sum(column), with WHERE and joins as you like"


def scalar(question: Question) -> tuple[Measurement, Statistic]:
    """What a question measures, if it is one COUNT or SUM and nothing is computed with it."""
    part = question.parts[0] if len(question.parts) == 1 and not question.first else None
    above = question.above
    plain = isinstance(above, exp.Select) and not any(v for name, v in above.args.items() if name not in _PARTS)
    alone = plain and len(question.direct) == 1 and question.direct[0] is not None and not question.public_above
    if part is not None and alone and not part.measurement.keys:
        statistics = part.measurement.statistics
        counted = [each.kind for each in part.aggregates] in (["count"], ["sum"])
        if counted and len(statistics) == 1 and isinstance(statistics[0], Statistic):
            return part.measurement, statistics[0]
    raise Refusal("a session answers one number that is counted or summed, without GROUP BY", hint=_ONE)


def span(measurement: Measurement, statistic: Statistic, neighbours: Neighbours) -> tuple[Fraction, bool]:
    """How far one unit moves the number at most; and whether a unit that comes can only raise it.

    A unit adds between `low` and `high` to it. Where units come and go, it changes by the larger of the two; where one
    takes another's place, at most from the lowest to the highest.
    """
    most = Fraction(reach(statistic, measurement))
    low, high = Fraction(0), most
    if statistic.kind == "total" and statistic.grid is not None:
        grid, rows = statistic.grid, measurement.needs_rows_cap("this aggregate")
        low, high = rows * min(grid.low, 0) * grid.step, rows * max(grid.high, 0) * grid.step
    return max(-low, high) if isinstance(neighbours, AddRemove) else high - low, not low


def exactly(engine: Engine, measurement: Measurement, statistic: Statistic) -> int:
    """The number, or the whole one below it: rounding down takes no two values further apart than a whole number."""
    if statistic.kind == "distinct":
        return engine.distinct(measurement, statistic).get((), 0)
    counted = engine.counted(measurement).values.get((), (0,))[0]
    return math.floor(counted * statistic.grid.step) if statistic.grid is not None else counted
