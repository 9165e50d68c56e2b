"""Sessions: who is signed in, in memory alone, and the signed cookie that carries a session's id."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from discreet.console.headers import Scope, header, is_secure
from discreet.desk import Visitor

_IDLE = 3_600.0  # seconds without an action
_LONGEST = 12 * 3_600.0  # seconds since somebody signed in
_MOST = 1_000  # people's browsers
_EACH = 20  # of one person
LINES = 40  # sockets of one person
_KEPT = 8  # one of so many sockets is kept for custodians
_RATE, _BURST = 50.0, 200  # messages of one person a second, and at once; nobody types so quickly
THEME = "discreet-theme"
THEMES = ("auto", "light", "dark")


@dataclass(eq=False)
class BrowserSession:
    """One browser of one person, until it ends."""

    id: str  # 256 bits that nobody guesses
    visitor: Visitor
    born: float
    seen: float
    over: bool = field(default=False)
    sure: float = field(default=-math.inf)  # until when its grant need not be looked up again
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)  # held by who looks it up


class BrowserSessions:
    """All sessions, bounded in number and in time. Not for several threads: an event loop owns it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, most: int = _MOST, each: int = _EACH) -> None:
        self._clock, self._most, self._each = clock, most, each
        self._known: dict[str, BrowserSession] = {}  # the longest unseen first

    def begin(self, visitor: Visitor) -> tuple[BrowserSession, list[BrowserSession]]:
        """A session for somebody who has just shown a token, and those that end to make room for it."""
        now = self._clock()
        session = BrowserSession(secrets.token_urlsafe(32), visitor, now, now)
        theirs = [each for each in self._known.values() if each.visitor.name == visitor.name]
        crowded = [*theirs[: max(0, len(theirs) + 1 - self._each)]]
        rest = [each for each in self._known.values() if each not in crowded]
        crowded += rest[: max(0, len(rest) + 1 - self._most)]
        for each in crowded:
            self.end(each)
        self._known[session.id] = session
        return session, crowded

    def find(self, number: str) -> BrowserSession | None:
        """The session of this id, if it lasts still; it was seen now."""
        session = self._known.get(number)
        if session is None or self._expired(session):
            return None
        self.touch(session)
        return session

    def touch(self, session: BrowserSession) -> None:
        """Somebody did something."""
        if self._known.pop(session.id, None) is not None:
            session.seen = self._clock()
            self._known[session.id] = session

    def end(self, session: BrowserSession) -> None:
        """Forget a session."""
        session.over = True
        self._known.pop(session.id, None)

    def all(self) -> list[BrowserSession]:
        """Those that last."""
        return list(self._known.values())

    def swept(self) -> list[BrowserSession]:
        """End what has lasted too long."""
        expired = [session for session in self._known.values() if self._expired(session)]
        for session in expired:
            self.end(session)
        return expired

    def __len__(self) -> int:
        return len(self._known)

    def _expired(self, session: BrowserSession) -> bool:
        now = self._clock()
        return session.over or now - session.seen > _IDLE or now - session.born > _LONGEST


class Sockets:
    """The sockets of people: how many there are, and how much they say. Not for several threads either.

    One person has only so many, and an eighth of all is kept for custodians.
    """

    def __init__(self, most: int, *, each: int = LINES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._each, self._clock = most, each, clock
        self._open: Counter[str] = Counter()
        self._next: dict[str, float] = {}  # when the next message of somebody would be due at a steady pace

    @contextmanager
    def taken(self, visitor: Visitor) -> Iterator[bool]:
        """Whether there is room for one more of somebody; if so, it is theirs for the while."""
        name, most = visitor.name, self._most if visitor.role == "custodian" else self._most - self._most // _KEPT
        if self._open[name] >= self._each or self._open.total() >= most:
            yield False
            return
        self._open[name] += 1
        try:
            yield True
        finally:
            self._open[name] -= 1
            self._open += Counter()  # forgets who has none

    def pause(self, name: str) -> float:
        """The seconds that the next message of somebody has to wait, which counts as said then."""
        now = self._clock()
        due = max(self._next.get(name, -math.inf), now - _BURST / _RATE) + 1 / _RATE
        self._next[name] = due
        return max(0.0, due - now)


class CookieSeal:
    """Signs ids with a key that lives as long as the server does."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def written(self, scope: Scope, number: str) -> str:
        """The header that sets the cookie."""
        return f"{_name(scope)}={number}.{self._mark(number)}; {_flags(scope)}"

    def cleared(self, scope: Scope) -> str:
        """The header that takes it away."""
        return f"{_name(scope)}=; Max-Age=0; {_flags(scope)}"

    def read(self, scope: Scope) -> str:
        """The id that a browser sent; nothing if it was not we who signed it."""
        number, _, mark = _cookies(scope).get(_name(scope), "").partition(".")
        right = hmac.compare_digest(mark.encode("utf-8", "replace"), self._mark(number).encode())
        return number if right else ""

    def _mark(self, number: str) -> str:
        return hmac.new(self._key, number.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def theme_of(scope: Scope) -> str:
    """How somebody likes to see pages."""
    wanted = _cookies(scope).get(THEME, "")
    return wanted if wanted in THEMES else THEMES[0]


def _name(scope: Scope) -> str:
    """With the port in it, because cookies do not tell two servers of one machine apart."""
    port = (scope.get("server") or ("", 0))[1]
    return f"{'__Host-' if is_secure(scope) else ''}discreet-{port}"


def _flags(scope: Scope) -> str:
    return f"Path=/; HttpOnly; SameSite=Strict{'; Secure' if is_secure(scope) else ''}"


def _cookies(scope: Scope) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header(scope, b"cookie")).items()}
    except CookieError:
        return {}
