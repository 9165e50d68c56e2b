"""Private intervals for a mean and for a share in the whole population: both noise and sampling are in them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

from scipy import optimize, stats

from discreet.declared.table import Outline, grid_of
from discreet.exact import positive, share
from discreet.mechanisms import Column, Frame, Pair
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Neighbours, Replace, laplace_error
from discreet.validity.private_tests import OfPeople, key_place

_SLIP = 1e-9  # of floats that solve for an end: ends are moved outward by it


@dataclass(frozen=True)
class PopulationInterval:
    """An estimate, and an interval that holds the population's value with probability `confidence`, noise included."""

    estimate: float
    low: float
    high: float
    confidence: float


class _OfTwoSums(OfPeople):
    """What both share: two noisy sums, of which the first over both is the share."""

    column: str
    confidence: Fraction

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def _noisy(self, sums: tuple[int, int], reach: int, rng: Entropy) -> tuple[int, int, int]:
        """Both with noise, and how far off either is at most; a half of the failure is for that."""
        scale = Fraction(self.moves * reach) / self.epsilon
        first, second = (each + laplace(scale, rng=rng) for each in sums)
        return first, second, laplace_error(scale, 1 - (1 - self.confidence) / 4)


@registered("population-share")
@dataclass(frozen=True)
class PopulationShare(_OfTwoSums):
    """Which share of the population has a key.

    Guarantee: Pure(epsilon), when one person is added, removed or replaced. If rows are independent and have the key
        with the same probability, given that they have a declared one, the interval holds it with `confidence`.
    Proof: docs/proofs/private-tests.md, "Intervals".
    Source: Clopper & Pearson 1934, at the worst counts that the noise leaves.
    """

    column: str
    key: str
    epsilon: Fraction
    confidence: Fraction = USUAL
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            confidence=share(self.confidence, "confidence"),
            neighbours=self.neighbours,
        )
        self._refuse_many()

    def refuse_unfit(self, known: Outline) -> None:
        """Where the key is not declared."""
        key_place(known, self.column, self.key)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> PopulationInterval:
        """The interval. Spends `privacy`."""
        counts = relation.counts([self.column])
        own = int(counts[key_place(relation, self.column, self.key)])
        yes, no, off = self._noisy((own, int(counts.sum()) - own), 1, rng)
        rare = float(1 - self.confidence) / 4  # a half for sampling, on two sides
        least, most = (max(0, yes - off), max(0, no + off)), (max(0, yes + off), max(0, no - off))
        low = float(stats.beta.ppf(rare, least[0], least[1] + 1)) - _SLIP if least[0] else 0.0
        high = float(stats.beta.ppf(1 - rare, most[0] + 1, most[1])) + _SLIP if most[1] else 1.0
        return _interval(yes, no, max(0.0, low), min(1.0, high), float(self.confidence))

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """One person more with the key, or one who has it instead of another one."""
        return (Pair(self._frame(0), self._frame(1), "one person with the key, or without, or nobody"),)

    def _frame(self, which: int) -> Frame:
        keys = (self.key, f"not {self.key}")
        held = [keys[1 - which]] if isinstance(self.neighbours, Replace) else [self.key] * which
        columns: dict[str, Any] = {"person": list(range(len(held))), self.column: held}
        return Frame.of(columns, Column(self.column, keys=keys), unit="person", max_rows=1, neighbours=self.neighbours)


@registered("population-mean")
@dataclass(frozen=True)
class PopulationMean(_OfTwoSums):
    """The mean of a column in the population, of numbers brought between its bounds.

    Guarantee: Pure(epsilon), when one person is added, removed or replaced. If rows are independent and of one law, the
        interval holds the mean of that law, of numbers within the bounds on the declared steps, with `confidence`.
    Proof: docs/proofs/private-tests.md, "Intervals".
    Source: Hoeffding 1963, Theorem 1 in its sharpest form, at the worst sums that the noise leaves; the noise is on the
        two sums of `mean`.
    """

    column: str
    epsilon: Fraction
    confidence: Fraction = USUAL
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            confidence=share(self.confidence, "confidence"),
            neighbours=self.neighbours,
        )
        self._refuse_many()

    def refuse_unfit(self, known: Outline) -> None:
        """Where no bounds are declared."""
        grid_of(known, self.column)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> PopulationInterval:
        """The interval. Spends `privacy`."""
        grid = grid_of(relation, self.column)
        products = relation.products([], [self.column])
        people, total = int(products[0, 0]), int(products[0, 1])
        reach = max(1, grid.span)
        sums = total - people * grid.low, people * grid.high - total
        above, below, off = self._noisy(sums, reach, rng)
        surprise = log(4 / float(1 - self.confidence))
        low = _farthest(max(0, above - off) / reach, max(0, below + off) / reach, surprise)
        high = 1 - _farthest(max(0, below - off) / reach, max(0, above + off) / reach, surprise)
        told = _interval(above, below, max(0.0, low - _SLIP), min(1.0, high + _SLIP), float(self.confidence))
        base, width = float(grid.low * grid.step), float(grid.span * grid.step)
        estimate, least, most = (base + width * each for each in (told.estimate, told.low, told.high))
        return PopulationInterval(estimate, least, most, told.confidence)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """One person more at a bound, or one who is at the other bound instead."""
        return (Pair(self._frame(0), self._frame(1), "one person at a bound, or at the other, or nobody"),)

    def _frame(self, which: int) -> Frame:
        held = [which] if isinstance(self.neighbours, Replace) else [1] * which
        columns: dict[str, Any] = {"person": list(range(len(held))), self.column: held}
        column = Column(self.column, bounds=(0, 1), step=1)
        return Frame.of(columns, column, unit="person", max_rows=1, neighbours=self.neighbours)


def _interval(yes: int, no: int, low: float, high: float, confidence: float) -> PopulationInterval:
    middle = yes / (yes + no) if yes + no > 0 else 0.5
    return PopulationInterval(min(max(middle, low), high), low, high, confidence)


def _farthest(above: float, below: float, surprise: float) -> float:
    """The smallest mean under which sums as these are not too surprising: n·KL(x̄ ‖ μ) is at most `surprise`."""
    people = above + below
    if above <= 0 or people <= 0:
        return 0.0

    def beyond(mean: float) -> float:
        first = above * log(above / (people * mean))
        return first + (below * log(below / (people * (1 - mean))) if below > 0 else 0.0) - surprise

    top = above / people * (1 - 1e-12)
    if beyond(1e-300) <= 0 or beyond(top) >= 0:
        return 0.0
    return float(optimize.brentq(beyond, 1e-300, top, xtol=1e-14))
