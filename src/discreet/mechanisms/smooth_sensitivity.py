"""Local and smooth sensitivity of order statistics: how far an answer can move near *this* data.

Local sensitivity depends on the data and so must not set the noise by itself. Its smooth version may: it changes by at
most a factor `growth` between neighbours. Everything is whole numbers: values are steps of a declared grid, and the
weights, about growth^−k, are fixed-point numbers chosen so that the smoothness is exact (docs/proofs/smooth.md). All
results here are private; they only feed a mechanism.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import Grid
from discreet.exact import Number
from discreet.mechanisms.mechanism import USUAL, Takes
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.quantile import Rows
from discreet.mechanisms.smooth_noise import Tails
from discreet.noise import SECURE, Entropy

_QUIET = Fraction(1, 1 << 16)  # a scale of noise below which nothing is gained any more

ONE = 1 << 192  # the weight of distance 0
LEAST = Fraction(1, 1 << 80)  # of a weight relative to ONE: from here on rounding could use up what follows
_SLACK = ONE >> 64  # kept in the first ratio for rounding


class Fitted(ABC):
    """An order statistic of numbers on a grid, with noise fitted to the data."""

    takes: ClassVar[Takes] = Takes.ROWS

    lower: Fraction
    upper: Fraction
    step: Fraction

    @property
    @abstractmethod
    def tails(self) -> Tails:
        """The shape of the noise."""

    @abstractmethod
    def truth(self, order: Order) -> int:
        """The answer in steps, without noise. Private."""

    @abstractmethod
    def smooth(self, order: Order, growth: Fraction, least: Fraction) -> Fraction:
        """The smooth bound in steps. Private."""

    @property
    def grid(self) -> Grid:
        """Where values and answers lie."""
        return Grid(self.lower, self.upper, self.step)

    def error(self, confidence: Number = USUAL) -> Fraction:
        """α with Pr[|answer − truth| ≤ α] ≥ confidence on the worst data there is; usual data does far better.

        The truth is that of the numbers on the grid.
        """
        return self._error(self.tails.scale(Fraction(self.grid.span)), confidence)

    def error_on(self, values: ArrayLike, confidence: Number = USUAL) -> Fraction:
        """α with Pr[|answer − truth| ≤ α] ≥ confidence on this data. Private: it depends on the data."""
        return self._error(self._scale(self.order(values)), confidence)

    def _error(self, scale: Fraction, confidence: Number) -> Fraction:
        return self.step * min(self.grid.span, self.tails.error(scale, confidence))  # no answer is further off

    def order(self, values: ArrayLike) -> Order:
        """The values as this mechanism sees them. Private."""
        return Order.of(values, self.grid)

    def _scale(self, order: Order) -> Fraction:
        least = _QUIET / self.tails.scale(Fraction(order.span))
        return self.tails.scale(self.smooth(order, self.tails.growth, least))

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Fraction:
        """The answer with noise. What is no number counts as `lower`, what is outside as the nearer bound."""
        return self._noisy(self.order(values), rng)

    def _noisy(self, order: Order, rng: Entropy) -> Fraction:
        noisy = self.truth(order) + self.tails.draw(self._scale(order), rng)
        return self.grid.value(min(max(noisy, order.lower), order.upper))


def weights(growth: Fraction, least: Fraction) -> Iterator[int]:
    """Whole numbers W_0 = 2^192 > W_1 > …, the last at most least · W_0, with W_k ≤ growth · W_{k+1}, log-concave."""
    before, weight, end = 0, ONE, max(least, LEAST) * ONE
    while True:
        yield weight
        if weight <= end:
            return
        following = weight * weight // before if before else -(-ONE * growth.denominator // growth.numerator) + _SLACK
        before, weight = weight, following


@dataclass(frozen=True, eq=False)
class Repeated(Sequence[int]):
    """Sorted numbers of which many are equal: the different ones, and how many are up to each."""

    points: NDArray[np.int64]
    until: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.until[-1]) if self.until.size else 0

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...

    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return int(self.points[np.searchsorted(self.until, place, side="right")])


@dataclass(frozen=True)
class Order:
    """Sorted whole numbers between two bounds, with `lower` before the first and `upper` after the last, for ever."""

    values: Sequence[int]
    lower: int
    upper: int

    @classmethod
    def of(cls, values: ArrayLike, grid: Grid) -> Order:
        """The values in steps of a grid."""
        return cls(sorted(grid.steps(values).ravel().tolist()), grid.low, grid.high)

    @classmethod
    def over(cls, relation: Relation, column: str, grid: Grid) -> Order:
        """The numbers that a column of a relation has; `grid` is its own."""
        rows = Rows.over(relation, column, grid)
        return cls(Repeated(rows.points, np.cumsum(rows.counts)), grid.low, grid.high)

    @property
    def span(self) -> int:
        """How far two values can lie apart."""
        return self.upper - self.lower

    def at(self, rank: int) -> int:
        """The value of this rank, counted from 1."""
        if rank < 1:
            return self.lower
        return self.values[rank - 1] if rank <= len(self.values) else self.upper

    @property
    def median(self) -> int:
        """The lower median; `lower` where there are no values."""
        return self.at((len(self.values) + 1) // 2)

    def median_gap(self, distance: int) -> int:
        """The largest local sensitivity of the median within so many added or removed rows of here.

        The gap around the middle once the `distance` middle values are gone. At distance 0 it is the local sensitivity.
        """
        start = (len(self.values) - distance) // 2
        return self.at(start + distance + 1) - self.at(start)

    def smooth_median(self, growth: Fraction, least: Fraction) -> Fraction:
        """The smooth sensitivity of the median under adding and removing rows, and never below least · span."""
        best = weight = 0
        for distance, weight in enumerate(weights(growth, least)):
            if best >= weight * self.span:  # no later term can exceed it
                return Fraction(best, ONE)
            best = max(best, weight * self.median_gap(distance))
        return Fraction(max(best, weight * self.span), ONE)

    def rank_gap(self, rank: int, distance: int) -> int:
        """The largest local sensitivity of the value of this rank within so many replaced rows of here."""
        starts = range(rank - distance - 1, rank + 1)
        return max(self.at(start + distance + 1) - self.at(start) for start in starts)

    def smooth_rank(self, rank: int, growth: Fraction, least: Fraction) -> Fraction:
        """The smooth sensitivity of the value of this rank under replacing rows, and never below least · span.

        max over i ≤ rank ≤ j of W_{j−i−1} (x_j − x_i). As the weights are log-concave, the best j never falls as i
        rises, so halving the range of i settles it in O(K log K) (Nissim, Raskhodnikova & Smith 2007, Section 3.1).
        """
        size = len(self.values)
        table = [weight for weight, _ in zip(weights(growth, least), range(size + 2), strict=False)]
        reach = len(table)  # windows j − i up to this
        best, floor = 0, table[-1] * self.span
        todo = [(max(0, rank - reach), rank, rank, min(size + 1, rank + reach))]
        while todo:
            first, last, left, right = todo.pop()
            if first > last:
                continue
            middle = (first + last) // 2
            low = self.at(middle)
            top, at = -1, left
            for j in range(max(left, middle + 1), min(right, middle + reach) + 1):
                if (height := table[j - middle - 1] * (self.at(j) - low)) >= top:
                    top, at = height, j
            best = max(best, top)
            todo += [(first, middle - 1, left, at), (middle + 1, last, at, right)]
        return Fraction(max(best, floor), ONE)
