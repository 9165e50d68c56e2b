"""Paths under /api/v1, who is let in there and how often, and the answers they give."""

from __future__ import annotations

import hashlib
from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from discreet.addresses import is_loopback, network
from discreet.curator import Answer
from discreet.curator.named_run import NamedRun, select_all
from discreet.curator.purchase import PastPayment
from discreet.desk import Desk, Visitor
from discreet.errors import DiscreetError, Ground, Refusal
from discreet.ledger.balances import OWNER
from discreet.lru_cache import LruCache
from discreet.server.errors import HttpError, error_response, not_yours, out_of_order, stranger, too_often
from discreet.server.fair_share import Pool
from discreet.server.http import json_values, request_body, schemas
from discreet.server.http.json_values import Texts
from discreet.server.http.request_body import header
from discreet.server.journal import TYPE, Metrics, RequestNote
from discreet.server.limits import Buckets, HttpLimits

_LONGEST = 256  # characters of a token; ours have 43
_KNOWN = 10_000  # tokens that are remembered to have been right


class Admission:
    """Check of every token against the ledger, at every request: a person who was shut out is shut out at once.

    Whose token it is is remembered; that the grant behind it is still the same is looked up in the books each time, in
    the event loop if they are at hand, else in a thread.

    Wrong tokens are counted by address, and an address that had too many must wait. A token that was right before is
    let through to the ledger nevertheless: who shares an address with a burglar is not locked out.
    """

    def __init__(self, desk: Desk, pool: Pool, limits: HttpLimits) -> None:
        self._desk, self._pool = desk, pool
        self._people = Buckets(limits.rate, limits.burst)
        self._failures = Buckets(limits.forgiven, limits.failures)
        self._right: LruCache[bytes, Visitor] = LruCache(_KNOWN)

    async def admitted(self, token: str | None, address: str) -> Visitor:
        """Whose token this is."""
        if not token or len(token) > _LONGEST:
            raise stranger()
        digest, place = hashlib.sha256(token.encode("utf-8", "replace")).digest(), network(address)
        visitor = self._right.get(digest)
        if visitor is None and (seconds := self._failures.wait(place)):
            raise too_often(seconds)
        if visitor is None or not self._desk.stands(visitor):
            visitor = await self._recognised(token)
        if visitor is None:
            self._right.drop(digest)
            self._failures.take(place)
            raise stranger()
        self._right.put(digest, visitor)
        if seconds := self._people.take(visitor.name):
            raise too_often(seconds)
        return visitor

    async def _recognised(self, token: str) -> Visitor | None:
        try:
            return await self._pool.call(self._desk.bearer, token)
        except Refusal:  # it speaks of files, and to whom is not known yet
            raise out_of_order() from None


_FAILED = schemas.errors(
    {
        400: "Refused: the question cannot be asked so. Nothing was charged.",
        401: "No valid token.",
        403: "Not for this role.",
        429: "Too often; Retry-After says how long to wait.",
        "4XX": "Refused.",
        "5XX": "Busy, closing, or failed after data was read.",
    }
)


class ApiDoor(Protocol):
    """Part of a door that the paths under /api use."""

    desk: Desk
    pool: Pool
    admission: Admission
    metrics: Metrics
    texts: Texts


def _behind(request: Request) -> ApiDoor:
    door: ApiDoor = request.app.state.door
    return door


async def behind(request: Request) -> ApiDoor:  # a coroutine, or FastAPI would call it in a thread
    """Found again at each request."""
    return _behind(request)


_BEARER = HTTPBearer(auto_error=False, description="What `discreet user add` printed.")


async def admitted(
    request: Request, bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> Visitor:
    """Whoever sent a valid token."""
    address = request.client.host if request.client else ""
    visitor = await _behind(request).admission.admitted(bearer.credentials if bearer else None, address)
    _told(request).principal = visitor.name
    return visitor


Door = Annotated[ApiDoor, Depends(behind)]
Who = Annotated[Visitor, Depends(admitted)]
Entry = Annotated[int, Path(ge=1, le=schemas.MOST)]
Key = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]

