"""The paths under /api/v1/releases: what was published, and publishing."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from discreet.desk import PaidRelease, ReleaseOrder
from discreet.desk.release_store import Offered, called, offered
from discreet.errors import DiscreetError
from discreet.release import Wish, kinds
from discreet.release.folder import CERTIFICATE
from discreet.server.errors import HttpError, error_response
from discreet.server.http import json_values, schemas
from discreet.server.http.routes import ApiDoor, Door, Entry, Who, api
from discreet.sql.parse import LONGEST

_TYPES = {".json": "application/json", ".html": "text/html", ".parquet": "application/vnd.apache.parquet"}
_ANY = "application/octet-stream"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (*_TYPES.values(), _ANY)},
    }
}

Name = Annotated[str, Field(max_length=200)]

_LARGE, _LONG, _DEEP = 1000, 10_000, 3  # parts of a list, letters of a text, lists in lists: kinds check the rest


def _wish(given: object) -> dict[str, Any]:
    """The wish as it came, if it is small enough to be read: each kind says what its parts mean."""
    if not isinstance(given, dict) or not _small(given, _DEEP):
        raise ValueError("a wish is an object of a few parts")  # as pydantic hears it
    return given


def _small(value: object, deep: int) -> bool:
    if isinstance(value, (dict, list)):
        names = value if isinstance(value, dict) else ()
        parts = value.values() if isinstance(value, dict) else value
        few = deep > 0 and len(value) <= _LARGE and all(len(name) <= _LONG for name in names)
        return few and all(_small(part, deep - 1) for part in parts)
    if isinstance(value, str):
        return len(value) <= _LONG
    return not isinstance(value, (int, float)) or -schemas.MOST <= value <= schemas.MOST


def _schema(schema: dict[str, Any]) -> None:
    """What each kind takes, for whoever reads the description of the door."""
    shapes: list[dict[str, Any]] = []
    for each in kinds():
        parts = {part: {"description": option.help} for part, option in each.wish.options().items()}
        common = {"columns": {"type": "array", "items": {"type": "string"}}, "max_rows": {"type": "integer"}}
        prices = {price: {"type": ["number", "string"]} for price in ("epsilon", "rho", "delta")}
        known = {"kind": {"const": each.name}, **common, **prices, **parts}
        shapes.append({"type": "object", "title": each.title, "description": each.words, "properties": known})
    schema["properties"]["wish"] |= {"oneOf": shapes, "examples": [{"kind": kinds()[0].name, "columns": ["cost"]}]}


class Ordered(BaseModel, frozen=True):
    """Of which rows, in what form, under which name."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_schema)

    source: Annotated[str, Field(max_length=LONGEST, description="A table, or a SELECT of rows.", examples=["visits"])]
    wish: Annotated[dict[str, Any], BeforeValidator(_wish), Field(description="What is to be published.")]
    name: Name = ""

    def order(self) -> ReleaseOrder:
        """As the desk takes it."""
        return ReleaseOrder.of(self.source, Wish.read(self.wish), self.name)


class Within(BaseModel, frozen=True):
    """With probability 0.95 the count of what `of` names is within this, before what bounds and caps cut off.

    Null: how exact it will be is known after paying.
    """

    of: str
    within: str | None


class Proposed(BaseModel, frozen=True):
    """A release before it is paid for, and what its kind says of itself.

    `entry` holds it if it was paid for before: then it is free.
    """

    model_config = ConfigDict(extra="allow")

    population: str
    price: schemas.LossJson
    left: schemas.LossJson
    cells: int
    error: Within
    tables: list[list[str]]
    entry: int | None
    method: str
    words: str
    lines: list[str]


class Published(BaseModel, frozen=True):
    """A release that was paid for: the entry that holds its digest, and what the ledger says about it.

    `note` says so where it was ordered under another name than it has.
    """

    entry: int
    name: str
    sha256: str
    time: str
    principal: str
    population: str
    loss: schemas.LossJson
    sql: str
    tables: list[str]
    wish: dict[str, object]
    note: str = ""


class Releases(BaseModel, frozen=True):
    """Releases, the latest first."""

    releases: list[Published]


