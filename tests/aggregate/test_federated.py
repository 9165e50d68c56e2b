"""Vectors that are clipped, summed and averaged: never too long, as far apart as promised, and they learn."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.aggregate import ClippedGrid, GaussianShares, LogisticDescent, MaskedSum, rehearsed
from discreet.errors import Refusal
from discreet.ledger.signed_head import public_part

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
GRID = ClippedGrid(Fraction(1), 1000)


@given(st.lists(FLOATS, min_size=1, max_size=6), st.integers(1, 1 << 30), st.fractions("1/1000", 1000))
def test_no_vector_is_longer_than_the_limit_and_short_ones_are_off_by_less_than_a_step(
    vector: list[float], limit: int, norm: Fraction
) -> None:
    grid = ClippedGrid(norm, limit)
    steps = grid.clipped(vector)
    assert sum(each * each for each in steps) <= limit**2
    exact = [Fraction(each) * limit / norm for each in vector]
    if sum(each * each for each in exact) <= limit**2:
        assert all(0 <= abs(e) - abs(s) < 1 and s * e >= 0 for s, e in zip(steps, exact, strict=True))


def test_a_long_vector_keeps_its_direction() -> None:
    assert GRID.clipped([3, -4]) == [600, -800]
    assert GRID.clipped([1e300, 0]) == [1000, 0]
    assert GRID.clipped([0.9, 0.9]) == [706, 706]  # 900 · 1000 / 1273, the root of 1,620,000 rounded up
    assert ClippedGrid(Fraction(1), 1).clipped([1, 1]) == [0, 0]
    assert GRID.clipped([0.3, -0.4]) == [299, -400]  # 0.3 is a little less in binary
    with pytest.raises(Refusal, match="a vector of numbers"):
        GRID.clipped([[1.0]])


def test_no_row_keeps_a_person_from_taking_part() -> None:
    """Who is missing is seen: a refusal would tell of the rows."""
    assert GRID.clipped([math.nan, 0.5, -math.inf]) == [0, 500, 0]
    descent = LogisticDescent(GRID)
    usual = descent.gradient([1.0, 0.0], [[0.5, 0.25]], [1])
    assert usual != [0, 0]
    odd: list[list[float]] = [[0.5, 0.25], [math.nan, 1], [math.inf, 1], [1, 1]]
    assert descent.gradient([1.0, 0.0], odd, [1, 1, 0, 2]) == usual
    assert descent.gradient([1.0, 0.0], np.zeros((0, 2)), []) == [0, 0]
    assert len(descent.gradient([1e300, -1e300], [[1e300, 1e300]], [1])) == 2


def test_worst_vectors_are_told_apart_as_often_as_the_promise_allows_and_no_oftener() -> None:
    """Opposite ones at the limit, with the noise of the fewest honest survivors: Φ(√(2ρ)/2) of guesses are right."""
    shares, rng, runs = GaussianShares(Fraction(2), 9, 4, 1000, 2), Seeded(3), 2000
    guesses = 0
    for run in range(runs):
        sign = 1 if run % 2 else -1
        vectors = [GRID.clipped([5 * sign, 0]), [0, 0], [0, 0], [0, 0]]
        total = sum(shares.numbers(vector, rng=rng)[0] for vector in vectors)
        guesses += (total > 0) == (sign > 0)

    def allowed(rho: float) -> float:
        return float(stats.norm.cdf(math.sqrt(2 * rho) / 2))

    def refuted(chance: float) -> bool:
        return bool(2 * min(stats.binom.cdf(guesses, runs, chance), stats.binom.sf(guesses - 1, runs, chance)) < 1e-9)

    assert not refuted(allowed(2))
    assert refuted(allowed(2 * 1.3**2))  # of noise that is 30 % off, either way
    assert refuted(allowed(2 / 1.3**2))
    assert shares.privacy.rho == 2


def test_a_mean_is_read_by_the_protocol_within_its_error(tmp_path: Path) -> None:
    keys = [Ed25519PrivateKey.generate() for _ in range(8)]
    grid = ClippedGrid(Fraction(2))
    task = MaskedSum.of("mean", map(public_part, keys), grid.limit, 8, failures="0.25", colluders=0, dimension=3)
    vectors = [[place / 8, -1.0, 0.25] for place in range(8)]
    total = rehearsed(task, 0, keys, [grid.clipped(each) for each in vectors], tmp_path, gone=(2, 5))
    found = grid.mean(total, 6)
    truth = np.mean([vectors[place] for place in range(8) if place not in (2, 5)], axis=0)
    deviation = task.noise.deviation_of(6) * 2 / grid.limit / 6
    assert np.abs(found - truth).max() < 7 * deviation
    assert np.abs(found - truth).max() > 0
    assert 1.9 * deviation < grid.error(task.noise, 6) < 2.1 * deviation


def test_the_error_of_a_mean_covers_and_is_hardly_too_long() -> None:
    shares, grid, runs = GaussianShares(Fraction(2), 5, 5, 1000, 1), ClippedGrid(Fraction(1), 1000), 1000
    rng, vector = Seeded(4), [0.123456]
    errors = []
    for _ in range(runs):
        total = sum(shares.numbers(grid.clipped(vector), rng=rng)[0] for _ in range(5))
        errors.append(abs(grid.mean([Fraction(total, 1 << shares.places)], 5)[0] - vector[0]))
    hits = sum(error <= grid.error(shares, 5) for error in errors)
    assert stats.binom.cdf(hits, runs, 0.95) > 1e-9
    assert stats.binom.cdf(sum(error <= grid.error(shares, 5) / 1.3 for error in errors), runs, 0.95) < 1e-9


def test_a_gradient_is_that_of_finite_differences() -> None:
    descent, random = LogisticDescent(ClippedGrid(Fraction(10))), np.random.default_rng(5)
    rows, labels, weights = random.normal(size=(7, 3)), random.integers(0, 2, 7), random.normal(size=3)

    def loss(at: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        signs = 2 * labels - 1
        return float(np.log1p(np.exp(-signs * (rows @ at))).mean())

    found = np.array(descent.gradient(weights, rows, labels)) * 10 / descent.grid.limit
    for place in range(3):
        aside = np.zeros(3)
        aside[place] = 1e-5
        slope = (loss(weights + aside) - loss(weights - aside)) / 2e-5
        assert found[place] == pytest.approx(slope, abs=3e-5)
    with pytest.raises(Refusal, match="expected rows of 1 numbers"):
        descent.gradient([1.0], [[1.0, 2.0]], [1])
    with pytest.raises(Refusal, match="expected 2 weights"):
        descent.step([1.0], [Fraction(1), Fraction(2)], 3)


@pytest.mark.slow
def test_ten_steps_learn_what_the_rows_say() -> None:
    """Two thousand people with five rows each, noise for eight in ten honest survivors, ρ = 1/20 a step."""
    random, truth = np.random.default_rng(6), np.array([2.0, -1.0])
    rows = random.normal(size=(2000, 5, 2))
    labels = (random.random((2000, 5)) < 1 / (1 + np.exp(-rows @ truth))).astype(int)
    descent, weights, rng = LogisticDescent(ClippedGrid(Fraction(1)), rate=4.0), np.zeros(2), Seeded(7)
    shares = GaussianShares(Fraction(1, 20), 2000, 1600, descent.grid.limit, 2)
    for _ in range(10):
        noise = np.array([shares.numbers([0, 0], rng=rng) for _ in range(2000)]).sum(axis=0)
        sums = np.sum([descent.gradient(weights, *own) for own in zip(rows, labels, strict=True)], axis=0)
        weights = descent.step(weights, [Fraction(int(each)) for each in sums + noise], 2000)
    assert weights @ truth / np.linalg.norm(weights) / np.linalg.norm(truth) > 0.98
    right = ((rows @ weights > 0) == (rows @ truth > 0)).mean()
    assert right > 0.93
