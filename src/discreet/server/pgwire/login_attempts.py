"""Failed logins, counted for each address: every one makes the next one slower. Forgets, so that memory stays small."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from discreet.addresses import network

MOST_ADDRESSES = 4_096
FIRST, LONGEST = 0.05, 3.0  # seconds
HALF_LIFE = 60.0  # seconds after which half of the failures are forgotten


@dataclass
class Attempts:
    """How often each address failed lately."""

    now: Callable[[], float] = monotonic
    _failures: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)  # address -> count, when

    def failed(self, address: str) -> float:
        """Count one more failure; how many seconds its answer has to wait."""
        who, now = network(address), self.now()
        count, when = self._failures.pop(who, (0.0, now))
        count = count * math.exp2((when - now) / HALF_LIFE) + 1
        self._failures[who] = count, now
        if len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)  # who failed longest ago
        return min(LONGEST, FIRST * math.exp2(min(count - 1, 20.0)))

    def __len__(self) -> int:
        return len(self._failures)
