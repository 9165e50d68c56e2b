"""Paths under /survey/v1: tasks, uploads of randomized reports, results. Open to all; nobody is known by name.

Nothing is written down of an upload: not its address, not its token, not when it came.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from discreet.addresses import network
from discreet.errors import Busy, Refusal
from discreet.ledger.signed_head import is_hex
from discreet.server.errors import (
    ErrorResponse,
    HttpError,
    crowded,
    malformed,
    missing,
    out_of_order,
    too_often,
)
from discreet.server.fair_share import Pool
from discreet.server.http import schemas
from discreet.server.http.request_body import read
from discreet.server.http.routes import behind
from discreet.server.limits import Buckets, HttpLimits
from discreet.survey.collector import Collector
from discreet.survey.intake import Sent
from discreet.survey.task import HEAD, LARGEST
from discreet.transport.signed_task import Uninvited, Unknown, UploadReceipt

MOST = 1024  # uploads that wait
_TOGETHER = 1 << 22  # bytes of uploads in one transaction, unless a single one has more


class Inbox:
    """Of one collector, in one event loop. Each upload gets its own receipt, after all of its group are on the disk."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._waiting: deque[tuple[Sent, asyncio.Future[UploadReceipt]]] = deque()
        self._emptied: asyncio.Task[None] | None = None

    async def receipt(self, pool: Pool, upload: Sent) -> UploadReceipt:
        """Of this upload, once it is on the disk."""
        if len(self._waiting) >= MOST:
            raise crowded()
        told: asyncio.Future[UploadReceipt] = asyncio.get_running_loop().create_future()
        self._waiting.append((upload, told))
        if self._emptied is None:
            self._emptied = asyncio.create_task(self._empty(pool))
        return await told

    async def _empty(self, pool: Pool) -> None:
        """One group after another, until nobody waits."""
        try:
            while self._waiting:
                group = self._next()
                await _answer(pool, self._collector, group)
        finally:
            self._emptied = None

    def _next(self) -> list[tuple[Sent, asyncio.Future[UploadReceipt]]]:
        """Those that wait, as many as one transaction takes."""
        group, size = [self._waiting.popleft()], 0
        while self._waiting and (size := size + len(group[-1][0].body)) < _TOGETHER:
            group.append(self._waiting.popleft())
        return group


async def _answer(pool: Pool, collector: Collector, group: list[tuple[Sent, asyncio.Future[UploadReceipt]]]) -> None:
    receipts: Sequence[UploadReceipt | Exception]
    try:
        receipts = await pool.call(collector.take, [upload for upload, _ in group])
    except Exception as broken:  # noqa: BLE001  # each of them hears it, and nobody else
        receipts = [broken] * len(group)
    for (_, told), each in zip(group, receipts, strict=True):
        if told.done():
            continue  # whoever sent it left
        if isinstance(each, UploadReceipt):
            told.set_result(each)
        else:
            told.set_exception(each)


T = TypeVar("T")
P = ParamSpec("P")

PATH = "/survey/v1"
UPLOAD = f"{PATH}/{{name}}/reports"  # in the journal there is no line of it
_BINARY = "application/octet-stream"
_LARGE = 32  # uploads above the size of other requests that are read at once
_LONGEST_TOKEN = 256
_TOO_LONG = 413
_UNINVITED = "send the header Authorization: Bearer TOKEN, with the token of the invitation"
_BEARER = {"WWW-Authenticate": 'Bearer realm="survey"'}
_UPLOADED = re.compile(rf"{PATH}/[^/]+/reports")


def streamed(path: str) -> bool:
    """Whether a body posted to this path is read here: it is no JSON, and may be longer than other requests."""
    return _UPLOADED.fullmatch(path) is not None


class SurveyIntake:
    """Intake of uploads: the collector of a home, and how often and how much at once people may send."""

    def __init__(self, home: pathlib.Path, limits: HttpLimits) -> None:
        self.collector = Collector(home)
        self._limits = limits
        self.inbox = Inbox(self.collector)
        self._people = Buckets(limits.rate, limits.burst)
        self._large = _LARGE
        self._there: set[str] = set()

    def admit(self, who: str) -> None:
        """Let somebody in who does not come too often."""
        if seconds := self._people.take(who):
            raise too_often(seconds)

    async def find(self, door: SurveyDoor, name: str) -> None:
        """Whether there is a task of this name. One that was found stays: tasks never go away."""
        if name not in self._there:
            await _called(door, name, self.collector.task, name)
            self._there.add(name)

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """An upload, read whole, if it is not too long and not too slow. A long one keeps its place to the end."""
        held = False

        def grown(size: int) -> None:  # a long upload takes one of a few places: many at once must not fill the memory
            nonlocal held
            if size > self._limits.body and not held:
                if not self._large:
                    raise crowded()
                self._large -= 1
                held = True

        try:
            yield await read(request.scope, request.receive, LARGEST, self._limits.body_seconds, grown)
        finally:
            self._large += held


# what is said about surveys: documents are signed, so they are sent to the byte ---------------------------------------

Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9a-f]{32}$"}, description="The id of a survey.")]

Version = Annotated[int | None, Query(ge=1, le=1 << 40, description="Of the survey; the newest if none is named.")]

_FAILED = schemas.errors(
    {
        400: "Not of the expected shape.",
        401: "For people who were invited, and no token of theirs came.",
        404: "There is no such survey, or it has no results yet.",
        413: "Too long.",
        429: "Too often; Retry-After says how long to wait.",
        "4XX": "Refused.",
        "5XX": "Busy, closing, or out of order: send the same again later.",
    }
)
_UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"DSR1, the digest of the task document, a count, and the reports: at most {LARGEST} bytes.",
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary", "minLength": HEAD, "maxLength": LARGEST}
            }
        },
    },
    "security": [{}, {"HTTPBearer": []}],  # open to all, or with the token of an invitation
}


