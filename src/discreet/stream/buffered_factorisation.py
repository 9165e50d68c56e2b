"""Few fading sums that remember a stream: a matrix that is nearly the square root of the one that adds up.

Column j of it is 1 in its own step, and after that Σ weightᵢ · (1 − fadeᵢ)^(steps since, less one). Where the product
of the longest column and the longest row is the least was searched by `benchmarks/counters.py`; whatever stands here, a
promise is computed from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.interval_arithmetic import Interval, log, simpler_up

POINT = 40  # bits behind the point of a fade and of a weight
FINE = 60  # of the entries of a column, where all steps are measured at once
_FULL = 62  # of powers and products on the way to these
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Buffers:
    """Fades and weights, in units of 2^−40."""

    fades: tuple[int, ...]
    weights: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """What is left of each sum after a step, in the same units."""
        return tuple((1 << POINT) - fade for fade in self.fades)

    def column(self, steps: int) -> Fraction:
        """Σ of the squares of the first entries of a column, from above."""
        parts = list(zip(map(_real, self.kept), map(_real, self.weights), strict=True))
        total = Interval.of(1)
        for left, weight in parts:
            for right, other in parts:
                total += (1 - _power(left * right, steps - 1)) * (weight * other / (1 - left * right))
        return simpler_up(total.up)

    @property
    def slack(self) -> Fraction:
        """Σ weightᵢ / fadeᵢ: how much one unit lost in each sum at each step makes of what is measured, at most."""
        return sum((Fraction(weight, fade) for fade, weight in zip(self.fades, self.weights, strict=True)), Fraction(0))

    def shares(self, steps: int) -> Floats:
        """What the noise of each of the latest so many steps counts in a running count, the latest first."""
        return _shares(self, steps)

    def rounded(self, steps: int) -> NDArray[np.int64]:
        """The first entries of a column in units of 2^−60, none above what it is."""
        return _rounded(self, steps)

    def row(self, steps: int) -> float:
        """Σ of the squares of what the noise of so many steps counts in their running count.

        The inverse fades as well: its fades are the eigenvalues of a small matrix (docs/proofs/counters.md).
        """
        rates, sizes = self._series
        both = rates[:, None] + rates - rates[:, None] * rates
        return float((np.outer(sizes, sizes) * _geometric(both, steps)).sum())

    @property
    def _series(self) -> tuple[Floats, Floats]:
        """The fades of what undoes the sums, the first of them none, and how much each counts."""
        fades = np.array(self.fades) / 2**POINT
        roots = np.sqrt(np.array(self.weights) / 2**POINT)
        weights, rates = np.square(roots), -np.linalg.eigvalsh(np.diag(-fades) - np.outer(roots, roots))
        for _ in range(4):  # to the last digits of small ones: each is a zero of 1 − Σ weight / (rate − fade)
            apart = rates[:, None] - fades
            off, slope = 1 - (weights / apart).sum(axis=1), (weights / np.square(apart)).sum(axis=1)
            rates = rates - off / slope
        sizes = 1 / (rates * (weights / np.square(rates[:, None] - fades)).sum(axis=1))
        return np.append(0.0, rates), np.append(1 / (1 + (weights / fades).sum()), sizes)


@lru_cache(maxsize=4)
def _shares(buffers: Buffers, steps: int) -> Floats:
    rates, sizes = buffers._series  # noqa: SLF001  # its own, kept for the next time
    since, shares = np.arange(steps, dtype=float), np.zeros(steps)
    for rate, size in zip(rates, sizes, strict=True):
        shares += size * np.exp(since * math.log1p(-rate))
    shares.flags.writeable = False
    return shares


@lru_cache(maxsize=4)
def _rounded(buffers: Buffers, steps: int) -> NDArray[np.int64]:
    column = np.zeros(steps, dtype=np.uint64)
    for left, weight in zip(buffers.kept, buffers.weights, strict=True):
        powers = _powers(left << (_FULL - POINT), steps - 1)
        column[1:] += _high(powers, np.uint64(weight << (_FULL - POINT)))
    column[0] = 1 << _FULL
    entries = (column >> np.uint64(_FULL - FINE)).astype(np.int64)
    entries.flags.writeable = False
    return entries


def _powers(base: int, size: int) -> NDArray[np.uint64]:
    """1, base, base², … in units of 2^−62, none above what it is: each half from the one before it."""
    powers, done, ahead = np.empty(size, dtype=np.uint64), 1, np.uint64(base)
    powers[:1] = 1 << _FULL
    while done < size:
        more = min(done, size - done)
        powers[done : done + more] = _high(powers[:more], ahead)
        done, ahead = done + more, _high(ahead, ahead)
    return powers


def _high(left: Any, right: Any) -> Any:  # noqa: ANN401  # words of 64 bits, or arrays of them
    """left · right / 2^62 of numbers up to 2^62, rounded down by 2 at most: by halves of 31 bits."""
    half, mask = np.uint64(31), np.uint64((1 << 31) - 1)
    a, b, c, d = left >> half, left & mask, right >> half, right & mask
    return a * c + ((a * d + b * c) >> half)


def _real(units: int) -> Fraction:
    return Fraction(units, 1 << POINT)


def _power(base: Fraction, times: int) -> Interval:
    return (log(base) * times).exp() if times else Interval.of(1)


def _geometric(fades: Floats, steps: int) -> Floats:
    """Σ (1 − fade)^j for j below `steps`."""
    safe = np.where(fades > 0, fades, 1.0)
    summed: Floats = np.where(fades > 0, -np.expm1(steps * np.log1p(-np.minimum(safe, 1 - 1e-16))) / safe, float(steps))
    return summed


# By the horizon up to which they are the best of four found. The largest deviation is 1.000 times that of the square
# root at 1,000 steps, 1.001 at 10,000, 1.006 at 100,000 and 1.015 at a million.
_SEARCHED = {
    100: Buffers(
        (712853725014, 250445144980, 62708599648, 5883368767), (135415330298, 180015360624, 130132390577, 104106566655)
    ),
    1_000: Buffers(
        (482884979475, 86939008923, 12419433273, 865213066), (252404912662, 176282717529, 76305778793, 41268487347)
    ),
    10_000: Buffers(
        (302425262433, 27949882466, 2238333781, 111647383), (335135346451, 136985702726, 40531542057, 15304895048)
    ),
    100_000: Buffers(
        (184862229062, 9261297279, 425749583, 14596645), (365200669569, 97421562891, 21148959216, 5754489760)
    ),
    1_000_000: Buffers(
        (113562764987, 3260238643, 88786353, 1974293), (357386692507, 67321602700, 11140289396, 2231787999)
    ),
    10_000_000: Buffers(
        (69330023159, 1165200109, 18958547, 261532), (328105769876, 45347822294, 5786118863, 859025765)
    ),
}


@lru_cache(maxsize=64)
def buffers_for(horizon: int) -> Buffers:
    """Those whose largest deviation over so many steps is the least."""
    return min(_SEARCHED.values(), key=lambda each: float(each.column(horizon)) * each.row(horizon))


LONGEST = max(_SEARCHED)  # steps for which buffers were searched
assert math.log2(LONGEST) < POINT  # noqa: S101  # a fade of one unit would be too coarse
