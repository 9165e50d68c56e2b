"""Counts: what every mechanism over cells shares, a shape, a distance between neighbours, and whole noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from discreet.declared.grid import Integers, whole
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown, spoken
from discreet.mechanisms import LaplaceVector, Pair, registered
from discreet.mechanisms.mechanism import USUAL, Takes, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.release.estimate import MORE
from discreet.release.interval_tree import Reals, Whole

MOST_CELLS = 1 << 22  # of a release: what one machine holds and a certificate can carry
_LARGEST = 1 << 58  # of a sum of counts: noise still fits beside it

TINY = 1e-200  # of a variance: no noise to speak of, and still a number to divide by
_LEAST, _MOST = Fraction(1, 10**9), Fraction(10**6)  # of ε for one record: floats hold all variances in between
_THINNEST = _LEAST / 1000  # of a share of ε, for one record
_RAREST = 1e-300  # of what may go wrong: floats hold half of it

Names = tuple[str, ...]  # of the columns of a table

released = registered  # a release of counts is a mechanism like all others


@dataclass(frozen=True)
class Measured:
    """What a mechanism over cells told, and where the bins that it chose end, in bins of the publication."""

    content: Any
    cuts: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Counts:
    """The public parameters of a release: its price, how many cells each way, how many records a unit has at most.

    A record lies in one cell. Neighbours differ by the records of one unit, so their counts by at most `distance` in
    all.
    """

    takes: ClassVar[Takes] = Takes.COUNTS
    about: ClassVar[str] = "the total of all cells"  # of what its error speaks

    epsilon: Fraction
    shape: tuple[int, ...]
    most: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            shape=shaped(self.shape),
            most=count(self.most, "most"),
            neighbours=self.neighbours,
        )
        if not _LEAST <= self.epsilon / self.distance <= _MOST:
            each = f"one of {self.distance} records"
            raise Refusal(f"expected epsilon between 1e-9 and 1e6 for {each}, got epsilon={spoken(self.epsilon)}")

    @property
    def privacy(self) -> Pure:
        """ε as asked for."""
        return Pure(self.epsilon)

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @property
    def numbers(self) -> int:
        """How many it tells at most."""
        return self.cells

    def tables(self, columns: Names) -> tuple[Names, ...]:
        """One table, of all columns."""
        return (columns,)

    def bins_at(self, place: int) -> int:  # noqa: ARG002  # of those that choose
        """No bins of its own."""
        return 0

    @abstractmethod
    def error(self, confidence: Number = USUAL) -> Fraction | int | None:
        """How far off what it is `about` may be; None where that is known after paying."""

    @abstractmethod
    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Any:  # noqa: ANN401  # a histogram, and perhaps bins
        """What it tells of counts."""

    def measure(self, counts: Callable[[Names], Whole], columns: Names, rng: Entropy) -> Measured:
        """What it tells of all columns together."""
        return Measured(self(counts(columns), rng=rng))

    @property
    def distance(self) -> int:
        """How far the counts of neighbours are apart: replacing a unit takes its records and brings others."""
        return self.most if isinstance(self.neighbours, AddRemove) else 2 * self.most

    def payable(self, shares: Sequence[Fraction], name: str) -> None:
        """Refuse a share of ε that buys next to nothing: floats do not hold its variance."""
        for part in shares:
            if 0 < part * self.epsilon / self.distance < _THINNEST:
                each = f"one of {self.distance} records"
                text = f"expected every part of epsilon to be at least 1e-12 for {each}, got {name} with {spoken(part)}"
                raise Refusal(text, hint="give that part more")

    def pairs(self) -> tuple[Pair[Whole], ...]:
        """All of a unit's records in one cell of none, at either end; spread over cells; and beside many others."""
        return neighbouring_counts(self.shape, self.distance)

    def counted(self, counts: Integers) -> Whole:
        """The counts in their shape, clamped so that their sum fits: neighbours come no further apart by that."""
        return counted_within(counts, self.shape)


def neighbouring_counts(shape: tuple[int, ...], distance: int) -> tuple[Pair[Whole], ...]:
    """Counts that are so far apart in all: in one cell of none, at either end; spread over cells beside many others."""
    left, right = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    right.flat[0] = distance
    last = np.zeros(shape, dtype=np.int64)
    last.flat[-1] = distance
    even = np.full(shape, 3, dtype=np.int64)
    spread = even.copy()
    spread.flat[:distance] += 1
    spread.flat[0] += max(0, distance - even.size)
    return (
        Pair(left, right, "the first cell takes the whole distance"),
        Pair(left, last, "the last cell takes the whole distance"),
        Pair(even, spread, "every cell is as high as the others, and some get one more"),
    )


