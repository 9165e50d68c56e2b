"""Continuous noise as doubles hold it: its laws, and how far from the ideal it may be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from doubles import Seeded
from scipy import stats

from discreet.learn.gaussian_noise import exponential_vector, farther, normals


def test_noise_has_the_laws_it_should() -> None:
    """Dvoretzky, Kiefer & Wolfowitz (Massart 1990): a right law is further off with 1e-9; a scale of 1.3 would be."""
    rng, size, draws = Seeded(3), 3, 4000
    vectors = np.array([exponential_vector(size, rng=rng) for _ in range(draws)])
    lengths, plain = np.linalg.norm(vectors, axis=1), normals(draws, rng=rng)
    allowed = (np.log(2 / 1e-9) / (2 * draws)) ** 0.5
    for sample, law in (
        (lengths, stats.gamma(size)),
        (plain, stats.norm()),
        (vectors[:, 1] / lengths, stats.uniform(-1, 2)),
    ):
        assert stats.kstest(sample, law.cdf).statistic <= allowed  # a direction in space has even coordinates
        assert stats.kstest(1.3 * sample, law.cdf).statistic > allowed
        assert stats.kstest(sample / 1.3, law.cdf).statistic > allowed


def test_doubles_take_noise_no_farther_than_is_counted() -> None:
    """A draw is rounded, so is its scale, and so are their product and what it is added to."""
    coins, counted = np.random.default_rng(1), Fraction(farther(1, exponential=False))
    worst = Fraction(0)
    for _ in range(3000):
        ideal = 12 - Fraction(int(coins.integers(2**59)), 2**60)
        scale = Fraction(134, 100) + Fraction(int(coins.integers(2**62)), 10 * 2**62)
        found = float(coins.uniform(0, 0.01))
        told = found + float(scale) * float(ideal)
        worst = max(worst, abs(Fraction(told) - Fraction(found) - scale * ideal) / scale)
    assert counted / 2 < worst <= counted
