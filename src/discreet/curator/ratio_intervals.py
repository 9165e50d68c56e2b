"""Intervals of ratios of noisy sums, by Fieller's test: for many rows together.

Proof: docs/proofs/intervals.md, "Ratios".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import mul

import numpy as np
from numpy.typing import NDArray

from discreet.curator.formula import Leaf, Range, Ratio
from discreet.mechanisms import LaplaceVector
from discreet.mechanisms.noise_sums import SURE, UNSEEN, Additive, Flags, Floats, Sums, masses, reach, unlisted

_OUTSIDE = Fraction(1, 10**12)
_NARROW = 30  # what noise reaches, but for `_OUTSIDE`: Laplace noise of a scale of 1. Of wider, half a step is little
_HAIR = 1e-9  # more than rounding of a quotient can be off, of itself

Ends = tuple[float, float]  # of a weight, on a piece on which all weights are lines

Places = NDArray[np.intp]
_STEPS = 256  # an end is found to this share of the first guess
_TOGETHER = 16  # pieces that are looked at together: long ones first, and then those that one of them is made of


@lru_cache(maxsize=256)
def listed(noises: tuple[Additive, ...]) -> ListedNoises | None:
    """Two noises of which one is listed at least; None if there are not two, or both are wide."""
    return ListedNoises(noises) if len(noises) == 2 and any(map(_narrow, noises)) else None


def _narrow(noise: Additive) -> bool:
    """Whether a noise is hardly ever beyond `_NARROW`. Of most it is seen at once that they are: `reach` takes long.

    Laplace noise of a scale above 2 is beyond 30 more often than e^(−31/2), and Gaussian noise of a deviation above 10
    more often than once in a thousand times.
    """
    wide = noise.scale > 2 if isinstance(noise, LaplaceVector) else noise.variance > 100
    return not wide and reach(noise, _OUTSIDE) <= _NARROW


@dataclass(frozen=True, eq=False)
class ListedNoises:
    """The laws of two noises."""

    noises: tuple[Additive, ...]

    def within(self, weights: Sequence[Ends], far: float, rare: float) -> bool:
        """Whether the sum is as far as this with probability at most `rare`, for all weights on the piece, surely."""
        for one, two in ((0, 1), (1, 0)):
            if weights[two][0] * weights[two][1] > 0 and _narrow(self.noises[one]):
                return self._chance((one, two), (weights[one], weights[two]), far) <= rare
        return False

    def _chance(self, which: tuple[int, int], weights: tuple[Ends, Ends], far: float) -> float:
        """Pr[|u·n + v·m| ≥ far] at most, where v has one sign on the piece and the law of n is listed.

        For each n the least m that reaches so far is a quotient of two lines, so it is least at an end of the piece.
        """
        if far <= 0:
            return 1.0
        sizes, sign = _sizes(self.noises[which[0]]), 1.0 if weights[1][0] > 0 else -1.0
        numbers, beyond = np.arange(len(sizes)) - len(sizes) // 2, np.zeros(len(sizes))
        for own, other in zip(*weights, strict=True):
            quotient = (far - sign * own * numbers) / (sign * other)
            least = np.ceil(quotient - _HAIR * np.maximum(1.0, np.abs(quotient)))
            beyond = np.maximum(beyond, tails(self.noises[which[1]], least))
        return (2 * float(beyond @ sizes) + 4 * UNSEEN) * SURE


@lru_cache(maxsize=256)
def _sizes(noise: Additive) -> Floats:
    """How likely each number is, from −n to n."""
    far = reach(noise, _OUTSIDE)
    known = masses(noise, 1, 2 * far + 4)
    return np.concatenate([known[len(known) - far :], known[: far + 1]])


def tails(noise: Additive, least: Floats) -> Floats:
    """How likely the noise is at least this, at most: exactly, but of wide Gaussian noise."""
    if isinstance(noise, LaplaceVector):
        rate = 1 / float(noise.scale)
        far = np.exp(-rate * np.where(least > 0, least, 1 - least)) / (1 + math.exp(-rate))
        return np.asarray(np.where(least > 0, far, 1 - far))
    if not unlisted(noise):
        tails = _upper(noise)
        half = (len(tails) - 2) // 2
        return np.asarray(tails[np.clip(least, -half, half + 1).astype(np.int64) + half])
    deviation = math.sqrt(2 * float(noise.variance))
    return np.array([math.erfc((x - 0.5) / deviation) / 2 if x > 0 else 1.0 for x in least])


@lru_cache(maxsize=256)
def _upper(noise: Additive) -> Floats:
    """How likely the noise is each number from −n to n or a larger one, and 0 for what is beyond."""
    return np.append(np.cumsum(_sizes(noise)[::-1])[::-1], 0.0)


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
        values = [numbers[leaf] for leaf in self.names]
        above, below = (constant + sum(map(mul, weights, values)) for constant, weights in parts)
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

    def _narrower(self, narrow: ListedNoises, row: _First, far: float) -> float:
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
