"""What is written down of a request: who, which path, how it ended. Never a question, never a value.

One JSON object a line. A path is the pattern that matched, so nothing that a stranger wrote gets in; a duration is one
of a few classes, because an exact one could tell of rows.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from discreet.server.log import time_of

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


def line_of(told: Told) -> str:
    """One line of the journal."""
    known = {name: value for name, value in vars(told).items() if value is not None}
    return json.dumps({"time": time_of(int(time.time())), "door": "http", **known})
