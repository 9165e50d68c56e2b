"""Draws from a finite law by inverting its distribution function, exact although the law is known only by enclosures.

A uniform U is read from its binary digits, as many as are needed. The first 16 point into a table that knows the answer
unless a threshold lies among the numbers that begin so; then 64 digits are compared with the thresholds; in the rare
case that they agree with one, more digits of both are worked out until they differ. Proof: docs/proofs/sampling.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet.interval_arithmetic import exp
from discreet.noise.secure_random import Entropy, words

Enclosure = tuple[int, int]  # whole numbers at or below, and at or above, a number times 2^precision
Weights = Callable[[int], Sequence[Enclosure]]  # precision -> every positive weight, up to a common factor

START = 192  # bits of precision tried first: 64 are looked at, so the first try nearly always settles them


def exp_enclosure(x: Fraction, precision: int) -> Enclosure:
    """e^−x times 2^precision, x ≥ 0."""
    bound = exp(-x, precision * 302 // 1000 + 5) * (1 << precision)  # log10(2) < 0.302: digits worth `precision` bits
    return int(bound.low.to_integral_value(ROUND_FLOOR)), int(bound.high.to_integral_value(ROUND_CEILING))


def times(a: Enclosure, b: Enclosure, precision: int) -> Enclosure:
    """The product of two enclosed numbers."""
    return a[0] * b[0] >> precision, -(-a[1] * b[1] >> precision)


class Lookup:
    """A law on {0, …, m−1}, 2 ≤ m < 2^15, with probabilities proportional to weights that can be enclosed at will."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        precision = START
        ends = self._thresholds_at(64, precision)
        while any(low != high for low, high in ends):
            precision *= 2
            ends = self._thresholds_at(64, precision)
        self._thresholds = np.array([low for low, _ in ends], dtype=np.uint64)
        starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        self._first = np.searchsorted(self._thresholds, starts, side="left").astype(np.int16)
        self._first[self._thresholds >> np.uint64(48)] = -1  # these 16 digits do not decide

    def _thresholds_at(self, size: int, precision: int) -> list[Enclosure]:
        """The first `size` binary digits of the distribution function at every outcome but the last, from two sides."""
        weights = self._weights(precision)
        below, above = [list(accumulate(ends)) for ends in zip(*weights, strict=True)]
        least, most = max(1, below[-1]), above[-1]
        return [
            ((low << size) // most, min((high << size) // least, (1 << size) - 1))  # each is below 1, however little
            for low, high in zip(below[:-1], above[:-1], strict=True)
        ]

    def draw(self, size: int, rng: Entropy) -> NDArray[np.int16]:
        """`size` independent outcomes."""
        start = np.frombuffer(rng.raw(2 * size), dtype=np.uint16)
        out = self._first[start]
        undecided = np.flatnonzero(out < 0)
        if undecided.size:
            more = words(undecided.size, rng=rng) >> np.uint64(16)
            out[undecided] = self._settle(start[undecided].astype(np.uint64) << np.uint64(48) | more, rng)
        return out

    def _settle(self, u: NDArray[np.uint64], rng: Entropy) -> NDArray[np.int64]:
        """The outcomes of numbers with these first 64 digits."""
        outcome = np.searchsorted(self._thresholds, u, side="left")
        last = self._thresholds.size - 1
        for i in np.flatnonzero(self._thresholds[np.minimum(outcome, last)] == u):
            outcome[i] = self._refine(int(u[i]), int(outcome[i]), rng)
        return outcome

    def _refine(self, u: int, outcome: int, rng: Entropy) -> int:
        """The outcome of a number whose first 64 digits are those of the threshold that ends `outcome`."""
        size, precision = 64, START
        while True:
            u, size, precision = u << 64 | rng.bits(64), size + 64, precision * 2
            ends = self._thresholds_at(size, precision)
            while outcome < len(ends) and u > ends[outcome][1]:
                outcome += 1
            if outcome == len(ends) or u < ends[outcome][0]:
                return outcome
