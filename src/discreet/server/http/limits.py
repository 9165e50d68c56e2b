"""Limits of the HTTP door: how much and how long, how often somebody may come, how many threads work at once.

Every limit is a constant or a custodian's choice, never a fact about rows.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from discreet.desk import Visitor
from discreet.errors import Refusal
from discreet.server.http.error_responses import crowded
from discreet.server.threads import Turns, called


@dataclass(frozen=True)
class Limits:
    """How much, how long and how often.

    There is no limit on how long an answer takes: it would tell of rows. The engine has its own, which lies above every
    admissible question.
    """

    rate: float = 20.0  # requests of one person a second, in the long run
    seconds: float = 3.0  # of which so many seconds' worth may come at once
    failures: int = 10  # wrong tokens from one address at once
    forgiven: float = 0.2  # of those a second
    body: int = 65_536  # bytes of a request
    upload: int = 1 << 30  # bytes of a file that a custodian brings to the console
    depth: int = 16  # lists in lists
    head_seconds: float = 5.0  # until the head of a request is there
    body_seconds: float = 10.0  # until its body is
    send_seconds: float = 30.0  # until something of an answer is taken
    workers: int = 8  # questions that are worked on at once
    each: int = 3  # and of one person
    waiting: int = 256  # questions that wait for that
    connections: int = 1024
    each_address: int = 512  # of them; an address may be many people's
    drain_seconds: float = 60.0  # that answers under way have to arrive, when the door closes

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise Refusal(f"expected a rate above 0, got {self.rate}", hint="so many requests of one person a second")

    @property
    def burst(self) -> int:
        """How many requests of one person may come at once."""
        return max(1, round(self.rate * self.seconds))


class Buckets:
    """One bucket for each name: `burst` tokens, of which `rate` come back every second.

    Only so many names are remembered. Who has not come for the longest time is forgotten first, and then has a full
    bucket again, which is what waiting would have given them. Not for several threads: an event loop owns it.
    """

    def __init__(
        self, rate: float, burst: int, *, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()  # name -> tokens, and when it had them

    def wait(self, name: str) -> float:
        """The seconds until there is a token; 0 if there is one now."""
        return max(0.0, (1 - self._tokens(name)) / self._rate)

    def take(self, name: str) -> float:
        """Take a token if there is one, and return 0; else the seconds until there is."""
        tokens = self._tokens(name)
        if tokens < 1:
            return (1 - tokens) / self._rate
        self._filled[name] = tokens - 1, self._clock()
        self._filled.move_to_end(name)
        if len(self._filled) > self._most:
            self._filled.popitem(last=False)
        return 0.0

    def _tokens(self, name: str) -> float:
        tokens, then = self._filled.get(name, (float(self._burst), 0.0))
        return min(float(self._burst), tokens + self._rate * (self._clock() - then))


T = TypeVar("T")
P = ParamSpec("P")

KEPT = 2  # threads that no analyst takes: for custodians, and for whoever comes in


class Pool:
    """So many threads, and room for so many calls to wait. What does not fit is refused before it is begun.

    One person has so many threads at once, and an eighth of the room.
    """

    def __init__(self, workers: int, waiting: int, each: int = 1) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="http")
        self._room = workers + waiting
        self._turns, self._most = Turns(each, max(1, workers - KEPT)), each + waiting // 8

    async def call(self, blocking: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """The result of a blocking call. Once begun it is finished, whoever waits for it."""
        if not self._room:
            raise crowded()
        self._room -= 1
        return await called(self._threads, partial(blocking, *given, **named), self._done)

    async def asked(self, who: Visitor, blocking: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """The same, when it is somebody's turn."""
        if not self._room or self._turns.wanted(who.name) >= self._most:
            raise crowded()
        self._room -= 1
        try:
            over = await self._turns.taken(who.name, who.role)
        except BaseException:
            self._room += 1
            raise

        def done() -> None:
            over()
            self._done()

        return await called(self._threads, partial(blocking, *given, **named), done)

    def _done(self) -> None:
        self._room += 1

    def close(self) -> None:
        """Finish what was begun, and take no more."""
        self._threads.shutdown(wait=True)
