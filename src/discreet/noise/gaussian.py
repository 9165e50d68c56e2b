"""Discrete Gaussian noise, exact for every rational variance."""

from __future__ import annotations

import math

from discreet.exact import Number, positive
from discreet.noise.bernoulli import flip_exp_ratio
from discreet.noise.entropy import SECURE, Entropy
from discreet.noise.laplace import laplace


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
