"""Vectors of exact noise, tens of millions of draws a second: Pr[n] ∝ exp(−(a n² + b |n|)) for rational a, b ≥ 0.

The integers are cut into bins of equal width, a power of two, on either side of zero. A bin is drawn by `Lookup` with
the weight of its innermost integer for all of them, a place in it from raw bits, and the pair is kept with the
probability that makes up for it. Two tails beyond the bins, met almost never, are drawn one by one under a geometric
law. Nothing is approximated: docs/proofs/sampling.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, spoken
from discreet.noise.bernoulli import flip_exp, flips_exp
from discreet.noise.discrete_scalar import geometric
from discreet.noise.inverse_cdf_sampler import Enclosure, Lookup, exp_enclosure, times
from discreet.noise.secure_random import SECURE, Entropy

_CHUNK = 1 << 15  # keeps the intermediate arrays in the processor's cache
_BINS = 255  # a side
_DEPTH = 64  # bins need not reach where the weight is below e^−64
_KINDS: tuple[type[np.unsignedinteger[Any]], ...] = (np.uint8, np.uint16, np.uint32, np.uint64)


@dataclass(frozen=True)
class Law:
    """The law on the integers, or with `signed=False` on n ≥ 0, in bins of width 2^log_width ≤ 2^40."""

    square: Fraction
    linear: Fraction
    log_width: int
    signed: bool = True
    _bins: int = field(init=False, repr=False, compare=False)
    _starts: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    _lookup: Lookup = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bins", self._count_bins())
        side = np.arange(self._bins + 1, dtype=np.int64) << self.log_width
        # where each bin begins; below zero they begin at 1, so that zero has one bin; last on each side, the tail
        object.__setattr__(self, "_starts", np.concatenate([side, side + 1]) if self.signed else side)
        object.__setattr__(self, "_lookup", Lookup(self._weights))

    def phi(self, n: int) -> Fraction:
        """−log of the weight of n ≥ 0: convex and rising, so a bin is heaviest at its innermost integer."""
        return self.square * n * n + self.linear * n

    def slope(self, n: int) -> Fraction:
        """φ(n+1) − φ(n), a lower bound of all later ones."""
        return self.square * (2 * n + 1) + self.linear

    def _count_bins(self) -> int:
        """How many bins a side: few, if the weights fall fast."""
        low, high = 1, _BINS
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.phi(middle << self.log_width) >= _DEPTH else (middle + 1, high)
        return low

    def _weights(self, precision: int) -> list[Enclosure]:
        sides = (0, 1) if self.signed else (0,)
        return [weight for first in sides for weight in self._side(first, precision)]

    def _side(self, first: int, precision: int) -> list[Enclosure]:
        """Weights of the bins that begin at first, first + width, …, and of the tail, all divided by the width.

        As φ is a quadratic, the ratio of a weight to the one before it changes by one constant factor.
        """
        width = 1 << self.log_width
        weight = exp_enclosure(self.phi(first), precision)
        ratio = exp_enclosure(self.phi(first + width) - self.phi(first), precision)
        change = exp_enclosure(2 * self.square * width * width, precision)
        weights = []
        for _ in range(self._bins):
            weights.append(weight)
            weight, ratio = times(weight, ratio, precision), times(ratio, change, precision)
        fall = exp_enclosure(self.slope(first + self._bins * width), precision)
        one = 1 << precision
        tail = (
            (weight[0] << precision) // (one - fall[0]),
            -((-weight[1] << precision) // max(1, one - fall[1])),
        )  # 1 − e^−d is above 2^−80: see the range
        return [*weights, (tail[0] >> self.log_width, -(-tail[1] >> self.log_width))]

    def draw(self, size: int, rng: Entropy) -> NDArray[np.int64]:
        """`size` independent draws."""
        out, filled = np.empty(size, dtype=np.int64), 0
        while filled < size:
            some = self._propose(min(_CHUNK, size - filled), rng)
            out[filled : filled + some.size] = some
            filled += some.size
        return out

    def _propose(self, size: int, rng: Entropy) -> NDArray[np.int64]:
        """Those of `size` proposals that are kept."""
        chosen = self._lookup.draw(size, rng)
        magnitude, kept = self._starts[chosen], None
        if self.log_width:
            magnitude, kept = self._place(magnitude, rng)
        for i in np.flatnonzero((chosen == self._bins) | (chosen == 2 * self._bins + 1)):
            kept = np.ones(size, dtype=np.bool_) if kept is None else kept
            magnitude[i], kept[i] = self._beyond(int(self._starts[chosen[i]]), rng)
        if self.signed:
            np.negative(magnitude, out=magnitude, where=chosen > self._bins)
        return magnitude if kept is None else magnitude[kept]

    def _place(self, start: NDArray[np.int64], rng: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Uniform places in bins that begin at `start`, and whether each is kept."""
        kind = next(kind for kind in _KINDS if 8 * kind().nbytes >= self.log_width)
        drawn = np.frombuffer(rng.raw(start.size * kind().nbytes), dtype=kind)
        step = (drawn & kind((1 << self.log_width) - 1)).astype(np.int64)
        # φ(start + step) − φ(start) = step (a (2 start + step) + b); every float here is below 2^53
        rise = step * ((2 * start + step) * float(self.square) + float(self.linear))
        magnitude = start + step
        return magnitude, flips_exp(rise, lambda i: self.phi(int(magnitude[i])) - self.phi(int(start[i])), rng=rng)

    def _beyond(self, start: int, rng: Entropy) -> tuple[int, bool]:
        """One proposal from a tail, and whether it is kept: φ lies above the line that leaves `start` at its slope."""
        slope = self.slope(start)
        step = geometric(slope, rng=rng)
        return start + step, flip_exp(self.phi(start + step) - self.phi(start) - step * slope, rng=rng)


