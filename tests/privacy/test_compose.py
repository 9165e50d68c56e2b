"""Composition of (ε, δ), against brute force over all outcomes and the published figures."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.interval_arithmetic import log
from discreet.privacy.compose import (
    _log_factorial,
    advanced,
    advanced_each,
    optimal,
    optimal_closed,
    optimal_delta,
    optimal_each,
)
from discreet.privacy.loss import Approximate, Pure

E32 = Fraction(math.exp(-32))
DATABASES = 10_000
ROUNDED = Decimal("1e-45")  # what fifty digits may do to the sum over all outcomes
EPSILONS = st.fractions(min_value=Fraction(1, 50), max_value=3, max_denominator=50)
DELTAS = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 3))


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def worst_outcomes(loss: Pure | Approximate) -> list[tuple[Decimal, Decimal]]:
    """(P, Q) of every outcome of the worst (ε, δ)-private mechanism (Kairouz, Oh & Viswanath 2017, Section 4)."""
    delta = decimal(loss.delta) if isinstance(loss, Approximate) else Decimal(0)
    truth = decimal(loss.epsilon).exp() / (1 + decimal(loss.epsilon).exp())
    likely, rare = (1 - delta) * truth, (1 - delta) * (1 - truth)
    return [(delta, Decimal(0)), (likely, rare), (rare, likely), (Decimal(0), delta)]


def brute_delta(losses: list[Pure | Approximate], epsilon: Fraction) -> Decimal:
    """Σ [P − e^ε Q]₊ over every combination of outcomes."""
    growth, total = decimal(epsilon).exp(), Decimal(0)
    for outcome in itertools.product(*map(worst_outcomes, losses)):
        p, q = Decimal(1), Decimal(1)
        for likely, rare in outcome:
            p, q = p * likely, q * rare
        total += max(Decimal(0), p - growth * q)
    return total


@pytest.mark.parametrize("loss", [Pure("0.3"), Pure(2), Approximate("0.5", "0.01"), Approximate(0, "0.1")])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_optimal_delta_is_the_sum_over_all_outcomes(loss: Pure | Approximate, times: int) -> None:
    with localcontext(prec=50):
        for share in (0, 1, 3, 7, 10, 12):
            epsilon = times * loss.epsilon * share / 10
            exact, bound = brute_delta([loss] * times, epsilon), decimal(optimal_delta(loss, times, epsilon))
            assert exact - ROUNDED <= bound <= exact + Decimal("1e-15")


@given(EPSILONS, st.integers(1, 2000), DELTAS)
@settings(max_examples=40, deadline=None)
def test_optimal_is_proven_and_nearly_the_smallest(epsilon: Fraction, times: int, delta: Fraction) -> None:
    found = optimal(Pure(epsilon), times, delta=delta)
    assert optimal_delta(Pure(epsilon), times, found.epsilon) <= delta == found.delta
    if found.epsilon:
        assert optimal_delta(Pure(epsilon), times, found.epsilon * (1 - Fraction(1, 10**8))) > delta


@given(EPSILONS, st.integers(1, 2000), DELTAS)
@settings(max_examples=40, deadline=None)
def test_the_exact_answer_is_never_above_the_formulas(epsilon: Fraction, times: int, delta: Fraction) -> None:
    loss = Pure(epsilon)
    exact = optimal(loss, times, delta=delta).epsilon
    closed = optimal_closed({loss: times}, delta=delta).epsilon
    assert exact <= closed <= times * epsilon
    assert exact <= advanced({loss: times}, slack=delta).epsilon


@given(st.lists(st.sampled_from([Pure("0.2"), Pure(1), Approximate("0.4", "0.001")]), min_size=1, max_size=5))
@settings(max_examples=20, deadline=None)
def test_formulas_for_unequal_prices_cover_the_worst_mechanisms(losses: list[Pure | Approximate]) -> None:
    with localcontext(prec=50):
        for bound in (advanced(losses, slack="0.01"), optimal_closed(losses, delta="0.02")):
            assert brute_delta(losses, bound.epsilon) <= decimal(bound.delta) + ROUNDED


def test_advanced_is_the_published_formula() -> None:
    losses = [Pure("0.1")] * 7 + [Approximate("0.5", "1e-7")] * 3
    found = advanced(losses, slack="1e-6")
    squares, drift = 7 * 0.01 + 3 * 0.25, 0.7 * math.expm1(0.1) + 1.5 * math.expm1(0.5)
    assert float(found.epsilon) == pytest.approx(math.sqrt(2 * math.log(1e6) * squares) + drift, rel=1e-14)
    assert found.delta == Fraction("1e-6") + 3 * Fraction("1e-7")
    assert found == advanced(Counter(losses), slack="1e-6")


@pytest.mark.parametrize(
    ("each", "times", "delta", "tail"),
    [
        (0.01, 10_000, 0.1, math.log(10)),  # √V = 1: the plain logarithm is less
        (0.005, 10_000, 1e-6, math.log(math.e + 0.5e6)),  # √V = 1/2: the other one
    ],
)
def test_the_closed_form_is_the_published_formula(each: float, times: int, delta: float, tail: float) -> None:
    expected = times * each * math.tanh(each / 2) + math.sqrt(2 * times * each**2 * tail)
    found = optimal_closed({Pure(each): times}, delta=delta)
    assert float(found.epsilon) == pytest.approx(expected, rel=1e-14)


def test_ten_thousand_databases() -> None:
    """The tutorial's example, research figures: 1/801 is right at δ' = e^−31.09, not at e^−32."""
    each = {Pure(Fraction(1, 801)): DATABASES}
    assert float(advanced(each, slack=E32).epsilon) == pytest.approx(1.0143, abs=5e-5)
    assert advanced(each, slack=Fraction(math.exp(-31.08))).epsilon < 1 < advanced(each, slack=math.exp(-31.10)).epsilon
    assert float(optimal(Pure(Fraction(1, 801)), DATABASES, delta=E32).epsilon) == pytest.approx(0.8905, abs=5e-5)
    assert float(optimal_delta(Pure(Fraction(1, 801)), DATABASES, 1)) == pytest.approx(1.4e-17, rel=0.02)


@pytest.mark.parametrize(("delta", "drv", "kov"), [(E32, 812.3, 715.5), (Fraction("1e-6"), 544.0, 422.4)])
def test_what_each_of_ten_thousand_may_use(delta: Fraction, drv: float, kov: float) -> None:
    plain, best = advanced_each(DATABASES, 1, slack=delta), optimal_each(DATABASES, 1, delta=delta)
    assert float(1 / plain.epsilon) == pytest.approx(drv, abs=0.06)
    assert float(1 / best.epsilon) == pytest.approx(kov, abs=0.06)
    assert advanced({plain: DATABASES}, slack=delta).epsilon <= 1
    assert optimal_delta(best, DATABASES, 1) <= delta
    more = 1 + Fraction(1, 10**9)
    assert advanced({Pure(plain.epsilon * more): DATABASES}, slack=delta).epsilon > 1
    assert optimal_delta(Pure(best.epsilon * more), DATABASES, 1) > delta


def test_ten_thousand_laplace_of_a_hundredth() -> None:
    assert float(optimal(Pure("0.01"), DATABASES, delta="1e-6").epsilon) == pytest.approx(4.8855, abs=5e-5)
    assert float(advanced({Pure("0.01"): DATABASES}, slack="1e-6").epsilon) == pytest.approx(6.26, abs=5e-3)


def test_without_delta_only_the_sum_is_left() -> None:
    assert optimal(Pure("0.1"), 10, delta=0) == Approximate(1, 0)
    assert optimal_closed([Approximate("0.1", "0.01")] * 3, delta="0.03") == Approximate("0.3", "0.03")


def test_a_large_delta_needs_no_epsilon() -> None:
    assert optimal(Pure("0.1"), 2, delta="0.5").epsilon == 0


@pytest.mark.parametrize("n", [0, 1, 5, 999, 1000, 1001, 5000])
def test_log_factorial_encloses_the_truth(n: int) -> None:
    found, exact = _log_factorial(n), log(math.factorial(n), 80)
    assert found.down <= exact.up
    assert exact.down <= found.up
    assert found.up - found.down < Fraction(1, 10**50)


def test_a_delta_below_what_the_parts_have_is_refused_by_name() -> None:
    parts = Approximate("0.1", "0.001")
    with pytest.raises(Refusal, match=r"delta=0\.000001 is less than"):
        optimal(parts, 100, delta="1e-6")
    with pytest.raises(Refusal, match=r"delta=0\.000001 is less than"):
        optimal_closed([parts], delta="1e-6")


@pytest.mark.parametrize("slack", [0, 1, -1, "nan", float("inf"), "1.5"])
def test_slack_must_be_between_0_and_1(slack: float | str) -> None:
    with pytest.raises(Refusal, match="slack"):
        advanced([Pure(1)], slack=slack)


@pytest.mark.parametrize("delta", [1, -1, "nan", float("inf")])
def test_delta_must_be_a_probability(delta: float | str) -> None:
    with pytest.raises(Refusal, match="delta"):
        optimal(Pure(1), 2, delta=delta)
    with pytest.raises(Refusal, match="delta"):
        optimal_closed([Pure(1)], delta=delta)


def test_other_nonsense_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="times=0"):
        optimal(Pure(1), 0, delta="0.1")
    with pytest.raises(Refusal, match="at least one loss"):
        advanced([], slack="0.1")
    with pytest.raises(Refusal, match="epsilon=-1"):
        optimal_delta(Pure(1), 2, -1)
    with pytest.raises(Refusal, match="epsilon=10000000"):
        advanced([Pure(10**7)], slack="0.1")
    with pytest.raises(Refusal, match="epsilon=0"):
        optimal_each(10, 0, delta="0.1")
