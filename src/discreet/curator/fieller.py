"""Intervals of ratios of noisy sums, by Fieller's test: for many rows together.

Proof: docs/proofs/intervals.md, "Ratios".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.curator.formula import Leaf, Range, Ratio
from discreet.curator.law import SURE, Flags, Floats, Sums
from discreet.curator.listed import Listed, listed

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
    def _weights(self) -> tuple[list[Fraction], list[Fraction]]:
        """Of what is above and of what is below."""
        parts = self.ratio.above.weights, self.ratio.below.weights
        above, below = ([weights.get(leaf, Fraction(0)) for leaf in self.names] for weights in parts)
        return above, below

    @cached_property
    def _slopes(self) -> list[float]:
        return [float(weight) for weight in self._weights[1]]

    def intervals(self, rows: Sequence[Mapping[Leaf, int]], *, quick: bool) -> list[Range | None]:
        """Every r that is not rejected, in each row; None where the divisor may be 0. If it is to be quick, more."""
        firsts = [self._first(numbers) for numbers in rows]
        known = [first for first in firsts if first is not None]
        ends = iter([(-first.reach, first.reach) for first in known] if quick else self._ends(known))
        return [None if first is None else _around(first.middle, next(ends)) for first in firsts]

    def _first(self, numbers: Mapping[Leaf, int]) -> _First | None:
        above, below = self.ratio.above.at(numbers), self.ratio.below.at(numbers)
        if not below:
            return None
        middle, divisor = above / below, abs(float(below))
        own = [float(a - middle * b) for a, b in zip(*self._weights, strict=True)]  # of A − r̂ B
        sure = divisor - self._reached(self._slopes)
        if sure <= 0:
            return None
        return _First(middle, own, divisor * (1 - 1e-9), self._reached(own) / sure * SURE)

    def _reached(self, weights: Sequence[float]) -> float:
        """How far a sum reaches if every noise reaches as far as it can."""
        return sum(abs(w) * a for w, a in zip(weights, self.sums.reaches, strict=True)) * SURE

    def _ends(self, rows: Sequence[_First]) -> list[tuple[float, float]]:
        if not rows:
            return []
        sides = [(row, side * row.reach) for side in (-1, 1) for row in rows]
        own, divisors = np.array([row.own for row, _ in sides]), np.array([row.divisor for row, _ in sides])
        slopes = np.array(self._slopes)

        def rejected(near: Floats, far: Floats) -> Flags:
            at_near, at_far = (np.abs(own[:, None, :] - d[..., None] * slopes) for d in (near, far))
            seen = np.minimum(np.abs(near), np.abs(far)) * divisors[:, None]
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


def _inward(rejected: Callable[[Floats, Floats], Flags], far: Floats) -> Floats:
    """Of each row the end of what is not rejected, between 0 and `far`, beyond which everything is.

    From `far` inward as many pieces as are rejected one after the other, long ones and then short ones.
    """
    ends, steps = far, np.arange(_TOGETHER)
    for stride in (far / _TOGETHER, far / _STEPS):
        going = np.ones(far.shape, dtype=np.bool_)
        while going.any():
            pieces = ends[:, None] - steps * stride[:, None]
            near = pieces - stride[:, None]
            passed = rejected(near, pieces) & (near * far[:, None] > 0) & going[:, None]
            many = np.where(passed.all(axis=1), _TOGETHER, np.argmin(passed, axis=1))
            ends, going = ends - many * stride, many == _TOGETHER
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
