"""Price of a question and how it is split over its numbers: from public facts alone, before a row is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import Ground, Refusal
from discreet.interval_arithmetic import exp, simpler_down
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.mechanisms import GaussianKeys, GaussianVector, LaplaceKeys, LaplaceVector, Quantile, QuantileEnd
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Pure
from discreet.sql.plan import EDGE, Measurement, Part, Rank, Statistic

Additive = LaplaceVector | GaussianVector
Selecting = LaplaceKeys | GaussianKeys

RARE = Fraction(1, 20)  # how often the interval of a quantile misses at most: what was bought settles it for ever
_POINT = Fraction(1, 2)  # of the price of a quantile: the number itself; its two ends share the rest

MOST_GROUPS = 100_000  # combinations of declared keys

# How much of a price each kind of number gets, relative to a plain count. An average is centred/present: with the
# average a quarter of the range away from the middle (r = 1/2 of the half range), the variance
# K²h²(1/ε₁² + r²/ε₂²)/n² is least at ε₁/ε₂ = r^(−2/3) ≈ 8/5.
_WEIGHTS = {
    "rows": Fraction(1),
    "units": Fraction(1),
    "present": Fraction(1),
    "distinct": Fraction(1),
    "total": Fraction(1),
    "centred": Fraction(8, 5),
    "squares": Fraction(8, 5),
}


@dataclass(frozen=True)
class Charge:
    """One number, or one choice, that is bought: with which mechanism, and so at which price."""

    what: Statistic | Rank | None  # None: which groups may be named
    mechanism: Additive | Selecting | Quantile
    each_end: Fraction = Fraction(0)  # ε for each end of a quantile's interval; 0: it has none

    def ends(self, around: Fraction) -> tuple[QuantileEnd, ...]:
        """What buys the two ends of the interval of a quantile that was bought before, or nothing."""
        bought = self.mechanism
        if not self.each_end or not isinstance(bought, Quantile):
            return ()
        sure = 1 - RARE / 2
        grid = bought.lower, bought.upper, bought.step
        return tuple(
            QuantileEnd(self.each_end, *grid, around, bought.level, sure, side, bought.max_rows, bought.neighbours)
            for side in ("lower", "upper")
        )

    @property
    def sensitivity(self) -> int:
        """By how much one unit can change the number."""
        return self.mechanism.sensitivity if isinstance(self.mechanism, LaplaceVector) else 0


@dataclass(frozen=True)
class Priced:
    """A part of a question with its price and how that is split."""

    part: Part
    loss: BudgetLoss
    charges: tuple[Charge, ...]

    def charge(self, what: Statistic | Rank | None) -> Charge:
        """The charge for one of the part's numbers."""
        return next(charge for charge in self.charges if charge.what == what)


def reach(statistic: Statistic, measurement: Measurement) -> int:
    """The most that one unit adds to a statistic over all groups together. Why that is so stands in `sql.bounding`."""
    if statistic.kind == "units":
        return measurement.max_groups
    return measurement.needs_rows_cap("this aggregate") * each(statistic)


def each(statistic: Statistic) -> int:
    """The most that one row adds to a statistic."""
    grid = statistic.grid
    match statistic.kind:
        case "total" if grid is not None:
            return max(1, grid.reach)
        case "centred" if grid is not None:
            return max(1, grid.half)
        case "squares" if grid is not None:
            return max(1, grid.half) ** 2
        case _:
            return 1


def _weight(what: Statistic | Rank | None) -> Fraction:
    return _WEIGHTS[what.kind] if isinstance(what, Statistic) else Fraction(1)


def _wanted(measurement: Measurement) -> list[Statistic | Rank | None]:
    selection: list[Statistic | Rank | None] = [] if measurement.declared else [None]
    return selection + list(measurement.statistics)


