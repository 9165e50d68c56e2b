"""The shapes of what is said about surveys, for OpenAPI. Documents are signed, so they are sent to the byte."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from discreet.server.http import shapes
from discreet.survey.upload import HEAD, LARGEST

Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9a-f]{32}$"}, description="The id of a survey.")]

Version = Annotated[int | None, Query(ge=1, le=1 << 40, description="Of the survey; the newest if none is named.")]

FAILED: dict[int | str, dict[str, Any]] = {
    400: {"model": shapes.Failed, "description": "Not of the expected shape."},
    401: {"model": shapes.Failed, "description": "For people who were invited, and no token of theirs came."},
    404: {"model": shapes.Failed, "description": "There is no such survey, or it has no results yet."},
    413: {"model": shapes.Failed, "description": "Too long."},
    429: {"model": shapes.Failed, "description": "Too often; Retry-After says how long to wait."},
    "4XX": {"model": shapes.Failed, "description": "Refused."},
    "5XX": {"model": shapes.Failed, "description": "Busy, closing, or out of order: send the same again later."},
}
UPLOADED: dict[str, Any] = {
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


class Mechanism(BaseModel):
    """A client of the room `local`, by its name and parameters."""

    name: str
    parameters: dict[str, str | int]


class Task(BaseModel):
    """What is asked, how answers are randomized, until when. Its digest is SHA-256 of these bytes."""

    format: Literal["discreet-task-1"]
    id: str
    version: Count
    question: str
    mechanism: Mechanism
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


class Taken(BaseModel):
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


class Honesty(BaseModel):
    """How many dishonest reports were declared; of a list of answers, what the shares add up to and how likely."""

    dishonest: Count
    total: str | None = None
    chance: str | None = None


class Results(BaseModel):
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
    honesty: Honesty | None = Field(default=None, description="From the second format on.")
    tally: str
    key: str
    signature: str


class Handover(BaseModel):
    """The holder of the key `old` says that `new` signs from now on."""

    format: Literal["discreet-key-1"]
    old: str
    new: str
    signature: str


class Keys(BaseModel):
    """From the first key to the present one."""

    handovers: list[Handover]
