"""The private median, and any other order statistic, of values on a declared grid, with noise that fits the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from numpy.typing import ArrayLike

from discreet.errors import Refusal
from discreet.exact import count, positive, share, shown, spoken
from discreet.mechanisms.mechanism import Pair, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.mechanisms.smooth_noise import LaplaceTails, StudentTails
from discreet.mechanisms.smooth_sensitivity import Fitted, Order
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Approximate, Neighbours, Pure, Replace

_SLOWEST = Fraction(1, 1 << 14)  # of a growth minus 1: some 2^20 weights until they come to nothing


class _WithLaplace:
    """Laplace noise: (ε, δ)."""

    epsilon: Fraction
    delta: Fraction

    @property
    def tails(self) -> LaplaceTails:
        """Discrete Laplace."""
        return LaplaceTails(self.epsilon, self.delta)

    @property
    def privacy(self) -> Approximate:
        """(ε, δ)."""
        return Approximate(self.epsilon, self.delta)


class _WithStudent:
    """Student's noise: ε alone."""

    epsilon: Fraction

    @property
    def tails(self) -> StudentTails:
        """Discrete Student."""
        return StudentTails(self.epsilon)

    @property
    def privacy(self) -> Pure:
        """ε."""
        return Pure(self.epsilon)


class _Median(Fitted):
    """The median when one value is added or removed. How many there are stays private; no values count as `lower`."""

    declared: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    counted: ClassVar[bool] = True

    def truth(self, order: Order) -> int:
        """The lower median."""
        return order.median

    def smooth(self, order: Order, growth: Fraction, least: Fraction) -> Fraction:
        """Of the gaps around the middle."""
        return order.smooth_median(growth, least)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> Fraction:
        """The median of a column, of the rows that have a number there."""
        return self._noisy(Order.over(relation, column, self.grid), rng)

    def refuse_costly(self) -> None:
        """Refuse a growth so slow that the smooth bound would have to look at millions of rows."""
        if self.tails.growth - 1 < _SLOWEST:
            raise Refusal(
                f"epsilon={spoken(self.tails.epsilon)} is too small for a median through a door: it takes too long",
                hint="take a larger epsilon, or a quantile of level 1/2",
            )

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """Where the median moves most, and where the scale does."""
        low, high = self.grid.value(self.grid.low), self.grid.value(self.grid.high)
        same = (low,) * 8
        return (
            Pair((low, high), (low, high, high), "the median jumps over the whole span"),
            Pair(same, (*same, low), "the median stays, its scale shrinks by one step of the growth"),
            Pair((*same, high), (*same, high, high), "the median stays, its scale grows"),
        )


@registered("smooth-median")
@dataclass(frozen=True)
class SmoothMedian(_WithLaplace, _Median):
    """The median with Laplace noise of a scale that follows the gaps around the middle.

    Guarantee: Approximate(epsilon, delta) when one value is added or removed.
    Proof: docs/proofs/smooth.md, Theorems 1 and 4: smooth sensitivity S, noise of scale 2S/epsilon. Clamping the
        answer to the bounds loses nothing.
    Source: Nissim, Raskhodnikova & Smith 2007, Sections 2 and 3.1, for added and removed rows and whole numbers.
    """

    epsilon: Fraction
    delta: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(self, delta=share(self.delta, "delta"), **_read(self))
        _added_or_removed(self.neighbours)
        _ = self.tails.growth  # refuses an epsilon that is too small


@registered("pure-median")
@dataclass(frozen=True)
class PureMedian(_WithStudent, _Median):
    """The median with heavy-tailed noise of a scale that follows the gaps around the middle: no δ at all.

    Guarantee: Pure(epsilon) when one value is added or removed.
    Proof: docs/proofs/smooth.md, Theorems 2 and 4: smooth sensitivity S, Student's noise of scale √12 S/epsilon.
    Source: Nissim, Raskhodnikova & Smith 2007, Sections 2 and 3.1; Student's law as in Bun & Steinke 2019.
    """

    epsilon: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(self, **_read(self))
        _added_or_removed(self.neighbours)
        _ = self.tails.growth  # refuses an epsilon that is too small


