"""Visitors of a home: how many people came, from a memory that may be looked into, paid whole when it is opened.

Why that loses no more than was paid: docs/proofs/counters.md, Theorems 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, cast

from discreet.curator.catalogue import Population
from discreet.curator.custody import Custody
from discreet.curator.declarations import Declared
from discreet.curator.explain import COVERED
from discreet.curator.paid_mechanism import PaidMechanism, opened_whole
from discreet.curator.sessions import price_in
from discreet.declared.table import Table
from discreet.engines import DuckStore
from discreet.engines.ingest import Unread
from discreet.errors import Fault, OverBudget, Refusal
from discreet.ledger import Entry, Spend, SqliteLedger
from discreet.ledger.entry_kinds import Plain, session_question, visitors_name
from discreet.ledger.payment import silent
from discreet.mechanisms.registry import described
from discreet.privacy import AddRemove
from discreet.stream import PanPrivateDensity, PanPrivateDistinct, PanPrivateVisits, Visitors
from discreet.stream.declaration import StreamDeclaration
from discreet.stream.read_step import read_pushed
from discreet.stream.visitors import Doing, Happening, VisitorsTold

Counter = PanPrivateDistinct | PanPrivateDensity | PanPrivateVisits


@dataclass(frozen=True)
class VisitorsEstimate:
    """One number that was told: of what, and how far off it may be at 0.95."""

    what: str
    value: Fraction
    error: Fraction


@dataclass(frozen=True)
class OpenVisitors(PaidMechanism[VisitorsTold]):
    """A memory that was paid for: custodians push who came, blur it after a look, and have it told."""

    most_room: ClassVar[int] = 1 << 26
    thing: ClassVar[str] = "memory"
    turn_name: ClassVar[str] = "step"

    @property
    def name(self) -> str:
        """What it is called."""
        return visitors_name(self._spend)

    @property
    def visitors(self) -> Visitors:
        """The mechanism: its counter and its people."""
        return cast("Visitors", self.mechanism)

    @property
    def unit(self) -> str:
        """The column that says who came."""
        return str(self._declared.table.unit)

    @property
    def _declared(self) -> StreamDeclaration:
        return StreamDeclaration.read(self.name, cast("dict[str, dict[str, Plain]]", self._spend.what)["rows"])

    @property
    def bounding(self) -> str:
        """What its numbers leave out, and which looks into the memory are covered."""
        counter, unit = self.visitors.counter, self.unit
        sentences = [COVERED, f"Rows in which {unit} is none of the {counter.size} declared people are left out."]
        if isinstance(counter, PanPrivateVisits):
            sentences.append(f"Who came more than {counter.most} times counts as after {counter.circle} visits fewer.")
        looks = "One look into the memory is" if counter.intrusions == 1 else f"{counter.intrusions} looks are"
        announced = "" if counter.intrusions == 1 else ", if each but the last is followed by a refresh at once"
        sentences.append(f"{looks} covered{announced}; a copy of the home is a look.")
        return " ".join(sentences)

    def push(self, rows: object, *, step: int | None = None, unread: Unread = None) -> int:
        """Let the people of these rows come, and say which step it was.

        A step that was counted is not counted again when it is pushed with its number, whatever rows come with it: the
        memory keeps no digest of rows. `unread` is for the custodian's own terminal.
        """
        self._refuse_stranger()
        people = self._read(rows, unread)
        return self._done(Happening(Doing.CAME, people), step)[0]

    def refresh(self, *, step: int | None = None) -> int:
        """Blur the memory anew: at once after a look that was noticed."""
        self._refuse_stranger()
        said = self.answers
        if said and (step is None or step > len(said)):
            self.visitors.counter.refuse_blurred(said[-1].refreshed)
        return self._done(Happening(Doing.REFRESHED), step)[0]

    def tell(self, *, step: int | None = None) -> tuple[VisitorsEstimate, ...]:
        """One of the answers that were paid for."""
        self._refuse_stranger()
        return self.estimates(self._done(Happening(Doing.TOLD), step)[1])

    def _done(self, happening: Happening, step: int | None) -> tuple[int, VisitorsTold]:
        if why := self._unreadable():
            raise self._refused(why)
        try:
            return self._session.answered(lambda: self._entered(happening), number=step, question=happening.doing)
        finally:
            self._settle()

    @contextmanager
    def _entered(self, happening: Happening) -> Iterator[Callable[[], Happening]]:
        if why := self._shut():
            raise self._refused(why)
        books = self._ledger.books()
        books.answering(self._spend.population)
        books.check_tables(self._spend)
        with silent(self._ledger, [self._spend.population]):
            yield lambda: happening

    def _refused(self, why: str) -> OverBudget:
        return OverBudget(f"memory {self.name!r} is closed: {why}", hint="open and pay for a new one")

    def _refuse_stranger(self) -> None:
        grant = self._ledger.books().grant(self.principal)
        if grant is not None and grant.role != "custodian":
            raise Refusal(f"a memory is for custodians, and {self.principal!r} is none")

    def _read(self, rows: object, unread: Unread) -> tuple[int, ...]:
        try:
            pushed, _ = read_pushed(self._declared, rows)
            size = self.visitors.counter.size
            names = self.visitors.names or tuple(map(str, range(size)))
            places = {name: place for place, name in enumerate(names)}
            known = [places.get(name, -1) for name in pushed.owners]
            if unread is not None and -1 in known:
                unread((self.unit,))
            return tuple(known[owner] for owner in pushed.owner.tolist() if known[owner] >= 0)
        except Refusal:
            raise
        except Exception:  # noqa: BLE001  # whatever it says, it says it of rows
            self._ledger.hold(self._spend.population)
            raise Fault from None

    def close(self) -> None:
        """Give up what is left of it. Nothing is paid back."""
        self._refuse_stranger()
        super().close()

    def estimates(self, told: VisitorsTold) -> tuple[VisitorsEstimate, ...]:
        """The numbers of one answer, with their errors."""
        counter, refreshed = self.visitors.counter, told.refreshed
        if not isinstance(counter, PanPrivateVisits):
            what = "people who came" if isinstance(counter, PanPrivateDistinct) else "share of people who came"
            error = Fraction(counter.error(refreshed=refreshed))
            return tuple(VisitorsEstimate(what, number, error) for number in told.numbers)
        weighed = [(f"came {times} times", counter.exactly(times)) for times in range(counter.circle)]
        weighed += [(f"came {times} times or more", counter.at_least(times)) for times in range(1, counter.circle)]
        weighed.append((f"mean of visits up to {counter.most}", counter.cropped_mean(counter.most)))
        return tuple(
            VisitorsEstimate(what, counter.estimate(told.numbers, weights), counter.error(weights, refreshed=refreshed))
            for what, weights in (weighed if told.numbers else [])
        )


@dataclass(frozen=True)
class PaidVisitors:
    """The memories of a home, opened and looked at in one name."""

    ledger: SqliteLedger
    store: DuckStore
    principal: str

    @property
    def _home(self) -> Path:
        return self.store.folder.parent

    def open(  # noqa: PLR0913  # all that is declared of a memory
        self,
        name: str,
        counter: Counter,
        *,
        unit: str,
        names: Sequence[str] = (),
        steps: int = 10_000,
        population: str | None = None,
    ) -> OpenVisitors:
        """Pay for a memory, then draw it and seal it. Refused before anything is paid."""
        grant = self.ledger.books().grant(self.principal)
        if grant is not None and grant.role != "custodian":
            raise Refusal(f"memories are opened by custodians, and {self.principal!r} is none")
        if unit == "row":
            raise Refusal("a memory is of people, not of rows", hint="name the column that says who came")
        if name.casefold() in {visitors_name(each).casefold() for _, each in self._paid()}:
            raise Refusal(f"there is, or was, a memory {name!r} already", hint="take another name")
        said = Declared(unit=unit, population=population, epsilon=counter.privacy.epsilon, max_rows=1)
        with Custody(self._home).declaring_stream(name, said, {}) as (table, people, settle):
            visitors, spend = self._planned(table, people, Visitors(counter, tuple(names), steps))
            settle()
            return opened_whole(OpenVisitors, visitors, self.store, lambda: self._opened(self.ledger.append(spend)))

    def _planned(self, table: Table, people: Population, visitors: Visitors) -> tuple[Visitors, Spend]:
        own = replace(visitors, counter=replace(visitors.counter, neighbours=AddRemove(people.neighbours.unit)))
        price = price_in(own, people.neighbours, type(people.total))
        what: Plain = {
            "visitors": table.name,
            "session": dict(described(own)),
            "rows": StreamDeclaration(table).written,
        }
        return own, Spend(people.name, price, self.principal, session_question(people.name), [table.name], what)

    def one(self, name: str) -> OpenVisitors:
        """A memory by its name."""
        for paid, spend in self._paid():
            if visitors_name(spend) == name and self._shown(spend):
                return self._opened(paid)
        raise Refusal(f"there is no memory {name!r}", hint="open one with discreet visitors new")

    def all(self) -> list[OpenVisitors]:
        """Those that may be looked at, the latest first."""
        return [self._opened(paid) for paid, spend in self._paid() if self._shown(spend)]

    def _shown(self, spend: Spend) -> bool:
        books = self.ledger.books()
        return books.may_read(books.grant(self.principal), spend)

    def _paid(self) -> list[tuple[Entry, Spend]]:
        with self.ledger.looked_at() as view:
            every = [(entry, entry.event) for entry, _ in view.sessions()]
        return [(entry, spend) for entry, spend in every if isinstance(spend, Spend) and visitors_name(spend)]

    def _opened(self, paid: Entry) -> OpenVisitors:
        return OpenVisitors(paid, self.principal, cast("Spend", paid.event), self.ledger, self.store)
