"""From an event loop into a thread and back, with one wake-up of the loop: that takes longer than most questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
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
