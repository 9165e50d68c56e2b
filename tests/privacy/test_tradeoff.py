"""Gaussian privacy and error trade-offs, against closed forms in higher precision and tests that attain them."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.privacy.divergence import Channel, hockey_stick
from discreet.privacy.loss import Approximate, Concentrated, Pure
from discreet.privacy.tradeoff import Gaussian, tradeoff, winning

alarms = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)
sizes = st.fractions(Fraction(1, 50), 5, max_denominator=50)


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Balle & Wang 2018, Theorem 8, at whatever precision mpmath works."""
    mu, e = mpmath.sqrt(real(mu_squared)), real(epsilon)
    near, far = (mpmath.erfc((e / mu + half) / mpmath.sqrt(2)) / 2 for half in (-mu / 2, mu / 2))
    return near - mpmath.exp(e) * far


@given(st.fractions(Fraction(1, 10**4), 100), st.fractions(0, 300))
def test_the_profile_is_exact_and_rounded_up(mu_squared: Fraction, epsilon: Fraction) -> None:
    with mpmath.workdps(300):
        exactly = gaussian_delta(mu_squared, epsilon)
        promised = real(Gaussian(mu_squared).delta_at(epsilon))
        assert exactly <= promised <= exactly + mpmath.mpf(10) ** -50


def test_the_profile_is_the_integral_of_its_definition() -> None:
    """∫ max(0, φ(x − μ) − e^ε φ(x)) dx, without any closed form."""
    mu, epsilon = Fraction(3, 2), Fraction(4, 5)
    with mpmath.workdps(30):
        from_here = real(epsilon) / real(mu) + real(mu) / 2
        over = mpmath.quad(
            lambda x: mpmath.npdf(x - real(mu)) - mpmath.exp(real(epsilon)) * mpmath.npdf(x), [from_here, 6, 12, 40]
        )
        assert abs(real(Gaussian.of(mu).delta_at(epsilon)) - over) < mpmath.mpf(10) ** -20


def test_no_noise_and_no_signal() -> None:
    assert Gaussian(0).delta_at(0) == 0
    assert Gaussian.of("1e9").delta_at(0) == 1
    assert Gaussian.noise(4, l2_squared=9) == Gaussian(Fraction(9, 4))
    assert Gaussian.of("0.5") == Gaussian("0.25")
    with pytest.raises(Refusal, match="variance=0"):
        Gaussian.noise(0)


@given(sizes, st.integers(1, 9))
def test_composition_and_groups_are_those_of_normal_laws(mu: Fraction, times: int) -> None:
    """k answers shift by μ√k in the best direction, a group of c shifts by cμ."""
    assert times * Gaussian.of(mu) == Gaussian(times * mu**2)
    assert Gaussian.of(mu).group(times) == Gaussian.of(times * mu)


@settings(max_examples=30)
@given(st.fractions(Fraction(1, 10**4), 200), st.sampled_from(["1e-3", "1e-6", "1e-12", "1e-100", "0.3"]))
def test_epsilon_is_the_smallest_to_nine_digits(mu_squared: Fraction, delta: str) -> None:
    loss, rare = Gaussian(mu_squared), Fraction(delta)
    epsilon = loss.epsilon_at(delta)
    assert loss.delta_at(epsilon) <= rare
    if epsilon:
        assert loss.delta_at(epsilon * (1 - Fraction(1, 10**9))) > rare


def test_epsilon_of_the_accounting_table() -> None:
    """100 and 10,000 Gaussian answers of σ = 10: 4.8866 and 96.717 by three independent accountants."""
    assert round(float((100 * Gaussian.noise(100)).epsilon_at("1e-6")), 4) == 4.8866
    assert round(float((10_000 * Gaussian.noise(100)).epsilon_at("1e-6")), 3) == 96.717


@given(sizes, alarms)
def test_the_gaussian_curve(mu: Fraction, alpha: Fraction) -> None:
    misses = tradeoff(Gaussian.of(mu), alpha)
    with mpmath.workdps(60):
        z = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * real(alpha))
        exactly = mpmath.ncdf(z - real(mu))
        assert exactly * (1 - mpmath.mpf(10) ** -9) <= real(misses) <= exactly


