"""Statements that a client may send, as values: questions keep their words, everything else is a few fields."""

from __future__ import annotations

from dataclasses import dataclass

ALL = 1 << 31  # rows


@dataclass(frozen=True)
class Query:
    """A SELECT, and at which character of the text it begins."""

    text: str
    start: int


@dataclass(frozen=True)
class Prepare:
    """Keep a question under a name, with the types of its parameters as far as they are told (0: not told)."""

    name: str
    oids: tuple[int, ...]
    question: Query


@dataclass(frozen=True)
class Execute:
    """A question that was prepared, with the texts of its parameters (None: NULL)."""

    name: str
    arguments: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class Explain:
    """EXPLAIN: asks what a question would cost."""

    question: Query | Execute


@dataclass(frozen=True)
class Copy:
    """A question whose answer goes out as a copy."""

    question: Query
    form: str = "text"  # or binary, or csv
    header: bool = False


@dataclass(frozen=True)
class Declare:
    """A cursor over a question."""

    name: str
    question: Query


@dataclass(frozen=True)
class Fetch:
    """Rows from a cursor."""

    name: str
    count: int


@dataclass(frozen=True)
class CloseCursor:
    """Forget a cursor; None: every one."""

    name: str | None


@dataclass(frozen=True)
class Set:
    """Change a setting; None: back to where it was."""

    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True)
class Show:
    """A setting's value; None: all of them."""

    name: str | None


@dataclass(frozen=True)
class Reset:
    """A setting as it was in the beginning; None: all of them."""

    name: str | None


@dataclass(frozen=True)
class Discard:
    """Forget what the session knows."""

    what: str


@dataclass(frozen=True)
class Deallocate:
    """Forget a prepared statement; None: every one."""

    name: str | None


@dataclass(frozen=True)
class Transact:
    """A step of a transaction: BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, ROLLBACK TO; and what it says when done."""

    step: str
    tag: str
    name: str = ""


@dataclass(frozen=True)
class Nothing:
    """A statement that changes nothing here, and what it says when done."""

    tag: str


Statement = (
    Query
    | Prepare
    | Execute
    | Explain
    | Copy
    | Declare
    | Fetch
    | CloseCursor
    | Set
    | Show
    | Reset
    | Discard
    | Deallocate
    | Transact
    | Nothing
)