class MechanismJson(BaseModel, frozen=True):
    """A client of the room `local`, by its name and parameters."""

    name: str
    parameters: dict[str, str | int]


class TaskJson(BaseModel, frozen=True):
    """What is asked, how answers are randomized, until when. Its digest is SHA-256 of these bytes."""

    format: Literal["discreet-task-1"]
    id: str
    version: Count
    question: str
    mechanism: MechanismJson
    domain: list[str]
    opens: str
    closes: str
    minimum: Count
    reports: Count
    dishonest: Count
    invited: bool
    most: Count = Field(default=1 << 20, description="Left out where it is the usual one.")
    key: str
    signature: str


class UploadJson(BaseModel, frozen=True):
    """What became of the reports of an upload, by kind."""

    accepted: Count
    replayed: Count
    early: Count
    late: Count
    malformed: Count
    wrong_task: Count
    over_limit: Count
    full: Count
    unlikely: Count


class HonestyJson(BaseModel, frozen=True):
    """How many dishonest reports were declared; of a list of answers, what the shares add up to and how likely."""

    dishonest: Count
    total: str | None = None
    chance: str | None = None


class ResultsJson(BaseModel, frozen=True):
    """What a task came to. `tally` holds all that the estimates were made from."""

    format: Literal["discreet-results-1", "discreet-results-2"]
    id: str
    version: Count
    task: str
    collected: str
    reports: Count
    rejected: dict[str, Count]
    promise: dict[str, str | dict[str, str | int]]
    estimates: list[dict[str, str]]
    honesty: HonestyJson | None = Field(default=None, description="From the second format on.")
    tally: str
    key: str
    signature: str


class HandoverJson(BaseModel, frozen=True):
    """The holder of the key `old` says that `new` signs from now on."""

    format: Literal["discreet-key-1"]
    old: str
    new: str
    signature: str


class KeysJson(BaseModel, frozen=True):
    """From the first key to the present one."""

    handovers: list[HandoverJson]


# the paths ------------------------------------------------------------------------------------------------------------


class SurveyDoor(Protocol):
    """Part of a door that these paths use."""

    pool: Pool
    surveys: SurveyIntake


async def whence(request: Request) -> str:
    """The network from which somebody comes."""
    return network(request.client.host if request.client else "")


Door = Annotated[SurveyDoor, Depends(behind)]
Visitor = Annotated[str, Depends(whence)]
surveys = APIRouter(prefix=PATH, responses=_FAILED)


@surveys.get("/keys", response_model=KeysJson)
async def keys(door: Door, visitor: Visitor) -> Response:
    """How the key that signs tasks was changed. A device that trusts one of them finds its way to the present one."""
    door.surveys.admit(visitor)
    with _said():
        handovers = await door.pool.call(door.surveys.collector.handovers)
    return _json({"handovers": [each.body for each in handovers]})


@surveys.get("/{name}", response_model=TaskJson)
async def task(name: Name, door: Door, visitor: Visitor, version: Version = None) -> Response:
    """A task: what is asked, how answers are randomized, until when. Signed. The newest version, if none is named."""
    door.surveys.admit(visitor)
    task = await _called(door, name, door.surveys.collector.task, name, version)
    return Response(task.document, media_type="application/json")


@surveys.get("/{name}/results", response_model=ResultsJson)
async def results(name: Name, door: Door, visitor: Visitor, version: Version = None) -> Response:
    """What a task came to, once it was collected. Signed, and the same bytes for ever."""
    door.surveys.admit(visitor)
    results = await _called(door, name, door.surveys.collector.results, name, version)
    return Response(results.document, media_type="application/json")


@surveys.post("/{name}/reports", response_model=UploadJson, openapi_extra=_UPLOAD_BODY)
async def reports(name: Name, request: Request, door: Door, visitor: Visitor) -> Response:
    """Upload randomized reports. Sent again to the byte they count once: after a failure send the same again."""
    door.surveys.admit(visitor)
    await door.surveys.find(door, name)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _BINARY:
        raise malformed(f"body: {_BINARY}")
    try:
        async with door.surveys.body(request) as body:
            with _said():
                receipt = await door.surveys.inbox.receipt(door.pool, Sent(name, body, bearer(request)))
    except HttpError as refused:
        if refused.response.status == _TOO_LONG:
            await _called(door, name, door.surveys.collector.oversize, name)
        raise
    return _json(receipt.told)


def _json(body: object) -> Response:
    return Response(json.dumps(body), media_type="application/json")


async def _called(door: SurveyDoor, name: str, blocking: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
    """The result of a call about a task of this name. What is said if there is none does not repeat the name."""
    if not is_hex(name, 16):
        raise missing(404)
    with _said():
        return await door.pool.call(blocking, *given, **named)


@contextmanager
def _said() -> Iterator[None]:
    """What a collector refuses, as it is said to strangers."""
    try:
        yield
    except Unknown:
        raise missing(404) from None
    except Uninvited as refused:
        raise HttpError(ErrorResponse(401, "refusal", refused.message, _UNINVITED, "28P01", headers=_BEARER)) from None
    except Busy:  # in a constant sentence, and for a moment
        raise
    except Refusal:  # it speaks of files
        raise out_of_order() from None


def bearer(request: Request) -> str | None:
    """The token of an invitation."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" and 0 < len(token) <= _LONGEST_TOKEN else None
