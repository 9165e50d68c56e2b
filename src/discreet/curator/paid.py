"""What a question is made of: tables that were bought before, and those that are bought now."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.curator.price import Priced
from discreet.curator.quote import Terms
from discreet.curator.till import Bought, Till
from discreet.engines import DuckStore
from discreet.errors import Refusal


@dataclass(frozen=True)
class Paid:
    """The tables of a question, those bought now among them, and whose budget paid."""

    tables: dict[str, Bought]
    new: dict[str, Bought]
    population: str | None

    @property
    def cells(self) -> int:
        """How large it is."""
        return sum(len(row) for bought in self.tables.values() for row in bought.noisy.values)


class Flights:
    """Questions that are being answered in this process: who asks the same meanwhile waits, and then it is free."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._under_way: dict[str, tuple[threading.Lock, int]] = {}  # with how many want it

    @contextmanager
    def alone(self, questions: Iterable[str]) -> Iterator[None]:
        """The only one who has these questions answered. All take them in one order, so nobody waits in a ring."""
        if os.getpid() != self._process:  # a child has the locks of its parent, and nobody who would open them
            self._begin()
        taken: list[tuple[str, threading.Lock]] = []
        try:
            for question in sorted(set(questions)):
                with self._lock:
                    lock, many = self._under_way.get(question, (threading.Lock(), 0))
                    self._under_way[question] = lock, many + 1
                lock.acquire()
                taken.append((question, lock))
            yield
        finally:
            for question, lock in taken:
                lock.release()
                with self._lock:
                    _, many = self._under_way.pop(question)
                    if many > 1:
                        self._under_way[question] = lock, many - 1


@dataclass(frozen=True)
class Counter:
    """Where one person gets what a question is made of."""

    till: Till
    store: DuckStore
    flights: Flights

    def paid(self, prices: Sequence[Priced], sql: str, asked: Terms) -> Paid:
        """Find what was bought before, and buy the rest."""
        with self.flights.alone(() if asked.fresh else [price.part.measurement.question for price in prices]):
            known = {} if asked.fresh else self._known(prices, asked)
            wanted = [price for price in prices if price.part.name not in known]
            if wanted and not asked.named:
                self.till.refuse_unpriced()
            with self.store.opened(price.part.measurement.rows for price in wanted):  # before anything is paid
                bought = self.till.buy(wanted, sql, within=asked.within)
        return Paid({**known, **bought}, bought, self.till.population.name)

    def _known(self, prices: Sequence[Priced], asked: Terms) -> dict[str, Bought]:
        known = self.till.dearest(prices) if asked.free and not asked.named else self.till.known(prices)
        if asked.free and len(known) < len(prices):
            raise Refusal(
                "this was not bought before, or its tables have changed since", hint="ask it again, and pay for it"
            )
        return known
