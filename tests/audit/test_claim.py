"""A claim is tested where it says something, and contradicted only by what it forbids."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.claim import Point, excess, points
from discreet.privacy.loss import Approximate, Concentrated, Loss, Pure
from discreet.privacy.renyi import Renyi
from discreet.privacy.tradeoff import Gaussian

SHARES = st.fractions(0, 1)


def test_a_pair_of_numbers_is_tested_at_itself() -> None:
    assert points(Pure(2), 1000) == (Point(Fraction(2), Fraction(0)),)
    assert points(Approximate(1, "1e-6"), 1000) == (Point(Fraction(1), Fraction(1, 10**6)),)


@pytest.mark.parametrize(
    "claim",
    [
        Concentrated("0.5"),
        Concentrated("0.001"),
        Concentrated(20),
        Concentrated(1, "0.01"),
        Gaussian.of(1),
        Renyi.gaussian(2),
    ],
    ids=str,
)
def test_a_curve_is_tested_along_itself_from_the_start(claim: Loss) -> None:
    tested = points(claim, 50_000)
    assert 3 <= len(tested) <= 17
    assert all(point.delta == claim.delta_at(point.epsilon) < 1 for point in tested)
    assert sorted(tested, key=lambda point: point.epsilon) == list(tested)
    assert tested[-1].epsilon <= 11  # ln 50,000: beyond it no event of so few outputs contradicts anything


def test_no_loss_at_all_is_a_claim_too() -> None:
    assert Point(Fraction(0), Fraction(0)) in points(Gaussian.of(0), 1000)


@given(SHARES, SHARES, st.fractions(0, 3), st.fractions(0, 1))
def test_a_contradiction_is_one(likely: Fraction, unlikely: Fraction, epsilon: Fraction, delta: Fraction) -> None:
    contradicted = Point(epsilon, delta).contradicted(likely, unlikely)
    gap = float(likely) - exp(float(epsilon)) * float(unlikely) - float(delta)
    if abs(gap) > 1e-9:  # where a float can tell
        assert contradicted is (gap > 0)


def test_equality_contradicts_nothing() -> None:
    assert not Point(Fraction(0), Fraction(1, 4)).contradicted(Fraction(1, 2), Fraction(1, 4))
    assert Point(Fraction(0), Fraction(1, 4)).contradicted(Fraction(1, 2) + Fraction(1, 10**40), Fraction(1, 4))


def test_events_are_compared_by_what_they_prove() -> None:
    claim = points(Pure(1), 1000)
    likely, unlikely = np.array([900, 500, 0, 1000]), np.array([100, 500, 1000, 0])
    gains = excess(claim, likely, unlikely, 1000, 1e-6)
    assert gains.argsort().tolist() == [2, 1, 0, 3]
    assert gains[0] < np.log(9) - 1
    assert np.isneginf(gains[2])
