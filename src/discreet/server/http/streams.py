"""The paths under /api/v1/streams: running counts, opened at a price, pushed one step at a time, read as they grow."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, cast

import pyarrow as pa
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.stream_answers import StreamCount
from discreet.curator.streams import OpenStream, StreamOrder
from discreet.errors import DiscreetError, Refusal
from discreet.server.errors import HttpError, error_response
from discreet.server.http import schemas
from discreet.server.http.mechanism_sessions import SessionShown, shown
from discreet.server.http.routes import ApiDoor, Door, Who, api

_OVER: dict[int | str, dict[str, Any]] = {
    402: {"model": schemas.ErrorBody, "description": "The price does not fit, or the stream is closed."}
}
_NAME = 200
_KEYS = 10_000
_ROWS = {"patient": [17, 17, 23], "region": ["north", "south", "north"]}
Text = Annotated[str, Field(max_length=_NAME)]
Name = Annotated[str, Path(max_length=_NAME)]
Steps = Annotated[int, Query(ge=1, le=1 << 31)]
Exact = int | str  # a rational as text where it is not whole


class StreamOrdered(BaseModel, frozen=True):
    """A stream that is to be opened: whose rows it counts, for how many steps, by which keys, at which price."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Text
    unit: Annotated[str, Field(max_length=_NAME, examples=["patient"])]
    horizon: schemas.Cap
    events: schemas.Cap = 1
    population: Text | None = None
    by: dict[Text, Annotated[list[bool | int | Text], Field(max_length=_KEYS)]] = {}
    bins: dict[Text, Annotated[list[schemas.Number], Field(min_length=2, max_length=_KEYS)]] = {}
    sums: dict[Text, Annotated[list[schemas.Number], Field(min_length=2, max_length=2)]] = {}
    steps: dict[Text, schemas.Number] = {}
    types: dict[Text, Text] = {}
    epsilon: schemas.Number | None = None
    rho: schemas.Number | None = None
    delta: schemas.Number | None = None
    relation: Text = "add-remove"

    def order(self) -> StreamOrder:
        """As the curator takes it."""
        said = self.model_dump(exclude={"name", "sums"})
        return StreamOrder(**said, sums={name: (low, high) for name, (low, high) in self.sums.items()})