def priced(parts: Sequence[Part], loss: BudgetLoss, neighbours: Neighbours) -> tuple[Priced, ...]:
    """Split one price over the parts of a question, each part's share over its numbers. Nothing is lost in rounding."""
    wanted = [_wanted(part.measurement) for part in parts]
    total = sum((_weight(what) for each in wanted for what in each), Fraction(0))
    choosing = sum(1 for each in wanted if None in each)
    if choosing and not loss.delta:
        raise Refusal(
            f"naming groups that were not declared needs a delta, and this price has delta={loss.delta}",
            hint="declare the keys with --keys, give the budget a --delta, or say SET discreet.delta",
        )
    prices = []
    for part, each in zip(parts, wanted, strict=True):
        _refuse_too_many(part.measurement)
        shares = [_weight(what) / total for what in each]
        delta = loss.delta / choosing if None in each else Fraction(0)
        charges = []
        for what, share in zip(each, shares, strict=True):
            own = _inside(loss.at(loss.amount * share, delta if what is None else 0), neighbours)
            charges.append(_charge(what, part.measurement, own, AddRemove(neighbours.unit)))
        prices.append(Priced(part, loss.at(loss.amount * sum(shares, Fraction(0)), delta), tuple(charges)))
    return tuple(prices)


def _inside(loss: BudgetLoss, neighbours: Neighbours) -> BudgetLoss:
    """What a mechanism for added and removed units may lose so that replacing one loses at most this (SOUNDNESS 2)."""
    if isinstance(neighbours, AddRemove):
        return loss
    match loss:
        case Pure():
            return Pure(loss.epsilon / 2)
        case Approximate():
            half = loss.epsilon / 2
            return Approximate(half, simpler_down((loss.delta / (exp(half) + 1)).down) if loss.delta else 0)
        case Concentrated() if not loss.delta:
            return Concentrated(loss.rho / 4)
        case _:
            raise Refusal(
                "naming groups is not possible where units are replaced and the budget is kept in rho "
                f"with delta={loss.delta}",
                hint="declare the keys with --keys",
            )


def _charge(
    what: Statistic | Rank | None, measurement: Measurement, loss: BudgetLoss, neighbours: Neighbours
) -> Charge:
    if not isinstance(what, Rank):
        return Charge(what, _mechanism(what, measurement, loss, neighbours))
    point = _POINT if what.bracketed else Fraction(1)
    own, end = (_pure(loss, share) for share in (point, (1 - point) / 2))
    charge = Charge(what, _quantile(what, measurement, own, neighbours), end)
    try:
        charge.ends(Fraction(0))  # wherever they will be, they are refused here or not at all: before it is paid
    except Refusal:
        raise too_low() from None
    return charge


def _mechanism(
    what: Statistic | None, measurement: Measurement, loss: BudgetLoss, neighbours: Neighbours
) -> Additive | Selecting:
    if isinstance(loss, Concentrated):
        if what is None:
            return GaussianKeys(loss.rho, loss.delta, measurement.max_groups, neighbours)
        squared = measurement.max_groups if what.kind == "units" else reach(what, measurement) ** 2
        return GaussianVector.of(loss.rho, squared, neighbours)
    if what is None:
        return LaplaceKeys(loss.epsilon, loss.delta, measurement.max_groups, neighbours)
    return LaplaceVector.of(loss.epsilon, reach(what, measurement), neighbours)


def _quantile(rank: Rank, measurement: Measurement, epsilon: Fraction, neighbours: Neighbours) -> Quantile:
    level = min(max(rank.quantile, EDGE), 1 - EDGE)
    grid = rank.grid
    rows = measurement.needs_rows_cap("a quantile")
    return Quantile(epsilon, grid.low * grid.step, grid.high * grid.step, grid.step, level, rows, neighbours)


def too_low() -> Refusal:
    """Refusal of a price at which nothing can be said."""
    return Refusal("at this price the noise is larger than any number", hint="name a higher one", ground=Ground.VALUE)


def _pure(loss: BudgetLoss, share: Fraction) -> Fraction:
    """The ε of an exponential mechanism that takes this share of a price."""
    return _pure_inside(loss.rho * share) if isinstance(loss, Concentrated) else loss.epsilon * share


def _pure_inside(rho: Fraction) -> Fraction:
    """An ε whose exponential mechanism is ρ-zCDP: ε²/8 ≤ ρ (Cesar & Rogers 2021, Lemma 3.2), rounded down."""
    scale = 1 << 40
    return Fraction(math.isqrt(math.floor(8 * rho * scale * scale)), scale)


def _refuse_too_many(measurement: Measurement) -> None:
    cells = math.prod(len(key.values) for key in measurement.keys if key.values is not None)
    if measurement.declared and cells > MOST_GROUPS:
        raise Refusal(f"the declared keys make {cells} groups, more than {MOST_GROUPS}", hint="group by fewer columns")
