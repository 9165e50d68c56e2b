"""Vectors of exact noise, tens of millions of draws a second."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, spoken
from discreet.noise.entropy import SECURE, Entropy
from discreet.noise.law import Law

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