open_to_all = APIRouter()
api = APIRouter(prefix="/api/v1", responses=_FAILED)


def _told(request: Request) -> RequestNote:
    told: RequestNote = request.scope["told"]
    return told


@open_to_all.get("/health")
async def health() -> schemas.HealthResponse:
    """That the server is up. Says nothing else."""
    return schemas.HealthResponse()


async def query(asked: schemas.QueryRequest, request: Request, who: Who) -> Response:
    """Ask a question at a price. It is charged before a row is read; the same question again is free."""
    door, told = _behind(request), _told(request)
    told.outcome = "fault"
    try:
        answer, text = await _answered(door, who, asked)
    except (DiscreetError, HttpError) as refused:
        told.outcome = error_response(refused).kind
        raise
    told.outcome, told.entry = "free" if answer.cost is None else "answered", answer.entry
    return Response(text, media_type="application/json")


async def _answered(door: ApiDoor, who: Visitor, asked: schemas.QueryRequest) -> tuple[Answer, bytes]:
    """An answer and its text: at once if both are remembered, else from a thread."""
    terms = asked.terms()
    again = door.desk.at_hand(who, asked.sql, terms)
    text = None if again is None else door.texts.get(again)
    if again is not None and text is not None:
        return again, text
    answer, written = await door.pool.asked(who, lambda: _written(door.desk.asked(who, asked.sql, terms)))
    door.texts.keep(answer, written)
    return answer, written.told(answer)


def _written(answer: Answer) -> tuple[Answer, json_values.AnswerText]:
    """With its text, in the same call: nothing is refused between paying and answering, and nobody waits for it."""
    return answer, json_values.answer(answer)


async def ask(request: Request) -> Response:
    """The same, for a door that knows already which path was meant."""
    who = await admitted(request, await _BEARER(request))
    return await query(await request_body.body(request, schemas.QueryRequest), request, who)


api.add_api_route(
    "/query", query, methods=["POST"], responses=schemas.OVER_BUDGET, response_model=schemas.QueryResponse
)
QUERY = f"{api.prefix}/query"


@api.post("/explain")
async def explain(asked: schemas.QueryRequest, door: Door, who: Who) -> schemas.ExplainResponse:
    """What a question would cost and how exact it would be. Free, and the same whatever the rows are."""
    return json_values.explanation(await door.pool.asked(who, door.desk.explained, who, asked.sql, asked.terms()))


@api.post("/run", responses=schemas.OVER_BUDGET)
async def run(asked: schemas.RunRequest, request: Request, door: Door, who: Who) -> schemas.RunResponse:
    """Run a mechanism by its name at its price. It is charged before a row is read; the same again is free."""
    told = _told(request)
    told.outcome = "fault"
    try:
        answer = await door.pool.asked(who, lambda: door.desk.run(who, _run_order(asked)))
    except (DiscreetError, HttpError) as refused:
        told.outcome = error_response(refused).kind
        raise
    told.outcome, told.entry = "free" if answer.cost is None else "answered", answer.entry
    return json_values.run_answer(answer)


@api.post("/run/offer")
async def run_offer(asked: schemas.RunRequest, door: Door, who: Who) -> schemas.RunOfferResponse:
    """What that would cost and how far off it may be. Free, and the same whatever the rows are."""
    return json_values.run_quote(await door.pool.asked(who, lambda: door.desk.run_quoted(who, _run_order(asked))))


def _run_order(asked: schemas.RunRequest) -> NamedRun:
    if (asked.sql is None) == (asked.table is None):
        given = "neither" if asked.sql is None else "both"
        raise Refusal(
            f"a run is of a table or of a SELECT: name one of table and sql, got {given}", ground=Ground.VALUE
        )
    source = asked.sql if asked.sql is not None else select_all(str(asked.table))
    return NamedRun.of(asked.mechanism, source, dict(asked.parameters), asked.max_rows, asked.delta)


@api.post("/describe")
async def describe(asked: schemas.QueryRequest, door: Door, who: Who) -> schemas.DescribeResponse:
    """The columns that an answer would have, and their types. Free."""
    columns = await door.pool.asked(who, door.desk.described, who, asked.sql, asked.terms())
    return schemas.DescribeResponse(columns=json_values.columns(columns))


