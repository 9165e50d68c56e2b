"""The paths under /api/v1/sessions: interactive mechanisms, opened at a price, asked one question at a time."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.paid_mechanism import SessionStatus
from discreet.curator.sessions import OpenSession
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import rebuilt
from discreet.server.errors import HttpError, error_response
from discreet.server.http import json_values, schemas
from discreet.server.http.routes import ApiDoor, Door, Entry, Who, api
from discreet.sql.parse import LONGEST

_OVER: dict[int | str, dict[str, Any]] = {
    402: {
        "model": schemas.ErrorBody,
        "description": "The price does not fit, or the session is closed.",
    }
}
_NAME = 200
_EXAMPLE = {"epsilon_threshold": "1/3", "epsilon_questions": "2/3", "threshold": 1000, "hard": 1}


class SessionOrdered(BaseModel, frozen=True):
    """A registered mechanism, its parameters as JSON holds them, and the tables that it is to be asked about."""

    model_config = ConfigDict(extra="forbid", strict=True)

    mechanism: Annotated[str, Field(max_length=_NAME, examples=["sparse-vector"])]
    parameters: Annotated[dict[str, Any], Field(max_length=100, examples=[_EXAMPLE])]
    tables: Annotated[list[Annotated[str, Field(max_length=_NAME)]], Field(max_length=100, examples=[["visits"]])]


class SessionAsked(BaseModel, frozen=True):
    """The next question: one COUNT or SUM. With its `number` it may be asked again after a crash, and is drawn once."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sql: Annotated[str, Field(max_length=LONGEST, examples=["SELECT count(*) FROM visits WHERE cost > 100"])]
    number: schemas.Cap | None = None
    max_rows: schemas.Cap | None = None
    guess: Annotated[int, Field(ge=-(2**62), le=2**62)] | None = None


class QuotaJson(BaseModel, frozen=True):
    """How much of one thing a session gives in all, and has given."""

    name: str
    used: int
    most: int


class SessionShown(BaseModel, frozen=True):
    """What is public of a session; `closed` says why it may not be asked any more, and is empty while it may."""

    entry: int
    time: str
    principal: str
    mechanism: dict[str, Any]
    population: str
    tables: list[str]
    loss: schemas.LossJson
    asked: int
    used: list[QuotaJson]
    closed: str


class SessionTold(SessionShown, frozen=True):
    """The same with its answers, as its mechanism tells them."""

    answers: list[Any]


class SessionAnswered(BaseModel, frozen=True):
    """The answer to one question, as the mechanism tells it, and what is public of the session after it."""

    answer: Any
    session: SessionShown


class SessionList(BaseModel, frozen=True):
    """Sessions, the latest first."""

    sessions: list[SessionShown]


sessions = APIRouter(prefix=f"{api.prefix}/sessions", responses=api.responses)


@sessions.get("")
async def listed(door: Door, who: Who) -> SessionList:
    """One's own sessions, the latest first; a custodian sees everybody's."""
    every = await door.pool.asked(who, lambda: door.desk.sessions(who).all())
    return SessionList(sessions=[shown(each) for each in every])


@sessions.post("", responses=_OVER)
async def opened(asked: SessionOrdered, request: Request, door: Door, who: Who) -> SessionShown:
    """Open a session at its whole price: charged before its secret is drawn."""
    told = request.scope["told"]
    told.outcome = "fault"
    try:
        status = await door.pool.asked(who, _opened, door, who, asked)
    except (DiscreetError, HttpError) as refused:
        told.outcome = error_response(refused).kind
        raise
    told.outcome, told.entry = "answered", str(status.entry)
    return shown(status)


def _opened(door: ApiDoor, who: Who, asked: SessionOrdered) -> SessionStatus:
    return door.desk.sessions(who).open(rebuilt(asked.mechanism, asked.parameters), *asked.tables).status


@sessions.get("/{entry}")
async def one(entry: Entry, door: Door, who: Who) -> SessionTold:
    """A session, and everything that it answered. Free."""
    return await door.pool.asked(who, lambda: _told(door.desk.sessions(who).one(entry)))


@sessions.post("/{entry}/questions", responses=_OVER)
async def ask(entry: Entry, asked: SessionAsked, request: Request, door: Door, who: Who) -> SessionAnswered:
    """Ask the next question. It was paid when the session was opened."""
    told = request.scope["told"]
    told.outcome = "fault"
    try:
        answer, status = await door.pool.asked(who, _asked, door, who, entry, asked)
    except (DiscreetError, HttpError) as refused:
        told.outcome = error_response(refused).kind
        raise
    told.outcome, told.entry = "free", str(entry)
    return SessionAnswered(answer=answer, session=shown(status))


def _asked(door: ApiDoor, who: Who, entry: int, asked: SessionAsked) -> tuple[Any, SessionStatus]:
    session = door.desk.sessions(who).one(entry)
    answer = session.ask(asked.sql, number=asked.number, max_rows=asked.max_rows, guess=asked.guess)
    return session.mechanism.told(answer), session.status


@sessions.post("/{entry}/close")
async def close(entry: Entry, door: Door, who: Who) -> SessionTold:
    """Give up what is left of a session. Nothing is paid back."""
    return await door.pool.asked(who, _closed, door, who, entry)


def _closed(door: ApiDoor, who: Who, entry: int) -> SessionTold:
    session = door.desk.sessions(who).one(entry)
    session.close()
    return _told(session)


def _told(session: OpenSession[Any]) -> SessionTold:
    return SessionTold(**shown(session.status).model_dump(), answers=session.told)


def shown(value: SessionStatus) -> SessionShown:
    """What is public of a session, as JSON holds it."""
    return SessionShown(
        entry=value.entry,
        time=value.time,
        principal=value.principal,
        mechanism=cast("dict[str, Any]", dict(value.mechanism)),
        population=value.population,
        tables=list(value.tables),
        loss=json_values.loss(value.loss),
        asked=value.asked,
        used=[QuotaJson(name=each.name, used=each.used, most=each.most) for each in value.used],
        closed=value.closed,
    )
