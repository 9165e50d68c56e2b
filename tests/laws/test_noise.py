"""Samplers follow their law and reject one that is 30 % wider or narrower, on bits of the production source.

Each acceptance may fail by chance with probability at most 1e-11 (Dvoretzky, Kiefer & Wolfowitz; Massart 1990) and
each moment with 1e-11 (normal approximation at 6.8 standard errors); with fewer than 60 of them the module's
false-alarm rate is below 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.noise import flips, gaussian, gaussians, geometric, geometrics, laplace, laplaces, poissons, skellams

Samples = NDArray[np.int64]
Distribution = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # n -> Pr[X <= n]
FALSE_ALARM = 1e-11


def laplace_law(scale: float) -> Distribution:
    q = math.exp(-1 / scale)
    return lambda n: np.where(n >= 0, 1 - q ** (np.maximum(n, 0) + 1) / (1 + q), q ** -np.minimum(n, 0) / (1 + q))


def geometric_law(scale: float) -> Distribution:
    return lambda n: np.where(n >= 0, -np.expm1(-(np.maximum(n, 0) + 1) / scale), 0.0)


def gaussian_law(sigma: float) -> Distribution:
    if sigma > 1000:  # Poisson summation: the discrete law is the normal one at n + 1/2 up to 1/(24 σ²) < 1e-7
        return lambda n: stats.norm.cdf((n + 0.5) / sigma)
    reach = np.arange(-int(40 * sigma) - 2, int(40 * sigma) + 3)
    sums = np.cumsum(np.exp(-(reach.astype(float) ** 2) / (2 * sigma * sigma)))
    return lambda n: sums[np.clip(n - reach[0], 0, reach.size - 1).astype(int)] / sums[-1]


def poisson_law(mean: float) -> Distribution:
    return lambda n: stats.poisson.cdf(n, mean)


def skellam_law(variance: float) -> Distribution:
    return lambda n: stats.skellam.cdf(n, variance / 2, variance / 2)


def gap(sample: Samples, law: Distribution) -> float:
    """The largest distance between the empirical and the true distribution function."""
    values, counts = np.unique(sample, return_counts=True)
    above = np.cumsum(counts) / sample.size
    here, before = law(values.astype(float)), law(values.astype(float) - 1)
    return float(max(np.abs(above - here).max(), np.abs(above - counts / sample.size - before).max()))


CASES: dict[str, tuple[Callable[[int], Samples], Callable[[float], Distribution], float]] = {
    "laplaces 1/4": (lambda n: laplaces(Fraction(1, 4), n), laplace_law, 0.25),
    "laplaces 7/3": (lambda n: laplaces(Fraction(7, 3), n), laplace_law, 7 / 3),
    "laplaces 10": (lambda n: laplaces(10, n), laplace_law, 10),
    "laplaces 1000": (lambda n: laplaces(1000, n), laplace_law, 1000),
    "laplaces 1e6": (lambda n: laplaces(10**6, n), laplace_law, 1e6),
    "laplaces 2^40": (lambda n: laplaces(2**40, n), laplace_law, 2.0**40),
    "geometrics": (lambda n: geometrics(Fraction(1, 100), n), geometric_law, 100),
    "gaussians 1/2": (lambda n: gaussians(Fraction(1, 4), n), gaussian_law, 0.5),
    "gaussians 5/2": (lambda n: gaussians(Fraction(25, 4), n), gaussian_law, 2.5),
    "gaussians 10": (lambda n: gaussians(100, n), gaussian_law, 10),
    "gaussians 300": (lambda n: gaussians(90_000, n), gaussian_law, 300),
    "gaussians 1e6": (lambda n: gaussians(10**12, n), gaussian_law, 1e6),
    "gaussians 2^40": (lambda n: gaussians(2**80, n), gaussian_law, 2.0**40),
    "poissons": (lambda n: poissons(Fraction(9, 2), n), poisson_law, 4.5),
    "poissons in parts": (lambda n: poissons(3000, n), poisson_law, 3000),
    "skellams": (lambda n: skellams(50, n), skellam_law, 50),
    "laplace": (lambda n: np.array([laplace(10) for _ in range(n // 40)]), laplace_law, 10),
    "laplace 1e6": (lambda n: np.array([laplace(10**6) for _ in range(n // 40)]), laplace_law, 1e6),
    "geometric": (lambda n: np.array([geometric(Fraction(1, 7)) for _ in range(n // 40)]), geometric_law, 7),
    "gaussian": (lambda n: np.array([gaussian(Fraction(25, 4)) for _ in range(n // 40)]), gaussian_law, 2.5),
    "gaussian 1e6": (lambda n: np.array([gaussian(10**12) for _ in range(n // 40)]), gaussian_law, 1e6),
}


@pytest.mark.parametrize("case", CASES)
def test_law_is_followed_and_wrong_scales_are_rejected(case: str) -> None:
    draw, law, scale = CASES[case]
    sample = draw(1_000_000)
    slack = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * sample.size))
    assert gap(sample, law(scale)) <= slack
    assert gap(sample, law(scale * 1.3)) > slack
    assert gap(sample, law(scale * 0.7)) > slack


Q = math.exp(-0.1)  # the ratio of the discrete Laplace law of scale 10


@pytest.mark.parametrize(
    ("sample", "mean", "variance", "fourth"),
    [
        (lambda n: laplaces(10, n), 0.0, 2 * Q / (1 - Q) ** 2, 2 * Q * (1 + 10 * Q + Q * Q) / (1 - Q) ** 4),
        (lambda n: laplaces(10**6, n), 0.0, 2e12, 24e24),
        (lambda n: gaussians(100, n), 0.0, 100.0, 3e4),
        (lambda n: gaussians(10**12, n), 0.0, 1e12, 3e24),
        (lambda n: poissons(3000, n), 3000.0, 3000.0, 3000 + 3 * 3000.0**2),
        (lambda n: skellams(50, n), 0.0, 50.0, 50 + 3 * 50.0**2),
    ],
    ids=["laplaces 10", "laplaces 1e6", "gaussians 10", "gaussians 1e6", "poissons", "skellams"],
)
def test_moments(sample: Callable[[int], Samples], mean: float, variance: float, fourth: float) -> None:
    n = 2_000_000
    drawn = sample(n).astype(float)
    assert abs(drawn.mean() - mean) < 6.8 * math.sqrt(variance / n)
    assert abs(((drawn - mean) ** 2).mean() - variance) < 6.8 * math.sqrt((fourth - variance**2) / n)


def test_neighbouring_draws_are_independent() -> None:
    drawn = laplaces(10, 1_000_000).astype(float)
    correlation = (drawn[1:] * drawn[:-1]).mean() / drawn.var()
    assert abs(correlation) < 6.8 / math.sqrt(drawn.size - 1)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 1000), Fraction(999, 1000)])
def test_coins_land_with_their_probability(p: Fraction) -> None:
    n = 1_000_000
    heads = int(flips(p, n).sum())
    assert stats.binomtest(heads, n, float(p)).pvalue > FALSE_ALARM
    assert stats.binomtest(heads, n, float(p) * 0.98).pvalue < FALSE_ALARM or p < Fraction(1, 100)
