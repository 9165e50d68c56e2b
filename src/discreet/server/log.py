"""What both doors' journals have in common: where lines go, and the few classes that a duration is told in."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Log = Callable[[str], None]

_BOUNDS = (0.01, 0.1, 1.0, 10.0)
CLASSES = ("under 10 ms", "under 100 ms", "under 1 s", "under 10 s", "10 s or more")


def duration_of(seconds: float) -> str:
    """The class of a duration."""
    return CLASSES[bisect_right(_BOUNDS, seconds)]


@lru_cache(maxsize=1)
def time_of(seconds: int) -> str:
    """A moment, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_stderr(line: str) -> None:
    """Where a journal goes if nobody says otherwise."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
