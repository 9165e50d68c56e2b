"""Execution of statements in a session: settings and transactions here, questions in a thread at the desk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from discreet.desk import Visitor
from discreet.errors import DiscreetError
from discreet.exact import shown
from discreet.server.errors import CANCELLED, SYNTAX, UNSUPPORTED, WireError, wire_error
from discreet.server.fair_share import Pool
from discreet.server.journal import EXPLAIN, QUESTION, Journal, QuestionNote, outcome_of
from discreet.server.pgwire import statement_kinds
from discreet.server.pgwire.binding import bound
from discreet.server.pgwire.frames import TEXT as TEXT_FORMAT
from discreet.server.pgwire.frames import WireField
from discreet.server.pgwire.question_to_desk import Questions
from discreet.server.pgwire.session_state import IDLE, DescribedColumns, Outcome, Portal, Portals, Prepared, Transaction
from discreet.server.pgwire.settings import FUNCTIONS, SettingCall, Settings, called, calls
from discreet.server.pgwire.types import TEXT, Value, field, read

T = TypeVar("T")

_ENDING = ("COMMIT", "ROLLBACK", "ROLLBACK TO")
_PLAN = (field("QUERY PLAN", TEXT),)
_SETTINGS = tuple(field(name, TEXT) for name in ("name", "setting", "description"))
_HINT = "if it was paid already, its answer is kept and asking again is free"


class Execution:
    """Runs the statements of one session, one after the other."""

    def __init__(
        self, questions: Questions, pool: Pool, portals: Portals, settings: Settings, journal: Journal
    ) -> None:
        self._questions, self._pool, self.journal = questions, pool, journal
        self.portals = portals
        self.transaction = Transaction(settings)
        self._running: asyncio.Task[object] | None = None

    @property
    def settings(self) -> Settings:
        """What is set now."""
        return self.transaction.settings

    @property
    def visitor(self) -> Visitor:
        """Who asks."""
        return self._questions.visitor

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
            raise WireError(
                CANCELLED,
                f"the question took longer than statement_timeout, {self.settings.patience:g} seconds",
                hint=_HINT,
            )
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
            self.portals.refuse_much(outcome.size)
        except (WireError, DiscreetError) as broken:
            refused = wire_error(broken)
            told.outcome, told.sqlstate = outcome_of(refused), refused.code
            raise
        finally:
            self.journal.asked(told, time.monotonic() - started)
        return outcome

    # before a statement runs -----------------------------------------------------------------------------------------

    async def parameters(self, statement: statement_kinds.Statement, given: Sequence[int]) -> tuple[int, ...]:
        """The types of a statement's parameters."""
        self._check(statement)
        question = _question(statement)
        if question is None or "$" not in question.text:
            return tuple(given)
        return await self.apart(lambda: self._questions.parameters(question, given))

    async def fields(self, prepared: Prepared, portal: Portal | None = None) -> tuple[WireField, ...] | None:
        """The columns that a statement will have; None if it has no rows. Free."""
        statement = prepared.statement
        if statement is not None:
            self._check(statement)
        match statement:
            case statement_kinds.Query():
                return await self._columns(statement, prepared, portal)
            case statement_kinds.Fetch():
                cursor = self.portals.portal(statement.name)
                return await self.fields(cursor.prepared, cursor)
            case statement_kinds.Execute():
                question, kept, values = self._kept(statement)
                return await self._columns(question, kept, Portal(kept, values))
            case statement_kinds.Explain():
                return _PLAN
            case statement_kinds.Show():
                return _SETTINGS if statement.name is None else (field(statement.name, TEXT),)
            case _:
                return None

    async def _columns(
        self, question: statement_kinds.Query, prepared: Prepared, portal: Portal | None
    ) -> tuple[WireField, ...] | None:
        settings, oids = self.settings, prepared.oids
        if portal is None:
            return _called_fields(calls(question.text)) or await self.apart(
                lambda: self._questions.columns(question, settings, oids)
            )
        if portal.outcome is not None:
            return portal.outcome.fields
        seen = prepared.seen
        if seen is not None and seen.settings is settings:
            portal.described = seen.fields  # some clients ask this every time
            return seen.fields
        fields = _called_fields(_calls(question, portal.values, oids)) or await self.apart(
            lambda: self._questions.described(question, settings, portal.values, oids)
        )
        prepared.seen = None if portal.values else DescribedColumns(settings, fields)
        return fields

    def _check(self, statement: statement_kinds.Statement) -> None:
        if not (isinstance(statement, statement_kinds.Transact) and statement.step in _ENDING):
            self.transaction.check()

    # running ---------------------------------------------------------------------------------------------------------

    async def run(  # noqa: PLR0911  # one for each kind
        self, statement: statement_kinds.Statement, values: Sequence[Value] = (), oids: Sequence[int] = ()
    ) -> Outcome:
        """Run a statement."""
        self._check(statement)
        settings = self.settings
        match statement:
            case statement_kinds.Query():
                return await self._answered(statement, values, oids)
            case statement_kinds.Prepare():
                return await self._prepare(statement)
            case statement_kinds.Execute():
                return await self._executed(statement)
            case statement_kinds.Explain(statement_kinds.Execute() as asked):
                return await self._executed(asked, explained=True)
            case statement_kinds.Explain(statement_kinds.Query() as question):
                return await self._noted(EXPLAIN, lambda _: self._questions.explained(question, settings, values, oids))
            case statement_kinds.Copy(question):
                outcome = await self._answered(question, values, oids)
                return replace(outcome, tag="COPY", copy=statement)
            case statement_kinds.Declare():
                return self._declare(statement, values, oids)
            case statement_kinds.Fetch():
                return await self._fetch(statement)
            case _:
                return self._changed(statement)

    async def _answered(self, question: statement_kinds.Query, values: Sequence[Value], oids: Sequence[int]) -> Outcome:
        settings = self.settings
        setting_calls = _calls(question, values, oids)

        def answered(told: QuestionNote) -> Outcome:
            told.kind = self._questions.kind(question)
            return self._questions.answered(question, settings, values, oids)

        if setting_calls is None:
            return await self._noted(QUESTION, answered, lambda: self._questions.at_hand(question, settings))
        row: list[object] = []
        for call in setting_calls:
            settings, value = called(call, settings)
            row.append(value)
        self.transaction = self.transaction.under(settings)
        return Outcome("SELECT", _called_fields(setting_calls), [row])

    async def _prepare(self, asked: statement_kinds.Prepare) -> Outcome:
        question = asked.question
        oids = await self.apart(lambda: self._questions.parameters(question, asked.oids))
        self.portals.prepare(asked.name, Prepared(question, oids, len(question.text) + 100))
        return Outcome("PREPARE")

    async def _executed(self, asked: statement_kinds.Execute, *, explained: bool = False) -> Outcome:
        """Answer or explain a question that was prepared; what goes wrong has no place in the text that was sent."""
        question, kept, values = self._kept(asked)
        settings = self.settings
        try:
            if explained:
                return await self._noted(
                    EXPLAIN, lambda _: self._questions.explained(question, settings, values, kept.oids)
                )
            return await self._answered(question, values, kept.oids)
        except WireError as told:
            raise told.at(None) from None

    def _kept(self, asked: statement_kinds.Execute) -> tuple[statement_kinds.Query, Prepared, tuple[Value, ...]]:
        """A question that was prepared, and the values of its parameters."""
        prepared = self.portals.statement(asked.name)
        if not isinstance(prepared.statement, statement_kinds.Query):
            raise WireError(
                UNSUPPORTED,
                f"EXECUTE runs questions only, and {shown(asked.name)} is none",
                hint="say the statement itself",
            )
        if len(asked.arguments) != len(prepared.oids):
            raise WireError(SYNTAX, f"it has {len(prepared.oids)} parameters, and {len(asked.arguments)} came")
        values = tuple(
            None if text is None else read(oid, TEXT_FORMAT, text.encode())
            for oid, text in zip(prepared.oids, asked.arguments, strict=True)
        )
        return prepared.statement, prepared, values

    def _declare(self, asked: statement_kinds.Declare, values: Sequence[Value], oids: Sequence[int]) -> Outcome:
        if self.transaction.status == IDLE:
            raise WireError("25P01", f"cursor {shown(asked.name)} would live in a transaction", hint="say BEGIN first")
        prepared = Prepared(asked.question, tuple(oids), len(asked.question.text))
        self.portals.open(asked.name, Portal(prepared, tuple(values)))
        return Outcome("DECLARE CURSOR")

    async def _fetch(self, asked: statement_kinds.Fetch) -> Outcome:
        cursor = self.portals.portal(asked.name)
        if cursor.outcome is None:
            question = cursor.prepared.statement
            if not isinstance(question, statement_kinds.Query):
                raise WireError("34000", f"there is no cursor {shown(asked.name)}")
            cursor.outcome = await self._answered(question, cursor.values, cursor.prepared.oids)
        notices = cursor.outcome.notices
        rows = list(cursor.rows(asked.count))
        fetched = Outcome("FETCH", cursor.outcome.fields, rows, notices)
        cursor.outcome = replace(cursor.outcome, notices=())
        return fetched

    def _changed(self, statement: statement_kinds.Statement) -> Outcome:
        """Run what needs nobody's help."""
        match statement:
            case statement_kinds.Set() | statement_kinds.Reset():
                return self._set(_after(statement, self.settings, local=self.transaction.status != IDLE))
            case statement_kinds.Show():
                return self._shown(statement.name)
            case statement_kinds.Transact():
                self.transaction, tag = self.transaction.step(statement)
                return Outcome(tag)
            case statement_kinds.Nothing():
                return Outcome(statement.tag)
            case _:
                return self._forgotten(statement)

    def _forgotten(self, statement: statement_kinds.Statement) -> Outcome:
        match statement:
            case statement_kinds.Deallocate(name):
                _forget(self.portals.prepared, name, "26000")
                return Outcome("DEALLOCATE ALL" if name is None else "DEALLOCATE")
            case statement_kinds.CloseCursor(name):
                _forget(self.portals.opened, name, "34000")
                return Outcome("CLOSE CURSOR ALL" if name is None else "CLOSE CURSOR")
            case statement_kinds.Discard(what):
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
                raise WireError("25001", f"DISCARD {what} is for outside of a transaction")
            self.portals.clear()
            return self._set((self.settings.reset(), "DISCARD ALL"))
        return Outcome(f"DISCARD {what}")


