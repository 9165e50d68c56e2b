"""What is written down of a request: who, which path, how it ended. Never a question, never a value.

One JSON object a line. A path is the pattern that matched, so nothing that a stranger wrote gets in; a duration is one
of a few classes, because an exact one could tell of rows.
"""

from __future__ import annotations

import json
import sys
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

Log = Callable[[str], None]

_BOUNDS = (0.01, 0.1, 1.0, 10.0)
CLASSES = ("under 10 ms", "under 100 ms", "under 1 s", "under 10 s", "10 s or more")
_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


@dataclass
class Told:
    """What becomes known of a request while it is served."""

    method: str = "other"
    path: str = "-"
    status: int = 500
    duration: str = ""
    principal: str | None = None
    entry: str | None = None
    outcome: str | None = None  # of a question: answered, free, or the kind of its error
    broken: str | None = None  # the class of an exception that nobody foresaw; never its text


def method_of(text: str) -> str:
    """The method, if it is one."""
    return text if text in _METHODS else "other"


def duration_of(seconds: float) -> str:
    """The class of a duration."""
    return CLASSES[bisect_right(_BOUNDS, seconds)]


def line_of(told: Told) -> str:
    """One line of the journal."""
    known = {name: value for name, value in vars(told).items() if value is not None}
    return json.dumps({"time": _time(int(time.time())), "door": "http", **known})


@lru_cache(maxsize=1)
def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_stderr(line: str) -> None:
    """Where a journal goes if nobody says otherwise."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
