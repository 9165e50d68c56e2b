"""Poisson counts and Skellam noise (the difference of two), exact for every rational mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, spoken
from discreet.noise.bernoulli import flip
from discreet.noise.inverse_cdf_sampler import Enclosure, Lookup
from discreet.noise.secure_random import SECURE, Entropy

LARGEST = 1 << 20  # of a mean in a vector: beyond it the number of parts would be felt
_EXACT = 1 << 12  # bits of precision from which weights are exact
_PART = 1 << 10  # one table serves means up to this; a larger Poisson count is a sum of smaller ones


def poisson(mean: Number, *, rng: Entropy = SECURE) -> int:
    """Pr[n] = e^−mean mean^n / n!: the readable reference, in time proportional to the mean.

    Proof: a sum of independent Poisson counts is Poisson. For a part μ ≤ 1/2, n is proposed with probability 2^−(n+1)
        and kept with (2μ)^n / n! ≤ 1, the product of n coins.
    """
    whole = positive(mean, "mean")
    parts = max(1, math.ceil(2 * whole))
    return sum(_small_poisson(whole / parts, rng) for _ in range(parts))


def _small_poisson(mean: Fraction, rng: Entropy) -> int:
    while True:
        n = 0
        while rng.bits(1):
            n += 1
        if all(flip(2 * mean / i, rng=rng) for i in range(1, n + 1)):
            return n


def skellam(variance: Number, *, rng: Entropy = SECURE) -> int:
    """The difference of two Poisson counts of mean variance/2: symmetric noise of that variance."""
    half = positive(variance, "variance") / 2
    return poisson(half, rng=rng) - poisson(half, rng=rng)


@dataclass(frozen=True)
class _Table:
    """Poisson counts of one mean ≤ 2^10. The outcome `_last` stands for itself and all above it."""

    mean: Fraction
    _lookup: Lookup = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lookup", Lookup(self._weights))

    @property
    def _last(self) -> int:
        """Twelve standard deviations above the mean, and at least 40: met almost never."""
        return math.ceil(self.mean) + 12 * (math.isqrt(math.ceil(self.mean)) + 1) + 40

    def _weights(self, precision: int) -> list[Enclosure]:
        """mean^n / n!, and for the tail the geometric series above it."""
        if precision >= _EXACT:
            return self._exact_weights()
        top, bottom = self.mean.numerator, self.mean.denominator
        weights = [(1 << precision, 1 << precision)]
        for n in range(1, self._last + 1):
            low, high = weights[-1]
            weights.append((low * top // (bottom * n), -(-high * top // (bottom * n))))
        low, high = weights.pop()
        series = 1 / (1 - self._ratio)
        return [*weights, (math.floor(low * series), math.ceil(high * series))]

    def _exact_weights(self) -> list[Enclosure]:
        """The same, each times a common denominator: rationals that no enclosure separates are compared as they are."""
        weights = [Fraction(1)]
        for n in range(1, self._last + 1):
            weights.append(weights[-1] * self.mean / n)
        weights[-1] /= 1 - self._ratio
        common = math.lcm(*(weight.denominator for weight in weights))
        return [(whole, whole) for whole in (int(weight * common) for weight in weights)]

    @property
    def _ratio(self) -> Fraction:
        return self.mean / (self._last + 1)

    def draw(self, size: int, rng: Entropy) -> NDArray[np.int64]:
        """`size` independent counts."""
        out = self._lookup.draw(size, rng).astype(np.int64)
        for i in np.flatnonzero(out == self._last):
            beyond = self._beyond(rng)
            out[i] = self.draw(1, rng)[0] if beyond is None else beyond
        return out

    def _beyond(self, rng: Entropy) -> int | None:
        """One proposal from the tail, or None if it is not kept and all must be drawn again."""
        step = 0
        while flip(self._ratio, rng=rng):
            step += 1
        kept = all(flip(Fraction(self._last + 1, self._last + i), rng=rng) for i in range(1, step + 1))
        return self._last + step if kept else None


@lru_cache(maxsize=64)
def _table(mean: Fraction) -> _Table:
    return _Table(mean)


def poissons(mean: Number, size: int, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
    """`size` independent Poisson counts."""
    whole, size = positive(mean, "mean"), count(size, "size", least=0)
    if whole > LARGEST:
        raise Refusal(f"expected mean <= 2^20, got {spoken(whole)}", hint="add up counts of smaller means")
    parts = math.ceil(whole / _PART)
    table = _table(whole / parts)
    return sum((table.draw(size, rng) for _ in range(parts)), start=np.zeros(size, dtype=np.int64))


def skellams(variance: Number, size: int, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
    """`size` independent differences of two Poisson counts of mean variance/2."""
    half = positive(variance, "variance") / 2
    return poissons(half, size, rng=rng) - poissons(half, size, rng=rng)
