"""Uploads that arrive while others are written to the disk wait for them, and are then written together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from discreet.local.collector import Collector
from discreet.local.receipt import Receipt
from discreet.local.upload_batch import Sent
from discreet.server.http.error_responses import crowded
from discreet.server.http.pool import Pool

MOST = 1024  # uploads that wait
_TOGETHER = 1 << 22  # bytes of uploads in one transaction, unless a single one has more


class Inbox:
    """Of one collector, in one event loop. Each upload gets its own receipt, after all of its group are on the disk."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._waiting: deque[tuple[Sent, asyncio.Future[Receipt]]] = deque()
        self._emptied: asyncio.Task[None] | None = None

    async def receipt(self, pool: Pool, upload: Sent) -> Receipt:
        """Of this upload, once it is on the disk."""
        if len(self._waiting) >= MOST:
            raise crowded()
        told: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._waiting.append((upload, told))
        if self._emptied is None:
            self._emptied = asyncio.create_task(self._empty(pool))
        return await told

    async def _empty(self, pool: Pool) -> None:
        """One group after another, until nobody waits."""
        try:
            while self._waiting:
                group = self._next()
                await _answer(pool, self._collector, group)
        finally:
            self._emptied = None

    def _next(self) -> list[tuple[Sent, asyncio.Future[Receipt]]]:
        """Those that wait, as many as one transaction takes."""
        group, size = [self._waiting.popleft()], 0
        while self._waiting and (size := size + len(group[-1][0].body)) < _TOGETHER:
            group.append(self._waiting.popleft())
        return group


async def _answer(pool: Pool, collector: Collector, group: list[tuple[Sent, asyncio.Future[Receipt]]]) -> None:
    found: Sequence[Receipt | Exception]
    try:
        found = await pool.call(collector.take, [upload for upload, _ in group])
    except Exception as broken:  # noqa: BLE001  # each of them hears it, and nobody else
        found = [broken] * len(group)
    for (_, told), each in zip(group, found, strict=True):
        if told.done():
            continue  # whoever sent it left
        if isinstance(each, Receipt):
            told.set_result(each)
        else:
            told.set_exception(each)