class StepPushed(BaseModel, frozen=True):
    """The rows of the next step by column, none perhaps. With its `step` it may be pushed again after a crash."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rows: Annotated[dict[Text, list[schemas.Cell]], Field(max_length=100, examples=[_ROWS])]
    step: schemas.Cap | None = None


class KeyCountJson(BaseModel, frozen=True):
    """The running count of one key."""

    key: bool | int | str
    count: Exact


class StreamCountJson(BaseModel, frozen=True):
    """What a stream said after one step, of what came after `start`.

    A number that was chosen beforehand is within its error 19 times in 20, and so are all keys at once within
    `top_error`.
    """

    start: int
    step: int
    count: Exact
    error: Exact
    by: list[KeyCountJson]
    key_error: Exact
    top_error: Exact


class StepTold(StreamCountJson, frozen=True):
    """The same of the step that was pushed, with what does not count."""

    bounding: str


class StreamWindows(BaseModel, frozen=True):
    """What came in the last `width` steps, after every so many steps, and what does not count."""

    width: int
    every: int
    windows: list[StreamCountJson]
    bounding: str


class StreamTop(BaseModel, frozen=True):
    """The keys with the largest counts; 19 times in 20 all keys are within `error`, whichever these are."""

    start: int
    step: int
    top: list[KeyCountJson]
    error: Exact
    bounding: str


class StreamShown(BaseModel, frozen=True):
    """What is public of a stream: its rows as they were declared, its steps, its payment, what does not count."""

    name: str
    unit: str
    horizon: int
    rows: dict[str, Any]
    session: SessionShown
    bounding: str


class StreamTold(StreamShown, frozen=True):
    """The same with all that it said."""

    counts: list[StreamCountJson]


class StreamList(BaseModel, frozen=True):
    """Streams, the latest first."""

    streams: list[StreamShown]


streams = APIRouter(prefix=f"{api.prefix}/streams", responses=api.responses)


@streams.get("")
async def listed(door: Door, who: Who) -> StreamList:
    """The streams that one may look at, the latest first."""
    every = await door.pool.asked(who, lambda: [_shown(each) for each in door.desk.streams(who).all()])
    return StreamList(streams=every)


@streams.post("", responses=_OVER)
async def opened(asked: StreamOrdered, request: Request, door: Door, who: Who) -> StreamShown:
    """Open a stream at its whole price, for custodians: charged before its secret is drawn."""
    told = request.scope["told"]
    told.outcome = "fault"
    try:
        made = await door.pool.asked(who, lambda: _shown(door.desk.streams(who).open(asked.name, asked.order())))
    except (DiscreetError, HttpError) as refused:
        told.outcome = error_response(refused).kind
        raise
    told.outcome, told.entry = "answered", str(made.session.entry)
    return made


@streams.get("/{name}")
async def one(name: Name, door: Door, who: Who) -> StreamTold:
    """A stream, and everything that it said. Free."""
    return await door.pool.asked(who, lambda: _told(door.desk.streams(who).one(name)))


@streams.get("/{name}/windows")
async def windows(name: Name, door: Door, who: Who, width: Steps, every: Steps = 1) -> StreamWindows:
    """What came in the last `width` steps, told after every so many steps. Free."""
    return await door.pool.asked(who, lambda: _windows(door.desk.streams(who).one(name), width, every))


@streams.get("/{name}/top")
async def top(name: Name, door: Door, who: Who, most: Steps = 10, width: Steps | None = None) -> StreamTop:
    """The keys with the largest counts after the last step, or in the last `width` steps. Free."""
    return await door.pool.asked(who, lambda: _top(door.desk.streams(who).one(name), most, width))


@streams.post("/{name}/steps", responses=_OVER)
async def push(name: Name, pushed: StepPushed, request: Request, door: Door, who: Who) -> StepTold:
    """Push the next step, for custodians. It was paid when the stream was opened."""
    told = request.scope["told"]
    told.outcome = "fault"
    try:
        counted = await door.pool.asked(who, _pushed, door, who, name, pushed)
    except (DiscreetError, HttpError) as refused:
        told.outcome = error_response(refused).kind
        raise
    told.outcome = "free"
    return StepTold(**_counted(counted).model_dump(), bounding=counted.bounding)


def _pushed(door: ApiDoor, who: Who, name: str, pushed: StepPushed) -> StreamCount:
    if len({len(cells) for cells in pushed.rows.values()}) > 1:
        raise Refusal("the columns of what is pushed are not equally long")
    rows = {column: _column(cells) for column, cells in pushed.rows.items()}
    return door.desk.streams(who).one(name).push(pa.table(rows), step=pushed.step)


def _column(cells: list[schemas.Cell]) -> pa.Array:
    """Cells of one kind as they are, of several as text."""
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


@streams.post("/{name}/close")
async def close(name: Name, door: Door, who: Who) -> StreamTold:
    """Give up the steps that are left of a stream, for custodians. Nothing is paid back."""
    return await door.pool.asked(who, _closed, door, who, name)


def _closed(door: ApiDoor, who: Who, name: str) -> StreamTold:
    stream = door.desk.streams(who).one(name)
    stream.close()
    return _told(stream)


def _told(stream: OpenStream) -> StreamTold:
    return StreamTold(**_shown(stream).model_dump(), counts=[_counted(each) for each in stream.counts])


def _windows(stream: OpenStream, width: int, every: int) -> StreamWindows:
    told = [_counted(each) for each in stream.windows(width, every)]
    return StreamWindows(width=width, every=every, windows=told, bounding=stream.words.bounding)


def _top(stream: OpenStream, most: int, width: int | None) -> StreamTop:
    if not stream.declared.keys:
        raise Refusal(f"stream {stream.name!r} has no keys", hint="open one by keys")
    steps = len(stream.answers)
    if not steps:
        return StreamTop(start=0, step=0, top=[], error=0, bounding=stream.words.bounding)
    last = stream.counts[-1] if width is None else stream.window(max(0, steps - width), steps)
    named = [KeyCountJson(key=cast("bool | int | str", key), count=_exact(each)) for key, each in last.top(most)]
    return StreamTop(start=last.start, step=last.step, top=named, error=_exact(last.top_error), bounding=last.bounding)


def _shown(stream: OpenStream) -> StreamShown:
    standing = stream.standing
    rows = cast("dict[str, Any]", standing.declared.written)
    session = shown(standing.session)
    return StreamShown(
        name=stream.name,
        unit=standing.unit,
        horizon=standing.horizon,
        rows=rows,
        session=session,
        bounding=standing.bounding,
    )


def _counted(value: StreamCount) -> StreamCountJson:
    return StreamCountJson(
        start=value.start,
        step=value.step,
        count=_exact(value.count),
        error=_exact(value.error),
        by=[KeyCountJson(key=cast("bool | int | str", key), count=_exact(each)) for key, each in value.by.items()],
        key_error=_exact(value.key_error),
        top_error=_exact(value.top_error),
    )


def _exact(value: Fraction) -> Exact:
    return int(value) if value.denominator == 1 else str(value)