SMALLEST, LARGEST = Fraction(1, 1 << 10), Fraction(1 << 40)  # of a scale: the range of docs/proofs/sampling.md


@lru_cache(maxsize=256)
def _laplace(scale: Fraction, *, signed: bool) -> Law:
    # bins of 1/16 to 1/8 of the scale: 255 of them reach where the weight is e^−16 or less
    return Law(Fraction(0), 1 / scale, max(0, int(scale).bit_length() - 4), signed)


@lru_cache(maxsize=256)
def _gaussian(variance: Fraction) -> Law:
    # bins of 1/32 to 1/16 of the standard deviation: 255 of them reach eight of those
    return Law(1 / (2 * variance), Fraction(0), max(0, (int(variance).bit_length() + 1) // 2 - 5))


def _within(value: Fraction, name: str, power: int) -> None:
    if not SMALLEST**power <= value <= LARGEST**power:
        raise Refusal(
            f"expected {name} between 2^{-10 * power} and 2^{40 * power}, got {spoken(value)}",
            hint="the proof of the vector sampler ends there; a scalar draw has no such limit",
        )


def laplaces(scale: Number, size: int, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
    """`size` independent draws with Pr[n] ∝ exp(−|n| / scale)."""
    width = positive(scale, "scale")
    _within(width, "scale", 1)
    return _laplace(width, signed=True).draw(count(size, "size", least=0), rng)


def geometrics(x: Number, size: int, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
    """`size` independent draws with Pr[n] = (1 − e^{−x}) e^{−nx} on n ≥ 0."""
    rate = positive(x, "x")
    _within(1 / rate, "1/x", 1)
    return _laplace(1 / rate, signed=False).draw(count(size, "size", least=0), rng)


def gaussians(variance: Number, size: int, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
    """`size` independent draws with Pr[n] ∝ exp(−n² / (2 variance))."""
    square = positive(variance, "variance")
    _within(square, "variance", 2)
    return _gaussian(square).draw(count(size, "size", least=0), rng)
