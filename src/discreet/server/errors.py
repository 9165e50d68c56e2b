"""Errors as both doors say them: a code, a sentence, a hint, and nothing that comes from a row.

Sentences come from refusals, which speak before rows are read, from the constant sentence of a fault, or from here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.errors import Busy, Fault, Ground, OverBudget, Refusal
from discreet.ledger.witness import Outside, closed

# As Postgres numbers them, so that both doors say the same.
SYNTAX = Ground.SYNTAX.value
UNSUPPORTED = Ground.SUPPORT.value
NOT_PRIVATE = Ground.PRIVACY.value
CANCELLED = "57014"
INTERNAL = "XX000"
PROTOCOL = "08P01"
BAD_VALUE = Ground.VALUE.value  # of a setting
BAD_INPUT = "22P02"  # of a parameter
WRONG_PASSWORD, UNKNOWN = "28P01", "42704"
TOO_LARGE, TOO_MANY, CLOSING = "54000", "53300", "57P01"


# over the wire of Postgres -------------------------------------------------------------------------------------------


class WireError(Exception):
    """An error as the wire tells it. A position is the character it is about, counted from 0."""

    def __init__(
        self, code: str, message: str, *, hint: str = "", position: int | None = None, fatal: bool = False
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.position, self.fatal = code, message, hint, position, fatal

    @property
    def severity(self) -> str:
        """How bad it is: whether the connection goes on."""
        return "FATAL" if self.fatal else "ERROR"

    def as_fatal(self) -> WireError:
        """The same, as the last word of a connection."""
        return WireError(self.code, self.message, hint=self.hint, fatal=True)

    def at(self, position: int | None) -> WireError:
        """The same, about a place."""
        return WireError(self.code, self.message, hint=self.hint, position=position, fatal=self.fatal)


def wire_error(error: Exception) -> WireError:
    """What a client is told of an error."""
    match error:
        case WireError():
            return error
        case Outside():
            told = closed()
            return WireError(told.ground.value, told.message, hint=told.hint)
        case Refusal():
            place = None if error.place is None else error.place[0]
            hint = error.hint if error.repair is None else f"{error.hint}; this would be answered: {error.repair}"
            return WireError(error.ground.value, error.message, hint=hint, position=place)
        case _:  # a fault, or a mistake of ours: either may have come after rows were read
            return WireError(INTERNAL, Fault.SENTENCE)


def broken_frame() -> WireError:
    """A message that is not what the protocol says."""
    return WireError(PROTOCOL, "this message is not what the protocol says")


# over HTTP ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorResponse:
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


class HttpError(Exception):
    """Raised by the door itself, before anything was asked."""

    def __init__(self, response: ErrorResponse) -> None:
        super().__init__(response.message)
        self.response = response


def error_response(broken: Exception) -> ErrorResponse:
    """What is said of an exception. Of one that nobody foresaw, the constant sentence."""
    match broken:
        case HttpError():
            return broken.response
        case OverBudget():
            return ErrorResponse(402, "over_budget", broken.message, broken.hint, broken.ground.value)
        case Outside():
            told = closed()
            return ErrorResponse(503, "refusal", told.message, told.hint, told.ground.value, headers=_LATER)
        case Busy():
            return ErrorResponse(503, "refusal", broken.message, broken.hint, broken.ground.value, headers=_SOON)
        case Refusal():
            code = broken.ground.value
            return ErrorResponse(400, "refusal", broken.message, broken.hint, code, broken.place, broken.repair)
        case _:
            return ErrorResponse(500, "fault", Fault.SENTENCE, "", INTERNAL)


def stranger() -> HttpError:
    """Nobody that is let in."""
    return _http(
        401,
        "this door opens for a token, and none that is valid came",
        "send the header Authorization: Bearer TOKEN; a custodian makes one with discreet user add",
        WRONG_PASSWORD,
        {"WWW-Authenticate": 'Bearer realm="discreet"'},
    )


def not_yours(what: str) -> HttpError:
    """Somebody who is let in, but not here."""
    return _http(403, what, "ask a custodian", NOT_PRIVATE)


def too_often(seconds: float) -> HttpError:
    """Somebody who comes too often."""
    wait = {"Retry-After": str(max(1, math.ceil(seconds)))}
    return _http(429, "too many requests", "wait as long as Retry-After says", TOO_MANY, wait)


def too_large(most: int) -> HttpError:
    """A request that does not fit."""
    return _http(413, f"a request has at most {most} bytes", "ask for less at once", TOO_LARGE, _CLOSE)


def too_slow() -> HttpError:
    """A request that never ends."""
    return _http(408, "the request did not arrive in time", "send it at once", TOO_LARGE, _CLOSE)


def too_deep(most: int) -> HttpError:
    """Lists in lists in lists."""
    return _http(400, f"the request nests deeper than {most}", "see /api/v1/openapi.json", BAD_VALUE)


def crowded() -> HttpError:
    """More questions than are worked on."""
    return _http(503, "too many questions are waiting; nothing was charged", "", TOO_MANY, {"Retry-After": "1"})


def out_of_order() -> HttpError:
    """The ledger cannot be read, so nobody is known."""
    return _http(503, "nobody can be let in now", "a custodian runs discreet doctor", CLOSING, _LATER)


def closing() -> HttpError:
    """The server is going down."""
    return _http(503, "this door is closing; nothing was charged", "try again later", CLOSING, _CLOSE)


def malformed(where: str) -> HttpError:
    """A request of another shape."""
    return _http(400, f"the request is not of the expected shape: {where}", "see /api/v1/openapi.json", BAD_VALUE)


def missing(status: int, headers: Mapping[str, str] | None = None) -> HttpError:
    """A path or a method that there is not."""
    code = UNKNOWN if status == 404 else UNSUPPORTED
    return _http(status, "there is nothing of this kind here", "see /api/v1/openapi.json", code, headers or {})


_CLOSE = {"Connection": "close"}
_SOON = {"Retry-After": "5"}
_LATER = {"Retry-After": "60"}


def _http(status: int, message: str, hint: str, sqlstate: str, headers: Mapping[str, str] | None = None) -> HttpError:
    return HttpError(ErrorResponse(status, "refusal", message, hint, sqlstate, headers=headers or {}))
