"""What the witnesses of a ledger said lately: they are asked now and then, however many visitors want to know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from discreet.errors import Busy
from discreet.ledger.home import Standing

_RECENT = 10.0  # seconds for which what they said is repeated


class Lately:
    """Asks one call after another, with pauses. Any thread may want to know, and none waits for another's call."""

    def __init__(self, ask: Callable[[], Sequence[Standing]], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._asking = threading.Lock()
        self._said: tuple[float, Sequence[Standing]] | None = None

    def said(self) -> Sequence[Standing]:
        """What they said last, if that is not long ago or they are being asked already; else what they say now."""
        known = self._said
        if known is not None and self._clock() - known[0] < _RECENT:
            return known[1]
        if not self._asking.acquire(blocking=False):
            if known is not None:
                return known[1]
            raise Busy("the witnesses are being asked just now", hint="try again in a few seconds")
        try:
            if self._said is known:  # nobody has asked them meanwhile
                found = self._ask()
                self._said = self._clock(), found
            return self._said[1]  # type: ignore[index]
        finally:
            self._asking.release()
