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
from functools import cached_property
from pathlib import Path
from typing import ClassVar, cast

from discreet.curator.catalogue import Population
from discreet.curator.custody import Custody
from discreet.curator.declarations import Declared
from discreet.curator.paid_mechanism import PaidMechanism, SessionStatus, opened_whole
from discreet.curator.stream_answers import StreamCount, StreamWords, bounding
from discreet.declared.table import Table
from discreet.engines import DuckStore
from discreet.engines.ingest import Unread
from discreet.errors import Fault, OverBudget, Refusal
from discreet.exact import Number, count, exact
from discreet.ledger import Entry, Spend, SqliteLedger
from discreet.ledger.entry_kinds import Plain, session_question, stream_name
from discreet.ledger.payment import silent
from discreet.mechanisms.registry import described
from discreet.stream import Stream
from discreet.stream.counter_choice import counter_for, price_of
from discreet.stream.declaration import StreamDeclaration
from discreet.stream.read_step import columns_left_out, read_pushed
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
    bins: Mapping[str, Sequence[Number]] = field(default_factory=dict)  # instead: a column of numbers, and edges
    sums: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)  # at most one column and its bounds
    steps: Mapping[str, Number] = field(default_factory=dict)  # to which its numbers are rounded
    types: Mapping[str, str] = field(default_factory=dict)
    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    relation: str = "add-remove"


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

    @property
    def bounding(self) -> str:
        """What its numbers leave out."""
        return bounding(self.declared, self.horizon)


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

    @property
    def words(self) -> StreamWords:
        """How its numbers are told."""
        return StreamWords(self.stream, self.declared)

    def push(self, rows: object, *, step: int | None = None, unread: Unread = None) -> StreamCount:
        """The next step: these rows, none perhaps. What it counts is on disk before it is returned.

        Rows are a path to a file, or an Arrow table. After a crash, push the same rows with the same `step`: if it was
        counted, the answer is the one that was drawn. `unread` hears of columns for whose cells rows do not count as
        they are: for the custodian's own terminal, as it tells of the rows.
        """
        self._refuse_stranger()
        if why := self._unreadable():
            raise self._refused(why)
        pushed, digest = self._read(rows, unread)
        try:
            turn, answer = self._session.answered(lambda: self._entered(pushed), number=step, question=digest)
        finally:
            self._settle()
        return self.words.running([answer], turn)[0]

    def _refused(self, why: str) -> OverBudget:
        return OverBudget(f"stream {self.name!r} is closed: {why}", hint="open and pay for a new one")

    def _refuse_stranger(self) -> None:
        grant = self._ledger.books().grant(self.principal)
        if grant is not None and grant.role != "custodian":
            raise Refusal(f"rows are pushed by custodians, and {self.principal!r} is none")

    def _read(self, rows: object, unread: Unread) -> tuple[Pushed, str]:
        try:
            if unread is not None and (columns := columns_left_out(self.declared, rows)):
                unread(columns)
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
        return self.words.running(self.answers)

    def window(self, start: int, stop: int) -> StreamCount:
        """What came after step `start` up to step `stop`, from what was said: free."""
        return self.words.window(self.answers, start, stop)

    def windows(self, width: int, every: int = 1) -> tuple[StreamCount, ...]:
        """What came in the last `width` steps, told every so many steps: free."""
        return self.words.windows(self.answers, width, every)

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
        by, value = next(iter((*order.by, *order.bins)), None), next(iter(order.sums), None)
        edges = tuple(exact(edge, "an edge") for edges in order.bins.values() for edge in edges)
        declared = StreamDeclaration(table, by, value, edges)
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


def _declared(order: StreamOrder) -> Declared:
    """A stream's rows, in the words in which a table's are declared."""
    for word, given in (("count by", [*order.by, *order.bins]), ("sum", order.sums)):
        if len(given) > 1:
            raise Refusal(f"a stream has one column to {word}, got {list(given)}", hint="open a stream for each")
    if both := set(order.bins) & set(order.sums):
        raise Refusal(f"column {min(both)!r} is counted by and summed", hint="open a stream for each")
    for column, edges in order.bins.items():
        if len(edges) < 2:
            raise Refusal(f"bins of {column!r} have two edges or more, got {list(edges)}")
    spans = {column: (edges[0], edges[-1]) for column, edges in order.bins.items()}
    return Declared(
        unit=order.unit,
        population=order.population,
        epsilon=order.epsilon,
        rho=order.rho,
        delta=order.delta,
        max_rows=count(order.events, "events"),
        bounds={**order.sums, **spans},
        keys=order.by,
        types=order.types,
        steps=order.steps,
        relation=order.relation,
    )
