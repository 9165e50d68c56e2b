"""What can go wrong, and when it may be talked about.

DiscreetError
├── Refusal         before any data is read: names the value and what to do; nothing was charged
│   ├── OverBudget  the budget would be exceeded
│   ├── Unsupported it could be asked, and is not answered here
│   ├── Exceeded    it takes more memory or time than one question has
│   └── Busy        it cannot be done now, and later it can
└── Fault           after data was read: a constant sentence, no cause, because an error is an output
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class DiscreetError(Exception):
    """Everything this package raises on purpose."""


class Ground(Enum):
    """On what ground something is refused, by the number that Postgres has for it: every door says the same."""

    PRIVACY = "42501"  # it would not be private, or is not for who asks; what names no ground has this one
    SUPPORT = "0A000"  # it is not answered here
    SYNTAX = "42601"
    TABLE = "42P01"  # there is none of this name
    COLUMN = "42703"  # likewise
    VALUE = "22023"  # a price, a cap or a share that is none
    BUDGET = "53400"
    LIMIT = "54000"  # of memory or time
    BUSY = "55P03"  # somebody else holds what is needed
    CLOSED = "55000"  # what is known outside the home, or cannot be asked, stands against it


class Refusal(DiscreetError):
    """Raised before any data is read, so it may say everything: what was expected, what came, what to do."""

    ground = Ground.PRIVACY

    def __init__(  # noqa: PLR0913  # each may be said of a refusal
        self,
        message: str,
        *,
        hint: str = "",
        place: tuple[int, int] | None = None,
        repair: str | None = None,
        ground: Ground | None = None,
        field: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field  # the part of what was asked that it is about, by its name; nothing if that is all of it
        self.ground = ground or type(self).ground
        self.place = place  # of a question: from which to before which of its characters the trouble is
        self.repair = repair  # a question near it that would be answered

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


@contextmanager
def about(field: str) -> Iterator[None]:
    """What is refused inside is about this part of what was asked."""
    try:
        yield
    except Refusal as refusal:
        refusal.field = field
        raise


class OverBudget(Refusal):
    """The loss does not fit into what is left of a budget. Nothing was charged."""

    ground = Ground.BUDGET


class Unsupported(Refusal):
    """It could be asked, and is not answered here."""

    ground = Ground.SUPPORT


class Exceeded(Refusal):
    """It takes more memory or time than one question has. The sentence is a constant: it was ended from outside."""

    ground = Ground.LIMIT
    SENTENCE = "this takes more memory or time than one question has"
    HINT = "ask for less at once: shorter texts, fewer rows, simpler expressions"

    def __init__(
        self,
        message: str = SENTENCE,
        *,
        hint: str = HINT,
        place: tuple[int, int] | None = None,
        repair: str | None = None,
        ground: Ground | None = None,
    ) -> None:
        super().__init__(message, hint=hint, place=place, repair=repair, ground=ground)


class Busy(Refusal):
    """It cannot be done now, and later it can. Nothing was charged."""

    ground = Ground.BUSY


class Fault(DiscreetError):
    """Raised after data was read. Its sentence is a constant and it carries no cause."""

    SENTENCE = "the answer could not be computed; its price stays spent"

    def __init__(self) -> None:
        super().__init__(self.SENTENCE)
        self.__suppress_context__ = True
