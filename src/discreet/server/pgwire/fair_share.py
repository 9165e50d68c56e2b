"""Shares of the event loop: as long as others are there too, nobody takes more than theirs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

_MESSAGE, _BYTE = 1e-4, 2e-6  # seconds of the loop that a message and a byte of it take, roughly
_RECENT = 1.0  # seconds after which somebody who said nothing is not there
_SHORT = 0.02  # seconds for which nobody is made to wait
_TOGETHER = 16  # messages that a client sends at once and that are handled at once


class Pace:
    """What each person had of the loop lately. Not for several threads: an event loop owns it."""

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
