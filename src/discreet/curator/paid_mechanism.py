"""Mechanisms that were paid whole and answer one by one: their sealed state in the home, and when they are closed.

What one keeps between two answers lies sealed in `sessions/ENTRY`, where ENTRY is its payment. Why that loses no more
than was paid: docs/proofs/sessions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from discreet import durable
from discreet.engines import DuckStore
from discreet.errors import OverBudget, Refusal
from discreet.ledger import Entry, Spend, SqliteLedger, StoredAnswer
from discreet.ledger.entry_kinds import REMOVED, BudgetLoss, Plain
from discreet.ledger.file_access import locked
from discreet.mechanisms import Quota
from discreet.mechanisms.registry import rebuilt
from discreet.mechanisms.session import Session

A = TypeVar("A")
P = TypeVar("P", bound="PaidMechanism[Any]")

_FOLDER, _KEY = "sessions", "key"
_USED_UP = "it is used up"
_LOST = "it has no state: it was interrupted when it was opened, and paid for nothing"
_STRANGE = "its state cannot be read: it was changed, or its key is missing"


@dataclass(frozen=True)
class SessionStatus:
    """What is public of a session: who paid how much for which mechanism, what of it is used, and why it is closed."""

    entry: int
    time: str
    principal: str
    mechanism: Mapping[str, Plain]  # its name and parameters
    population: str
    tables: tuple[str, ...]
    loss: BudgetLoss
    asked: int
    used: tuple[Quota, ...]
    closed: str = ""  # why; nothing while it may be asked


@dataclass(frozen=True)
class PaidMechanism(Generic[A]):
    """An interactive mechanism that was paid whole: its state is in the home, its end in the ledger."""

    most_room: ClassVar[int] = 1 << 20  # characters of a state: it is written anew with each answer
    thing: ClassVar[str] = "session"
    turn_name: ClassVar[str] = "question"

    paid: Entry
    principal: str
    _spend: Spend
    _ledger: SqliteLedger
    _store: DuckStore

    @property
    def entry(self) -> int:
        """The number of its payment, by which it is called."""
        return self.paid.number

    @cached_property
    def mechanism(self) -> Any:  # noqa: ANN401  # which one, its name says
        """What was paid for."""
        match self._spend.what:
            case {"session": {"name": name, "parameters": parameters}}:
                return rebuilt(name, parameters)
        raise Refusal(f"entry {self.entry} does not say which mechanism it is a session of")

    @cached_property
    def _session(self) -> Session[Any, Any, A]:
        folder = sealed_folder(self._store)
        bound = f"{self.entry} {self.paid.hash}"  # which covers the mechanism, the tables and their versions
        return Session(
            self.mechanism,
            folder / str(self.entry),
            folder / _KEY,
            bound,
            most_room=self.most_room,
            thing=self.thing,
            turn_name=self.turn_name,
        )

    def _refused(self, why: str) -> OverBudget:
        return OverBudget(f"session {self.entry} is closed: {why}", hint="open and pay for a new one")

    @property
    def home(self) -> Path:
        """The home that it was opened in."""
        return self._store.folder.parent

    @property
    def version(self) -> Hashable:
        """It changes whenever anything public of it does; no state is opened to tell."""
        books = self._ledger.books()
        return self.entry in books.unanswered, books.adopted > self.entry, self._session.sealed.version

    @property
    def answers(self) -> tuple[A, ...]:
        """Every answer given so far: free to look at again."""
        return () if self._unreadable() else self._session.answers

    @property
    def told(self) -> list[Plain]:
        """The same, as JSON holds them."""
        return [self.mechanism.told(answer) for answer in self.answers]

    @property
    def closed(self) -> str:
        """Why it may not be asked any more; nothing while it may."""
        return self._shut() or (_USED_UP if self._session.closed else "")

    def _shut(self) -> str:
        """Why it is closed beside what it answered: from the ledger, and from whether there is a state."""
        for _, said, _ in self._ledger.answered(self._spend.question):
            match said.answer:
                case {"closed": str(why)}:
                    return why
        if self._ledger.books().adopted > self.entry:  # whoever has the other copy could ask it as well
            return "it was opened in a home of which this one is a copy"
        known = self._ledger.books().datasets
        for table, version in sorted(self._spend.versions.items()):
            if table not in known or known[table].declaration == REMOVED:
                return f"table {table!r} was removed"
            if known[table].version != version:
                return f"table {table!r} has new rows"
        return self._unreadable()

    def _unreadable(self) -> str:
        """Why its state cannot be read; nothing if it can."""
        if not self._session.sealed.taken and sealed_folder(self._store).exists():
            with alone(self._store):  # whoever is just opening it has written it then
                pass
        if not self._session.sealed.taken:
            return _LOST
        try:
            self._session.sealed.read()
        except Refusal:
            return _STRANGE
        return ""

    def close(self) -> None:
        """Give up what is left of it, and write into the ledger what it answered. Nothing is paid back."""
        why = self.closed
        if self.entry in self._ledger.books().unanswered:
            self._record(why or f"closed by {self.principal}")

    def _settle(self) -> None:
        """Close it in the ledger once it is closed for good. What cannot be written now is written the next time."""
        with suppress(Refusal, OSError):
            if self.entry in self._ledger.books().unanswered and (why := self.closed) and why not in (_LOST, _STRANGE):
                self._record(why)

    def _record(self, why: str) -> None:
        if self._unreadable():
            self._ledger.append(StoredAnswer(self.entry, self._spend.question, {"closed": why, "answers": []}))
            return
        with self._session.sealed.locked():  # nobody is answered between what is written here and the closing
            said: Plain = {"closed": why, "answers": self._last_words()}
            self._ledger.append(StoredAnswer(self.entry, self._spend.question, said))

    def _last_words(self) -> Plain:
        """What the ledger keeps of the answers."""
        return self.told

    @property
    def status(self) -> SessionStatus:
        """What is public of it; of one that cannot be read, why."""
        asked, why = 0, ""
        used: tuple[Quota, ...] = ()
        try:
            why = self.closed
            if not self._unreadable():
                asked, used = self._session.asked, self._session.used
        except Refusal as refusal:  # a mechanism that is not installed
            why = refusal.message
        spend = self._spend
        what = spend.what["session"] if isinstance(spend.what, dict) else {}
        named = what if isinstance(what, dict) else {}
        tables = tuple(spend.tables)
        return SessionStatus(
            self.entry, self.paid.time, spend.principal, named, spend.population, tables, spend.loss, asked, used, why
        )


def sealed_folder(store: DuckStore) -> Path:
    """Where a home keeps the states, and the key that they are sealed under."""
    return store.folder.parent / _FOLDER


@contextmanager
def alone(store: DuckStore) -> Iterator[None]:
    """The only one who opens a session."""
    with locked(sealed_folder(store) / "opening"):
        yield


def opened_whole(kind: type[P], mechanism: Any, store: DuckStore, pay: Callable[[], P]) -> P:  # noqa: ANN401  # any
    """Pay for a mechanism, then draw its secret and seal it; what no file could hold is refused before it is paid."""
    folder = sealed_folder(store)
    durable.make_folder(folder)
    with alone(store):
        Session(mechanism, folder / "new", folder / _KEY, "", most_room=kind.most_room).sealed.create_key()
        opened = pay()
        opened._session.open(lambda _: None)  # noqa: SLF001  # it is paid; only here is one opened
    return opened
