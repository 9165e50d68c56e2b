"""Run of a mechanism by its name: what is ordered, what it would cost, and what it said."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot.dialects.postgres import Postgres

from discreet.curator.curator import Curator
from discreet.curator.explain import said
from discreet.curator.run import Offer, RowOutline, Run, Telling, Wanted
from discreet.declared.table import grid_of
from discreet.errors import Refusal
from discreet.exact import Number, exact, spoken
from discreet.ledger import Spend
from discreet.ledger.entry_kinds import BudgetLoss, Plain
from discreet.mechanisms import TableMechanism
from discreet.mechanisms.registry import known
from discreet.mechanisms.run_by_name import OfColumn, admitted, as_json, plain_parameters, rounding
from discreet.sql.excluded_rows import rows_left_out
from discreet.sql.render import quoted

_KEYWORDS = frozenset(word for words in Postgres.Tokenizer.KEYWORDS for word in words.split())


@dataclass(frozen=True)
class NamedRun:
    """Order of a mechanism by its name: of which rows, with which parameters, charged at which δ.

    `delta` is the mechanism's own parameter where it has one of this name, and else where its loss is charged.
    """

    name: str
    source: str  # a table, or a SELECT of rows
    parameters: Mapping[str, Plain]
    max_rows: int | None = None
    delta: Number | None = None

    @classmethod
    def of(
        cls,
        name: str,
        source: str,
        parameters: Mapping[str, object],
        max_rows: int | None = None,
        delta: Number | None = None,
    ) -> NamedRun:
        """Of parameters as a person or a program writes them."""
        given, at = plain_parameters(parameters), delta
        fields = getattr(known(name), "__dataclass_fields__", {})
        if at is not None and "delta" in fields and "delta" not in given:
            given, at = {**given, "delta": str(exact(at, "delta"))}, None
        return cls(name, source, given, max_rows, at)

    @property
    def rows(self) -> str:
        """The SELECT of the rows."""
        return self.source if len(self.source.split()) > 1 else select_all(self.source.strip())

    @property
    def wanted(self) -> Wanted[Any]:
        """The same, as a curator takes it."""
        told: Plain = {"run": {"name": self.name, "parameters": dict(self.parameters)}}
        return Wanted(self.rows, self.chosen, self.max_rows, told, self.delta)

    def chosen(self, outline: RowOutline) -> TableMechanism[Any]:
        """The mechanism for rows of which this is known."""
        return admitted(outline, self.name, self.parameters)


def select_all(table: str) -> str:
    """The SELECT of all rows of a table. A plain name is left without quotes, to be found in upper and lower case."""
    plain = table.isidentifier() and table.upper() not in _KEYWORDS
    return f"SELECT * FROM {table if plain else quoted(table)}"  # noqa: S608  # planned as any


@dataclass(frozen=True)
class RunQuote:
    """What a run would cost and how far off it may be. Nothing of it depends on a row.

    `error` is at confidence 0.95, and `about` says what it measures; None is known after paying.
    """

    population: str
    price: BudgetLoss
    left: BudgetLoss
    error: Fraction | None
    about: str
    bounding: str
    entry: int | None  # that holds the answer, if it was paid for before: then it is free

    def __str__(self) -> str:
        free = "" if self.entry is None else f", and free now: entry {self.entry} holds it"
        error = "known after paying" if self.error is None else f"{spoken(self.error)} at 0.95. {self.about}"
        lines = f"price    {said(self.price)}{free}", f"left     {said(self.left)} of {self.population}"
        return "\n".join((*lines, f"error    {error}", f"left out {self.bounding}"))


@dataclass(frozen=True)
class RunAnswer:
    """What a mechanism said, as JSON holds it, and what it cost: nothing if it had said so before."""

    value: Any
    cost: BudgetLoss | None
    left: BudgetLoss
    entry: str
    bounding: str

    def __str__(self) -> str:
        return json.dumps(self.value, ensure_ascii=False)


def quoted_run(offer: Offer[Any], left: BudgetLoss) -> RunQuote:
    """The public side of an offer, and what is left of the budget that would pay."""
    what = offer.run
    error = what.mechanism.error() if hasattr(what.mechanism, "error") else None
    inner = what.mechanism.mechanism if isinstance(what.mechanism, OfColumn) else what.mechanism
    about = " ".join(inspect.getdoc(type(inner).error).split("\n\n")[0].split()) if error is not None else ""  # type: ignore[union-attr]
    exactly = None if error is None else Fraction(error)
    population = what.outline.population.name
    return RunQuote(population, what.loss, left, exactly, about, _left_out(what), offer.entry)


def answered_run(curator: Curator, order: NamedRun) -> RunAnswer:
    """Run a mechanism by its name, unless it ran before: then its answer is free."""
    before, entry = curator.bought(order.wanted, Telling(_kept))
    what, cost = before.run, None if before.said else before.run.loss
    [text] = [said.answer for _, said, number in curator.ledger.answered(what.question) if number == entry]
    left = curator.budget(what.outline.population.name).left
    return RunAnswer(json.loads(str(text)), cost, left, str(entry), _left_out(what))


def remembered_run(curator: Curator, order: NamedRun) -> RunAnswer:
    """What a mechanism said that ran before. Never at a price: what was not bought is refused."""
    offer = curator.offered(order.wanted)
    if not offer.said:
        raise Refusal("this was not bought, or its rows have changed since", hint="run it, at its price")
    _, stored, entry = offer.said[-1]
    left = curator.budget(offer.run.outline.population.name).left
    return RunAnswer(json.loads(str(stored.answer)), None, left, str(entry), _left_out(offer.run))


def _kept(answer: object, _: Spend) -> Plain:
    return json.dumps(as_json(answer))


def _left_out(run: Run[Any]) -> str:
    """What became of the rows before the noise, in words."""
    sentences = list(rows_left_out(run.rows, run.outline.caps.rows))
    if isinstance(run.mechanism, OfColumn):
        name, grid = run.mechanism.column, grid_of(run.outline, run.mechanism.column)
        low, high = spoken(grid.value(grid.low)), spoken(grid.value(grid.high))
        sentences += [
            f"Values of {name} below {low} count as {low}, and above {high} as {high}.",
            f"Values of {name} are rounded to steps of {spoken(rounding(run.mechanism, grid))}.",
            f"Rows in which {name} is NULL are left out.",
        ]
    return " ".join(sentences)
