"""What goes wrong at the door, as a status and one shape of JSON. Nothing in it comes from a row.

A text is a refusal's, which was written before data was read, or a constant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.errors import Busy, Fault, Ground, OverBudget, Refusal
from discreet.ledger.witness import Outside, closed

# As Postgres numbers them, so that both doors say the same.
_NOT_ALLOWED, _NOT_HERE, _MALFORMED = Ground.PRIVACY.value, Ground.SUPPORT.value, Ground.VALUE.value
_INTERNAL, _WRONG_PASSWORD, _UNKNOWN = "XX000", "28P01", "42704"
_TOO_LARGE, _TOO_MANY, _CLOSING = "54000", "53300", "57P01"


@dataclass(frozen=True)
class Failure:
    """An error as the door says it."""

    status: int
    kind: str  # refusal, over_budget or fault
    message: str
    hint: str
    sqlstate: str
    place: tuple[int, int] | None = None
    repair: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The JSON of it, in ASCII: a question may hold half a character, and a refusal may name it."""
        error = {"kind": self.kind, "message": self.message, "hint": self.hint, "sqlstate": self.sqlstate}
        return json.dumps({"error": {**error, "place": self.place, "repair": self.repair}}).encode("ascii")


class Trouble(Exception):
    """Raised by the door itself, before anything was asked."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(broken: Exception) -> Failure:
    """What is said of an exception. Of one that nobody foresaw, the constant sentence."""
    match broken:
        case Trouble():
            return broken.failure
        case OverBudget():
            return Failure(402, "over_budget", broken.message, broken.hint, broken.ground.value)
        case Outside():
            told = closed()
            return Failure(503, "refusal", told.message, told.hint, told.ground.value, headers=_LATER)
        case Busy():
            return Failure(503, "refusal", broken.message, broken.hint, broken.ground.value, headers=_SOON)
        case Refusal():
            code = broken.ground.value
            return Failure(400, "refusal", broken.message, broken.hint, code, broken.place, broken.repair)
        case _:
            return Failure(500, "fault", Fault.SENTENCE, "", _INTERNAL)


def stranger() -> Trouble:
    """Nobody that is let in."""
    return _refusal(
        401,
        "this door opens for a token, and none that is valid came",
        "send the header Authorization: Bearer TOKEN; a custodian makes one with discreet user add",
        _WRONG_PASSWORD,
        {"WWW-Authenticate": 'Bearer realm="discreet"'},
    )


def not_yours(what: str) -> Trouble:
    """Somebody who is let in, but not here."""
    return _refusal(403, what, "ask a custodian", _NOT_ALLOWED)


def too_often(seconds: float) -> Trouble:
    """Somebody who comes too often."""
    wait = {"Retry-After": str(max(1, math.ceil(seconds)))}
    return _refusal(429, "too many requests", "wait as long as Retry-After says", _TOO_MANY, wait)


def too_large(most: int) -> Trouble:
    """A request that does not fit."""
    return _refusal(413, f"a request has at most {most} bytes", "ask for less at once", _TOO_LARGE, _CLOSE)


def too_slow() -> Trouble:
    """A request that never ends."""
    return _refusal(408, "the request did not arrive in time", "send it at once", _TOO_LARGE, _CLOSE)


def too_deep(most: int) -> Trouble:
    """Lists in lists in lists."""
    return _refusal(400, f"the request nests deeper than {most}", "see /api/v1/openapi.json", _MALFORMED)


def crowded() -> Trouble:
    """More questions than are worked on."""
    return _refusal(503, "too many questions are waiting; nothing was charged", "", _TOO_MANY, {"Retry-After": "1"})


def out_of_order() -> Trouble:
    """The ledger cannot be read, so nobody is known."""
    return _refusal(503, "nobody can be let in now", "a custodian runs discreet doctor", _CLOSING, _LATER)


def closing() -> Trouble:
    """The server is going down."""
    return _refusal(503, "this door is closing; nothing was charged", "try again later", _CLOSING, _CLOSE)


def malformed(where: str) -> Trouble:
    """A request of another shape."""
    return _refusal(400, f"the request is not of the expected shape: {where}", "see /api/v1/openapi.json", _MALFORMED)


def missing(status: int, headers: Mapping[str, str] | None = None) -> Trouble:
    """A path or a method that there is not."""
    code = _UNKNOWN if status == 404 else _NOT_HERE
    return _refusal(status, "there is nothing of this kind here", "see /api/v1/openapi.json", code, headers or {})


_CLOSE = {"Connection": "close"}
_SOON = {"Retry-After": "5"}
_LATER = {"Retry-After": "60"}


def _refusal(status: int, message: str, hint: str, sqlstate: str, headers: Mapping[str, str] | None = None) -> Trouble:
    return Trouble(Failure(status, "refusal", message, hint, sqlstate, headers=headers or {}))
