"""Totals and profiles against exact sums over outcomes and closed forms: never below the truth, and no NaN."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.privacy import Omission, Profile, Pure, account, optimal_delta
from discreet.privacy.convolve import compose, near_delta
from discreet.privacy.event import LaplaceNoise, finite

RARE = Fraction("1e-6")


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def test_a_theorem_that_does_not_apply_is_named_and_the_others_answer() -> None:
    silent: list[Omission] = []
    totals = account(gaussian=[("1e-6", 1)], delta=RARE, omitted=silent.append)
    with mpmath.workdps(60):
        assert all(gaussian_delta(mpmath.mpf("1e12"), real(total.epsilon)) <= real(RARE) for total in totals)
    assert [one.theorem.split()[0] for one in silent] == ["advanced", "optimal", "optimal"]
    assert totals[0].epsilon == pytest.approx(5.00004753448e11, rel=1e-9)


def gaussian_delta(mu_squared: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Φ(a) − e^ε Φ(b); as φ(a) = e^ε φ(b), the second term is φ(a) times Mills's ratio at −b."""
    mu = mpmath.sqrt(mu_squared)
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    if abs(a) > 10**4:
        return mpmath.mpf(a > 0)
    series = sum(c / -(b ** (2 * i + 1)) for i, c in enumerate((1, -1, 3, -15, 105, -945, 10395)))
    mills = series if b < -50 else mpmath.ncdf(b) / mpmath.npdf(b)
    return mpmath.ncdf(a) - mpmath.npdf(a) * mills


def discrete_delta(sigma: str, sensitivity: int, epsilon: Fraction) -> mpmath.mpf:
    """Every outcome of discrete Gaussian noise whose loss is above ε; e^ε times the neighbour's chance is taken off."""
    s, e = mpmath.mpf(sigma), real(epsilon)
    last = int(mpmath.ceil((sensitivity**2 - 2 * s * s * e) / (2 * sensitivity))) - 1
    first = -int(40 * s) - 60 - sensitivity

    def weight(n: int) -> mpmath.mpf:
        return mpmath.exp(-(mpmath.mpf(n) ** 2) / (2 * s * s))

    above = mpmath.fsum(weight(n) - mpmath.exp(e) * weight(n - sensitivity) for n in range(first, last + 1))
    return above / mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s * s)))


def exact_delta(epsilon: Fraction, times: int, target: Fraction) -> mpmath.mpf:
    """Randomized responses, every number of lies."""
    e, total = real(epsilon), mpmath.mpf(0)
    for lies in range(times + 1):
        loss = (times - 2 * lies) * epsilon - target
        if loss > 0:
            chance = mpmath.binomial(times, lies) * mpmath.exp((times - lies) * e) / (1 + mpmath.exp(e)) ** times
            total -= chance * mpmath.expm1(-real(loss))
    return total


@pytest.mark.parametrize(
    ("epsilon", "times", "target"),
    [
        ("3", 2000, "100"),
        pytest.param("0.5", 3000, "1", marks=pytest.mark.slow),
        ("30", 400, "5"),
        ("1e-40", 50, "0"),
        ("1e-40", 50, "1e-39"),
    ],
)
def test_the_sum_over_lies_is_exact_wherever_it_begins(epsilon: str, times: int, target: str) -> None:
    with mpmath.workdps(400):
        truth = exact_delta(Fraction(epsilon), times, Fraction(target))
        found = real(optimal_delta(Pure(epsilon), times, target))
        assert truth * (1 - mpmath.mpf("1e-390")) <= found <= truth * (1 + mpmath.mpf("1e-18"))


SIGMAS = ("0.005", "0.01", "0.02", "0.03", "0.05", "0.1", "0.3", "1", "10")
DELTAS = ("1e-10", "1e-6", "0.01", "0.5", "0.9")


