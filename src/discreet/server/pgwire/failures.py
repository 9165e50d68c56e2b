"""What a client is told when something does not work: a code, a sentence, a hint, and nothing else.

Sentences come from refusals, which speak before rows are read, from the constant sentence of a fault, or from here.
"""

from __future__ import annotations

from discreet.errors import Fault, Ground, Refusal
from discreet.ledger.witness import Outside, closed

SYNTAX = Ground.SYNTAX.value
UNSUPPORTED = Ground.SUPPORT.value
NOT_PRIVATE = Ground.PRIVACY.value
NO_TABLE = Ground.TABLE.value
NO_COLUMN = Ground.COLUMN.value
CANCELLED = "57014"
INTERNAL = "XX000"
PROTOCOL = "08P01"
BAD_VALUE = Ground.VALUE.value  # of a setting
BAD_INPUT = "22P02"  # of a parameter


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
        case Outside():
            told = closed()
            return Failure(told.ground.value, told.message, hint=told.hint)
        case Refusal():
            place = None if error.place is None else error.place[0]
            hint = error.hint if error.repair is None else f"{error.hint}; this would be answered: {error.repair}"
            return Failure(error.ground.value, error.message, hint=hint, position=place)
        case _:  # a fault, or a mistake of ours: either may have come after rows were read
            return Failure(INTERNAL, Fault.SENTENCE)


def broken_frame() -> Failure:
    """A message that is not what the protocol says."""
    return Failure(PROTOCOL, "this message is not what the protocol says")
