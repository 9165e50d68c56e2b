"""Values of a database read from the JSON that a door sends."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.curator import Answer, Explanation
from discreet.curator.answer import Spans
from discreet.curator.named_run import RunAnswer, RunQuote
from discreet.curator.purchase import PastPayment
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.desk import PaidRelease
from discreet.desk.release_store import Offered
from discreet.errors import Refusal
from discreet.ledger.entry_kinds import BudgetLoss, read_loss, read_neighbours
from discreet.ledger.verify import Receipt as Proof
from discreet.ledger.verify import read_proof
from discreet.privacy import Budget
from discreet.release import Wish
from discreet.release.release_kind import Preview


def price(told: dict[str, Any]) -> BudgetLoss:
    """A price."""
    parts = {name: value for name, value in told.items() if name != "words" and value is not None}
    return read_loss(parts)


def _loss(told: dict[str, Any] | None) -> BudgetLoss | None:
    return None if told is None else price(told)


_READ: dict[str, Callable[[str], object]] = {
    "double": float,
    "float": float,
    "date": dt.date.fromisoformat,
    "timestamp": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
}


def _cell(value: object, kind: str) -> object:
    """A cell as it was before it became JSON, where its type says how."""
    if not isinstance(value, str):
        return value
    if kind.startswith("decimal"):
        return Decimal(value)
    return _READ[kind](value) if kind in _READ else value


def columns(told: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names and types."""
    return tuple((column["name"], column["type"]) for column in told["columns"])


def answer(told: dict[str, Any]) -> Answer:
    """An answer with its error bars, which are there at one confidence."""
    typed = columns(told)
    rows = tuple(tuple(_cell(cell, kind) for cell, (_, kind) in zip(row, typed, strict=True)) for row in told["rows"])
    spans = tuple(
        tuple(None if span is None else (float(span[0]), float(span[1])) for span in row) for row in told["intervals"]
    )
    confidence = Fraction(told["confidence"])

    def again(wanted: Fraction) -> Spans:
        raise Refusal(
            f"this answer came with error bars at {float(confidence)}, not at {float(wanted)}",
            hint=f"ask again with confidence={float(wanted)}: the same question is free",
        )

    return Answer(
        tuple(name for name, _ in typed),
        tuple(kind for _, kind in typed),
        rows,
        _loss(told["cost"]),
        _loss(told["left"]),
        told["entry"],
        told["bounding"],
        confidence,
        spans,
        again,
        tuple(told["notices"]),
        tuple(told["noisy"]),
    )


def explanation(told: dict[str, Any]) -> Explanation:
    """Price and error of a question."""
    errors = tuple((each["name"], None if each["error"] is None else Fraction(each["error"])) for each in told["error"])
    return Explanation(
        _loss(told["price"]),
        errors,
        tuple(told["plan"]),
        told["notice"],
        tuple(told["notices"]),
        told["bounding"],
        tuple(told["unbarred"]),
    )


def budgets(told: dict[str, Any]) -> dict[str, Budget[BudgetLoss]]:
    """The budget of each population."""
    return {
        each["population"]: Budget(
            price(each["total"]),
            price(each["spent"]),
            read_neighbours({"relation": each["relation"], "unit": each["unit"]}),
        )
        for each in told["budgets"]
    }


def proof(told: dict[str, Any]) -> Proof:
    """A receipt of the ledger."""
    read = read_proof(json.dumps(told))
    if not isinstance(read, Proof):
        raise TypeError("an extension")
    return read


def table(told: dict[str, Any]) -> Table:
    """A table as it was declared."""
    link = told["link"]
    return Table(
        told["name"],
        tuple(_column(column) for column in told["columns"]),
        told["population"],
        told["unit"],
        told["max_rows"],
        told["max_groups"],
        told["version"],
        None if link is None else (link[0], link[1], link[2]),
    )


def _column(told: dict[str, Any]) -> Column:
    bounds = told["bounds"]
    return Column(
        told["name"],
        Type(told["type"]),
        None if bounds is None else (Fraction(bounds[0]), Fraction(bounds[1])),
        None if told["step"] is None else Fraction(told["step"]),
        None if told["keys"] is None else tuple(told["keys"]),
        told["description"],
    )


def receipts(told: dict[str, Any]) -> list[PastPayment]:
    """Payments."""
    return [
        PastPayment(
            each["entry"],
            each["time"],
            each["principal"],
            each["population"],
            price(each["loss"]),
            each["sql"],
            tuple(each["tables"]),
            each["answer"],
        )
        for each in told["history"]
    ]


def offered(told: dict[str, Any]) -> Offered:
    """What a release would be."""
    common = ("population", "price", "left", "cells", "error", "tables", "entry", "method", "words", "lines")
    preview = Preview(
        told["cells"],
        told["error"]["of"],
        tuple(tuple(names) for names in told["tables"]),
        {name: value for name, value in told.items() if name not in common},
        tuple(told["lines"]),
        told["method"],
    )
    within = told["error"]["within"]
    error = None if within is None else Fraction(within)
    return Offered(told["population"], price(told["price"]), price(told["left"]), error, told["entry"], preview)


def listed(told: dict[str, Any]) -> PaidRelease:
    """A release that was paid for."""
    return PaidRelease(
        told["entry"],
        told["name"],
        told["sha256"],
        told["time"],
        told["principal"],
        told["population"],
        price(told["loss"]),
        told["sql"],
        tuple(told["tables"]),
        Wish.recalled(told["wish"]),
    )


def run_answer(told: dict[str, Any]) -> RunAnswer:
    """What a mechanism said."""
    return RunAnswer(told["value"], _loss(told["cost"]), price(told["left"]), told["entry"], told["bounding"])


def run_quote(told: dict[str, Any]) -> RunQuote:
    """What a run would cost."""
    error = None if told["error"] is None else Fraction(told["error"])
    rest = error, told["about"], told["bounding"], told["entry"]
    return RunQuote(told["population"], price(told["price"]), price(told["left"]), *rest)
