"""A plan of noise for adaptive questions, and analysts who try to break what it says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage

from discreet.privacy import epsilon_at
from discreet.validity import adaptive_error, published_error, splitting


@pytest.mark.parametrize(("n", "questions"), [(10_000, 100), (100_000, 1000), (50, 3)])
def test_the_error_follows_from_the_noise_by_the_theorem(n: int, questions: int) -> None:
    """The slack is searched again, on a grid, with the formulas in floats."""
    plan = adaptive_error(n, questions)
    assert plan.loss.rho == Fraction(questions) / (2 * plan.variance)
    deviation, rho = math.sqrt(plan.variance) / n, float(plan.loss.rho)
    sample, posterior, part = np.meshgrid(
        np.geomspace(1e-5, 0.5, 40), np.geomspace(1e-6, 0.2, 40), np.linspace(0.1, 0.9, 9)
    )
    delta, epsilon = 0.05 * (1 - part) * posterior, np.full(sample.shape, np.inf)
    for order in 1 + np.geomspace(0.1, 1e4, 200):
        tail = np.log(1 / delta) + (order - 1) * np.log1p(-1 / order) - np.log(order)
        epsilon = np.minimum(epsilon, order * rho + tail / (order - 1))
    noise = deviation * np.sqrt(2 * np.log(2 * questions / (0.05 * part * sample)))
    best = float(np.min(noise + np.tanh(epsilon / 4) + sample + 2 * posterior))
    assert 0.98 * best <= float(plan.error) <= 1.002 * best


def test_where_nothing_can_be_promised_the_error_is_one() -> None:
    assert adaptive_error(1, 1).error == 1
    assert adaptive_error(3, 10**6).error == 1


def test_noise_beats_what_was_published_and_for_many_questions_splitting() -> None:
    for questions in (100, 1000, 10_000):
        plan = adaptive_error(10_000, questions)
        assert plan.error < Fraction("0.55") * published_error(10_000, questions).error
        assert plan.error < splitting(10_000, questions)
    assert adaptive_error(10_000, 10).error > splitting(10_000, 10)


def test_more_confidence_costs_error() -> None:
    assert adaptive_error(10_000, 100, "0.99").error > adaptive_error(10_000, 100, "0.9").error
    assert epsilon_at(adaptive_error(10_000, 100).loss, "1e-6") < 1


def overfitted(n: int, questions: int, deviation: float, rng: np.random.Generator) -> float:
    """The largest error of an analyst who asks how columns agree with labels, and then how their vote does."""
    columns = rng.integers(0, 2, size=(n, questions - 1), dtype=np.int8)  # 1 where a column agrees with the label
    shares = np.clip(columns.mean(axis=0) + rng.normal(0, deviation, questions - 1), 0, 1)
    signs = np.where(shares > 0.5, 1.0, -1.0).astype(np.float32)
    votes = (2 * columns.astype(np.float32) - 1) @ signs
    last = float(np.mean(votes > 0) + np.mean(votes == 0) / 2) + rng.normal(0, deviation)
    return max(float(np.max(abs(shares - 0.5))), abs(min(max(last, 0.0), 1.0) - 0.5))


def test_the_error_covers_the_truth_for_an_analyst_who_overfits() -> None:
    n, questions, runs, rng = 2000, 101, 200, np.random.default_rng(3)
    plan = adaptive_error(n, questions)
    deviation = math.sqrt(plan.variance) / n
    inside = sum(overfitted(n, questions, deviation, rng) <= plan.error for _ in range(runs))
    assert not Coverage(inside, runs).refuted(0.95)
    exact = sum(
        overfitted(n, questions, 0.0, rng) <= math.sqrt(math.log(2 * questions / 0.05) / (2 * n)) for _ in range(50)
    )
    assert Coverage(exact, 50).refuted(0.95), "exact answers with a textbook's bars would have done as well"
