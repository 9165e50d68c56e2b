"""Price and error before paying: from public facts only, so the same for every database of one schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.price import Priced
from discreet.exact import spoken
from discreet.ledger.entry import BudgetLoss
from discreet.mechanisms import GaussianKeys, GaussianVector, LaplaceKeys, LaplaceVector
from discreet.privacy import Concentrated, Pure
from discreet.sql.aggregate import Aggregate
from discreet.sql.plan import Rank, Statistic
from discreet.sql.question import Question

LATER = "known after paying"


@dataclass(frozen=True)
class Explanation:
    """What a question would cost, how exact it would be, and what would be measured."""

    price: BudgetLoss | None
    error: tuple[tuple[str, Fraction | None], ...]  # for each output column; None: known after paying, or free of noise
    plan: tuple[str, ...]
    notice: str = ""

    def __str__(self) -> str:
        lines = [f"price    {'free' if self.price is None else said(self.price)}"]
        lines += [f"error    {name}: {LATER if error is None else '± ' + spoken(error)}" for name, error in self.error]
        lines += [f"measure  {line}" for line in self.plan]
        return "\n".join([*lines, *([self.notice] if self.notice else [])])


@dataclass(frozen=True)
class Due:
    """Who would be charged for a question if it were asked now, and how much."""

    population: str | None  # None: it is about public tables alone
    loss: BudgetLoss | None  # None: nothing, because it is public or was bought before


def said(loss: BudgetLoss) -> str:
    """A loss in words."""
    delta = "" if isinstance(loss, Pure) or not loss.delta else f", delta {spoken(loss.delta)}"
    return (
        f"rho {spoken(loss.rho)}{delta}" if isinstance(loss, Concentrated) else f"epsilon {spoken(loss.epsilon)}{delta}"
    )


def explained(found: Question, prices: Sequence[Priced], confidence: Fraction, named: bool) -> Explanation:  # noqa: FBT001
    """The explanation of a question at a price."""
    total: BudgetLoss | None = None
    for price in prices:
        total = price.loss if total is None else total + price.loss  # type: ignore[operator]
    by_name = {
        (price.part.name, a.name): error_of(a, price, confidence) for price in prices for a in price.part.aggregates
    }
    errors = tuple(
        (name, by_name[source])
        for name, source in zip(found.columns, found.direct, strict=True)
        if source is not None and source in by_name
    )
    plan = tuple(line for price in prices for line in _lines(price))
    notice = "" if named or total is None else f"no price was named: this is the default, {said(total)}"
    return Explanation(total, errors, plan, notice)


def error_of(aggregate: Aggregate, price: Priced, confidence: Fraction) -> Fraction | None:
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
        what, mechanism = charge.what, charge.mechanism
        share = said(mechanism.privacy)
        if isinstance(mechanism, (LaplaceKeys, GaussianKeys)):
            lines.append(f"which groups exist: {share}; a group needs about {mechanism.threshold} units to be named")
        elif isinstance(what, Statistic) and isinstance(mechanism, LaplaceVector):
            lines.append(f"{what.kind}: {share}; noise of scale {spoken(mechanism.scale)}")
        elif isinstance(what, Statistic) and isinstance(mechanism, GaussianVector):
            lines.append(f"{what.kind}: {share}; noise of variance {spoken(mechanism.variance)}")
        elif isinstance(what, Rank):
            bars = f"; its error bar: epsilon {spoken(charge.each_end)} for each end" if charge.each_end else ""
            lines.append(f"quantile {spoken(what.quantile)}: {share}{bars}")
    return lines
