"""Propose, test, release: name a small sensitivity, test privately that it is far from breaking, then use it."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from numpy.typing import ArrayLike

from discreet.declared.grid import Grid
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, spoken
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.mechanisms.smooth_sensitivity import Order
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Approximate, Neighbours
from discreet.privacy.calibrate import laplace_error


@dataclass(frozen=True)
class Stability:
    """An answer, and how many changes of a unit the data is away from one where the proposed bound fails. Private.

    The distance must differ by at most 1 between neighbours, and be 0 wherever a neighbour's answer is further away
    than the proposed bound.
    """

    value: int
    distance: int

    def __post_init__(self) -> None:
        settle(self, value=_whole(self.value), distance=_whole(self.distance))


def _whole(number: object) -> int:
    """A machine's integer as one that never wraps around. What is refused is named by its type: the rest is private."""
    if isinstance(number, numbers.Integral):
        return int(number)
    raise Refusal(f"expected whole numbers in a Stability, got a {type(number).__name__}", hint="put reals on a Grid")


@registered("propose-test-release")
@dataclass(frozen=True)
class ProposeTestRelease:
    """Releases an answer with noise for a proposed sensitivity, or nothing if the data is too near to breaking it.

    Guarantee: for a distance and a value as `Stability` asks, Approximate(epsilon_test + epsilon_release, delta).
    Proof: docs/proofs/propose.md, Theorem 1: a distance of 0 passes the test with probability at most delta; any other
        has every neighbour's answer within `bound`.
    Source: Dwork & Lei 2009, for whole numbers.
    """

    takes: ClassVar[Takes] = Takes.NUMBER

    epsilon_test: Fraction
    epsilon_release: Fraction
    delta: Fraction
    bound: int
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon_test=positive(self.epsilon_test, "epsilon_test"),
            epsilon_release=positive(self.epsilon_release, "epsilon_release"),
            delta=share(self.delta, "delta"),
            bound=count(self.bound, "bound"),
            neighbours=self.neighbours,
        )
        if self.delta >= Fraction(1, 2):
            raise Refusal(f"expected delta < 1/2, got delta={spoken(self.delta)}")

    @property
    def privacy(self) -> Approximate:
        """(ε of the test + ε of the release, δ)."""
        return Approximate(self.epsilon_test + self.epsilon_release, self.delta)

    @cached_property
    def margin(self) -> int:
        """The smallest m with Pr[noise > m] ≤ delta: a noisy distance must exceed it."""
        return laplace_error(1 / self.epsilon_test, 1 - 2 * self.delta)  # twice one side

    def needed(self, confidence: Number = USUAL) -> int:
        """The distance from which on the test passes with at least this probability."""
        rare = 1 - share(confidence, "confidence")
        below = laplace_error(1 / self.epsilon_test, 1 - 2 * rare) if rare < Fraction(1, 2) else 0
        return self.margin + 1 + below

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α with Pr[|answer − value| ≤ α] ≥ confidence, where there is an answer."""
        return laplace_error(self.bound / self.epsilon_release, confidence)

    def pairs(self) -> tuple[Pair[Stability], ...]:
        """Unstable inputs with answers far apart, and stable ones at the edge of the test."""
        far, edge = 1000 * self.bound, self.margin
        return (
            Pair(Stability(0, 0), Stability(far, 0), "both are unstable, only the test protects them"),
            Pair(Stability(0, 1), Stability(self.bound, 0), "one is stable, one is not"),
            Pair(Stability(0, edge + 1), Stability(self.bound, edge), "both differ as far as they may"),
        )

    def __call__(self, data: Stability, /, *, rng: Entropy = SECURE) -> int | None:
        """The answer with noise, or None: the proposed bound is too small for this data."""
        passed = data.distance + laplace(1 / self.epsilon_test, rng=rng) > self.margin
        noisy = data.value + laplace(self.bound / self.epsilon_release, rng=rng)  # drawn in either case
        return noisy if passed else None


@registered("proposed-median")
@dataclass(frozen=True)
class ProposedMedian:
    """The median with noise for a proposed gap around the middle, or nothing if the data is too near to a wider one.

    Guarantee: Approximate(epsilon_test + epsilon_release, delta) when one value is added or removed.
    Proof: docs/proofs/propose.md, Theorem 2: the number of middle values that must go before the gap exceeds `bound` is
        a distance as `ProposeTestRelease` asks.
    Source: Dwork & Lei 2009, for added and removed rows.
    """

    takes: ClassVar[Takes] = Takes.ROWS
    declared: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    counted: ClassVar[bool] = True

    epsilon_test: Fraction
    epsilon_release: Fraction
    delta: Fraction
    bound: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        grid = self.grid
        settle(self, lower=grid.lower, upper=grid.upper, step=grid.step, bound=positive(self.bound, "bound"))
        if not isinstance(self.neighbours, AddRemove):
            raise Refusal(f"this median is proved for AddRemove, got {self.neighbours}")
        if not 1 <= self._steps < grid.span:
            raise Refusal(
                f"expected a bound from one step to less than the span, got bound={spoken(self.bound)}",
                hint="for the whole span no test is needed: add Laplace noise",
            )
        release = self._release
        settle(self, **{name: getattr(release, name) for name in ("epsilon_test", "epsilon_release", "delta")})

    @property
    def grid(self) -> Grid:
        """Where values and answers lie."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def _steps(self) -> int:
        return int(self.bound / self.step)

    @cached_property
    def _release(self) -> ProposeTestRelease:
        return ProposeTestRelease(self.epsilon_test, self.epsilon_release, self.delta, self._steps, self.neighbours)

    @property
    def privacy(self) -> Approximate:
        """(ε of the test + ε of the release, δ)."""
        return self._release.privacy

    def error(self, confidence: Number = USUAL) -> Fraction:
        """An α with Pr[|answer − median| ≤ α] ≥ confidence, where there is an answer."""
        return self.step * min(self.grid.span, self._release.error(confidence))

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """Unstable data whose median jumps, and data just stable enough."""
        many = self._release.needed(Fraction(1, 2)) + 1
        low, high = self.grid.value(self.grid.low), self.grid.value(self.grid.high)
        left = (low,) * many + (self.grid.value(self.grid.low + self._steps),) * many
        return (
            Pair((low, high), (low, high, high), "the median jumps over the whole span; the test must stop it"),
            Pair(left, (*left, left[-1]), "the median jumps by the bound"),
        )

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Fraction | None:
        """The median with noise, on the grid, or None: the proposed bound is too small for this data."""
        return self._noisy(Order.of(values, self.grid), rng)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> Fraction | None:
        """The median of a column, of the rows that have a number there."""
        return self._noisy(Order.over(relation, column, self.grid), rng)

    def _noisy(self, order: Order, rng: Entropy) -> Fraction | None:
        noisy = self._release(median_stability(order, self._steps), rng=rng)
        return None if noisy is None else self.grid.value(min(max(noisy, order.lower), order.upper))


def median_stability(order: Order, bound: int) -> Stability:
    """The median, and how many rows must be added or removed before its local sensitivity may exceed `bound` steps."""
    low, high = 0, len(order.values)  # at that distance the gap is the whole span
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if order.median_gap(middle) > bound else (middle + 1, high)
    return Stability(order.median, low)
