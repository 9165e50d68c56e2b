"""Threads for what blocks: the curator reads and writes files, the event loop must not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from discreet.desk import Visitor
from discreet.server.fair_turns import Turns
from discreet.server.http.error_responses import crowded
from discreet.server.threads import called

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
