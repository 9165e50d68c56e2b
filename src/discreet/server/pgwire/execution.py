"""What a session does with a statement: settings and transactions here, questions in a thread at the desk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from discreet.desk import Visitor
from discreet.errors import DiscreetError
from discreet.server.errors import CANCELLED, SYNTAX, UNSUPPORTED, WireError, wire_error
from discreet.server.fair_share import Pool
from discreet.server.journal import EXPLAIN, QUESTION, Journal, QuestionNote, outcome_of
from discreet.server.pgwire.binding import bound
from discreet.server.pgwire.frames import TEXT as TEXT_FORMAT
from discreet.server.pgwire.frames import Field
from discreet.server.pgwire.questions import Clerk
from discreet.server.pgwire.session_state import IDLE, Outcome, Portal, Prepared, Seen, Shelf, Transaction
from discreet.server.pgwire.settings import FUNCTIONS, SettingCall, Settings, called, calls
from discreet.server.pgwire.statements import (
    CloseCursor,
    Copy,
    Deallocate,
    Declare,
    Discard,
    Execute,
    Explain,
    Fetch,
    Nothing,
    Prepare,
    Question,
    Reset,
    Set,
    Show,
    Statement,
    Transact,
)
from discreet.server.pgwire.types import TEXT, Value, field, read

T = TypeVar("T")

_ENDING = ("COMMIT", "ROLLBACK", "ROLLBACK TO")
_PLAN = (field("QUERY PLAN", TEXT),)
_SETTINGS = tuple(field(name, TEXT) for name in ("name", "setting", "description"))
_HINT = "if it was paid already, its answer is kept and asking again is free"


class Execution:
    """Runs the statements of one session, one after the other."""

    def __init__(self, clerk: Clerk, pool: Pool, shelf: Shelf, settings: Settings, journal: Journal) -> None:
        self._clerk, self._pool, self.journal = clerk, pool, journal
        self.shelf = shelf
        self.transaction = Transaction(settings)
        self._running: asyncio.Task[object] | None = None

    @property
    def settings(self) -> Settings:
        """What is set now."""
        return self.transaction.settings

    @property
    def visitor(self) -> Visitor:
        """Who asks."""
        return self._clerk.visitor

    def cancel(self) -> None:
        """Give up what runs. What is paid is paid, and its answer is kept."""
        if self._running is not None:
            self._running.cancel()

    async def apart(self, call: Callable[[], T]) -> T:
        """The result of a call that blocks, unless it is cancelled or takes longer than the client wants to wait."""
        task = asyncio.ensure_future(self._pool.asked(self.visitor, call))
        self._running = task
        try:
            await asyncio.wait({task}, timeout=self.settings.patience)
        finally:
            self._running = None
            if not task.done():
                task.cancel()
        if not task.done():
            raise WireError(CANCELLED, "the question took longer than statement_timeout", hint=_HINT)
        if task.cancelled():
            raise WireError(CANCELLED, "the question was cancelled", hint=_HINT)
        return task.result()

    async def _noted(
        self, kind: str, call: Callable[[QuestionNote], Outcome], at_hand: Callable[[], Outcome | None] = lambda: None
    ) -> Outcome:
        """The same for a question, written down; unless it is at hand, for to fetch it takes longer than to say it."""
        told, started = QuestionNote(kind, self.visitor.name), time.monotonic()
        try:
            outcome = at_hand()
            if outcome is None:
                outcome = await self.apart(lambda: call(told))
            told.outcome, told.entry = outcome.ended, outcome.entry
            self.shelf.refuse_much(outcome.size)
        except (WireError, DiscreetError) as broken:
            refused = wire_error(broken)
            told.outcome, told.sqlstate = outcome_of(refused), refused.code
            raise
        finally:
            self.journal.asked(told, time.monotonic() - started)
        return outcome

    # before a statement runs -----------------------------------------------------------------------------------------

    async def parameters(self, statement: Statement, given: Sequence[int]) -> tuple[int, ...]:
        """The types of a statement's parameters."""
        self._check(statement)
        question = _question(statement)
        if question is None or "$" not in question.text:
            return tuple(given)
        return await self.apart(lambda: self._clerk.parameters(question, given))

    async def fields(self, prepared: Prepared, portal: Portal | None = None) -> tuple[Field, ...] | None:
        """The columns that a statement will have; None if it has no rows. Free."""
        statement = prepared.statement
        if statement is not None:
            self._check(statement)
        match statement:
            case Question():
                return await self._columns(statement, prepared, portal)
            case Fetch():
                cursor = self.shelf.portal(statement.name)
                return await self.fields(cursor.prepared, cursor)
            case Execute():
                question, kept, values = self._kept(statement)
                return await self._columns(question, kept, Portal(kept, values))
            case Explain():
                return _PLAN
            case Show():
                return _SETTINGS if statement.name is None else (field(statement.name, TEXT),)
            case _:
                return None

    async def _columns(self, question: Question, prepared: Prepared, portal: Portal | None) -> tuple[Field, ...] | None:
        settings, oids = self.settings, prepared.oids
        if portal is None:
            return _called_fields(calls(question.text)) or await self.apart(
                lambda: self._clerk.columns(question, settings, oids)
            )
        if portal.outcome is not None:
            return portal.outcome.fields
        seen = prepared.seen
        if seen is not None and seen.settings is settings:
            portal.described = seen.fields  # some clients ask this every time
            return seen.fields
        found = _called_fields(_calls(question, portal.values, oids)) or await self.apart(
            lambda: self._clerk.described(question, settings, portal.values, oids)
        )
        prepared.seen = None if portal.values else Seen(settings, found)
        return found

    def _check(self, statement: Statement) -> None:
        if not (isinstance(statement, Transact) and statement.step in _ENDING):
            self.transaction.check()

    # running ---------------------------------------------------------------------------------------------------------

    async def run(  # noqa: PLR0911  # one for each kind
        self, statement: Statement, values: Sequence[Value] = (), oids: Sequence[int] = ()
    ) -> Outcome:
        """Run a statement."""
        self._check(statement)
        settings = self.settings
        match statement:
            case Question():
                return await self._answered(statement, values, oids)
            case Prepare():
                return await self._prepare(statement)
            case Execute():
                return await self._executed(statement)
            case Explain(Execute() as asked):
                return await self._executed(asked, explained=True)
            case Explain(Question() as question):
                return await self._noted(EXPLAIN, lambda _: self._clerk.explained(question, settings, values, oids))
            case Copy(question):
                outcome = await self._answered(question, values, oids)
                return replace(outcome, tag="COPY", copy=statement)
            case Declare():
                return self._declare(statement, values, oids)
            case Fetch():
                return await self._fetch(statement)
            case _:
                return self._changed(statement)

    async def _answered(self, question: Question, values: Sequence[Value], oids: Sequence[int]) -> Outcome:
        settings = self.settings
        found = _calls(question, values, oids)

        def answered(told: QuestionNote) -> Outcome:
            told.kind = self._clerk.kind(question)
            return self._clerk.answered(question, settings, values, oids)

        if found is None:
            return await self._noted(QUESTION, answered, lambda: self._clerk.at_hand(question, settings))
        row: list[object] = []
        for call in found:
            settings, value = called(call, settings)
            row.append(value)
        self.transaction = self.transaction.under(settings)
        return Outcome("SELECT", _called_fields(found), [row])

    async def _prepare(self, asked: Prepare) -> Outcome:
        question = asked.question
        oids = await self.apart(lambda: self._clerk.parameters(question, asked.oids))
        self.shelf.prepare(asked.name, Prepared(question, oids, len(question.text) + 100))
        return Outcome("PREPARE")

    async def _executed(self, asked: Execute, *, explained: bool = False) -> Outcome:
        """Answer or explain a question that was prepared; what goes wrong has no place in the text that was sent."""
        question, kept, values = self._kept(asked)
        settings = self.settings
        try:
            if explained:
                return await self._noted(
                    EXPLAIN, lambda _: self._clerk.explained(question, settings, values, kept.oids)
                )
            return await self._answered(question, values, kept.oids)
        except WireError as told:
            raise told.at(None) from None

    def _kept(self, asked: Execute) -> tuple[Question, Prepared, tuple[Value, ...]]:
        """A question that was prepared, and the values of its parameters."""
        prepared = self.shelf.statement(asked.name)
        if not isinstance(prepared.statement, Question):
            raise WireError(UNSUPPORTED, "EXECUTE runs questions only", hint="say the statement itself")
        if len(asked.arguments) != len(prepared.oids):
            raise WireError(SYNTAX, f"it has {len(prepared.oids)} parameters, and {len(asked.arguments)} came")
        values = tuple(
            None if text is None else read(oid, TEXT_FORMAT, text.encode())
            for oid, text in zip(prepared.oids, asked.arguments, strict=True)
        )
        return prepared.statement, prepared, values

    def _declare(self, asked: Declare, values: Sequence[Value], oids: Sequence[int]) -> Outcome:
        if self.transaction.status == IDLE:
            raise WireError("25P01", "a cursor lives in a transaction", hint="say BEGIN first")
        prepared = Prepared(asked.question, tuple(oids), len(asked.question.text))
        self.shelf.open(asked.name, Portal(prepared, tuple(values)))
        return Outcome("DECLARE CURSOR")

    async def _fetch(self, asked: Fetch) -> Outcome:
        cursor = self.shelf.portal(asked.name)
        if cursor.outcome is None:
            question = cursor.prepared.statement
            if not isinstance(question, Question):
                raise WireError("34000", "there is no cursor of this name")
            cursor.outcome = await self._answered(question, cursor.values, cursor.prepared.oids)
        notices = cursor.outcome.notices
        rows = list(cursor.rows(asked.count))
        found = Outcome("FETCH", cursor.outcome.fields, rows, notices)
        cursor.outcome = replace(cursor.outcome, notices=())
        return found

    def _changed(self, statement: Statement) -> Outcome:
        """Run what needs nobody's help."""
        match statement:
            case Set() | Reset():
                return self._set(_after(statement, self.settings, local=self.transaction.status != IDLE))
            case Show():
                return self._shown(statement.name)
            case Transact():
                self.transaction, tag = self.transaction.step(statement)
                return Outcome(tag)
            case Nothing():
                return Outcome(statement.tag)
            case _:
                return self._forgotten(statement)

    def _forgotten(self, statement: Statement) -> Outcome:
        match statement:
            case Deallocate(name):
                _forget(self.shelf.prepared, name, "26000")
                return Outcome("DEALLOCATE ALL" if name is None else "DEALLOCATE")
            case CloseCursor(name):
                _forget(self.shelf.portals, name, "34000")
                return Outcome("CLOSE CURSOR ALL" if name is None else "CLOSE CURSOR")
            case Discard(what):
                return self._discard(what)
            case _:  # every other statement was run before
                raise AssertionError

    def _shown(self, name: str | None) -> Outcome:
        if name is None:
            return Outcome("SHOW", _SETTINGS, [(key, value, "") for key, value in self.settings.every()])
        return Outcome("SHOW", (field(name, TEXT),), [(self.settings.value(name),)])

    def _set(self, after: tuple[Settings, str]) -> Outcome:
        settings, tag = after
        self.transaction = self.transaction.under(settings)
        return Outcome(tag)

    def _discard(self, what: str) -> Outcome:
        if what == "ALL":
            if self.transaction.status != IDLE:
                raise WireError("25001", "DISCARD ALL is for outside of a transaction")
            self.shelf.clear()
            return self._set((self.settings.reset(), "DISCARD ALL"))
        return Outcome(f"DISCARD {what}")


def _after(statement: Set | Reset, settings: Settings, *, local: bool) -> tuple[Settings, str]:
    """The settings after a change, and what is said of it."""
    if isinstance(statement, Reset):
        return settings.reset(statement.name), "RESET"
    if statement.value is None:
        return settings.reset(statement.name), "SET"
    return settings.put(statement.name, statement.value, local=local and statement.local), "SET"


def _forget(kept: dict[str, T], name: str | None, code: str) -> None:
    if name is None:
        kept.clear()
    elif kept.pop(name, None) is None:
        raise WireError(code, "there is nothing of this name")


def _question(statement: Statement) -> Question | None:
    match statement:
        case Question():
            return statement
        case Explain(Question() as question) | Copy(question) | Declare(_, question):
            return question
        case _:
            return None


def _calls(question: Question, values: Sequence[Value], oids: Sequence[int]) -> list[SettingCall] | None:
    """The calls that a question consists of, once its parameters are in it."""
    mentioned = values and any(function in question.text.lower() for function in FUNCTIONS)
    return calls(bound(question, values, oids).text if mentioned else question.text)


def _called_fields(found: Sequence[SettingCall] | None) -> tuple[Field, ...] | None:
    return None if found is None else tuple(field(call.column, TEXT) for call in found)
