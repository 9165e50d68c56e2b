"""How far sums of noises reach, against exact convolutions of their laws."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.mechanisms.noise_sums import Additive, bar, sums_of

RARE = Fraction(1, 20)


def masses(noise: Additive, far: int) -> np.ndarray:
    """Pr[noise = k] for k from −far to far, from the definition."""
    k = np.arange(-far, far + 1, dtype=np.float64)
    if isinstance(noise, LaplaceVector):
        weights = np.exp(-np.abs(k) / float(noise.scale))
    else:
        weights = np.exp(-(k**2) / (2 * float(noise.variance)))
    return np.asarray(weights / weights.sum())


def exact(noises: tuple[Additive, ...], weights: tuple[int, ...], rare: float) -> int:
    """The smallest q with Pr[|Σ w n| > q] ≤ rare, by convolving the laws of w·n on the whole numbers."""
    law = np.ones(1)
    for noise, weight in zip(noises, weights, strict=True):
        own = masses(noise, noise.error(Fraction(10**13 - 1, 10**13)))
        spread = np.zeros((own.size - 1) * abs(weight) + 1)
        spread[:: abs(weight)] = own
        law = np.convolve(law, spread)
    middle = law.size // 2
    sizes = np.concatenate([[law[middle]], law[middle + 1 :] + law[middle - 1 :: -1]])
    beyond = 1 - np.cumsum(sizes)
    return int(np.argmax(beyond <= rare))


CASES: list[tuple[tuple[Additive, ...], tuple[int, ...]]] = [
    ((LaplaceVector(Fraction(1)), LaplaceVector(Fraction(1))), (1, 1)),
    ((LaplaceVector(Fraction(5)), LaplaceVector(Fraction(3))), (1, -2)),
    ((LaplaceVector(Fraction(1, 3)), LaplaceVector(Fraction(1, 2))), (1, 1)),
    ((LaplaceVector(Fraction(1, 4)),) * 2, (1, 1)),  # each is 0 but for 4 %, both are but for 7 %
    ((LaplaceVector(Fraction(40)), LaplaceVector(Fraction(7)), LaplaceVector(Fraction(20))), (1, 3, 2)),
    ((LaplaceVector(Fraction(10)),) * 9, (1,) * 9),
    ((GaussianVector(Fraction(1)), GaussianVector(Fraction(2))), (1, 1)),
    ((GaussianVector(Fraction(25)), GaussianVector(Fraction(90))), (3, -1)),
]


MANY: list[tuple[tuple[Additive, ...], tuple[int, ...]]] = [  # a total over so many groups
    ((LaplaceVector(Fraction(1, 2)),) * 300, (1,) * 300),
    ((LaplaceVector(Fraction(1)),) * 90, (1, 2, 3) * 30),
    ((GaussianVector(Fraction(4)),) * 120, (1,) * 120),
]


@pytest.mark.parametrize(("noises", "weights"), MANY)
def test_the_bar_of_a_long_sum_is_hardly_wider_than_it_must_be(
    noises: tuple[Additive, ...], weights: tuple[int, ...]
) -> None:
    """Rounding was once counted for the farthest that all noises reach at once: 300 were twice as wide."""
    for rare in (RARE, Fraction(1, 1000)):
        told = bar(tuple(zip(noises, map(Fraction, weights), strict=True)), rare)
        true = exact(noises, weights, float(rare))
        assert true <= told <= true + max(1, true // 25)


def test_a_long_sum_at_a_confidence_that_rounding_could_hide_still_reaches_as_far() -> None:
    """Where what rounding may hide was all that may go wrong, the bar was once 10 instead of some 1,500."""
    noise = LaplaceVector(Fraction(10))
    for many, rare in ((150, Fraction(1, 10**9)), (300, Fraction(2, 10**9)), (300, Fraction(1, 10**8))):
        normal = -NormalDist().inv_cdf(float(rare) / 2) * math.sqrt(2 * many) * 10  # tails of Laplace sums are heavier
        assert normal * 0.99 <= bar(((noise, Fraction(1)),) * many, rare) <= 1.25 * normal


@pytest.mark.parametrize(("noises", "weights"), CASES)
def test_a_bar_is_the_exact_quantile_or_next_to_it(noises: tuple[Additive, ...], weights: tuple[int, ...]) -> None:
    for rare in (RARE, Fraction(1, 2), Fraction(1, 1000)):
        told, true = (
            bar(tuple(zip(noises, map(Fraction, weights), strict=True)), rare),
            exact(noises, weights, float(rare)),
        )
        assert true <= told <= true + max(1, true // 200)


@pytest.mark.parametrize(("noises", "weights"), CASES)
def test_the_closed_form_is_not_below_and_hardly_above(noises: tuple[Additive, ...], weights: tuple[int, ...]) -> None:
    sums, true = sums_of(noises, RARE), exact(noises, weights, float(RARE))
    found = sums.quantile([float(w) for w in weights])
    slack = (0.5 if isinstance(noises[0], LaplaceVector) else 1.5) * sum(map(abs, weights)) + 1
    assert true <= found
    assert found <= true * (1.6 if len(noises) > 6 else 1.03) + slack
    assert sums.within([float(w) for w in weights], found * (1 + 1e-9))
    assert not sums.within([float(w) for w in weights], true * 0.97 - 1)


def test_wide_gaussians_add_up_as_normal_numbers_do() -> None:
    noises = GaussianVector(Fraction(10**6)), GaussianVector(Fraction(4 * 10**6))
    told = float(bar(((noises[0], Fraction(2)), (noises[1], Fraction(-1))), RARE))
    assert 1.959963984 * math.sqrt(8 * 10**6) <= told <= 1.96 * math.sqrt(8 * 10**6) * 1.002


def test_one_noise_is_exact_and_none_is_nothing() -> None:
    noise = LaplaceVector(Fraction(5, 3))
    assert bar(((noise, Fraction(-100, 7)),), RARE) == Fraction(100, 7) * noise.error(1 - RARE)
    assert bar(((noise, Fraction(0)),), RARE) == 0
    assert bar((), RARE) == 0


def test_hardly_any_noise_is_no_error() -> None:
    quiet = LaplaceVector(Fraction(1, 100))
    assert bar(((quiet, Fraction(3, 7)), (quiet, Fraction(1))), RARE) == 0
    assert sums_of((quiet, quiet), RARE).quantile([1.0, 2.0]) == 0
