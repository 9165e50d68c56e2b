"""One person at one page: the desk in their name, and what to do when it says no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from discreet.console.hall import Hall
from discreet.console.sessions import Session
from discreet.console.upload import Uploads
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal

P = ParamSpec("P")
T = TypeVar("T")


class Ended(Exception):
    """Whoever looks at this page is not signed in any more. It names the sentence that the form says then."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True)
class Visit:
    """What a page has in hand: who looks at it, and the desk that answers them."""

    desk: Desk
    visitor: Visitor
    hall: Hall
    session: Session
    path: str
    end: Callable[[str], None]  # the session, saying why
    touch: Callable[[Session], None]
    uploads: Uploads  # what custodians bring

    @property
    def custodian(self) -> bool:
        """Whether a custodian looks."""
        return self.visitor.role == "custodian"

    async def call(self, method: Callable[Concatenate[Visitor, P], T], /, *given: P.args, **named: P.kwargs) -> T:
        """What a method of the desk answers to this person, from a thread: `await visit.call(visit.desk.tables)`.

        Raises what the desk raises, and Ended when the grant by which they signed in is not in force any more.
        """
        if self.session.over:
            raise Ended("ended")
        self.touch(self.session)
        question = method == self.desk.asked
        try:
            return await self.hall.call(
                self.visitor, self.path, lambda: method(self.visitor, *given, **named), question=question
            )
        except Refusal:
            if await self.in_force():
                raise
            self.end("revoked")
            raise Ended("revoked") from None

    async def in_force(self) -> bool:
        """Whether the grant by which they signed in is in force still."""
        return await self.hall.call(self.visitor, self.path, self._in_force, question=False)

    def _in_force(self) -> bool:
        if self.desk.scram(self.visitor.name) is None:  # asked first: a ledger that cannot be read is another trouble
            return False
        return self.desk.visitor(self.visitor.name) == self.visitor