def counted_within(counts: Integers, shape: tuple[int, ...]) -> Whole:
    """Counts of a shape, each clamped so that their sum fits: neighbours come no further apart by that."""
    values = whole(counts, _LARGEST // math.prod(shape))
    if values.shape != shape:  # public
        raise Refusal(f"expected counts of shape {shape}, got {values.shape}")
    return values


def shaped(shape: object) -> tuple[int, ...]:
    """A number of cells, or of rows and columns."""
    if not isinstance(shape, tuple) or len(shape) not in (1, 2):
        raise Refusal(f"expected a shape of one or two whole numbers, got shape={shown(shape)}")
    sides = tuple(count(side, "shape") for side in shape)
    if math.prod(sides) > MOST_CELLS:
        raise Refusal(f"expected a shape of at most 2^22 cells, got {shown(shape)}", hint="use wider bins")
    return sides


def flat(shape: tuple[int, ...], kind: str) -> None:
    """Refuse a shape that is not a line."""
    if len(shape) != 1:
        raise Refusal(f"{kind} is for a line of cells, got shape={shape}", hint="for a plane take a grid")


def plane(shape: tuple[int, ...], kind: str) -> None:
    """Refuse a shape that is not a plane."""
    if len(shape) != 2:
        raise Refusal(f"{kind} is for rows and columns, got shape={shape}", hint="for a line take a Hierarchy")


def noisy(values: Whole, scale: Fraction, rng: Entropy) -> Whole:
    """The values with independent discrete Laplace noise."""
    return LaplaceVector(scale)(values, rng=rng)


def noise_variance(scale: Fraction) -> float:
    """Of discrete Laplace noise: 2q/(1 − q)² with q = e^{−1/scale}, which is 1/(2 sinh²(1/(2 scale)))."""
    half = float(1 / (2 * scale))
    return max(0.5 / math.sinh(half) ** 2, TINY) if half < 300 else TINY


def level_variances(children: Sequence[Whole], scales: Sequence[Fraction | None]) -> list[Reals]:
    """Of the nodes of a tree, root first, where each level has one scale; infinite where it was not measured."""
    return noisy_levels(children, [None if scale is None else noise_variance(scale) for scale in scales])


def noisy_levels(children: Sequence[Whole], variances: Sequence[float | None]) -> list[Reals]:
    """Of the nodes of a tree, root first, where each level has one variance; infinite where it was not measured."""
    sizes = [1, *(int(level.sum()) for level in children)]
    known = [math.inf if variance is None else variance for variance in variances]
    return [np.full(size, variance) for size, variance in zip(sizes, known, strict=True)]


def within(variance: float, confidence: Number = USUAL) -> Fraction:
    """An α that a weighted sum of independent draws of noise stays within, with this probability.

    No weight is above 1, and each draw is a whole number with a Laplace or a normal law. Sums of Laplace noise were
    found to need no more than one draw, with α = σ/√2 · ln(1/β) where 1 − β is the confidence, or two of one size, or
    the normal law; whole noise needs some more, the more the smaller β is (docs/proofs/hierarchy.md, "Error bars").
    """
    rare = float(1 - share(confidence, "confidence"))
    if rare < _RAREST:
        raise Refusal(f"expected confidence <= 1 - 1e-300: nothing is surer than that, got {shown(confidence)}")
    times = max(-math.log(rare) / math.sqrt(2), _two(rare), -NormalDist().inv_cdf(rare / 2))
    far = math.sqrt(variance) * times + max(MORE, _whole_more(rare, times))
    return Fraction(math.ceil(far * (1 + 1e-9) * 1024), 1024)


@lru_cache(maxsize=256)
def _two(rare: float) -> float:
    """How many deviations a sum of two like Laplace draws is within but for so rarely: e^(−2x) (1 + x) is β there."""
    low, high = 0.0, 1 - math.log(rare)
    for _ in range(60):
        x = (low + high) / 2
        low, high = (x, high) if math.log1p(x) - 2 * x > math.log(rare) else (low, x)
    return high


@lru_cache(maxsize=256)
def _whole_more(rare: float, times: float) -> float:
    """By how much the reach of one draw of whole noise exceeds so many deviations of it at most, whatever its scale.

    It is most where the reach steps up from a to a + 1: there 2 q^(a+1)/(1 + q) = β. From 0 to 1 it steps up at a
    variance of β or more, whatever the law.
    """
    gaps = [1 - times * math.sqrt(rare)]
    for reach in range(1, 8 + math.ceil(-math.log(rare))):
        low, high = 0.0, 1.0
        for _ in range(60):
            q = (low + high) / 2
            low, high = (q, high) if 2 * q ** (reach + 1) <= rare * (1 + q) else (low, q)
        gaps.append(reach + 1 - times * math.sqrt(2 * low) / (1 - low))
    return max(gaps)
