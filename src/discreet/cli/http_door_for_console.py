"""The HTTP door as the console sees it: who comes in, how often, in which thread, and what is written down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

from discreet.console import UPLOAD, mount
from discreet.curator import Answer
from discreet.desk import Visitor
from discreet.errors import DiscreetError, Refusal
from discreet.server.errors import ErrorResponse, HttpError, closing, error_response
from discreet.server.http.asgi_app import Door
from discreet.server.journal import RequestNote, duration_of
from discreet.server.limits import Buckets

T = TypeVar("T")
Wire = Callable[[], tuple[str, int] | None]  # it is opened after the other: ask when it matters

_LINGER = 0.3  # seconds for an answer to reach the page that waits for it
_WORDS = {
    401: "this token lets nobody in",
    429: "too many tries; wait a little, then try again",
    503: "nobody can be let in now; try again later",
}


class DoorHost:
    """What the console needs of a door."""

    def __init__(self, door: Door, wire: Wire = lambda: None) -> None:
        self._door, self._wire = door, wire
        self._people = Buckets(door.limits.rate, door.limits.burst)
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def admitted(self, token: str, address: str) -> Visitor:
        """Whose token this is. Wrong ones are counted together with those that programs send."""
        try:
            return await self._door.admission.admitted(token, address)
        except HttpError as trouble:
            raise Refusal(_WORDS.get(trouble.response.status, trouble.response.message)) from None

    def paced(self, visitor: Visitor) -> None:
        """Raise a Refusal if somebody comes too often."""
        if seconds := self._people.take(visitor.name):
            raise Refusal("too many requests", hint=f"wait {max(1, round(seconds))} s, then try again")

    @property
    def wire(self) -> tuple[str, int] | None:
        """Where the Postgres door listens, now."""
        return self._wire()

    def named(self, scope: MutableMapping[str, Any], visitor: Visitor) -> None:
        """Write into the journal whose request it is."""
        told: RequestNote = scope["told"]
        told.principal = visitor.name

    async def call(self, visitor: Visitor, path: str, blocking: Callable[[], T], *, question: bool) -> T:
        """The result of a blocking call, written down like a request."""
        self.paced(visitor)
        told, started = RequestNote("WS", path, 499, principal=visitor.name), time.monotonic()
        self._begin()
        try:
            if question and self._door.closing:
                raise closing()  # noqa: TRY301  # it is written down like any other
            outcome = await self._door.pool.asked(visitor, blocking)
        except Exception as broken:
            failure = error_response(broken)
            told.status, told.outcome = failure.status, failure.kind if question else None
            told.broken = None if isinstance(broken, (DiscreetError, HttpError)) else _kind(broken)
            if isinstance(broken, HttpError):
                raise _refusal(failure) from None
            raise
        else:
            told.status = 200
            if question and isinstance(outcome, Answer):
                told.outcome, told.entry = "free" if outcome.cost is None else "answered", outcome.entry
            return outcome
        finally:
            self._finish()
            told.duration = duration_of(time.monotonic() - started)
            self._door.note(told)

    async def quiet(self) -> None:
        """When nothing is under way, and what was has reached its page."""
        if not self._quiet.is_set():
            await self._quiet.wait()
            await asyncio.sleep(_LINGER)

    def _begin(self) -> None:
        self._under_way += 1
        self._quiet.clear()

    def _finish(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._quiet.set()


class Console:
    """The console beside the paths of a door."""

    def __init__(self, door: Door, wire: Wire = lambda: None) -> None:
        self._host = DoorHost(door, wire)
        sockets = door.limits.connections * 3 // 4  # who asks without a browser has the rest
        self._gate = mount(door.app, door.desk, self._host, upload=door.limits.upload, sockets=sockets)
        door.streams |= {UPLOAD}

    async def close(self) -> None:
        """Wait for answers under way, then let the browsers go."""
        try:
            await self._host.quiet()
        finally:
            await self._gate.close()


def _refusal(failure: ErrorResponse) -> Refusal:
    return Refusal(failure.message, hint=failure.hint)


def _kind(broken: Exception) -> str:
    return f"{type(broken).__module__}.{type(broken).__qualname__}"
