"""What the console needs of the door it stands behind. Whoever mounts the console brings it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from discreet.console.headers import Scope
from discreet.desk import Visitor

T = TypeVar("T")


class Hall(Protocol):
    """Lets people in, and has threads for what blocks."""

    async def admitted(self, token: str, address: str) -> Visitor:
        """Whose token this is. Raises a Refusal for a wrong one, and for too many wrong ones from an address."""
        ...

    def paced(self, visitor: Visitor) -> None:
        """Raise a Refusal if somebody comes too often."""
        ...

    @property
    def wire(self) -> tuple[str, int] | None:
        """Where the Postgres door listens: host and port; None if it is shut."""
        ...

    def named(self, scope: Scope, visitor: Visitor) -> None:
        """Write into the journal whose request it is."""
        ...

    async def call(self, visitor: Visitor, path: str, blocking: Callable[[], T], *, question: bool) -> T:
        """The result of a blocking call, from a thread. Once begun it is finished, whoever waits for it."""
        ...
