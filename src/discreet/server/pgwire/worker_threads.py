"""Threads for what blocks. One visitor has only so many of them at once, and whoever gave up frees none early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discreet.server.threads import Turns, called

T = TypeVar("T")


class Work:
    """So many threads, so many of them for one visitor, and so many that only custodians take."""

    def __init__(self, threads: int, each: int, kept: int = 0) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="pgwire")
        self._turns = Turns(each, max(1, threads - kept))

    async def call(self, who: str, role: str, blocking: Callable[[], T]) -> T:
        """The result of a call that blocks. Cancelled before its turn it is never made; after, it runs to its end."""
        over = await self._turns.taken(who, role)
        return await called(self._threads, blocking, over)

    async def close(self) -> None:
        """Wait for what was begun."""
        await asyncio.to_thread(self._threads.shutdown, wait=True)
