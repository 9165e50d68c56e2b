"""How often somebody may come: a bucket of tokens that fills again by itself."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable


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
