"""Explanation of a question before it is paid: price and error, the same for every database of one schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from discreet.curator.answer_formulas import Side, traced
from discreet.curator.formula import Formula, ratio
from discreet.curator.price import Priced
from discreet.exact import spoken
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.mechanisms import GaussianKeys, GaussianVector, LaplaceKeys, LaplaceVector
from discreet.mechanisms.mechanism import USUAL
from discreet.mechanisms.noise_sums import bar
from discreet.sql.excluded_rows import called, left_out
from discreet.sql.owned_rows import scanned
from discreet.sql.plan import AggregateColumn, Question, Rank, Statistic
from discreet.sql.relation_facts import Shape
from discreet.sql.unmatched_constants import doubts

COVERED = "Error bars cover the noise. They do not cover what is left out before it."
STAGED = "The number in the condition is noisy itself, so there is no error bar."


def bounding(prices: Sequence[Priced], *, partial: Sequence[str] = (), staged: bool = False) -> str:
    """What the numbers of a question leave out; nothing of a question that measures nothing.

    `partial` is what is to be told of the groups that it aggregates, `staged` that a condition holds a noisy number.
    """
    if not prices:
        return ""
    told = [sentence for price in prices for sentence in left_out(price.part.measurement)]
    covered = STAGED if staged else COVERED
    return " ".join(dict.fromkeys([covered, *hidden_groups(prices), *partial, *told]))


def notices(prices: Sequence[Priced]) -> tuple[str, ...]:
    """What should be known before paying: constants that no declared value meets, groups that will not be shown."""
    doubtful = [sentence for price in prices for sentence in doubts(price.part.measurement)]
    return tuple(dict.fromkeys([*doubtful, *hidden_groups(prices)]))


def hidden_groups(prices: Sequence[Priced]) -> tuple[str, ...]:
    """How many people a group needs to be shown, where groups are not declared."""
    told = []
    for price in prices:
        private = [table for table in scanned(price.part.measurement.rows) if not table.public]
        whom = "rows" if all(table.unit is None for table in private) else "people"
        choosing = [charge.mechanism for charge in price.charges]
        told += [_hidden(each, whom) for each in choosing if isinstance(each, (LaplaceKeys, GaussianKeys))]
    return tuple(dict.fromkeys(told))


@lru_cache(maxsize=256)  # exact tails take milliseconds
def _hidden(mechanism: LaplaceKeys | GaussianKeys, whom: str) -> str:
    half, sure, chance = mechanism.threshold, mechanism.error(USUAL), math.floor(100 * mechanism.chance)
    edge = "" if half == sure else f"one of {half} is shown in {chance} of 100 cases, "
    return (
        f"Groups with fewer than about {half} {whom} are not shown: {edge}one of {sure} in 95 of 100 cases. "
        "Declare keys to see all."
    )


LATER = "known after paying"
NONE = "no error bar"
_KINDS = {
    "present": "rows with {}",
    "distinct": "different values of {}",
    "total": "total of {}",
    "centred": "total of {} about the middle",
    "squares": "squares of {} about the middle",
}


@dataclass(frozen=True)
class Explanation:
    """What a question would cost, how exact it would be, and what would be measured."""

    price: BudgetLoss | None
    error: tuple[
        tuple[str, Fraction | None], ...
    ]  # of each column that will have an error bar; None: known after paying
    plan: tuple[str, ...]
    notice: str = ""
    notices: tuple[str, ...] = ()  # what in the question is hardly meant, and groups that will not be shown
    bounding: str = ""  # what its answer leaves out before the noise
    unbarred: tuple[str, ...] = ()  # the columns that will have noise in them and no error bar

    def unpriced(self, why: str) -> Explanation:
        """The same where a price must be named, and none was."""
        if self.price is None:
            return self
        return replace(self, notice=f"no price was named, and {why}: this is at {said(self.price)}")

    def __str__(self) -> str:
        lines = [f"price    {'free' if self.price is None else said(self.price)}"]
        lines += [f"error    {name}: {LATER if error is None else '± ' + spoken(error)}" for name, error in self.error]
        lines += [f"error    {name}: {NONE}" for name in self.unbarred]
        lines += [f"measure  {line}" for line in self.plan]
        lines += [f"notice   {sentence}" for sentence in self.notices if sentence not in self.bounding]
        lines += [f"left out {self.bounding}"] if self.bounding else []
        return "\n".join([*lines, *([self.notice] if self.notice else [])])


@dataclass(frozen=True)
class Due:
    """Who would be charged for a question if it were asked now, and how much."""

    population: str | None  # None: it is about public tables alone
    loss: BudgetLoss | None  # None: nothing, because it is public or was bought before


def said(loss: BudgetLoss) -> str:
    """A loss in words."""
    return f"{loss.word} {spoken(loss.amount)}" + (f", delta {spoken(loss.delta)}" if loss.delta else "")


def paid_for(cost: BudgetLoss | None) -> str:
    """What something cost, in words."""
    return "free: bought before" if cost is None else said(cost)


def explained(question: Question, prices: Sequence[Priced], confidence: Fraction, named: bool) -> Explanation:  # noqa: FBT001
    """The explanation of a question at a price."""
    total: BudgetLoss | None = None
    for price in prices:
        total = price.loss if total is None else total + price.loss  # type: ignore[operator]
    columns = expected(question, prices, confidence)
    errors = tuple((column.name, column.error) for column in columns if column.barred)
    unbarred = tuple(column.name for column in columns if not column.barred)
    plan = tuple(line for price in prices for line in _lines(price))
    notice = "" if named or total is None else f"no price was named: this is the default, {said(total)}"
    left_out = bounding(prices, partial=question.partial, staged=question.staged)
    return Explanation(total, errors, plan, notice, notices(prices), left_out, unbarred)


@dataclass(frozen=True)
class ExpectedError:
    """The error that a column with noise will have: whether it has a bar, and how long if that depends on no data."""

    name: str
    barred: bool
    error: Fraction | None


def expected(question: Question, prices: Sequence[Priced], confidence: Fraction) -> list[ExpectedError]:
    """The columns of an answer that have noise in them."""
    if not prices:
        return []
    sides, _ = traced(question.above.copy(), question)
    if question.staged:  # the number that is answered first has noise, which no formula of the rest holds
        sides = tuple(side.without_formulas for side in sides)
    named = {price.part.name: price for price in prices}
    columns = []
    for i, name in enumerate(question.columns):
        formulas = [side.formulas[i] for side in sides]
        if any(formulas):
            columns.append(ExpectedError(name, True, _before_paying(sides, formulas, named, 1 - confidence)))  # noqa: FBT003
        elif not sides or any(side.noisy[i] for side in sides):
            columns.append(ExpectedError(name, False, None))  # noqa: FBT003
    return columns


def _before_paying(
    sides: Sequence[Side], formulas: Sequence[Formula | None], prices: Mapping[str, Priced], rare: Fraction
) -> Fraction | None:
    """The error of a column, if it depends on no data: the same linear number of noises in every row."""
    errors = set[Fraction]()
    for side, formula in zip(sides, formulas, strict=True):
        parted = None if formula is None or side.chosen else ratio(formula)
        line = None if parted is None else parted.linear
        if line is None:
            return None
        places = {(leaf.part, leaf.place) for leaf in line.weights}
        if len({part for part, _ in places}) < len(places):  # two rows of one table may be the same one
            return None
        weighted = []
        for leaf, weight in line.weights.items():
            price = prices[leaf.part]
            mechanism = price.charge(price.part.measurement.statistics[leaf.statistic]).mechanism
            if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
                return None
            weighted.append((mechanism, weight))
        errors.add(bar(tuple(weighted), rare))
    return max(errors)


def error_of(aggregate: AggregateColumn, price: Priced, confidence: Fraction) -> Fraction | None:
    """The error of an aggregate in its own units, where it does not depend on the data."""
    first = aggregate.statistics[0]
    if aggregate.kind not in ("count", "sum") or isinstance(first, Rank):
        return None
    mechanism = price.charge(first).mechanism
    if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
        return None
    step = first.grid.step if first.grid is not None else Fraction(1)
    return mechanism.error(confidence) * step


def _lines(price: Priced) -> list[str]:
    lines = []
    for charge in price.charges:
        what, mechanism, name = charge.what, charge.mechanism, _name(charge.what, price.part.measurement.shape)
        share = said(mechanism.privacy)
        if isinstance(mechanism, (LaplaceKeys, GaussianKeys)):
            lines.append(f"which groups exist: {share}")
        elif isinstance(what, Statistic) and isinstance(mechanism, LaplaceVector):
            lines.append(f"{name}: {share}; noise of scale {spoken(mechanism.scale * _unit(what))}")
        elif isinstance(what, Statistic) and isinstance(mechanism, GaussianVector):
            lines.append(f"{name}: {share}; noise of variance {spoken(mechanism.variance * _unit(what) ** 2)}")
        elif isinstance(what, Rank):
            bars = f"; its error bar: epsilon {spoken(charge.each_end)} for each end" if charge.each_end else ""
            lines.append(f"{name}: {share}{bars}")
    return lines


def _unit(what: Statistic) -> Fraction:
    """What one step of a statistic is, in the units of its column."""
    if what.grid is None:
        return Fraction(1)
    return what.grid.step ** (2 if what.kind == "squares" else 1)


def _name(what: Statistic | Rank | None, known: Shape) -> str:
    """What is measured, and of which column."""
    if what is None or what.expression is None:
        return "" if what is None else what.kind
    kind = f"quantile {spoken(what.quantile)} of {{}}" if isinstance(what, Rank) else _KINDS[what.kind]
    return kind.format(called(what.expression, known))
