"""Schemas of requests and responses: what OpenAPI says of them, and what is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictFloat, StrictInt, StrictStr

from discreet.exact import LONGEST as LONGEST_NUMBER
from discreet.sql.parse import LONGEST as LONGEST_QUESTION

MOST = 2**63 - 1  # a ledger numbers no more entries

Number = (
    Annotated[StrictInt, Field(ge=-MOST, le=MOST)]
    | Annotated[StrictFloat, Field(allow_inf_nan=False)]
    | Annotated[StrictStr, Field(max_length=LONGEST_NUMBER)]  # exact: "1/3", "0.1"
)
Cap = Annotated[StrictInt, Field(ge=1, le=MOST)]
Cell = bool | int | float | str | None  # NaN and infinities, dates and decimals as text


class QueryRequest(BaseModel, frozen=True):
    """A question with what it is asked for: at most one of epsilon, rho and error."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sql: Annotated[str, Field(max_length=LONGEST_QUESTION, examples=["SELECT count(*) AS n FROM visits"])]
    epsilon: Number | None = None
    rho: Number | None = None
    error: Number | None = None
    delta: Number | None = None
    confidence: Number = "0.95"
    fresh: bool = False
    within: bool = False
    max_rows: Cap | None = None
    max_groups: Cap | None = None

    def terms(self) -> dict[str, object]:
        """As the curator takes them."""
        return {name: value for name, value in self if name != "sql" and value is not None}


class HistoryRequest(BaseModel, frozen=True):
    """Which payments of a history are wanted."""

    model_config = ConfigDict(extra="forbid")

    everybody: Annotated[bool, Field(description="Of everybody; for custodians.")] = False
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    before: Annotated[int, Field(ge=1, le=MOST, description="Only entries before this one.")] = MOST


class LossJson(BaseModel, frozen=True):
    """A price, exactly: rationals as text, and in words."""

    measure: Literal["pure", "approximate", "concentrated"]
    epsilon: str | None = None
    rho: str | None = None
    delta: str | None = None
    words: str


class ColumnTypeJson(BaseModel, frozen=True):
    """A column of an answer."""

    name: str
    type: str


class QueryResponse(BaseModel, frozen=True):
    """An answer. `cost` is null if it was free.

    `noisy` says of each column whether there is noise in it. Where there is, and the interval of a cell is null, that
    cell has no error bar; `unbarred` names the columns that have none in any row. `bounding` says what is left out
    before the noise, `notices` what in the question is hardly meant.
    """

    columns: list[ColumnTypeJson]
    rows: list[list[Cell]]
    intervals: list[list[Annotated[list[Cell], Field(min_length=2, max_length=2)] | None]]
    confidence: str
    noisy: list[bool]
    unbarred: list[str]
    cost: LossJson | None
    left: LossJson | None
    entry: str
    bounding: str
    notices: list[str]


