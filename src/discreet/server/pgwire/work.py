"""Threads for what blocks. One visitor has only so many of them at once, and whoever gave up frees none early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discreet.server.threads import called

T = TypeVar("T")


class Work:
    """So many threads, and so many of them for one visitor."""

    def __init__(self, threads: int, each: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="pgwire")
        self._each = each
        self._turns: dict[str, asyncio.Semaphore] = {}  # one for each person that was let in

    async def call(self, who: str, blocking: Callable[[], T]) -> T:
        """The result of a call that blocks. Cancelled before its turn it is never made; after, it runs to its end."""
        turn = self._turns.setdefault(who, asyncio.Semaphore(self._each))
        await turn.acquire()
        return await called(self._threads, blocking, turn.release)

    async def close(self) -> None:
        """Wait for what was begun."""
        await asyncio.to_thread(self._threads.shutdown, wait=True)
