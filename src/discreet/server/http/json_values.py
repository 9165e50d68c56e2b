"""JSON of answers, prices and declarations, in which every number is exact."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from discreet.curator import Answer, Explanation
from discreet.curator.explain import said
from discreet.curator.named_run import RunAnswer, RunQuote
from discreet.curator.purchase import PastPayment
from discreet.declared.column import Column, ends
from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.ledger import Head, read_head
from discreet.ledger.entry_kinds import BudgetLoss, write_loss, write_neighbours
from discreet.ledger.home_ledger import Standing
from discreet.lru_cache import LruCache
from discreet.privacy import Budget
from discreet.server.http import schemas


def cell(value: object) -> schemas.Cell:
    """A cell of an answer. What JSON has no kind for is text; the column's type says what it was."""
    if isinstance(value, float) and -math.inf < value < math.inf:  # as most are
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def loss(value: BudgetLoss) -> schemas.LossJson:
    """A price."""
    return _loss(value)


@lru_cache(maxsize=256)  # what is left stays the same while nobody pays
def _loss(value: BudgetLoss) -> schemas.LossJson:
    return schemas.LossJson.model_validate({**write_loss(value), "words": said(value)})


@lru_cache(maxsize=256)
def _loss_text(value: BudgetLoss | None) -> bytes:
    return b"null" if value is None else _loss(value).model_dump_json().encode()


def _perhaps(value: BudgetLoss | None) -> schemas.LossJson | None:
    return None if value is None else loss(value)


@dataclass(frozen=True)
class AnswerText:
    """An answer as JSON, but for what it cost and what is left, which stand in the middle."""

    before: bytes
    after: bytes

    def told(self, value: Answer) -> bytes:
        """All of it."""
        cost, left = _loss_text(value.cost), _loss_text(value.left)
        return b"".join((self.before, b',"cost":', cost, b',"left":', left, self.after))


def answer(value: Answer) -> AnswerText:
    """An answer with its error bars at the confidence that was asked for: a `QueryResponse`, written at once."""
    spans = value.intervals(value.confidence)
    before = {
        "columns": [{"name": name, "type": kind} for name, kind in zip(value.columns, value.types, strict=True)],
        "rows": [[cell(each) for each in row] for row in value.rows],
        "intervals": [[None if span is None else [cell(span[0]), cell(span[1])] for span in row] for row in spans],
        "confidence": str(value.confidence),
        "noisy": list(value.noisy),
        "unbarred": list(value.unbarred),
    }
    after = {"entry": value.entry, "bounding": value.bounding, "notices": list(value.notices)}
    return AnswerText(_json(before)[:-1], b"," + _json(after)[1:])


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def columns(typed: tuple[tuple[str, str], ...]) -> list[schemas.ColumnTypeJson]:
    """Names and types."""
    return [schemas.ColumnTypeJson(name=name, type=kind) for name, kind in typed]


def explanation(value: Explanation) -> schemas.ExplainResponse:
    """Price and error."""
    error = [{"name": name, "error": None if error is None else str(error)} for name, error in value.error]
    told = {**vars(value), "price": _perhaps(value.price), "error": error, "words": str(value)}
    return schemas.ExplainResponse.model_validate(told)


def table(value: Table) -> schemas.TableJson:
    """A table as it was declared."""
    return schemas.TableJson.model_validate({**vars(value), "columns": [_column(each) for each in value.columns]})


def _column(value: Column) -> schemas.ColumnJson:
    return schemas.ColumnJson(
        name=value.name,
        type=value.type.value,
        bounds=None if value.bounds is None else list(ends(value) or ()),
        step=None if value.step is None else str(value.step),
        keys=None if value.keys is None else list(value.keys),
        description=value.description,
    )


def budget(population: str, value: Budget[BudgetLoss]) -> schemas.BudgetJson:
    """The budget of a population."""
    neighbours = write_neighbours(value.neighbours)
    return schemas.BudgetJson(
        population=population,
        relation=str(neighbours["relation"]),
        unit=str(neighbours["unit"]),
        total=loss(value.total),
        spent=loss(value.spent),
        left=loss(value.left),
    )


def witness(standing: Standing) -> schemas.WitnessJson:
    """Who keeps heads of a ledger."""
    head = standing.head
    known = (None, None) if head is None else (head.size, head.time)
    return schemas.WitnessJson(where=standing.where, entries=known[0], time=known[1], trouble=standing.trouble)


def kept(head: Head | None) -> schemas.KeptHeadResponse:
    """A head that is kept, if one is."""
    return schemas.KeptHeadResponse(head=None if head is None else schemas.HeadJson.model_validate(head.__dict__))


def head_in(told: schemas.HeadJson, key: str) -> Head:
    """The head that a request tells of, if it is one of this ledger."""
    head = read_head(told.model_dump_json())
    if head.key != key:
        raise Refusal(f"this is a head of another ledger, whose key is {head.key}")
    return head


def payment(value: PastPayment) -> schemas.PaymentJson:
    """One payment."""
    return schemas.PaymentJson.model_validate({**vars(value), "loss": loss(value.loss)})


MOST = 256
LARGEST = 1 << 16  # bytes of one text; longer ones are written anew each time, where they keep nobody waiting


class Texts:
    """The newest texts of free answers."""

    def __init__(self) -> None:
        # by the place of their rows, which stay while kept
        self._kept: LruCache[int, tuple[_Written, AnswerText]] = LruCache(MOST)

    def get(self, answer: Answer) -> bytes | None:
        """The text of an answer, if one with the same rows was written; None if not."""
        kept = self._kept.get(id(answer.rows))
        return kept[1].told(answer) if kept is not None and kept[0] == _written(answer) else None

    def keep(self, answer: Answer, text: AnswerText) -> None:
        """Remember the text of an answer that was free."""
        if answer.cost is None and len(text.before) + len(text.after) <= LARGEST:
            self._kept.put(id(answer.rows), (_written(answer), text))


_Written = tuple[object, ...]


def _written(answer: Answer) -> _Written:
    """What a text follows from, beside what is left. Not the answer itself: it holds all that it was made of."""
    cells = answer.rows, answer.spans, answer.columns, answer.types, answer.noisy
    return *cells, answer.cost, answer.entry, answer.bounding, answer.notices, answer.confidence


def run_answer(value: RunAnswer) -> schemas.RunResponse:
    """What a mechanism said."""
    return schemas.RunResponse(
        value=value.value,
        cost=_perhaps(value.cost),
        left=loss(value.left),
        entry=value.entry,
        bounding=value.bounding,
    )


def run_quote(value: RunQuote) -> schemas.RunOfferResponse:
    """A run before it is paid for."""
    return schemas.RunOfferResponse(
        population=value.population,
        price=loss(value.price),
        left=loss(value.left),
        error=None if value.error is None else str(value.error),
        about=value.about,
        bounding=value.bounding,
        entry=value.entry,
        words=str(value),
    )
