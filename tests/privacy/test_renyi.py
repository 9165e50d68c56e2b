"""Rényi curves against integrals and sums that do not know the formulas, and against the exact profiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from discreet.errors import Refusal
from discreet.privacy.loss import Concentrated, Pure
from discreet.privacy.renyi import ORDERS, Renyi
from discreet.privacy.tradeoff import Gaussian

FEW = [Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(44, 10), Fraction(8), Fraction(64)]
EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=5, max_denominator=1000)
CURVES = st.lists(st.fractions(min_value=0, max_value=10), min_size=3, max_size=3).map(
    lambda prices: Renyi(zip(FEW, prices, strict=False))
)


Log = Callable[[float], float]


def divergence(log_p: Log, log_q: Log, order: float, points: list[float]) -> float:
    """ln ∫ p^α q^{1−α} / (α − 1), piece by piece; p, q by their logarithms."""
    total = sum(
        integrate.quad(lambda x: math.exp(order * log_p(x) + (1 - order) * log_q(x)), low, high, limit=200)[0]
        for low, high in pairwise(points)
    )
    return math.log(total) / (order - 1)


def at(curve: Renyi, order: Fraction) -> float:
    return float(dict(curve.curve)[order])


@pytest.mark.parametrize("order", FEW[:4])
def test_laplace_is_the_integral(order: Fraction) -> None:
    eps = 0.7

    def log_density(x: float) -> float:
        return math.log(eps / 2) - eps * abs(x)

    exact = divergence(log_density, lambda x: log_density(x - 1), float(order), [-60, 0, 1, 60])
    assert at(Renyi.laplace(eps, FEW), order) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("order", FEW)
def test_pure_is_randomized_response(order: Fraction) -> None:
    eps, a = 0.7, float(order)
    p = 1 / (1 + math.exp(-eps))
    exact = math.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
    assert at(Renyi.pure(Pure("0.7"), FEW), order) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("order", FEW)
def test_discrete_laplace_noise_is_covered_by_pure_and_not_by_laplace(order: Fraction) -> None:
    """With sensitivity 1 it is randomized response exactly: this is why `laplace` says that it is continuous."""
    n, a = np.arange(-400, 401), float(order)
    log_p, log_q = -0.7 * np.abs(n), -0.7 * np.abs(n - 1)
    exact = math.log(float(np.exp(a * log_p + (1 - a) * log_q).sum() / np.exp(log_p).sum())) / (a - 1)
    assert at(Renyi.pure(Pure("0.7"), FEW), order) == pytest.approx(exact, rel=1e-9)
    assert at(Renyi.laplace("0.7", FEW), order) < exact * (1 - 1e-6)


@pytest.mark.parametrize(("rate", "sigma", "loose"), [(0.01, 1.0, 0.002), (0.1, 2.0, 0.002), (0.3, 0.9, 0.3)])
@pytest.mark.parametrize("order", FEW[:4])
def test_sampled_gaussian_bounds_both_directions(rate: float, sigma: float, loose: float, order: Fraction) -> None:
    def log_one(x: float) -> float:
        return -(x**2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))

    def log_mix(x: float) -> float:
        return float(np.logaddexp(math.log1p(-rate) + log_one(x), math.log(rate) + log_one(x - 1)))

    points = [-12 * sigma, -1, 0, 1, 5, 5 + 12 * sigma]
    remove = divergence(log_mix, log_one, float(order), points)
    add = divergence(log_one, log_mix, float(order), points)
    bound = at(Renyi.sampled_gaussian(rate, sigma, FEW), order)
    assert add <= remove <= bound * (1 + 1e-8)
    assert bound <= remove * (1 + (1e-8 if order.denominator == 1 else loose))


def test_sampled_gaussian_at_a_tiny_rate_keeps_its_digits() -> None:
    rate = Fraction(1, 10**9)
    for order, price in Renyi.sampled_gaussian(rate, 1, FEW).curve:
        leading = float(order * rate**2 / 2) * math.expm1(1)  # α q² (e^{1/σ²} − 1)/2, the next term is q times smaller
        if order < 10:
            assert float(price) == pytest.approx(leading, rel=1e-3)


def test_dp_sgd_as_published() -> None:
    steps = 10_000 * Renyi.sampled_gaussian("0.01", 1)
    assert float(steps.epsilon_at("1e-6")) == pytest.approx(7.4141, rel=5e-4)


def test_whole_orders_agree_with_dp_accounting() -> None:
    for order in (2, 3, 8, 32, 256):
        theirs = peer._compute_rdp_poisson_subsampled_gaussian(0.02, 1.1, [order])[0]
        assert at(Renyi.sampled_gaussian("0.02", "1.1", [order]), Fraction(order)) == pytest.approx(theirs, rel=1e-9)


def test_the_orders_are_those_of_dp_accounting() -> None:
    assert [float(order) for order in ORDERS] == pytest.approx(list(peer.DEFAULT_RDP_ORDERS))


@given(EPSILONS, st.integers(1, 300))
@settings(max_examples=30, deadline=None)
def test_a_price_of_pure_is_below_both_simple_bounds(epsilon: Fraction, order: int) -> None:
    alpha = 1 + Fraction(order, 7)
    ((_, price),) = Renyi.pure(Pure(epsilon), [alpha]).curve
    assert 0 < price <= min(epsilon, alpha * epsilon**2 / 2)


@given(EPSILONS, st.fractions(min_value=0, max_value=6, max_denominator=100))
@settings(max_examples=25, deadline=None)
def test_conversion_never_undershoots_the_exact_profile(epsilon: Fraction, target: Fraction) -> None:
    """Of randomized response and of Gaussian noise, whose profiles are known."""
    assert Renyi.pure(Pure(epsilon)).delta_at(target) >= Pure(epsilon).delta_at(target)
    gaussian = Renyi.gaussian(1 / epsilon)
    assert gaussian.delta_at(target) >= Gaussian.of(epsilon).delta_at(target)


@given(EPSILONS, st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_epsilon_and_delta_are_inverse(epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    curve = 20 * Renyi.pure(Pure(epsilon), FEW)
    found = curve.epsilon_at(delta)
    if found:
        assert curve.delta_at(found) <= delta * (1 + Fraction(1, 10**15))
        assert curve.delta_at(found * (1 - Fraction(1, 10**6))) > delta


def test_figures_of_the_accounting_table() -> None:
    assert float((100 * Renyi.gaussian(10)).epsilon_at("1e-6")) == pytest.approx(5.2215, abs=5e-5)
    assert float((10_000 * Renyi.gaussian(10)).epsilon_at("1e-6")) == pytest.approx(100.72, abs=5e-3)
    assert float((10_000 * Renyi.laplace("0.01")).epsilon_at("1e-6")) == pytest.approx(5.2103, abs=5e-5)


@given(CURVES, CURVES, CURVES, st.integers(0, 9))
def test_composition_is_a_monoid(a: Renyi, b: Renyi, c: Renyi, times: int) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert 0 * a + b == b
    assert a <= a + b
    assert times * a == sum([a] * times, 0 * a)


def test_sums_are_at_the_common_orders() -> None:
    assert Renyi([(2, 1), (3, 1)]) + Renyi([(3, 2), (4, 1)]) == Renyi([(3, 3)])
    with pytest.raises(Refusal, match="no order in common"):
        Renyi([(2, 1)]) + Renyi([(3, 1)])


def test_the_order_is_partial_and_uses_that_divergences_grow() -> None:
    low, high = Renyi([(2, 1), (8, 3)]), Renyi([(2, 2), (4, 3)])
    assert low <= high  # at order 4 the bound for order 8 serves
    assert not high <= low
    crossing = Renyi([(2, 2), (4, 2), (8, 2)])
    assert not low <= crossing
    assert not crossing <= low


@pytest.mark.parametrize(("size", "shrink", "grow"), [(1, 1, 1), (2, 2, 3), (3, 4, 9), (4, 4, 9)])
def test_groups(size: int, shrink: int, grow: int) -> None:
    curve = Renyi([(2, 1), (8, 1), (16, 2)])
    expected = [(a / shrink, grow * e) for a, e in curve.curve if a >= 2 * shrink or size == 1]
    assert curve.group(size).curve == tuple(expected)


def test_a_group_of_gaussian_noise_is_covered() -> None:
    """Its truth is known: c²αρ."""
    for order, price in Renyi.gaussian(3).group(4).curve:
        assert price >= 16 * order / 18


def test_what_loses_nothing_promises_everything() -> None:
    nothing = 0 * Renyi.gaussian(1)
    assert nothing.delta_at(0) == nothing.epsilon_at("1e-9") == 0


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Renyi([]), "at least one order"),
        (lambda: Renyi([(1, 1)]), "order=1"),
        (lambda: Renyi([(2, 1), (2, 3)]), "may occur once"),
        (lambda: Renyi([(2, -1)]), "epsilon=-1"),
        (lambda: Renyi([(2, "nan")]), "nan"),
        (lambda: Renyi.laplace(0), "epsilon=0"),
        (lambda: Renyi.gaussian(-1), "sigma=-1"),
        (lambda: Renyi.gaussian(1, ["0.5"]), "order=0.5"),
        (lambda: Renyi.sampled_gaussian("1.5", 1), "rate=1.5"),
        (lambda: Renyi.sampled_gaussian(0, 1), "rate=0"),
        (lambda: Renyi.concentrated(Concentrated(1, "0.1")), "delta is not 0"),
        (lambda: Renyi.gaussian(1).epsilon_at(1), "delta=1"),
        (lambda: Renyi.gaussian(1).delta_at(-1), "epsilon=-1"),
        (lambda: Renyi([(3, 1)]).group(2), "order >= 4"),
        (lambda: -1 * Renyi.gaussian(1), "times=-1"),
    ],
)
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        build()


def test_it_may_not_fill_a_budget() -> None:
    assert not hasattr(Renyi, "fills")