class RunRequest(BaseModel, frozen=True):
    """A mechanism by its name, its parameters, and the rows it is run on; what is declared is no parameter.

    `delta` is the mechanism's parameter of this name, or where its loss is charged if it has none.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    mechanism: Annotated[str, Field(max_length=200, examples=["mean"])]
    parameters: Annotated[
        dict[str, JsonValue], Field(max_length=100, examples=[{"epsilon": "0.5", "column": "cost"}])
    ] = {}
    sql: Annotated[str | None, Field(max_length=LONGEST_QUESTION, description="A SELECT of rows.")] = None
    table: Annotated[str | None, Field(max_length=LONGEST_QUESTION, examples=["visits"])] = None
    delta: Number | None = None
    max_rows: Cap | None = None


class RunResponse(BaseModel, frozen=True):
    """What a mechanism said: `value` as its fields by their names, a list, a number, or null. `cost` null: free.

    `bounding` says what is left out before the noise.
    """

    value: JsonValue
    cost: LossJson | None
    left: LossJson
    entry: str
    bounding: str


class RunOfferResponse(BaseModel, frozen=True):
    """A run before it is paid for. `error` is at confidence 0.95, and `about` says of what; null: known after paying.

    `entry` holds the answer if it was paid for before: then it is free.
    """

    population: str
    price: LossJson
    left: LossJson
    error: str | None
    about: str
    bounding: str
    entry: int | None
    words: str


class ColumnErrorJson(BaseModel, frozen=True):
    """The error of a column before paying, exactly; null where it is known after paying."""

    name: str
    error: str | None


class ExplainResponse(BaseModel, frozen=True):
    """What a question would cost and how exact it would be; `unbarred` names columns that will have no error bar."""

    price: LossJson | None
    error: list[ColumnErrorJson]
    unbarred: list[str]
    plan: list[str]
    notice: str
    notices: list[str]
    bounding: str
    words: str


class DescribeResponse(BaseModel, frozen=True):
    """The columns that an answer would have."""

    columns: list[ColumnTypeJson]


class ColumnJson(BaseModel, frozen=True):
    """A column as it was declared; bounds and step exactly."""

    name: str
    type: str
    bounds: Annotated[list[str], Field(min_length=2, max_length=2)] | None
    step: str | None
    keys: list[str | int | bool | None] | None
    description: str


class TableJson(BaseModel, frozen=True):
    """A table as it was declared. Nothing in it was counted."""

    name: str
    population: str | None
    unit: str | None
    max_rows: int | None
    max_groups: int
    version: int
    link: Annotated[list[str], Field(min_length=3, max_length=3)] | None
    columns: list[ColumnJson]


class TablesResponse(BaseModel, frozen=True):
    """What may be asked about."""

    tables: list[TableJson]


class BudgetJson(BaseModel, frozen=True):
    """What a population may lose in all, has lost, and has left."""

    population: str
    relation: str
    unit: str
    total: LossJson
    spent: LossJson
    left: LossJson


class BudgetsResponse(BaseModel, frozen=True):
    """The budget of each population."""

    budgets: list[BudgetJson]


class PaymentJson(BaseModel, frozen=True):
    """One payment, and the entry that holds its answer, if it came to one."""

    entry: int
    time: str
    principal: str
    population: str
    loss: LossJson
    sql: str
    tables: list[str]
    answer: int | None


class HistoryResponse(BaseModel, frozen=True):
    """Payments, the latest first."""

    history: list[PaymentJson]


class HeadJson(BaseModel, frozen=True):
    """A signed head of the ledger: whoever keeps it notices a rewrite."""

    size: int
    root: str
    time: str
    key: str
    signature: str


class KeptHeadResponse(BaseModel, frozen=True):
    """The newest head that is kept of a ledger; null if none is."""

    head: HeadJson | None


class KeepHeadRequest(BaseModel, frozen=True):
    """A head to be kept, and the proof that it goes on from the one of `size` entries that is kept; 0 if none is."""

    model_config = ConfigDict(extra="forbid", strict=True)

    head: HeadJson
    size: Annotated[int, Field(ge=0, le=MOST)] = 0
    siblings: Annotated[list[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]], Field(max_length=128)] = []


class WitnessJson(BaseModel, frozen=True):
    """Who keeps heads of this ledger, and how many entries its newest one has; what is wrong, if anything is."""

    where: str
    entries: int | None
    time: str | None
    trouble: str


class WitnessesResponse(BaseModel, frozen=True):
    """All of them."""

    witnesses: list[WitnessJson]


class ProofJson(BaseModel, frozen=True):
    """An entry word for word, and that it is in the ledger: what `discreet ledger check` reads."""

    kind: Literal["receipt"]
    entry: dict[str, object]
    previous: str
    siblings: list[str]
    head: HeadJson


class HealthResponse(BaseModel, frozen=True):
    """That somebody is in."""

    status: Literal["open"] = "open"


class ErrorJson(BaseModel, frozen=True):
    """What went wrong, what to do; `place` and `repair` where a question could be mended."""

    kind: Literal["refusal", "over_budget", "fault"]
    message: str
    hint: str
    sqlstate: Annotated[str, Field(min_length=5, max_length=5)]
    place: Annotated[list[int], Field(min_length=2, max_length=2)] | None
    repair: str | None


class ErrorBody(BaseModel, frozen=True):
    """Every error has this shape."""

    error: ErrorJson


def errors(described: Mapping[int | str, str]) -> dict[int | str, dict[str, Any]]:
    """Responses of a path that are errors, by their status, as OpenAPI describes them."""
    return {status: {"model": ErrorBody, "description": text} for status, text in described.items()}


OVER_BUDGET = errors({402: "The price does not fit into the budget. Nothing was charged."})
