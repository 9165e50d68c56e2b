"""Discrete Laplace, geometric and Gaussian noise, one number at a time, exact for every rational parameter."""

from __future__ import annotations

import math

from discreet.exact import Number, positive
from discreet.noise.bernoulli import flip_exp_ratio
from discreet.noise.secure_random import SECURE, Entropy, whole_below


def geometric(x: Number, *, rng: Entropy = SECURE) -> int:
    """Pr[n] = (1 − e^{−x}) e^{−nx} on n ≥ 0 (Canonne, Kamath & Steinke 2020, Algorithm 2 without its sign)."""
    rate = positive(x, "x")
    return _geometric(rate.numerator, rate.denominator, rng)


def _geometric(top: int, bottom: int, rng: Entropy) -> int:
    """Proof: u + bottom·v is geometric with ratio exp(−1/bottom); its quotient by `top` has ratio exp(−top/bottom)."""
    while True:
        u = whole_below(bottom, rng)
        if flip_exp_ratio(u, bottom, rng):
            break
    v = 0
    while flip_exp_ratio(1, 1, rng):
        v += 1
    return (u + bottom * v) // top


def laplace(scale: Number, *, rng: Entropy = SECURE) -> int:
    """Pr[n] ∝ exp(−|n| / scale) (Canonne, Kamath & Steinke 2020, Algorithm 2)."""
    width = positive(scale, "scale")
    while True:
        negative, size = rng.bits(1), _geometric(width.denominator, width.numerator, rng)
        if size or not negative:
            return -size if negative else size


def gaussian(variance: Number, *, rng: Entropy = SECURE) -> int:
    """Pr[n] ∝ exp(−n² / (2 variance)) (Canonne, Kamath & Steinke 2020, Algorithm 3)."""
    square = positive(variance, "variance")
    top, bottom = square.numerator, square.denominator
    t = math.isqrt(top // bottom) + 1
    while True:
        n = laplace(t, rng=rng)
        # (|n| − σ²/t)² / (2σ²) = (|n| t bottom − top)² / (2 t² top bottom)
        if flip_exp_ratio((abs(n) * t * bottom - top) ** 2, 2 * t * t * top * bottom, rng):
            return n
