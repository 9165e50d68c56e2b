"""Waiting for what another thread or process must do, long enough for any machine: in vain is a failure."""

from __future__ import annotations

import time
from collections.abc import Callable

_LONGEST = 300.0  # seconds; what is there at once is not waited for


def until(what: Callable[[], bool]) -> bool:
    """Whether something that must happen did."""
    end = time.monotonic() + _LONGEST
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