@given(sizes, st.fractions(0, Fraction(9, 10), max_denominator=50), alarms)
def test_the_pure_curve_is_attained_by_randomized_response(size: Fraction, delta: Fraction, alpha: Fraction) -> None:
    """The best test of the worst mechanism (Neyman & Pearson): raise the alarm on the likeliest answers first."""
    ratio = Fraction(math.exp(size)).limit_denominator(10**15)
    rows = [  # (probability under the null, under the alternative), most suspicious first
        (Fraction(0), delta),
        ((1 - delta) / (1 + ratio), (1 - delta) * ratio / (1 + ratio)),
        ((1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)),
    ]
    misses, left = Fraction(1), alpha
    for null, alternative in rows:
        used = min(Fraction(1), left / null) if null else Fraction(1)
        misses, left = misses - used * alternative, left - used * null
    promised = tradeoff(Approximate(size, delta), alpha)
    assert abs(promised - misses) < Fraction(1, 10**10)
    if not delta:
        assert tradeoff(Pure(size), alpha) == promised


@settings(max_examples=20)
@given(sizes, alarms)
def test_the_zcdp_curve_is_below_the_gaussian_it_covers(mu: Fraction, alpha: Fraction) -> None:
    assert tradeoff(Concentrated(mu**2 / 2), alpha) <= tradeoff(Gaussian.of(mu), alpha) + Fraction(1, 10**20)


def test_the_zcdp_curve_says_something() -> None:
    assert tradeoff(Concentrated("0.5"), "0.05") > Fraction(6, 10)  # the Gaussian it covers has 0.74
    assert tradeoff(Concentrated("0.5", "0.1"), 0) >= Fraction(89, 100)


def test_without_alarms_everything_is_missed() -> None:
    assert tradeoff(Pure(3), 0) == 1
    assert tradeoff(Gaussian(3), 0) == 1
    assert tradeoff(Approximate(3, "0.1"), 0) == Fraction(9, 10)
    assert tradeoff(Gaussian(0), "0.3") == Fraction(7, 10)
    assert tradeoff(Gaussian(1), "1e-400") >= 1 - Fraction(1, 10**59)
    assert 0 < tradeoff(Gaussian(1), 1 - Fraction(1, 10**40)) < Fraction(1, 10**40)
    assert tradeoff(Gaussian(1), 1 - Fraction(1, 10**70)) == 0
    assert tradeoff(Pure("1e30"), "0.3") == 0
    with pytest.raises(Refusal, match="alpha=1"):
        tradeoff(Pure(1), 1)


@given(sizes, st.fractions(0, Fraction(9, 10), max_denominator=50))
def test_bob_wins_as_often_as_his_best_strategy(size: Fraction, delta: Fraction) -> None:
    """A fair coin picks the neighbour; Bob sees the answer of the worst mechanism and names the likelier one."""
    ratio = Fraction(math.exp(size)).limit_denominator(10**15)
    truth, lie = (1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)
    channel = Channel({0: {"0!": delta, "0": truth, "1": lie}, 1: {"1!": delta, "0": lie, "1": truth}})
    wins = sum(max(channel[0].get(y, 0), channel[1].get(y, 0)) for y in ("0!", "1!", "0", "1")) / Fraction(2)
    assert wins == (1 + hockey_stick(channel[0], channel[1], 1)) / 2
    assert abs(winning(Approximate(size, delta)) - wins) < Fraction(1, 10**10)
    assert abs(winning(Approximate(size, delta)) - (ratio + delta) / (1 + ratio)) < Fraction(1, 10**10)


def test_bob_wins_a_little_more_than_half() -> None:
    """e^ε/(1 + e^ε) is about 1/2 + ε/4, not 1/2 + ε/2."""
    won = winning(Pure("0.01"))
    assert Fraction(1, 2) + Fraction(24, 10**4) < won < Fraction(1, 2) + Fraction(25, 10**4)
    with mpmath.workdps(50):
        assert real(won) >= mpmath.exp("0.01") / (1 + mpmath.exp("0.01"))
