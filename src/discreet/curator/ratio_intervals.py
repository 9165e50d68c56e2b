"""Intervals of ratios of noisy sums, by Fieller's test: for many rows together.

Proof: docs/proofs/intervals.md, "Ratios".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

from discreet.curator.formula import Leaf, Ratio
from discreet.curator.narrow_noise import Listed, listed
from discreet.curator.noise_sums import SURE, Flags, Floats, Sums
from discreet.curator.ranges import Range

Places = NDArray[np.intp]

_STEPS = 256  # an end is found to this share of the first guess
_TOGETHER = 16  # pieces that are looked at together: long ones first, and then those that one of them is made of


@dataclass(frozen=True)
class _First:
    """What is known of one row's ratio at first. With r = middle + d, A − r B has the weights own − d slopes."""

    middle: Fraction
    own: list[float]
    divisor: float  # its size, or a bit less
    reach: float  # beyond which every d is rejected


@dataclass(frozen=True, eq=False)
class Fieller:
    """The test of one ratio at one confidence, its statistics in one order."""

    ratio: Ratio
    names: tuple[Leaf, ...]
    sums: Sums

    @cached_property
    def _whole(self) -> tuple[int, tuple[int, list[int]], tuple[int, list[int]]]:
        """A number that makes all weights whole; and times it, constant and weights of what is above and below."""
        parts = self.ratio.above, self.ratio.below
        times = math.lcm(*(each.denominator for part in parts for each in (part.constant, *part.weights.values())))
        above, below = (
            (int(part.constant * times), [int(part.weights.get(leaf, 0) * times) for leaf in self.names])
            for part in parts
        )
        return times, above, below

    @cached_property
    def _slopes(self) -> list[float]:
        times, _, (_, weights) = self._whole
        return [weight / times for weight in weights]

    def intervals(self, rows: Sequence[Mapping[Leaf, int]], *, quick: bool) -> list[Range | None]:
        """Every r that is not rejected, in each row; None where the divisor may be 0. If it is to be quick, more."""
        firsts = [self._first(numbers) for numbers in rows]
        known = [first for first in firsts if first is not None]
        ends = iter([(-first.reach, first.reach) for first in known] if quick else self._ends(known))
        return [None if first is None else _around(first.middle, next(ends)) for first in firsts]

    def _first(self, numbers: Mapping[Leaf, int]) -> _First | None:
        times, *parts = self._whole
        found = [numbers[leaf] for leaf in self.names]
        above, below = (constant + sum(map(mul, weights, found)) for constant, weights in parts)
        if not below:
            return None
        (_, over), (_, under) = parts
        own = [(a * below - above * b) / (times * below) for a, b in zip(over, under, strict=True)]  # of A − r̂ B
        divisor = abs(below / times)
        sure = divisor - self._reached(self._slopes)
        if sure <= 0:
            return None
        return _First(Fraction(above, below), own, divisor * (1 - 1e-9), self._reached(own) / sure * SURE)

    def _reached(self, weights: Sequence[float]) -> float:
        """How far a sum reaches if every noise reaches as far as it can."""
        return sum(abs(w) * a for w, a in zip(weights, self.sums.reaches, strict=True)) * SURE

    def _ends(self, rows: Sequence[_First]) -> list[tuple[float, float]]:
        if not rows:
            return []
        sides = [(row, side * row.reach) for side in (-1, 1) for row in rows]
        own, divisors = np.array([row.own for row, _ in sides]), np.array([row.divisor for row, _ in sides])
        slopes = np.array(self._slopes)

        def rejected(which: Places, near: Floats, far: Floats) -> Flags:
            at_near, at_far = (np.abs(own[which, None, :] - d[..., None] * slopes) for d in (near, far))
            seen = np.minimum(np.abs(near), np.abs(far)) * divisors[which, None]
            return self.sums.within(np.maximum(at_near, at_far), seen)

        ends = [float(end) for end in _inward(rejected, np.array([far for _, far in sides]))]
        narrow = listed(self.sums.noises)
        if narrow is not None:  # costs more: so it begins where the other is at its end
            ends = [self._narrower(narrow, row, end) for (row, _), end in zip(sides, ends, strict=True)]
        return list(zip(ends[: len(rows)], ends[len(rows) :], strict=True))

    def _narrower(self, narrow: Listed, row: _First, far: float) -> float:
        def rejected(near: float, end: float) -> bool:
            pieces = [(w - near * s, w - end * s) for w, s in zip(row.own, self._slopes, strict=True)]
            return narrow.within(pieces, min(abs(near), abs(end)) * row.divisor, float(self.sums.rare))

        return _nearest(rejected, far)


def _around(middle: Fraction, ends: tuple[float, float]) -> Range:
    return middle + Fraction(ends[0]), middle + Fraction(ends[1])


def _inward(rejected: Callable[[Places, Floats, Floats], Flags], far: Floats) -> Floats:
    """Of each row the end of what is not rejected, between 0 and `far`, beyond which everything is.

    From `far` inward as many pieces as are rejected one after the other, long ones and then short ones.
    """
    ends, steps = far.copy(), np.arange(_TOGETHER + 1)
    for many in (_TOGETHER, _STEPS):
        going = np.arange(far.size)
        while going.size:
            stride = far[going] / many
            places = ends[going, None] - steps * stride[:, None]
            near, outer = places[:, 1:], places[:, :-1]
            passed = rejected(going, near, outer) & (near * stride[:, None] > 0)
            whole = passed.all(axis=1)
            ends[going] -= np.where(whole, _TOGETHER, np.argmin(passed, axis=1)) * stride
            going = going[whole]
    return ends


def _nearest(rejected: Callable[[float, float], bool], far: float) -> float:
    """The same for one row, in strides that shrink."""
    if not far:
        return 0.0
    stride, end, least = far / 4, far, abs(far) / _STEPS
    while abs(stride) >= least:
        near = end - stride
        if near * far > 0 and rejected(near, end):
            end = near
        else:
            stride /= 2
    return end