class _Rank(Fitted):
    """The value of a rank when one value is replaced. How many there are is public."""

    rank: int
    size: int

    def truth(self, order: Order) -> int:
        """The value of that rank."""
        return order.at(self.rank)

    def smooth(self, order: Order, growth: Fraction, least: Fraction) -> Fraction:
        """Of the gaps around that rank."""
        return order.smooth_rank(self.rank, growth, least)

    def order(self, values: ArrayLike) -> Order:
        """The values, if they are as many as declared: their number is public, so it may be said."""
        order = super().order(values)
        if len(order.values) != self.size:
            hint = "their number is public and declared"
            raise Refusal(f"expected {shown(self.size)} values, got {len(order.values)}", hint=hint)
        return order

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """Where the value moves most, and where the scale does."""
        low, high = self.grid.value(self.grid.low), self.grid.value(self.grid.high)
        others = (low,) * (self.rank - 1) + (high,) * (self.size - self.rank)
        same = (low,) * (self.size - 1)
        return (
            Pair((*others, low), (*others, high), "the value jumps over the whole span"),
            Pair((*same, low), (*same, high), "the scale grows, and the largest value jumps"),
        )


@registered("smooth-rank")
@dataclass(frozen=True)
class SmoothRank(_WithLaplace, _Rank):
    """The value of a given rank among a public number of values, with Laplace noise that follows the gaps around it.

    Guarantee: Approximate(epsilon, delta) when one value is replaced. The number of values is public.
    Proof: docs/proofs/smooth.md, Theorems 1 and 5: smooth sensitivity S, noise of scale 2S/epsilon.
    Source: Nissim, Raskhodnikova & Smith 2007, Section 3.1, for whole numbers.
    """

    epsilon: Fraction
    delta: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    rank: int
    size: int
    neighbours: Neighbours = Replace()

    def __post_init__(self) -> None:
        settle(self, delta=share(self.delta, "delta"), **_read(self))
        _replaced(self)
        _ = self.tails.growth  # refuses an epsilon that is too small


@registered("pure-rank")
@dataclass(frozen=True)
class PureRank(_WithStudent, _Rank):
    """The value of a given rank among a public number of values, with heavy-tailed noise: no δ at all.

    Guarantee: Pure(epsilon) when one value is replaced. The number of values is public.
    Proof: docs/proofs/smooth.md, Theorems 2 and 5: smooth sensitivity S, Student's noise of scale √12 S/epsilon.
    Source: Nissim, Raskhodnikova & Smith 2007, Section 3.1; Student's law as in Bun & Steinke 2019.
    """

    epsilon: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    rank: int
    size: int
    neighbours: Neighbours = Replace()

    def __post_init__(self) -> None:
        settle(self, **_read(self))
        _replaced(self)
        _ = self.tails.growth  # refuses an epsilon that is too small


def _read(mechanism: SmoothMedian | PureMedian | SmoothRank | PureRank) -> dict[str, object]:
    grid = mechanism.grid
    if grid.span < 1:
        raise Refusal(
            f"only one step lies between lower={shown(grid.lower, str)} and upper={shown(grid.upper, str)}",
            hint="take a smaller step",
        )
    return {
        "epsilon": positive(mechanism.epsilon, "epsilon"),
        "lower": grid.lower,
        "upper": grid.upper,
        "step": grid.step,
        "neighbours": mechanism.neighbours,
    }


def _added_or_removed(neighbours: Neighbours) -> None:
    if not isinstance(neighbours, AddRemove):
        raise Refusal(f"this median is proved for AddRemove, got {neighbours}", hint="SmoothRank is for Replace")


def _replaced(mechanism: SmoothRank | PureRank) -> None:
    count(mechanism.size, "size")
    if not 1 <= count(mechanism.rank, "rank") <= mechanism.size:
        raise Refusal(f"expected 1 <= rank <= size, got rank={shown(mechanism.rank)} size={shown(mechanism.size)}")
    if not isinstance(mechanism.neighbours, Replace):
        raise Refusal(
            f"the value of a rank among a public number is proved for Replace, got {mechanism.neighbours}",
            hint="SmoothMedian is for AddRemove",
        )
