"""Threads for what blocks an event loop: calls into them and back with one wake-up, and whose turn it is.

One person has only so many calls at once, and some are kept for custodians.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


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


CUSTODIAN = "custodian"


@dataclass
class _Person:
    """The calls of one person that may run now, and how many run or wait."""

    turn: asyncio.Semaphore
    wanted: int = 0


@dataclass
class Turns:
    """So many calls for one person, and so many for all who are no custodians. Not for several threads."""

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
