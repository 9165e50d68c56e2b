"""What a client is told when something does not work: a code, a sentence, a hint, and nothing else.

Sentences come from refusals, which speak before rows are read, from the constant sentence of a fault, or from here.
"""

from __future__ import annotations

from discreet.errors import Fault, OverBudget, Refusal

SYNTAX = "42601"
UNSUPPORTED = "0A000"
NOT_PRIVATE = "42501"
NO_TABLE = "42P01"
NO_COLUMN = "42703"
BUDGET = "53400"
CANCELLED = "57014"
INTERNAL = "XX000"
PROTOCOL = "08P01"
BAD_VALUE = "22023"  # of a setting
BAD_INPUT = "22P02"  # of a parameter

# How a refusal begins, and what Postgres calls that. What is not listed was refused because it would not be private.
_CODES = (
    ("this is not SQL", SYNTAX),
    ("expected one question", SYNTAX),
    ("a question is text", SYNTAX),
    ("there is no table", NO_TABLE),
    ("Column '", NO_COLUMN),
    ("Unknown column", NO_COLUMN),
    ("Unknown table", NO_TABLE),
    ("only SELECT is answered", UNSUPPORTED),
    ("at this price", BAD_VALUE),
    ("expected ", BAD_VALUE),
    ("a question names one of", BAD_VALUE),
)


class Failure(Exception):  # what went wrong is a noun here
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

    def at(self, position: int | None) -> Failure:
        """The same, about a place."""
        return Failure(self.code, self.message, hint=self.hint, position=position, fatal=self.fatal)


def failure(error: Exception) -> Failure:
    """What a client is told of an error."""
    match error:
        case Failure():
            return error
        case Refusal():
            place = None if error.place is None else error.place[0]
            hint = error.hint if error.repair is None else f"{error.hint}; this would be answered: {error.repair}"
            return Failure(sqlstate(error), error.message, hint=hint, position=place)
        case _:  # a fault, or a mistake of ours: either may have come after rows were read
            return Failure(INTERNAL, Fault.SENTENCE)


def sqlstate(refusal: Refusal) -> str:
    """Postgres' code for a refusal."""
    if isinstance(refusal, OverBudget):
        return BUDGET
    message = refusal.message
    for beginning, code in _CODES:
        if message.startswith(beginning):
            return code
    if " has no column " in message:
        return NO_COLUMN
    return UNSUPPORTED if " not supported" in message else NOT_PRIVATE


def broken_frame() -> Failure:
    """A message that is not what the protocol says."""
    return Failure(PROTOCOL, "this message is not what the protocol says")
