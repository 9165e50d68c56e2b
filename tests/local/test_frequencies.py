"""Counts, standard errors, intervals and the nearest consistent counts, each against a plain computation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from local.laws import of_coins
from scipy import stats

from discreet.errors import Refusal
from discreet.local import Frequencies, Hadamard, LocalHashing, MeanEstimate, Odds, OptimizedUnary
from discreet.local.frequencies import Supports, simplex
from discreet.local.mean import BitMean, coins_variance

GUESS = Frequencies(1000, np.array([500, 300, 250, 90]), Odds(Fraction(1, 2), Fraction(1, 4)))


def test_counts_are_the_formula() -> None:
    assert GUESS.counts.tolist() == [1000.0, 200.0, 0.0, -640.0]
    assert GUESS.shares.tolist() == [1.0, 0.2, 0.0, -0.64]
    assert len(GUESS) == 4
    assert [GUESS[v].value for v in range(4)] == [1, Fraction(1, 5), 0, Fraction(-16, 25)]


def test_standard_errors_are_those_of_coins_at_the_estimated_share() -> None:
    """All hold the first: a fair coin each. A fifth hold the second: a mixture. Nobody the others: a quarter."""
    variances = [1000 / 4, 200 / 4 + 800 * 3 / 16, 1000 * 3 / 16, 1000 * 3 / 16]
    assert (GUESS.errors**2 / 16).tolist() == pytest.approx(variances)
    for v in range(4):
        assert float(GUESS[v].deviation) * 1000 == pytest.approx(GUESS.errors[v], rel=1e-12)


def test_intervals_are_wider_for_more_confidence_and_for_all_together() -> None:
    crowd = Frequencies(100_000, np.array([49_000, 30_000, 26_000, 27_000]), GUESS.odds)
    for together, far in ((False, 1.959964), (True, 2.497705)):
        skewed = 4 * ((far**2 - 1) / 6 + 0.5)  # a report more is a count of four
        for end, side in zip(crowd.interval("0.95", together=together), (-1, 1), strict=True):
            variance = 16 * (100_000 * 3 / 16 + end * (1 / 4 - 3 / 16))  # if so many hold it
            off = side * (end - crowd.counts) - skewed
            assert (off**2).tolist() == pytest.approx((far**2 * variance).tolist())
    low, high = crowd.interval("0.95")
    assert np.all((low < crowd.counts) & (crowd.counts < high))


@pytest.mark.parametrize(("holder", "other"), [("0.9", "0.01"), ("0.5", "0.1"), ("0.7", "0.3")])
def test_short_intervals_are_those_that_the_exact_law_does_not_exclude(holder: str, other: str) -> None:
    """And the estimate. By laws that are added up coin by coin."""
    people, odds = 12, Odds(Fraction(holder), Fraction(other))
    laws = []
    for true in range(people + 1):
        law = np.ones(1)
        for coin in [float(holder)] * true + [float(other)] * (people - true):
            law = np.convolve(law, [1 - coin, coin])
        laws.append(law)
    guess = Frequencies(people, np.arange(people + 1), odds)
    for c, (low, high) in enumerate(zip(*guess.interval("0.9"), strict=True)):
        likely = [true for true, law in enumerate(laws) if law[: c + 1].sum() > 0.05 and law[c:].sum() > 0.05]
        told = [*(likely or [0 if guess.counts[c] < 0 else people]), guess.counts[c]]  # none is likely: the nearest
        assert (low, high) == (min(told), max(told))


def test_no_nonsense_is_a_confidence() -> None:
    for nonsense in (0, 1, "x", 1 - Fraction(1, 10**400)):
        with pytest.raises(Refusal, match="confidence"):
            GUESS.interval(nonsense)


@pytest.mark.parametrize("kind", [OptimizedUnary, LocalHashing, Hadamard])
@pytest.mark.parametrize("epsilon", [1, 4, 8])
@pytest.mark.parametrize("people", [50, 1000])
def test_intervals_cover_a_value_that_few_hold_or_all(kind: Any, epsilon: int, people: int) -> None:  # noqa: ANN401
    """Exactly, by the law of the supports. At ε = 8 the error at the estimate covered 2 of 50 in 72 % of crowds."""
    odds = kind(epsilon, 9).odds
    supports = np.arange(people + 1)
    low, high = Frequencies(people, supports, odds).interval("0.95")
    for true in (0, 1, 2, 5, 10, people - 1, people):
        held = stats.binom.pmf(supports, true, float(odds.holder))
        law = np.convolve(held, stats.binom.pmf(supports, people - true, float(odds.other)))[: people + 1]
        assert law.sum() == pytest.approx(1)
        covered = law[(low <= true) & (true <= high)].sum()
        assert covered > 0.95, true


def test_intervals_together_cover_all_values_together() -> None:
    """At 80 %, exactly: of unary reports the supports of ten values are independent. Singly, all ten rarely are."""
    odds, people, true = OptimizedUnary(Fraction(1), 10).odds, 3000, 300
    law, covered = of_coins((true, odds.holder), (people - true, odds.other)), {}
    near = np.flatnonzero(law > 1e-12)
    for together in (False, True):
        # ten values that have so many supports each: as wide as any other's that has, whatever stands beside it
        ends = [Frequencies(people, np.full(10, c), odds).interval("0.8", together=together) for c in near]
        covered[together] = sum(law[c] for c, (low, high) in zip(near, ends, strict=True) if low[0] <= true <= high[0])
    assert covered[True] ** 10 >= 0.8 > 0.95 * covered[True] ** 10
    assert covered[False] ** 10 < 0.2


@pytest.mark.parametrize("expected", [0.001, 0.1, 1.7, 10, 100])
@pytest.mark.parametrize("values", [10, 1000, 10**5])
def test_intervals_together_cover_where_few_reports_support_a_value_that_nobody_holds(
    expected: float, values: int
) -> None:
    """Exactly, by the law of the supports. By the normal law alone, at 1.7 and 1000 values, 19 % of crowds covered."""
    people, other = 20_000, Fraction(expected) / 20_000
    odds, lows = Odds(Fraction(1, 2), other), []
    supports = np.arange(1000)
    for part in np.split(supports, max(1, 1000 // values)):
        guess = Frequencies(people, np.resize(part, values), odds)
        lows.append(guess.interval("0.95", together=True)[0][: part.size])
    low = np.concatenate(lows)
    missed = int(supports[low > 0].min())
    assert values * stats.binom.sf(missed - 1, people, float(other)) < 0.05


def test_consistent_counts_are_opt_in() -> None:
    before = GUESS.counts.copy()
    after = GUESS.consistent()
    assert after.sum() == pytest.approx(1000)
    assert after.tolist() == pytest.approx([900.0, 100.0, 0.0, 0.0])
    assert GUESS.counts.tolist() == before.tolist()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(1, 1e6))
def test_the_nearest_consistent_counts_are_a_shift_that_is_cut_at_zero(counts: list[float], total: float) -> None:
    """The conditions of Karush, Kuhn and Tucker: one shift for all that are positive, and no less for the others."""
    given_ = np.array(counts)
    near = simplex(given_, total)
    assert near.min() >= 0
    assert near.sum() == pytest.approx(total, rel=1e-6)
    shift = (given_ - near)[near > 0]
    assert np.ptp(shift) <= 1e-6 * max(1.0, np.abs(given_).max())
    assert np.all(given_[near == 0] <= shift.mean() + 1e-6 * max(1.0, np.abs(given_).max()))


def test_the_interval_of_a_mean_reaches_further_by_what_one_report_can_do() -> None:
    """Three steps of 1/2 above 10, give or take 4 steps; one report moves it by 6."""
    mean = MeanEstimate(Fraction(3), 4.0, 6.0).scaled(Fraction(10), Fraction(1, 2))
    assert mean == MeanEstimate(Fraction(23, 2), 2.0, 3.0)
    off = 1.959964 * 2 + (1.959964**2 - 1) / 6 * 3
    assert mean.interval("0.95") == pytest.approx((11.5 - off, 11.5 + off))
    assert mean.interval("0.5") == pytest.approx((11.5 - 0.67449 * 2, 11.5 + 0.67449 * 2), rel=1e-5)
    assert mean.shift(2) == 6
    for nonsense in (2, 1 - Fraction(1, 10**400)):
        with pytest.raises(Refusal, match="confidence"):
            mean.interval(nonsense)
        with pytest.raises(Refusal, match="confidence"):
            BitMean(Fraction(0), 1.0, 1.0, 9, 3).interval(nonsense)


@pytest.mark.parametrize(("people", "ones"), [(2, 0), (20, 7), (20, 20), (1000, 999)])
def test_the_interval_of_bits_leaves_out_what_is_too_rare_on_either_side(people: int, ones: int) -> None:
    """By the law of the ones, at both ends (Clopper & Pearson 1934)."""
    low, high = BitMean(Fraction(0), 1.0, 1.0, people, ones, (Fraction(-2), Fraction(4))).interval("0.9")
    least, most = (low + 2) / 6, (high + 2) / 6
    assert least == 0 if not ones else stats.binom.sf(ones - 1, people, least) == pytest.approx(0.05)
    assert most == 1 if ones == people else stats.binom.cdf(ones, people, most) == pytest.approx(0.05)


def test_the_variance_of_reports_is_that_of_people_at_the_mean_or_more() -> None:
    """E y² = c + b x + a x² of a person at x: two people at 0 and 4, or both at 2, tell their mean squares apart."""
    flat, bent = (Fraction(3), Fraction(1), Fraction(1, 2)), (Fraction(3), Fraction(1), Fraction(5, 2))
    assert coins_variance(flat, Fraction(2), Fraction(99), [Fraction(2)]) == 3 + 2 + (Fraction(1, 2) - 1) * 4
    for places in ((0, 4), (2, 2)):
        square = Fraction(sum(3 + x + Fraction(5, 2) * x**2 for x in places)) / 2
        variance = Fraction(sum(3 + x + Fraction(3, 2) * x**2 for x in places)) / 2
        assert coins_variance(bent, Fraction(2), square, [Fraction(2)]) == variance


def test_a_value_that_is_none_is_refused() -> None:
    for value in (4, -1, 1.0):
        with pytest.raises(Refusal, match="value"):
            GUESS[value]  # type: ignore[index]


def _few(coins: int, chance: Any) -> list[Any]:  # noqa: ANN401  # numbers of mpmath
    """Pr[0 heads], Pr[1], …, each from the one before, in forty digits."""
    law = [mpmath.power(1 - chance, coins)]
    for heads in range(40):
        law.append(law[-1] * (coins - heads) / (heads + 1) * chance / (1 - chance))
    return law


def test_a_tail_of_a_very_large_crowd_is_not_below_the_true_one() -> None:
    """Logarithms of factorials of 2^27 coins are off by more than 10^-7: that must not make a tail too small."""
    people, rare = 2**28, 2.0**-27  # who errs: one or two in each half
    held = np.array([people // 2 + 12_345, people // 2, people // 3])
    found = Supports(people, 1 - rare, rare)._chance(held, held + 3)  # what the search compares
    with mpmath.workdps(40):
        for count, tail in zip(held.tolist(), found.tolist(), strict=True):
            silent, loud = _few(count, mpmath.mpf(rare)), _few(people - count, mpmath.mpf(rare))
            true = sum(silent[a] * sum(loud[a + 3 :]) for a in range(38))
            assert 1 <= tail / true < 1 + 1e-5
