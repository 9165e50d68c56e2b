"""Sessions of interactive mechanisms, here or behind a door: one set of methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from discreet.client import json_values
from discreet.curator.paid_mechanism import SessionStatus
from discreet.mechanisms import Quota
from discreet.mechanisms.registry import rebuilt

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
T = TypeVar("T")


class PaidSession(Protocol[A_co]):
    """Session of an interactive mechanism that was paid whole, wherever its home is."""

    @property
    def entry(self) -> int:
        """The number of its payment, by which it is called."""
        ...

    @property
    def mechanism(self) -> Any:  # noqa: ANN401  # which one, its name says
        """What was paid for."""
        ...

    def ask(
        self, sql: str, *, number: int | None = None, max_rows: int | None = None, guess: int | None = None
    ) -> A_co:
        """The answer to the next question, a SELECT of one COUNT or SUM; it is on disk before it is returned.

        After a crash, ask again with the same `number`: if an answer was drawn, it is that one. A mechanism that checks
        guesses is given one.
        """
        ...

    @property
    def answers(self) -> tuple[A_co, ...]:
        """Every answer given so far: free to look at again."""
        ...

    @property
    def told(self) -> list[Any]:
        """The same, as JSON holds them."""
        ...

    @property
    def closed(self) -> str:
        """Why it may not be asked any more; nothing while it may."""
        ...

    @property
    def status(self) -> SessionStatus:
        """What is public of it."""
        ...

    def close(self) -> None:
        """Give up what is left of it, and write into the ledger what it answered. Nothing is paid back."""
        ...


class DoorCall(Protocol):
    """How a connection asks its door."""

    def __call__(
        self, method: str, path: str, read: Callable[[dict[str, Any]], T], body: dict[str, Any] | None = None
    ) -> T:
        """What the door says, as `read` reads it."""
        ...


@dataclass(frozen=True)
class RemoteSession(Generic[A]):
    """A session by the number of its payment. Nothing of it is kept here."""

    entry: int
    _call: DoorCall

    @property
    def _path(self) -> str:
        return f"sessions/{self.entry}"

    @cached_property
    def mechanism(self) -> Any:  # noqa: ANN401  # which one, its name says
        """What was paid for."""
        named = self.status.mechanism
        return rebuilt(named["name"], named["parameters"])

    def ask(self, sql: str, *, number: int | None = None, max_rows: int | None = None, guess: int | None = None) -> A:
        """The answer to the next question, a SELECT of one COUNT or SUM; it is on disk before it is returned.

        After a crash, ask again with the same `number`: if an answer was drawn, it is that one. A mechanism that checks
        guesses is given one.
        """
        given = {"sql": sql, "number": number, "max_rows": max_rows, "guess": guess}
        body = {name: value for name, value in given.items() if value is not None}
        mechanism = self.mechanism  # before it is asked: an answer that cannot be read would be lost
        answer: A = self._call("POST", f"{self._path}/questions", lambda told: mechanism.heard(told["answer"]), body)
        return answer

    @property
    def answers(self) -> tuple[A, ...]:
        """Every answer given so far: free to look at again."""
        return tuple(map(self.mechanism.heard, self.told))

    @property
    def told(self) -> list[Any]:
        """The same, as JSON holds them."""
        return self._call("GET", self._path, lambda told: list(told["answers"]))

    @property
    def closed(self) -> str:
        """Why it may not be asked any more; nothing while it may."""
        return self.status.closed

    @property
    def status(self) -> SessionStatus:
        """What is public of it."""
        return self._call("GET", self._path, status)

    def close(self) -> None:
        """Give up what is left of it, and write into the ledger what it answered. Nothing is paid back."""
        self._call("POST", f"{self._path}/close", status)


def status(told: dict[str, Any]) -> SessionStatus:
    """What a door says of a session."""
    return SessionStatus(
        int(told["entry"]),
        str(told["time"]),
        str(told["principal"]),
        dict(told["mechanism"]),
        str(told["population"]),
        tuple(told["tables"]),
        json_values.price(told["loss"]),
        int(told["asked"]),
        tuple(Quota(str(each["name"]), int(each["used"]), int(each["most"])) for each in told["used"]),
        str(told["closed"]),
    )
