"""The solver: a certificate bounds the true gradient, and rows may come in any blocks."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import Fault
from discreet.learn.convex_losses import Logistic, SmoothHinge
from discreet.learn.newton_solver import Objective, minimised


def test_a_certificate_bounds_the_true_gradient_and_is_refused_where_it_cannot() -> None:
    """The gradient again in rationals, of a loss whose slope is a polynomial."""
    rng, loss = np.random.default_rng(2), SmoothHinge(Fraction(1, 2))
    rows = np.trunc(np.ldexp(rng.uniform(-1, 1, size=(50, 3)), 40)) * 2.0**-40
    labels, tilt = rng.integers(0, 2, 50), rng.normal(size=(3, 1))
    it = Objective(loss, ((rows[:20], labels[:20]), (rows[20:], labels[20:])), 0.5, tilt, 3**0.5, np.zeros((3, 1)))
    at = minimised(it, 1e-8)
    theta, total = [Fraction(float(t)) for t in at[:, 0]], [Fraction(0)] * 3
    for row, label in zip(rows, labels.tolist(), strict=True):
        x, sign = [Fraction(float(part)) for part in row], 2 * label - 1
        u = max(Fraction(-1), min(Fraction(1), 2 * (1 - sign * sum(a * b for a, b in zip(x, theta, strict=True)))))
        slope = sign * (u**3 / 4 - 3 * u / 4 - Fraction(1, 2))
        total = [sum_ + slope * part for sum_, part in zip(total, x, strict=True)]
    true = [t + Fraction(1, 2) * a + Fraction(float(b)) for t, a, b in zip(total, theta, it.tilt[:, 0], strict=True)]
    length = float(sum(part * part for part in true)) ** 0.5
    assert length <= it.longest(at) <= 1e-8
    assert it.longest(at) < length + 1e-10
    with pytest.raises(Fault):
        minimised(it, 1e-18)


def test_a_certificate_counts_what_the_slope_of_each_row_is_off() -> None:
    """Ten roundings of a double a row (docs/proofs/convex.md): where all slopes cancel, nothing else is left."""
    rows, labels, nothing = np.ones((1000, 1)), np.arange(1000) % 2, np.zeros((1, 1))
    it = Objective(Logistic(), ((rows, labels),), 0.5, nothing, 1.0, nothing)
    assert it.longest(nothing) == pytest.approx(1000 * 10 * 2.0**-53, rel=1e-9)


def test_a_slope_is_off_by_no_more_than_a_certificate_counts() -> None:
    """Against forty digits: 8 units of rounding, whatever the library's exponential is off."""
    margins = np.concatenate([np.linspace(-40, 40, 4001), [0.0, 1e-300, -1e-9, 700.0, -750.0]])
    told = Logistic().slope(margins[:, np.newaxis], np.ones(margins.size, dtype=np.int64))[:, 0]
    with localcontext(prec=40):
        for margin, slope in zip(margins.tolist(), told.tolist(), strict=True):
            assert abs(Decimal(slope) + 1 / (1 + Decimal(margin).exp())) <= 8 * Decimal(2) ** -53, margin


def test_a_minimum_is_the_same_in_one_block_and_in_many() -> None:
    """Within what either may be off, from a start in a sixteenth of the blocks or from zero; without rows too."""
    rng, nothing = np.random.default_rng(9), np.zeros((3, 1))
    rows, tilt = np.round(rng.uniform(-1, 1, (80_000, 3)), 3), rng.normal(size=(3, 1))
    rows, labels = np.ldexp(np.trunc(np.ldexp(rows, 40)), -40), rng.integers(0, 2, 80_000)
    blocks = tuple((rows[i : i + 2500], labels[i : i + 2500]) for i in range(0, 80_000, 2500))
    one, many = (Objective(Logistic(), each, 2.0, tilt, 2.0, nothing) for each in (((rows, labels),), blocks))
    found = [minimised(each, 1e-7) for each in (one, many)]
    assert many.size == 80_000
    assert np.linalg.norm(found[0] - found[1]) <= 2 * 1e-7 / 2.0
    assert one.longest(found[1]) <= 1.0001e-7
    assert minimised(Objective(Logistic(), (), 2.0, tilt, 2.0, nothing), 1e-12) == pytest.approx(-tilt / 2)


def test_a_solver_goes_round_in_no_circle() -> None:
    """A hinge and little ridge: full steps once went to and fro between two points, one with half the other's slope."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        rows = np.trunc(np.ldexp(rng.normal(size=(20, 61)), 37)) * 2.0**-40
        labels, tilt = rng.integers(0, 2, 20), rng.normal(size=(61, 1)) * 0.5
        it = Objective(SmoothHinge(Fraction(1, 10)), ((rows, labels),), 0.01, tilt, 2.0, np.zeros((61, 1)))
        assert it.longest(minimised(it, 1e-7)) <= 1e-7
