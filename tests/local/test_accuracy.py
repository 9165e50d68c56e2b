"""Estimates of many people: by the published odds, as far off as theory says, and covered by their standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from local.laws import of_coins, usual
from numpy.typing import NDArray

from discreet.local import (
    Frequencies,
    Hadamard,
    LocalHashing,
    OptimizedUnary,
    Response,
    SubsetSelection,
    SymmetricUnary,
)

SEEDS, PEOPLE, VALUES, EPSILON = 40, 12_000, 100, 1.0
E = math.exp(EPSILON)
ROOT = math.exp(EPSILON / 2)
SET = round(VALUES / (E + 1))
CELLS = round(E) + 1

# Published odds, in floats: an oracle for ours. (p, q) of a report to support its holder's value, and another.
ODDS: dict[Any, tuple[float, float]] = {
    Response: (E / (E + VALUES - 1), 1 / (E + VALUES - 1)),
    SymmetricUnary: (ROOT / (ROOT + 1), 1 / (ROOT + 1)),
    OptimizedUnary: (1 / 2, 1 / (E + 1)),
    LocalHashing: (E / (E + CELLS - 1), 1 / CELLS),
    Hadamard: (E / (E + 1), 1 / 2),
    SubsetSelection: (
        E * SET / (E * SET + VALUES - SET),
        (E * SET * (SET - 1) + (VALUES - SET) * SET) / (VALUES - 1) / (E * SET + VALUES - SET),
    ),
}


def crowd() -> NDArray[np.int64]:
    """A few values with many people, many with few."""
    weights = 1 / np.arange(1, VALUES + 1)
    counts = np.floor(PEOPLE * weights / weights.sum()).astype(np.int64)
    counts[0] += PEOPLE - counts.sum()
    return np.repeat(np.arange(VALUES), counts)


@cache
def trials(kind: Callable[..., Any]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Over all seeds: how far off each count is, and its standard error, and how many reports support it."""
    client, people = kind(Fraction(1), VALUES), crowd()
    truth = np.bincount(people, minlength=VALUES)
    guesses: list[Frequencies] = [
        client.estimate(client.tally(client.batch(people, rng=Seeded(seed)))) for seed in range(SEEDS)
    ]
    misses, errors = np.array([guess.counts - truth for guess in guesses]), np.array([each.errors for each in guesses])
    return misses, errors, np.array([guess.supports for guess in guesses])


@pytest.mark.parametrize("kind", ODDS)
def test_reports_support_values_with_the_published_odds_and_no_others(kind: Any) -> None:  # noqa: ANN401
    """All hold one value: it is supported by Binomial(people, p) reports, and any other by Binomial(people, q).

    Exact tails of each of a hundred values on both sides: false alarm 1e-9.
    """
    client, people = kind(Fraction(1), VALUES), 40_000
    supports = client.estimate(client.tally(client.batch([7] * people, rng=Seeded(7)))).supports.tolist()

    def usual(value: int, chance: float) -> bool:
        seen, each = Coverage(supports[value], people), 1e-9 / (2 * VALUES)
        return not seen.refuted(chance, each) and not seen.exceeded(chance, each)

    assert all(usual(v, ODDS[kind][v != 7]) for v in range(VALUES))
    for epsilon in ("0.7", "1.3"):
        wrong = kind(Fraction(epsilon), VALUES).odds
        assert not (usual(7, float(wrong.holder)) and usual(8, float(wrong.other)))


@pytest.mark.parametrize("kind", ODDS)
def test_the_stated_variance_is_that_of_theory(kind: Any) -> None:  # noqa: ANN401
    """Of the published odds, whatever share holds a value. Ours are these but for 2^-27, which no estimate shows."""
    p, q = ODDS[kind]
    odds = kind(Fraction(1), VALUES).odds
    assert (float(odds.holder), float(odds.other)) == pytest.approx((p, q), rel=1e-8)
    for share in (0, Fraction(1, 10), 1):
        theory = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2
        assert float(odds.variance(Fraction(share))) == pytest.approx(float(theory), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ODDS)
def test_the_mean_squared_error_is_that_of_theory(kind: Any) -> None:  # noqa: ANN401
    """A ratio of 4000 squares: its standard error is about 0.025, so 0.9 and 1.1 are four of them away."""
    p, q = ODDS[kind]
    share = np.bincount(crowd(), minlength=VALUES) / PEOPLE
    theory = PEOPLE * (q * (1 - q) / (p - q) ** 2 + share * (1 - p - q) / (p - q))
    misses, _, _ = trials(kind)
    assert 0.9 <= np.mean(misses**2) / np.mean(theory) <= 1.1


@pytest.mark.parametrize("kind", ODDS)
@pytest.mark.slow
def test_estimates_are_unbiased(kind: Any) -> None:  # noqa: ANN401
    """Over 40 seeds what supports a value is the heads of two crowds of coins: exact tails at 1e-10 each.

    And an estimate is that number less what others add to it, over what a holder adds more.
    """
    (p, q), (misses, _, supports) = ODDS[kind], trials(kind)
    held = np.bincount(crowd(), minlength=VALUES)
    for value in (0, 1, 10, 50, 99):
        own = int(held[value])
        law = of_coins((SEEDS * own, Fraction(p)), (SEEDS * (PEOPLE - own), Fraction(q)))
        assert usual(int(supports[:, value].sum()), law)
    counts = (supports - PEOPLE * q) / (p - q)
    assert misses == pytest.approx(counts - held, rel=1e-6, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ODDS)
def test_standard_errors_cover(kind: Any) -> None:  # noqa: ANN401
    """95.4 % within two, 68.3 % within one; 4000 trials, a little dependent: 0.02 is five standard errors and more."""
    misses, errors, _ = trials(kind)
    within = np.abs(misses) / errors
    assert np.mean(within <= 2) == pytest.approx(0.954, abs=0.02)
    assert np.mean(within <= 1) == pytest.approx(0.683, abs=0.04)


def test_the_best_has_the_smallest_error() -> None:
    """At ε = 1 and 100 values: subsets, then optimized unary, and plain response far behind."""
    squares = {kind: kind(Fraction(1), VALUES).odds.variance(Fraction(0)) for kind in ODDS}
    assert squares[SubsetSelection] < squares[OptimizedUnary] < squares[SymmetricUnary] < squares[Hadamard]
    assert squares[Response] > 5 * squares[Hadamard]
