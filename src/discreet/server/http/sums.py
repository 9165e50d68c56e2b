"""Paths under /sum/v1: tasks of masked sums, who joins, and what devices say in the steps of an epoch.

Nobody is known by name: a message is signed by a key that stands in the task. Nothing is written down of one.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from discreet.aggregate.epoch_steps import Late
from discreet.aggregate.sum_aggregator import SumAggregator
from discreet.aggregate.sum_messages import HEAD, STEPS, Misshapen
from discreet.errors import Busy, Refusal
from discreet.ledger.signed_head import is_hex
from discreet.server.errors import ErrorResponse, HttpError, malformed, missing, out_of_order
from discreet.server.fair_share import Pool
from discreet.server.http import schemas
from discreet.server.http.routes import behind
from discreet.server.http.surveys import Count, KeysJson, SurveyIntake, bearer, whence
from discreet.survey.task import LARGEST
from discreet.transport.signed_task import Uninvited, Unknown

T = TypeVar("T")
P = ParamSpec("P")

PATH = "/sum/v1"
MESSAGES, STEPPED = f"{PATH}/{{name}}/messages", f"{PATH}/{{name}}/steps"  # in the journal there is no line of these
_BINARY = "application/octet-stream"
_UNINVITED = "send the header Authorization: Bearer TOKEN, with the token of the invitation"
_BEARER = {"WWW-Authenticate": 'Bearer realm="sum"'}
_FAILED = schemas.errors(
    {
        400: "Not of the expected shape.",
        401: "For people who were invited, and no token of theirs came.",
        404: "There is no such sum, or it has not begun.",
        409: "It is not the time for this message.",
        413: "Too long.",
        429: "Too often; Retry-After says how long to wait.",
        "4XX": "Refused.",
        "5XX": "Busy, closing, or out of order: send the same again later.",
    }
)
_MESSAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"DSM1, digest of the task, epoch, step, place, signature, content: at most {LARGEST} bytes.",
        "content": {
            _BINARY: {"schema": {"type": "string", "format": "binary", "minLength": HEAD, "maxLength": LARGEST}}
        },
    },
}
_JOIN_SECURITY: dict[str, Any] = {"security": [{}, {"HTTPBearer": []}]}

Name = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9a-f]{32}$"}, description="The id of a sum.")]
Index = Annotated[int, Query(ge=0, le=(1 << 31) - 1)]
Which = Annotated[int, Query(ge=0, le=len(STEPS) - 1, description=", ".join(STEPS) + ": 0 to 4.")]
Hex32 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Hex64 = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class JoinRequest(BaseModel, frozen=True, extra="forbid"):
    """A public key, and its signature that its holder wants to join this sum."""

    key: Hex32
    signature: Hex64


class JoinedJson(BaseModel, frozen=True):
    """How many joined so far."""

    joined: Count


class SumTaskJson(BaseModel, frozen=True):
    """What is added up, among whom, with which noise. Signed."""

    format: Literal["discreet-sum-1"]
    id: str
    version: Count
    question: str
    scheme: str
    parameters: dict[str, str]
    people: list[str]
    limit: Count
    epochs: Count
    opens: str
    closes: str
    key: str
    signature: str


class StepJson(BaseModel, frozen=True):
    """Which epoch and step it is, who has spoken, of how many; of the step that was asked for, what it came to."""

    version: Count
    epoch: Count
    step: str
    spoken: Count
    expected: Count
    over: bool
    content: dict[str, Any] | None
    refused: str


class SumOutcomeJson(BaseModel, frozen=True):
    """What an epoch came to: numbers as fractions; each is within `error` of the sum 19 times in 20."""

    version: Count
    epoch: Count
    total: list[str]
    people: Count
    error: Count
    refused: str


class SumOutcomesJson(BaseModel, frozen=True):
    """All epochs that are over."""

    outcomes: list[SumOutcomeJson]


class KeptJson(BaseModel, frozen=True):
    """That a message is on the disk."""

    kept: bool


class SumDoor(Protocol):
    """Part of a door that these paths use."""

    pool: Pool
    surveys: SurveyIntake
    sums: SumIntake


class SumIntake:
    """The aggregator of a home."""

    def __init__(self, home: pathlib.Path) -> None:
        self.aggregator = SumAggregator(home)


def streamed(path: str) -> bool:
    """Whether a body posted to this path is read here: it is no JSON, and may be longer than other requests."""
    parts = path.removeprefix(f"{PATH}/").split("/")
    return path.startswith(f"{PATH}/") and len(parts) == 2 and parts[1] == "messages"


async def _let_in(request: Request) -> SumDoor:
    """The door, for who does not come too often."""
    door: SumDoor = await behind(request)  # type: ignore[assignment]  # of its many parts, those of sums
    door.surveys.admit(await whence(request))
    return door


Door = Annotated[SumDoor, Depends(_let_in)]
sums = APIRouter(prefix=PATH, responses=_FAILED)


@sums.get("/keys")
async def keys(door: Door) -> KeysJson:
    """How the key that signs tasks was changed."""
    with _said():
        handovers = await door.pool.call(door.sums.aggregator.handovers)
    return KeysJson.model_validate({"handovers": [each.body for each in handovers]})


@sums.get("/{name}", response_model=SumTaskJson)
async def task(name: Name, door: Door) -> Response:
    """The newest task of a sum, to the byte. Signed."""
    found = await _called(door, name, door.sums.aggregator.task, name)
    return Response(found.document, media_type="application/json")


@sums.post("/{name}/join", openapi_extra=_JOIN_SECURITY)
async def join(name: Name, asked: JoinRequest, request: Request, door: Door) -> JoinedJson:
    """Join with an invitation: the next version of the task names this key. The same again changes nothing."""
    token = bearer(request)
    return JoinedJson(
        joined=await _called(door, name, door.sums.aggregator.join, name, asked.key, asked.signature, token)
    )


@sums.post("/{name}/messages", openapi_extra=_MESSAGE_BODY)
async def messages(name: Name, request: Request, door: Door) -> KeptJson:
    """Say something in a step. The same bytes may come again: after a failure send them again."""
    if not is_hex(name, 16):
        raise missing(404)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _BINARY:
        raise malformed(f"body: {_BINARY}")
    async with door.surveys.body(request) as body:
        await _called(door, name, door.sums.aggregator.take, name, body)
    return KeptJson(kept=True)


@sums.get("/{name}/steps")
async def steps(name: Name, door: Door, epoch: Index, step: Which, place: Index) -> StepJson:
    """Whose turn it is; and what a step came to, for the person at this place, once it is over."""
    found = await _called(door, name, door.sums.aggregator.step, name, epoch, step, place)
    return StepJson.model_validate(found.told)


@sums.get("/{name}/outcomes")
async def outcomes(name: Name, door: Door) -> SumOutcomesJson:
    """What the epochs that are over came to."""
    found = await _called(door, name, door.sums.aggregator.outcomes, name)
    told = [{**each.__dict__, "total": [str(one) for one in each.total]} for each in found]
    return SumOutcomesJson.model_validate({"outcomes": told})


async def _called(door: SumDoor, name: str, blocking: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
    """The result of a call about a sum of this name. What is said if there is none does not repeat the name."""
    if not is_hex(name, 16):
        raise missing(404)
    with _said():
        return await door.pool.call(blocking, *given, **named)


@contextmanager
def _said() -> Iterator[None]:
    """What an aggregator refuses, as it is said to strangers."""
    try:
        yield
    except Unknown:
        raise missing(404) from None
    except Uninvited as refused:
        raise HttpError(ErrorResponse(401, "refusal", refused.message, _UNINVITED, "28P01", headers=_BEARER)) from None
    except Misshapen:
        raise malformed("body") from None
    except Late as refused:
        raise HttpError(ErrorResponse(409, "refusal", refused.message, refused.hint, "55000")) from None
    except Busy:  # in a constant sentence, and for a moment
        raise
    except Refusal:  # it speaks of files
        raise out_of_order() from None
