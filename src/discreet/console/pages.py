"""Pages of the console: which there are, their static files, and visits: one person at one page, with desk and door."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from discreet.console.headers import Message, Receive, Scope, spoken
from discreet.console.sessions import BrowserSession, Sockets
from discreet.console.upload import Uploads
from discreet.desk import Desk, Visitor
from discreet.errors import DiscreetError, Refusal

if TYPE_CHECKING:
    from discreet.curator.custody import Custody

_QUERY = re.compile(r"[\w.~%&=+*!'()-]{1,20000}", re.ASCII)  # as browsers write it; nothing that could end a header
_SURE = 1.0  # seconds for which a grant that was in force is believed to be
_GONE = {"type": "websocket.disconnect", "code": 1008}

P = ParamSpec("P")
T = TypeVar("T")
_FOLDER = Path(__file__).with_name("static")
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' "
    "rx='8' fill='%230f766e'/%3E%3Cpath d='M7 21c3 0 3-10 9-10s6 10 9 10' fill='none' stroke='white' stroke-width='3' "
    "stroke-linecap='round'/%3E%3C/svg%3E"
)


@dataclass(frozen=True)
class Place:
    """A page that can be gone to."""

    path: str
    title: str
    short: str  # where there is little room
    icon: str  # a name of Material Icons
    custodian: bool = False  # whether only custodians are let in


PLACES = (
    Place("/ask", "Ask", "Ask", "chat_bubble_outline"),
    Place("/budget", "Budget", "Budget", "donut_large"),
    Place("/history", "History", "History", "history"),
    Place("/releases", "Releases", "Releases", "bar_chart"),
    Place("/surveys", "Surveys", "Surveys", "how_to_vote"),
    Place("/data", "Data", "Data", "table_chart", custodian=True),
    Place("/ledger", "Ledger", "Ledger", "verified"),
    Place("/promise", "What is promised", "Promise", "shield"),
    Place("/why", "Why noise", "Why", "help_outline"),
)
FIRST = PLACES[0]


def known(path: str) -> str:
    """A page of ours to go to after signing in; the first if it is none."""
    place, _, query = path.partition("?")
    if place not in {each.path for each in PLACES}:
        return PLACES[0].path
    return f"{place}?{query}" if query and _QUERY.fullmatch(query) else place


def place_at(path: str) -> Place:
    """The place at a path; the first one if there is none."""
    return next((place for place in PLACES if place.path == path), FIRST)


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """What each file holds, and its media type."""
    return {path.name: (path.read_bytes(), _KINDS[path.suffix]) for path in _FOLDER.iterdir() if path.suffix in _KINDS}


@cache
def static_text(name: str) -> str:
    """A text of ours that is put into pages: no file that browsers get."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def static_address(name: str) -> str:
    """Where a file is. It changes with the file, so that a browser may keep it for ever."""
    return f"/console/{name}?v={hashlib.sha256(static_files()[name][0]).hexdigest()[:12]}"


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
    host: Host
    session: BrowserSession
    path: str
    end: Callable[[str], None]  # the session, saying why
    touch: Callable[[BrowserSession], None]
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
        question = method in (self.desk.asked, self.desk.published, self.desk.run)  # what is paid for
        try:
            return await self.host.call(
                self.visitor, self.path, lambda: method(self.visitor, *given, **named), question=question
            )
        except Refusal:
            if await self.in_force():
                raise
            self.end("revoked")
            raise Ended("revoked") from None

    async def custody(self, doing: Callable[[Custody], T]) -> T:
        """What the custodian's side of the home answers: `await visit.custody(lambda custody: custody.lift(name))`."""
        return await self.call(lambda who: doing(self.desk.custody(who)))

    async def in_force(self) -> bool:
        """Whether the grant by which they signed in is in force still."""
        return await self.host.call(self.visitor, self.path, lambda: in_force(self.desk, self.visitor), question=False)

    def heard(self, receive: Receive, sockets: Sockets) -> Receive:
        """What comes through a socket of theirs, at a pace that others can bear, for as long as they are let in."""

        async def next_one() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                if self.session.over or not spoken(message):
                    return dict(_GONE)
                await asyncio.sleep(sockets.pause(self.visitor.name))
                if await self._let_in():
                    return message
                self.end("revoked")

        return next_one

    async def _let_in(self) -> bool:
        """Whether they are still, as of a second ago. The desk itself looks again at whatever it is asked."""
        async with self.session.looking:
            now = time.monotonic()
            if now >= self.session.sure:
                with contextlib.suppress(DiscreetError):  # a ledger that cannot be read: the page will say so
                    if not await asyncio.to_thread(in_force, self.desk, self.visitor):
                        return False
                self.session.sure = now + _SURE
            return not self.session.over


def in_force(desk: Desk, visitor: Visitor) -> bool:
    """Whether the grant by which somebody signed in is in force still. It blocks."""
    if desk.scram(visitor.name) is None:  # asked first: a ledger that cannot be read is another trouble
        return False
    return desk.visitor(visitor.name) == visitor


class Host(Protocol):
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
