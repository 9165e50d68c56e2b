"""Samplers follow their law and reject one that is 30 % wider or narrower, on bits of the production source.

Each acceptance may fail by chance with probability at most 1e-11 (Dvoretzky, Kiefer & Wolfowitz, Massart 1990; or
exact binomial tails); with fewer than 60 of them the module's false-alarm rate is below 1e-9.
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


TAILED = ["laplaces 10", "laplaces 1e6", "gaussians 10", "gaussians 1e6", "poissons in parts", "skellams"]


@pytest.mark.parametrize("case", TAILED)
def test_tails_are_as_heavy_as_the_law_says(case: str) -> None:
    """Beyond ever rarer places on either side, by exact binomial tails; a scale that is 3 % off is seen."""
    draw, law, scale = CASES[case]
    drawn = draw(2_000_000)
    middle = float(stats.poisson.median(scale)) if case.startswith("poissons") else 0.0
    deviation = scale**0.5 if case.startswith(("poissons", "skellams")) else scale
    places = np.unique(np.rint(middle + deviation * np.linspace(-9, 9, 37)))

    def unlikely(law: Distribution) -> float:
        up_to = np.array([np.count_nonzero(drawn <= place) for place in places])
        above = np.array([np.count_nonzero(drawn > place) for place in places])
        below, beyond = law(places), -np.expm1(np.log(np.maximum(law(places), 1e-300)))
        tails = [stats.binom.sf(up_to - 1, drawn.size, below), stats.binom.sf(above - 1, drawn.size, beyond)]
        return float(min(map(np.min, tails))) * 2 * places.size

    assert unlikely(law(scale)) > FALSE_ALARM
    assert unlikely(law(scale * 1.03)) < FALSE_ALARM


def test_neighbouring_draws_are_independent() -> None:
    """Signs of pairs that have no draw in common, by exact binomial tails; of a draw with itself they are not."""
    signs, q = np.sign(laplaces(10, 1_000_000)), math.exp(-1 / 10)
    chance = {0: (1 - q) / (1 + q), 1: q / (1 + q), -1: q / (1 + q)}

    def independent(one: Samples, other: Samples) -> bool:
        seen = [
            (np.count_nonzero((one == a) & (other == b)), p * r) for a, p in chance.items() for b, r in chance.items()
        ]
        return all(stats.binomtest(hits, one.size, p).pvalue > FALSE_ALARM / 9 for hits, p in seen)

    assert independent(signs[::2], signs[1::2])
    assert not independent(signs[::2], signs[::2])


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 1000), Fraction(999, 1000)])
def test_coins_land_with_their_probability(p: Fraction) -> None:
    n = 1_000_000
    heads = int(flips(p, n).sum())
    assert stats.binomtest(heads, n, float(p)).pvalue > FALSE_ALARM
    assert stats.binomtest(heads, n, float(p) * 0.98).pvalue < FALSE_ALARM or p < Fraction(1, 100)