class CertificateJson(BaseModel, frozen=True):
    """What was promised, how it was made, the digest of each file, and the proof of the ledger; and other facts."""

    model_config = ConfigDict(extra="allow")

    format: str
    title: str
    promise: str
    left_out: list[str]
    kind: str
    columns: list[str]
    guarantee: dict[str, object]
    neighbours: dict[str, object]
    mechanism: dict[str, object]
    provenance: dict[str, object]
    ledger: dict[str, object]
    files: dict[str, str]
    how_to_cite: str
    discreet: str


File = Annotated[str, Path(max_length=200, description="A name from the certificate's `files`.")]

releases = APIRouter(prefix=f"{api.prefix}/releases", responses=api.responses)


@releases.get("")
async def listed(door: Door, who: Who) -> Releases:
    """What was published of tables that one may ask about, the latest first."""
    paid: list[PaidRelease] = await door.pool.asked(who, door.desk.releases, who)
    return Releases(releases=[_published(each) for each in paid])


@releases.post("", responses=schemas.OVER_BUDGET)
async def publish(asked: Ordered, request: Request, door: Door, who: Who) -> Published:
    """Make a release at a price. It is charged before a row is read; the same release again is free."""
    told = request.scope["told"]
    told.outcome = "fault"
    try:
        made, note, free = await door.pool.asked(who, _made, door, who, asked)
    except (DiscreetError, HttpError) as refused:
        told.outcome = error_response(refused).kind
        raise
    told.outcome, told.entry = "free" if free else "answered", str(made.entry)
    return _published(made, note)


def _made(door: ApiDoor, who: Who, asked: Ordered) -> tuple[PaidRelease, str, bool]:
    """The release, what is to be said of its name, and whether it had been paid for."""
    order = asked.order()
    before = door.desk.offered(who, order).entry
    made = door.desk.published(who, order)
    return made, called(order, made), made.entry == before


@releases.post("/offer")
async def offer(asked: Ordered, door: Door, who: Who) -> Proposed:
    """What a release would cost and how exact it would be. Free, and the same whatever the rows are."""
    return await door.pool.asked(who, _offered, door, who, asked)


def _offered(door: ApiDoor, who: Who, asked: Ordered) -> Proposed:
    offer = door.desk.offered(who, asked.order())
    left = door.desk.budgets(who)[offer.run.outline.population.name].left
    return _proposed(offered(offer, left))


@releases.get("/{entry}", response_model=CertificateJson)
async def certificate(entry: Entry, door: Door, who: Who) -> Response:
    """The certificate of a release: what `discreet release verify` checks."""
    content = await door.pool.asked(who, door.desk.file, who, entry, CERTIFICATE)
    return Response(content, media_type="application/json")


@releases.get("/{entry}/files/{name}", responses=_FILE, response_class=Response)
async def file(entry: Entry, name: File, door: Door, who: Who) -> Response:
    """One file of a release: certificate.json, or any that it names."""
    content = await door.pool.asked(who, door.desk.file, who, entry, name)
    saved = {"Content-Disposition": f'attachment; filename="{name}"'}  # such names have letters, digits, - _ and .
    return Response(content, headers=saved, media_type=_TYPES.get(PurePath(name).suffix, _ANY))


def _published(value: PaidRelease, note: str = "") -> Published:
    return Published(
        entry=value.entry,
        name=value.name,
        sha256=value.digest,
        time=value.time,
        principal=value.principal,
        population=value.population,
        loss=json_values.loss(value.loss),
        sql=value.sql,
        tables=list(value.tables),
        wish=dict(value.wish.told()),
        note=note,
    )


def _proposed(value: Offered) -> Proposed:
    return Proposed(
        population=value.population,
        price=json_values.loss(value.price),
        left=json_values.loss(value.left),
        error=Within(of=value.preview.about, within=None if value.error is None else str(value.error)),
        entry=value.entry,
        method=value.preview.method,
        words=str(value),
        lines=list(value.preview.lines),
        **value.facts,  # type: ignore[arg-type]  # cells and tables are among them
    )
