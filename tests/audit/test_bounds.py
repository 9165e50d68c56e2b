"""The limits are limits, exactly: checked against rational sums over all outcomes."""

from __future__ import annotations

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.audit.probability_bounds import (
    at_least,
    at_most,
    epsilon_at_least,
    roughly_at_least,
    roughly_at_most,
    upper_tail,
)
from discreet.errors import Refusal


def tail(hits: int, trials: int, p: Fraction) -> Fraction:
    """Pr[Bin ≥ hits], term by term."""
    return sum((comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(hits, trials + 1)), Fraction(0))


@given(st.integers(1, 60), st.data())
def test_the_tail_is_rounded_up_and_hardly(trials: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    p = data.draw(st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000))
    truth = tail(hits, trials, p)
    assert truth <= upper_tail(hits, trials, p) <= truth * (1 + Fraction(1, 10**9))


def test_the_tail_of_a_large_sample_agrees_with_a_library() -> None:
    for hits, trials, p in ((30_500, 100_000, 0.3), (40, 1_000_000, 1e-5), (999_000, 1_000_000, 0.9985)):
        ours = float(upper_tail(hits, trials, Fraction(p)))
        assert ours == pytest.approx(stats.binom.sf(hits - 1, trials, p), rel=1e-6)


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**12)])
def test_limits_prove_what_they_say_and_give_away_little(alpha: Fraction) -> None:
    trials = 25
    for hits in range(trials + 1):
        low, high = at_least(hits, trials, alpha), at_most(hits, trials, alpha)
        assert 0 <= low <= high <= 1 or alpha > Fraction(49, 100)
        if hits > 0:
            assert tail(hits, trials, low) <= alpha < tail(hits, trials, low * (1 + Fraction(1, 10**6)))
        if hits < trials:  # a limit gives way relative to itself: near 1 that is more than relative to what is missing
            assert tail(trials - hits, trials, 1 - high) <= alpha
            assert tail(trials - hits, trials, 1 - high * (1 - Fraction(1, 10**6))) > alpha or high > 1 - Fraction(
                1, 10**5
            )
    assert at_least(0, trials, alpha) == 0
    assert at_most(trials, trials, alpha) == 1


@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 1000)])
@pytest.mark.parametrize("p", [Fraction(1, 100), Fraction(3, 10), Fraction(1, 2), Fraction(97, 100)])
def test_a_limit_misses_with_probability_at_most_alpha(alpha: Fraction, p: Fraction) -> None:
    trials = 40
    chance = [comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    above = sum(c for k, c in enumerate(chance) if at_least(k, trials, alpha) > p)
    below = sum(c for k, c in enumerate(chance) if at_most(k, trials, alpha) < p)
    assert above <= alpha
    assert below <= alpha
    assert above + below > 0 or alpha < Fraction(1, 100)  # and it is no limit that never misses


def test_limits_at_any_risk_are_found() -> None:
    for risk in ("1e-320", Fraction(1, 10**30), 1 - Fraction(1, 10**30)):
        assert 0 <= at_least(1, 3, risk) < 1
        assert 0 < at_most(0, 3, risk) <= 1
        assert tail(3, 3, 1 - at_most(0, 3, risk)) <= Fraction(risk)


def test_floats_only_guess() -> None:
    hits = np.array([0, 1, 17, 499, 500])
    low, high = roughly_at_least(hits, 500, 1e-6), roughly_at_most(hits, 500, 1e-6)
    for k, a, b in zip(hits.tolist(), low, high, strict=True):
        assert float(at_least(k, 500, 1e-6)) == pytest.approx(a, rel=1e-6, abs=1e-300)
        assert float(at_most(k, 500, 1e-6)) == pytest.approx(b, rel=1e-6)


def test_what_an_event_proves() -> None:
    proven = epsilon_at_least(Fraction(1, 2), Fraction(1, 10))
    assert float(proven) == pytest.approx(log(5), rel=1e-12)
    assert epsilon_at_least(Fraction(1, 2), Fraction(1, 10), Fraction(4, 10)) == 0
    assert epsilon_at_least(Fraction(1, 2), Fraction(1, 10), Fraction(3, 10)) < Fraction(log(2)) + Fraction(1, 10**12)
    assert epsilon_at_least(Fraction(1, 10), Fraction(1, 2)) == 0
    assert epsilon_at_least(Fraction(0), Fraction(1)) == 0


@pytest.mark.parametrize(
    ("hits", "trials", "alpha", "named"),
    [
        (-1, 10, "0.1", "hits=-1"),
        (11, 10, "0.1", "hits=11"),
        (0, 0, "0.1", "trials=0"),
        (1, 10, 0, "alpha=0"),
        (1, 10, 1, "alpha=1"),
    ],
)
def test_nonsense_is_refused_by_name(hits: int, trials: int, alpha: str, named: str) -> None:
    for limit in (at_least, at_most):
        with pytest.raises(Refusal, match=named):
            limit(hits, trials, alpha)
