"""The learned score finds what no single feature shows, and orders outputs of any kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from doubles import Seeded
from numpy.typing import NDArray

from discreet.audit.likelihood_score import BINS, Boosted
from discreet.audit.zoo_wrong_noise import uniforms

Reals = NDArray[np.float64]


def square(size: int, number: int) -> Reals:
    return uniforms(2 * size, rng=Seeded(number)).reshape(size, 2)


def auc(score: Boosted, left: Reals, right: Reals) -> float:
    a, b = score.score(left), np.sort(score.score(right))
    return float(np.mean((np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")) / (2 * b.size)))


def test_it_learns_an_interaction() -> None:
    """Left is a checkerboard's white squares, right its black ones: each coordinate alone is uniform on both."""

    def board(number: int) -> tuple[Reals, Reals]:
        points = square(16_000, number)
        white = (np.floor(2 * points).sum(axis=1) % 2) == 0
        return points[white], points[~white]

    score = Boosted.learned(*board(1))
    assert auc(score, *board(2)) > 0.99
    assert score.weights().min() > 0


def test_it_learns_what_is_not_a_number() -> None:
    left, right = square(4000, 3), square(4000, 4)
    left[:, 0][left[:, 1] > 0.5] = math.nan
    right[:, 0][right[:, 1] < 0.5] = math.nan
    assert auc(Boosted.learned(left, right), left, right) > 0.99


def test_an_atom_between_many_values_gets_its_own_bin() -> None:
    left, right = square(20_000, 5)[:, :1], square(20_000, 6)[:, :1]
    left[:2000] = 0.5
    score = Boosted.learned(left, right)
    atom, beside = score.score(np.array([[0.5], [0.5001]]))
    assert atom > beside + 2
    assert score.edges[0].size < BINS


def test_nothing_to_learn_is_nothing_learned() -> None:
    left, right = square(20_000, 7), square(20_000, 8)
    assert auc(Boosted.learned(left, right), square(20_000, 9), square(20_000, 10)) == pytest.approx(0.5, abs=0.02)


def test_rows_it_never_saw_have_a_score() -> None:
    score = Boosted.learned(np.zeros((100, 1)), np.ones((100, 1)))
    odd = score.score(np.array([[math.inf], [-math.inf], [math.nan], [0.3]]))
    assert np.isfinite(odd).all()
    assert score.score(np.zeros((1, 1)))[0] > score.score(np.ones((1, 1)))[0]