@pytest.mark.slow
@pytest.mark.parametrize("sensitivity", [1, 7])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_narrow_discrete_noise_is_counted_outcome_by_outcome(sigma: str, sensitivity: int) -> None:
    profile = Profile.discrete_gaussian(sigma, sensitivity)
    if (sigma, sensitivity) == ("0.005", 7):
        with pytest.raises(Refusal, match="losses up to 1000000"):
            profile.epsilon_at(RARE)
        return
    found = [profile.epsilon_at(delta) for delta in DELTAS]
    assert all(more >= less * (1 - Fraction(1, 10**9)) for more, less in pairwise(found))  # it falls as δ grows
    with mpmath.workdps(60):
        for delta, epsilon in zip(DELTAS, found, strict=True):
            assert discrete_delta(sigma, sensitivity, epsilon) <= real(Fraction(delta))
            less = epsilon * (1 - Fraction(1, 10**4)) - Fraction(1, 1000)
            assert epsilon == 0 or discrete_delta(sigma, sensitivity, max(Fraction(0), less)) > real(Fraction(delta))


def test_the_figures_that_a_swallowed_nan_once_halved() -> None:
    assert float(Profile.discrete_gaussian("0.03").epsilon_at(RARE)) == pytest.approx(555.5555546, rel=1e-9)
    assert float(Profile.discrete_gaussian("0.01").epsilon_at(RARE)) == pytest.approx(4999.9999990, rel=1e-9)


@pytest.mark.slow
def test_narrow_noise_many_times_is_as_many_times_the_loss() -> None:
    many = (50 * Profile.discrete_gaussian("0.03")).epsilon_at(RARE)  # each loses 1/(2σ²) but for a chance of e^−555
    assert 50 * Fraction(10**4, 18) - Fraction(1, 100) <= many <= 50 * Fraction(10**4, 18) * (1 + Fraction(1, 10**6))


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 1000, 10**6])
@pytest.mark.parametrize("sigma", ["1e-6", "1e-3", "0.03", "1", "1e3", "1e6"])
def test_gaussian_totals_are_never_below_the_truth(sigma: str, times: int) -> None:
    with np.errstate(invalid="raise", divide="raise", over="raise"), mpmath.workdps(80):
        best = []
        for delta in ("1e-30", "1e-10", "1e-6", "0.1", "0.9"):
            totals = account(gaussian=[(sigma, times)], delta=delta)
            for total in totals:
                truth = gaussian_delta(mpmath.mpf(times) / mpmath.mpf(sigma) ** 2, real(total.epsilon))
                assert truth <= real(Fraction(delta)), total
            best.append(totals[0].epsilon)
    assert best == sorted(best, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 300, 10**6])
@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "0.1", "1", "30", "1e4"])
def test_pure_totals_are_never_below_the_truth(epsilon: str, times: int) -> None:
    with np.errstate(invalid="raise", divide="raise", over="raise"), mpmath.workdps(80):
        best = []
        for delta in ("1e-30", "1e-10", "1e-6", "0.1", "0.9"):
            totals = account(pure=[(epsilon, times)], delta=delta)
            if times <= 300:
                for total in totals:
                    assert exact_delta(Fraction(epsilon), times, total.epsilon) <= real(Fraction(delta)), total
            best.append(totals[0].epsilon)
    assert best == sorted(best, reverse=True)
    assert best[0] <= times * Fraction(epsilon)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_what_is_not_a_number_raises_wherever_floats_become_a_promise(broken: float) -> None:
    with pytest.raises(Refusal, match="beyond what floats hold"):
        finite(broken, "a δ")
    with pytest.raises(Refusal, match="beyond what floats hold"):
        finite(np.array([0.0, broken]), "masses")
    whole = compose([(LaplaceNoise(Fraction(1)), 3)], 0.0, "remove", near_delta(1e-6))
    with np.errstate(invalid="ignore"), pytest.raises(Refusal, match="beyond what floats hold"):
        replace(whole, masses=np.full_like(whole.masses, broken)).delta_at(0.5)
    with pytest.raises(Refusal, match="beyond what floats hold"):
        replace(whole, infinite=broken).delta_at(0.5)
