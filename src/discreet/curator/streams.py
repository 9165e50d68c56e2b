"""Streams of a home: running counts of rows that are pushed step by step, paid whole when they are opened.

A stream's state lies sealed where those of sessions lie. It is written before an answer leaves, so each step is
answered once, whatever happens. Why that loses no more than was paid: docs/proofs/counters.md, "Streams".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import ClassVar, cast

from discreet.curator.catalogue import Population
from discreet.curator.custody import Custody
from discreet.curator.declarations import Declared
from discreet.curator.paid_mechanism import PaidMechanism, SessionStatus, opened_whole
from discreet.declared.group_key import Key
from discreet.declared.table import Table
from discreet.engines import DuckStore
from discreet.errors import Fault, OverBudget, Refusal
from discreet.exact import Number, count
from discreet.ledger import Entry, Spend, SqliteLedger
from discreet.ledger.entry import Plain, session_question, stream_name
from discreet.ledger.payment import silent
from discreet.mechanisms.mechanism import USUAL
from discreet.mechanisms.registry import described
from discreet.stream import Stream
from discreet.stream.counter_choice import counter_for, price_of
from discreet.stream.declaration import StreamDeclaration
from discreet.stream.read_step import read_pushed
from discreet.stream.step_rows import Pushed
from discreet.stream.stream import Counts

_KEPT = 4096  # numbers that the ledger keeps of a stream that is closed; of more it keeps a digest


@dataclass(frozen=True)
class StreamOrder:
    """What a custodian says of a stream that is to be opened."""

    unit: str
    horizon: int
    events: int = 1  # rows of one unit that count, over all steps and keys
    population: str | None = None
    by: Mapping[str, Sequence[str]] = field(default_factory=dict)  # at most one column and its keys
    sums: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)  # at most one column and its bounds
    steps: Mapping[str, Number] = field(default_factory=dict)  # to which its numbers are rounded
    types: Mapping[str, str] = field(default_factory=dict)
    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    relation: str = "add-remove"


@dataclass(frozen=True)
class StreamCount:
    """What a stream said after one step: a running count, or one for each key and their total, and how far off.

    With the stated confidence a number that was chosen beforehand is within its error of the rows that count.
    """

    step: int
    count: Fraction  # of all keys together
    error: Fraction
    by: Mapping[Key, Fraction] = field(default_factory=dict)
    key_error: Fraction = Fraction(0)  # of the count of one key

    def top(self, most: int) -> list[tuple[Key, Fraction]]:
        """The keys with the largest counts, the largest first."""
        return sorted(self.by.items(), key=lambda each: -each[1])[: count(most, "most")]


@dataclass(frozen=True)
class StreamStatus:
    """What is public of a stream."""

    name: str
    declared: StreamDeclaration
    horizon: int
    session: SessionStatus  # its payment, its counter, and why it is closed

    @property
    def unit(self) -> str:
        """Who is protected: the unit whose rows are, or each row by itself."""
        unit = self.declared.table.unit
        return "row" if unit is None else unit


@dataclass(frozen=True)
class OpenStream(PaidMechanism[Counts]):
    """A stream that was paid: custodians push its steps, and whoever may look at it sees what it said."""

    most_room: ClassVar[int] = 1 << 26
    thing: ClassVar[str] = "stream"
    turn_name: ClassVar[str] = "step"

    @property
    def name(self) -> str:
        """What it is called."""
        return stream_name(self._spend)

    @cached_property
    def declared(self) -> StreamDeclaration:
        """What was declared of its rows."""
        return StreamDeclaration.read(self.name, cast("dict[str, Mapping[str, Plain]]", self._spend.what)["rows"])

    @property
    def stream(self) -> Stream:
        """The mechanism: its counter, its keys, what one unit may add."""
        return cast("Stream", self.mechanism)

    def push(self, rows: object, *, step: int | None = None) -> StreamCount:
        """The next step: these rows, none perhaps. What it counts is on disk before it is returned.

        Rows are a path to a file, or an Arrow table. After a crash, push the same rows with the same `step`: if it was
        counted, the answer is the one that was drawn.
        """
        self._refuse_stranger()
        if why := self._unreadable():
            raise self._refused(why)
        pushed, digest = self._read(rows)
        try:
            turn, answer = self._session.answered(lambda: self._entered(pushed), number=step, question=digest)
        finally:
            self._settle()
        return self._said(turn, answer)

    def _refused(self, why: str) -> OverBudget:
        return OverBudget(f"stream {self.name!r} is closed: {why}", hint="open and pay for a new one")

    def _refuse_stranger(self) -> None:
        grant = self._ledger.books().grant(self.principal)
        if grant is not None and grant.role != "custodian":
            raise Refusal(f"rows are pushed by custodians, and {self.principal!r} is none")

    def _read(self, rows: object) -> tuple[Pushed, str]:
        try:
            return read_pushed(self.declared, rows)
        except Refusal:
            raise
        except Exception:  # noqa: BLE001  # whatever it says, it says it of rows
            self._ledger.hold(self._spend.population)
            raise Fault from None

    @contextmanager
    def _entered(self, pushed: Pushed) -> Iterator[Callable[[], Pushed]]:
        if why := self._shut():
            raise self._refused(why)
        books = self._ledger.books()
        books.answering(self._spend.population)
        books.check_tables(self._spend)
        with silent(self._ledger, [self._spend.population]):
            yield lambda: pushed

    def close(self) -> None:
        """Give up the steps that are left, and write into the ledger what was said. Nothing is paid back."""
        self._refuse_stranger()
        super().close()

    @property
    def counts(self) -> tuple[StreamCount, ...]:
        """What it said after each step so far: free to look at again."""
        return tuple(self._said(step, answer) for step, answer in enumerate(self.answers, start=1))

    def _said(self, step: int, answer: Counts, confidence: Number = USUAL) -> StreamCount:
        unit, keys = self.declared.grid.step if self.declared.value else Fraction(1), self.declared.keys
        numbers = [each * unit for each in answer]
        alone, together = (self.stream.error(confidence, each) * unit for each in (1, len(numbers)))
        if not keys:
            return StreamCount(step, numbers[0], alone)
        return StreamCount(step, sum(numbers, Fraction(0)), together, dict(zip(keys, numbers, strict=True)), alone)

    def window(self, start: int, stop: int) -> StreamCount:
        """What came after step `start` up to step `stop`, from what was said: free."""
        return windowed(self.stream, self.declared, self.answers, (start, stop))

    def _last_words(self) -> Plain:
        """All counts if they are few; a digest of many."""
        told = self.told
        if len(told) * self.stream.size <= _KEPT:
            return told
        return [{"steps": len(told), "sha256": hashlib.sha256(json.dumps(told).encode()).hexdigest()}]

    @property
    def standing(self) -> StreamStatus:
        """What is public of it."""
        return StreamStatus(self.name, self.declared, self.stream.horizon, self.status)


@dataclass(frozen=True)
class Streams:
    """The streams of a home, opened and looked at in one name."""

    ledger: SqliteLedger
    store: DuckStore
    principal: str

    @property
    def _home(self) -> Path:
        return self.store.folder.parent

    def open(self, name: str, order: StreamOrder) -> OpenStream:
        """Pay for a stream, then draw its secret and seal it. Refused before anything is paid."""
        grant = self.ledger.books().grant(self.principal)
        if grant is not None and grant.role != "custodian":
            raise Refusal(f"streams are opened by custodians, and {self.principal!r} is none")
        said = _declared(order)
        with Custody(self._home).declaring_stream(name, said, order.types) as (table, population, settle):
            stream, spend = self._planned(table, population, order)
            settle()
            return opened_whole(OpenStream, stream, self.store, lambda: self._opened(self.ledger.append(spend)))

    def _planned(self, table: Table, population: Population, order: StreamOrder) -> tuple[Stream, Spend]:
        declared = StreamDeclaration(table, next(iter(order.by), None), next(iter(order.sums), None))
        price = price_of(population.total, order.epsilon, order.rho, order.delta)
        amount = max(abs(declared.grid.low), abs(declared.grid.high))
        moved = count(order.events, "events") * amount
        counter, loss = counter_for(price, count(order.horizon, "horizon"), moved, population.neighbours)
        stream = Stream(counter, declared.keys, order.events, amount, table.unit is not None)
        what: Plain = {"stream": table.name, "session": dict(described(stream)), "rows": declared.written}
        question = session_question(population.name)
        return stream, Spend(population.name, loss, self.principal, question, [table.name], what)

    def one(self, name: str) -> OpenStream:
        """A stream by its name."""
        for paid in self._paid():
            if stream_name(cast("Spend", paid.event)) == name:
                return self._opened(paid)
        raise Refusal(f"there is no stream {name!r}", hint="see discreet stream list")

    def all(self) -> list[OpenStream]:
        """Those that may be looked at, the latest first."""
        return [self._opened(paid) for paid in self._paid()]

    def _paid(self) -> list[Entry]:
        books = self.ledger.books()
        grant = books.grant(self.principal)
        with self.ledger.looked_at() as view:
            every = [(entry, entry.event) for entry, _ in view.sessions()]
        return [
            entry
            for entry, spend in every
            if isinstance(spend, Spend) and stream_name(spend) and books.may_read(grant, spend)
        ]

    def _opened(self, paid: Entry) -> OpenStream:
        return OpenStream(paid, self.principal, cast("Spend", paid.event), self.ledger, self.store)


def windowed(
    stream: Stream, declared: StreamDeclaration, answers: Sequence[Counts], between: tuple[int, int]
) -> StreamCount:
    """The difference of two running counts, with the error that it has."""
    start, stop = between
    if not 0 <= start < stop <= len(answers):
        raise Refusal(f"expected 0 <= start < stop <= {len(answers)}, got start={start} stop={stop}")
    unit = declared.grid.step if declared.value else Fraction(1)
    before = answers[start - 1] if start else (0,) * stream.size
    numbers = [(after - earlier) * unit for after, earlier in zip(answers[stop - 1], before, strict=True)]
    alone, together = (stream.window_error(start, stop, USUAL, each) * unit for each in (1, len(numbers)))
    if not declared.keys:
        return StreamCount(stop, numbers[0], alone)
    by: dict[Key, Fraction] = dict(zip(declared.keys, numbers, strict=True))
    return StreamCount(stop, sum(numbers, Fraction(0)), together, by, alone)


def _declared(order: StreamOrder) -> Declared:
    """A stream's rows, in the words in which a table's are declared."""
    for word, given in (("by", order.by), ("sum", order.sums)):
        if len(given) > 1:
            raise Refusal(f"a stream has one column to {word}, got {list(given)}", hint="open a stream for each")
    return Declared(
        unit=order.unit,
        population=order.population,
        epsilon=order.epsilon,
        rho=order.rho,
        delta=order.delta,
        max_rows=count(order.events, "events"),
        bounds=order.sums,
        keys=order.by,
        types=order.types,
        steps=order.steps,
        relation=order.relation,
    )