def _after(
    statement: statement_kinds.Set | statement_kinds.Reset, settings: Settings, *, local: bool
) -> tuple[Settings, str]:
    """The settings after a change, and what is said of it."""
    if isinstance(statement, statement_kinds.Reset):
        return settings.reset(statement.name), "RESET"
    if statement.value is None:
        return settings.reset(statement.name), "SET"
    return settings.put(statement.name, statement.value, local=local and statement.local), "SET"


def _forget(kept: dict[str, T], name: str | None, code: str) -> None:
    if name is None:
        kept.clear()
    elif kept.pop(name, None) is None:
        raise WireError(code, f"there is nothing called {shown(name)}")


def _question(statement: statement_kinds.Statement) -> statement_kinds.Query | None:
    match statement:
        case statement_kinds.Query():
            return statement
        case (
            statement_kinds.Explain(statement_kinds.Query() as question)
            | statement_kinds.Copy(question)
            | statement_kinds.Declare(_, question)
        ):
            return question
        case _:
            return None


def _calls(question: statement_kinds.Query, values: Sequence[Value], oids: Sequence[int]) -> list[SettingCall] | None:
    """The calls that a question consists of, once its parameters are in it."""
    mentioned = values and any(function in question.text.lower() for function in FUNCTIONS)
    return calls(bound(question, values, oids).text if mentioned else question.text)


def _called_fields(setting_calls: Sequence[SettingCall] | None) -> tuple[WireField, ...] | None:
    return None if setting_calls is None else tuple(field(call.column, TEXT) for call in setting_calls)
