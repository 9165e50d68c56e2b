"""Noise for a loss, loss for an error: both promises hold, by exact tails and by summation in higher precision."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.privacy.calibrate import (
    Sensitivity,
    concentrated_for,
    gaussian_error,
    gaussian_for,
    gaussian_loss_for_error,
    gaussian_tail,
    gaussian_variance,
    gaussian_variance_for,
    laplace_error,
    laplace_loss_for_error,
    laplace_scale,
    laplace_tail,
)
from discreet.privacy.loss import AddRemove, Concentrated, Pure
from discreet.privacy.tradeoff import Gaussian

ONE = Sensitivity.of_count()
epsilons = st.fractions(Fraction(1, 100), 20, max_denominator=100)
rare = st.sampled_from(["0.1", "1e-3", "1e-6", "1e-12"])
confidences = st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(19, 20), 1 - Fraction(1, 10**9)])


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def laplace_beyond(error: int, scale: Fraction) -> mpmath.mpf:
    """Pr[|n| > error] for Pr[n] ∝ exp(−|n|/scale), by the sum of its terms."""
    weight = [mpmath.exp(-n / real(scale)) for n in range(int(150 * scale) + error + 10)]
    return 2 * mpmath.fsum(weight[error + 1 :]) / (2 * mpmath.fsum(weight) - 1)


def gaussian_beyond(error: int, variance: Fraction) -> mpmath.mpf:
    """Pr[|n| > error] for Pr[n] ∝ exp(−n²/(2 variance)), by the sum of its terms."""
    reach = int(25 * math.sqrt(variance)) + error + 10
    weight = [mpmath.exp(-(mpmath.mpf(n) ** 2) / (2 * real(variance))) for n in range(reach)]
    return 2 * mpmath.fsum(weight[error + 1 :]) / (2 * mpmath.fsum(weight) - 1)


def test_noise_for_a_loss_is_exact() -> None:
    histogram = Sensitivity.of_histogram(AddRemove(), max_groups=4)
    assert laplace_scale(Pure("0.1"), ONE) == 10
    assert laplace_scale(Pure("0.1"), histogram) == 40
    assert gaussian_variance(Concentrated("0.02"), ONE) == 25
    assert gaussian_variance(Concentrated("0.02"), histogram) == 100


@given(epsilons, st.integers(1, 5), st.integers(1, 5))
def test_laplace_noise_of_this_scale_keeps_the_loss(epsilon: Fraction, cells: int, each: int) -> None:
    """The ratio of two neighbours is at most exp(l1/scale), for a shift of `each` in every one of `cells`."""
    sensitivity = Sensitivity(each, cells)
    assert Fraction(cells * each) / laplace_scale(Pure(epsilon), sensitivity) == epsilon
    assert Fraction(cells * each**2) / (2 * gaussian_variance(Concentrated(epsilon), sensitivity)) == epsilon


@settings(max_examples=12)
@given(epsilons, rare)
def test_the_continuous_gaussian_gets_the_least_variance(epsilon: Fraction, delta: str) -> None:
    variance = gaussian_variance_for(epsilon, delta, ONE)
    assert Gaussian.noise(variance).delta_at(epsilon) <= Fraction(delta)
    assert Gaussian.noise(variance * (1 - Fraction(1, 10**9))).delta_at(epsilon) > Fraction(delta)
    assert gaussian_variance_for(epsilon, delta, 3 * ONE) == 9 * variance


def test_the_analytic_variance_is_the_published_one() -> None:
    """σ at ε = 1, δ = 1e-6 in double precision by solving Balle & Wang 2018, Theorem 8, with mpmath."""
    with mpmath.workdps(30):

        def excess(sigma: mpmath.mpf) -> mpmath.mpf:
            near, far = (mpmath.ncdf(half / (2 * sigma) - sigma) for half in (1, -1))
            return near - mpmath.e * far - mpmath.mpf(10) ** -6

        sigma = mpmath.findroot(excess, (4, 5), solver="anderson")
        ours = mpmath.sqrt(real(gaussian_variance_for(1, "1e-6", ONE)))
        assert 0 <= ours - sigma < mpmath.mpf(10) ** -8


@settings(max_examples=25)
@given(epsilons, rare)
def test_a_budget_of_rho_for_a_target(epsilon: Fraction, delta: str) -> None:
    loss = concentrated_for(epsilon, delta)
    assert loss.delta_at(epsilon) <= Fraction(delta) * (1 + Fraction(1, 10**12))
    assert Concentrated(loss.rho * (1 + Fraction(1, 10**6))).delta_at(epsilon) > Fraction(delta)
    assert gaussian_for(epsilon, delta).mu_squared >= 2 * loss.rho


@given(st.fractions(Fraction(1, 20), 10, max_denominator=20), st.integers(0, 60))
def test_the_laplace_tail(scale: Fraction, error: int) -> None:
    with mpmath.workdps(80):
        exactly, ours = laplace_beyond(error, scale), laplace_tail(error, scale)
        assert real(ours.down) - mpmath.mpf(10) ** -60 <= exactly <= real(ours.up) + mpmath.mpf(10) ** -60
    assert ours.up - ours.down <= ours.up * Fraction(1, 10**50)


@given(st.fractions(Fraction(1, 20), 60, max_denominator=20), confidences)
def test_the_laplace_error_is_the_smallest(scale: Fraction, confidence: Fraction) -> None:
    error = laplace_error(scale, confidence)
    assert laplace_tail(error, scale).up <= 1 - confidence
    if error:
        assert laplace_tail(error - 1, scale).down > 1 - confidence


def test_the_laplace_error_of_any_size() -> None:
    assert laplace_error("1e-9", "0.999999") == 0
    near = laplace_error(10**40, "0.5")  # 10^40 ln 2
    assert str(near)[:15] == "693147180559945"


@settings(max_examples=30)
@given(st.fractions(Fraction(1, 20), 1500, max_denominator=20), st.integers(0, 120))
def test_the_gaussian_tail(variance: Fraction, error: int) -> None:
    with mpmath.workdps(80):
        exactly, ours = gaussian_beyond(error, variance), gaussian_tail(error, variance)
        assert real(ours.down) - mpmath.mpf(10) ** -65 <= exactly <= real(ours.up) + mpmath.mpf(10) ** -65
    if variance <= 1000 and ours.down:
        assert ours.up - ours.down <= ours.up * Fraction(1, 10**45)


@pytest.mark.parametrize("variance", [1001, 1100, 4000])
@pytest.mark.parametrize("error", [0, 1, 20, 30, 31, 32, 33, 62, 155, 400])
def test_the_gaussian_tail_where_integrals_take_over(error: int, variance: int) -> None:
    """Just above a variance of 1000 integrals enclose the sum, on both sides of σ, where the weights bend."""
    with mpmath.workdps(80):
        exactly, ours = gaussian_beyond(error, Fraction(variance)), gaussian_tail(error, variance)
        assert real(ours.down) <= exactly <= real(ours.up)
    assert ours.up - ours.down <= ours.up * Fraction(1, 40)


@settings(max_examples=30)
@given(st.fractions(Fraction(1, 20), 1500, max_denominator=20), confidences)
def test_the_gaussian_error_is_the_smallest_or_next_to_it(variance: Fraction, confidence: Fraction) -> None:
    error = gaussian_error(variance, confidence)
    with mpmath.workdps(60):
        assert gaussian_beyond(error, variance) <= 1 - real(confidence)
        before = error - (1 if variance <= 1000 else 2)
        if before >= 0:
            assert gaussian_beyond(before, variance) > 1 - real(confidence)


def test_the_gaussian_error_of_any_size() -> None:
    assert gaussian_error("1e-30", "0.999") == 0
    near = gaussian_error(10**80, "0.95")  # 1.959963984540054 · 10^40
    assert str(near)[:16] == "1959963984540054"
    assert gaussian_tail(10**9, 1).up < Fraction(1, 10**1000)


@given(st.integers(0, 500), confidences, st.integers(1, 4))
def test_a_laplace_error_is_bought_for_the_least(error: int, confidence: Fraction, size: int) -> None:
    loss = laplace_loss_for_error(error, confidence, size * ONE)
    assert laplace_error(laplace_scale(loss, size * ONE), confidence) <= error
    cheaper = Pure(loss.epsilon * (1 - Fraction(1, 10**9)))
    assert laplace_error(laplace_scale(cheaper, size * ONE), confidence) > error


@settings(max_examples=8)
@given(st.integers(0, 300), confidences, st.integers(1, 4))
def test_a_gaussian_error_is_bought_for_the_least(error: int, confidence: Fraction, size: int) -> None:
    loss = gaussian_loss_for_error(error, confidence, size * ONE)
    variance = gaussian_variance(loss, size * ONE)
    assert gaussian_error(variance, confidence) <= error
    cheaper = variance * (1 + Fraction(1, 10**9))
    assert gaussian_tail(error, cheaper).up > 1 - confidence


def test_zero_error_by_hand() -> None:
    """All the noise at 0 with probability c: 2q/(1 + q) = 1 − c gives q = (1 − c)/(1 + c)."""
    loss = laplace_loss_for_error(0, "0.95", ONE)
    assert math.isclose(loss.epsilon, math.log(1.95 / 0.05), rel_tol=1e-9)


def test_nonsense_is_refused() -> None:
    with pytest.raises(Refusal, match="epsilon=0"):
        laplace_scale(Pure(0), ONE)
    with pytest.raises(Refusal, match="rho=0"):
        gaussian_variance(Concentrated(0), ONE)
    with pytest.raises(Refusal, match="sensitivity 0 needs no noise"):
        laplace_scale(Pure(1), Sensitivity(0))
    for confidence in (0, 1, "1.5", float("nan"), True):
        with pytest.raises(Refusal, match="confidence"):
            laplace_error(1, confidence)
        with pytest.raises(Refusal, match="confidence"):
            gaussian_loss_for_error(1, confidence, ONE)
    for scale in (0, -1, float("inf")):
        with pytest.raises(Refusal, match="scale"):
            laplace_error(scale, "0.5")
        with pytest.raises(Refusal, match="variance"):
            gaussian_error(scale, "0.5")
    for error in (-1, 0.5, True):
        with pytest.raises(Refusal, match="error"):
            laplace_loss_for_error(error, "0.5", ONE)  # type: ignore[arg-type]
    for delta in (0, 1, -1):
        with pytest.raises(Refusal, match="delta"):
            gaussian_variance_for(1, delta, ONE)
    with pytest.raises(Refusal, match="epsilon=0"):
        concentrated_for(0, "1e-6")
