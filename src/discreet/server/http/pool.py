"""Threads for what blocks: the curator reads and writes files, the event loop must not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from discreet.server.http.trouble import crowded
from discreet.server.threads import called

T = TypeVar("T")
P = ParamSpec("P")


class Pool:
    """So many threads, and room for so many calls to wait. What does not fit is refused before it is begun."""

    def __init__(self, workers: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="http")
        self._room = workers + waiting

    async def call(self, blocking: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """The result of a blocking call. Once begun it is finished, whoever waits for it."""
        if not self._room:
            raise crowded()
        self._room -= 1
        return await called(self._threads, partial(blocking, *given, **named), self._done)

    def _done(self) -> None:
        self._room += 1

    def close(self) -> None:
        """Finish what was begun, and take no more."""
        self._threads.shutdown(wait=True)
