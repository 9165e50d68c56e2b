"""Fair shares of threads and of the event loop: as long as others are there too, nobody takes more than theirs.

Threads are for what blocks the loop: calls go into them and back with one wake-up. One person has only so many of them
at once, and some are kept for custodians.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from discreet.desk import Visitor
from discreet.server.errors import crowded

T = TypeVar("T")
P = ParamSpec("P")

CUSTODIAN = "custodian"
_MESSAGE, _BYTE = 1e-4, 2e-6  # seconds of the loop that a message and a byte of it take, roughly
_RECENT = 1.0  # seconds after which somebody who said nothing is not there
_SHORT = 0.02  # seconds for which nobody is made to wait
_TOGETHER = 16  # messages that a client sends at once and that are handled at once


# threads --------------------------------------------------------------------------------------------------------------


async def called(threads: ThreadPoolExecutor, blocking: Callable[[], T], done: Callable[[], None]) -> T:
    """The result of a call that blocks. Cancelled before it began it is never made; after, it runs to its end.

    In either case `done` is called in the loop when the call is over, also if nobody waits for it any more.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Future[T] = loop.create_future()

    def over(job: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finished, job)

    def finished(job: Future[T]) -> None:
        done()
        _tell(told, job)

    job = threads.submit(blocking)
    job.add_done_callback(over)
    try:
        return await told
    except asyncio.CancelledError:
        job.cancel()
        raise


def _tell(told: asyncio.Future[T], job: Future[T]) -> None:
    """What a thread came to, to whoever still waits for it."""
    if told.done():
        return
    if job.cancelled():
        told.cancel()
    elif (broken := job.exception()) is not None:
        told.set_exception(broken)
    else:
        told.set_result(job.result())


@dataclass
class _Person:
    """The calls of one person that may run now, and how many run or wait."""

    turn: asyncio.Semaphore
    wanted: int = 0


@dataclass
class Turns:
    """Turns of people: so many calls for one person, so many for all who are no custodians. Not for several threads."""

    each: int
    others: int
    _people: dict[str, _Person] = field(default_factory=dict)
    _common: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._common = asyncio.Semaphore(self.others)

    def wanted(self, who: str) -> int:
        """How many calls of a person run or wait."""
        return self._people[who].wanted if who in self._people else 0

    async def taken(self, who: str, role: str) -> Callable[[], None]:
        """Wait for one's turn. What comes back ends it, and is called once, in the loop."""
        person = self._people.setdefault(who, _Person(asyncio.Semaphore(self.each)))
        person.wanted += 1
        common = None if role == CUSTODIAN else self._common
        try:
            await person.turn.acquire()
            try:
                if common is not None:
                    await common.acquire()
            except BaseException:
                person.turn.release()
                raise
        except BaseException:
            self._left(who, person)
            raise

        def over() -> None:
            if common is not None:
                common.release()
            person.turn.release()
            self._left(who, person)

        return over

    def _left(self, who: str, person: _Person) -> None:
        person.wanted -= 1
        if not person.wanted:
            self._people.pop(who, None)


class Pool:
    """Pool of threads, with room for so many calls to wait. What does not fit is refused before it is begun.

    One person has so many threads at once, and an eighth of the room.
    """

    def __init__(self, threads: int, each: int = 1, *, kept: int = 0, waiting: int = sys.maxsize) -> None:
        """Threads that are `kept` no analyst takes: they are for custodians, and for whoever comes in."""
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="door")
        self._room = threads + waiting
        self._turns, self._most = Turns(each, max(1, threads - kept)), each + waiting // 8

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


# the event loop -------------------------------------------------------------------------------------------------------


class Pace:
    """Pace of each person: what they had of the loop lately. Not for several threads: an event loop owns it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard: dict[str, float] = {}  # when somebody last said something
        self._until: dict[str, float] = {}  # up to when they have had their share
        self.coming = 0  # connections that are not let in yet: they are others too

    def wait(self, who: str, size: int) -> float:
        """The seconds that a person waits after a message of this size; 0 if they are alone, or behind their share."""
        now = self._clock()
        self._heard[who] = now
        for other in [name for name, when in self._heard.items() if now - when > _RECENT]:
            del self._heard[other]
            self._until.pop(other, None)
        there = len(self._heard) + (self.coming > 0)
        if there == 1:
            return 0.0
        self._until[who] = max(now, self._until.get(who, now)) + there * (_MESSAGE + _BYTE * size)
        ahead = self._until[who] - now
        return ahead if ahead > _SHORT else 0.0


class Steps:
    """One connection's steps: it lets others go after each few of them."""

    def __init__(self, pace: Pace, who: str) -> None:
        self._pace, self._who, self._taken = pace, who, 0

    async def taken(self, size: int) -> None:
        """A message of this size was handled."""
        self._taken += 1
        seconds = self._pace.wait(self._who, size)
        if seconds or self._taken % _TOGETHER == 0:
            await asyncio.sleep(seconds)