@api.get("/tables")
async def tables(door: Door, who: Who) -> schemas.TablesResponse:
    """What may be asked about, as it was declared. Nothing was counted."""
    return schemas.TablesResponse(
        tables=[json_values.table(each) for each in await door.pool.asked(who, door.desk.tables, who)]
    )


@api.get("/budget")
async def budget(door: Door, who: Who) -> schemas.BudgetsResponse:
    """What each population may lose in all, has lost, and has left."""
    budgets = await door.pool.asked(who, door.desk.budgets, who)
    return schemas.BudgetsResponse(budgets=[json_values.budget(name, each) for name, each in budgets.items()])


@api.get("/history")
async def history(leaf: Annotated[schemas.HistoryRequest, Query()], door: Door, who: Who) -> schemas.HistoryResponse:
    """What was asked and paid, the latest first."""
    if leaf.everybody and who.role != "custodian":
        raise not_yours("what others asked is shown to custodians")
    receipts: list[PastPayment] = await door.pool.asked(
        who, lambda: door.desk.history(who, own=not leaf.everybody, before=leaf.before, most=leaf.limit)
    )
    return schemas.HistoryResponse(history=[json_values.payment(each) for each in receipts])


@api.get("/ledger/head")
async def head(door: Door, who: Who) -> schemas.HeadJson:
    """A signed head. Whoever keeps it notices if the ledger is rewritten or rolled back."""
    return schemas.HeadJson.model_validate((await door.pool.asked(who, door.desk.head, who)).__dict__)


@api.get("/ledger/witnesses")
async def witnesses(door: Door, who: Who) -> schemas.WitnessesResponse:
    """Where heads of this ledger are kept outside it, and whether it goes on from them."""
    witnesses = await door.pool.asked(who, door.desk.witnesses, who)
    return schemas.WitnessesResponse(witnesses=[json_values.witness(each) for each in witnesses])


@api.get("/witness/{key}")
async def kept(key: Key, door: Door, who: Who) -> schemas.KeptHeadResponse:
    """The newest head that is kept here of somebody else's ledger, by its key."""
    return json_values.kept(await door.pool.asked(who, door.desk.kept, who, key))


@api.post("/witness/{key}")
async def keep(key: Key, told: schemas.KeepHeadRequest, door: Door, who: Who) -> schemas.KeptHeadResponse:
    """Keep a head of somebody else's ledger, if it goes on from the one that is kept; the one that is kept then."""
    head = json_values.head_in(told.head, key)
    return json_values.kept(await door.pool.asked(who, door.desk.keep, who, head, told.size, told.siblings))


@api.get("/ledger/proof/{entry}", response_model=schemas.ProofJson)
async def proof(entry: Entry, door: Door, who: Who) -> Response:
    """An entry word for word, and the proof that it is in the ledger: one's own payments, and answers one may read."""
    proof = await door.pool.asked(who, door.desk.proof, who, entry)
    if proof is None:
        raise not_yours(f"entry {entry} is not yours to read")
    return Response(proof.text(), media_type="application/json")


@open_to_all.get("/metrics", include_in_schema=False)
async def metrics(
    request: Request,
    door: Door,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
) -> Response:
    """Counters for Prometheus: for custodians, and for who is on this machine."""
    if not _at_home(request):
        who = await admitted(request, bearer)
        if who.role != "custodian":
            raise not_yours("metrics are shown to custodians")
    budgets = await door.pool.call(door.desk.budgets, Visitor(OWNER, "custodian"))
    return Response(door.metrics.text(budgets), media_type=TYPE)


def _at_home(request: Request) -> bool:
    """Whether it comes from this machine: not through a proxy, and not from a page under a name of its own."""
    passed_on = any(header(request.scope, name) for name in (b"forwarded", b"x-forwarded-for", b"via"))
    hosts = request.client.host if request.client else "", request.url.hostname or ""
    return not passed_on and all(map(is_loopback, hosts))
