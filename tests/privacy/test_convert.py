"""A conversion never promises more than the exact profile of what it converts."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.exact import Number
from discreet.interval_arithmetic import exp
from discreet.privacy.convert import convert, epsilon_at
from discreet.privacy.divergence import Channel, renyi_divergence
from discreet.privacy.loss import Approximate, Concentrated, Loss, Pure
from discreet.privacy.profile import Profile
from discreet.privacy.renyi import Renyi
from discreet.privacy.tradeoff import Gaussian

sizes = st.fractions(Fraction(1, 100), 8, max_denominator=100)
deltas = st.sampled_from([Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**12)])


def response(epsilon: Fraction) -> Channel[int, int]:
    """Randomized response at a rational e^ε', ε' ≤ ε within 1e-12: the worst mechanism that Pure(epsilon) allows."""
    ratio = exp(epsilon).down
    ratio = Fraction(int(ratio * 10**12), 10**12)
    truth, lie = ratio / (1 + ratio), 1 / (1 + ratio)
    return Channel({0: {0: truth, 1: lie}, 1: {0: lie, 1: truth}})


@given(sizes, deltas)
def test_pure_to_approximate_is_exact_for_randomized_response(epsilon: Fraction, delta: Fraction) -> None:
    loss = convert(Pure(epsilon), Approximate, delta=delta)
    worst = response(epsilon)
    assert loss.delta == delta
    assert worst.delta_at(loss.epsilon, [(0, 1)]) <= delta
    if loss.epsilon:
        assert worst.delta_at(loss.epsilon * (1 - Fraction(1, 10**9)), [(0, 1)]) > delta - Fraction(1, 10**11)
        assert Pure(epsilon).delta_at(loss.epsilon * (1 - Fraction(1, 10**12))) > delta


@given(sizes, st.fractions(0, Fraction(1, 2), max_denominator=100), st.fractions(0, Fraction(2, 5), max_denominator=50))
def test_approximate_trades_epsilon_for_delta(epsilon: Fraction, delta: Fraction, more: Fraction) -> None:
    loss = Approximate(epsilon, delta)
    relaxed = convert(loss, Approximate, delta=delta + more)
    assert relaxed.epsilon <= epsilon
    assert loss.delta_at(relaxed.epsilon) <= delta + more
    assert convert(loss, Approximate, delta=delta) == loss == convert(loss, Approximate)


@given(sizes, st.fractions(Fraction(101, 100), 60, max_denominator=100))
def test_pure_to_concentrated_covers_every_order_of_randomized_response(epsilon: Fraction, alpha: Fraction) -> None:
    rho = convert(Pure(epsilon), Concentrated).rho
    worst = response(epsilon)
    divergence = renyi_divergence(worst[0], worst[1], alpha)
    assert divergence is not None
    assert divergence.low <= (alpha * exp(0) * rho).high
    assert rho <= epsilon**2 / 2


@given(sizes)
def test_pure_to_concentrated_is_as_small_as_can_be(epsilon: Fraction) -> None:
    """At orders near 1 randomized response attains it, so no smaller ρ is true."""
    rho, worst = convert(Pure(epsilon), Concentrated).rho, response(epsilon)
    order = 1 + Fraction(1, 10**8)
    divergence = renyi_divergence(worst[0], worst[1], order)
    assert divergence is not None
    assert divergence.up >= order * rho * (1 - Fraction(1, 10**6))


def test_approximate_to_concentrated_keeps_delta() -> None:
    assert convert(Approximate(1, "1e-6"), Concentrated) == Concentrated(
        convert(Pure(1), Concentrated).rho, Fraction(1, 10**6)
    )
    assert convert(Pure(0), Concentrated) == Concentrated(0)
    assert convert(Pure("1e-20"), Concentrated).rho <= Fraction(1, 2 * 10**40)


@settings(max_examples=30)
@given(st.fractions(Fraction(1, 1000), 50, max_denominator=1000), deltas)
def test_concentrated_never_undershoots_the_gaussian_it_covers(mu_squared: Fraction, delta: Fraction) -> None:
    """ρ = μ²/2 holds for the Gaussian mechanism, whose exact δ is known, so its ε at this δ cannot be larger."""
    epsilon = convert(Concentrated(mu_squared / 2), Approximate, delta=delta).epsilon
    assert Gaussian(mu_squared).delta_at(epsilon) <= delta
    assert Concentrated(mu_squared / 2).delta_at(epsilon) <= delta * (1 + Fraction(1, 10**9))
    assert epsilon >= Gaussian(mu_squared).epsilon_at(delta) * (1 - Fraction(1, 10**9))


@given(st.fractions(Fraction(1, 1000), 50, max_denominator=1000), deltas)
def test_concentrated_beats_the_older_conversion(rho: Fraction, delta: Fraction) -> None:
    """Bun & Steinke 2016, Proposition 1.3: ρ + 2 √(ρ ln(1/δ))."""
    older = float(rho) + 2 * math.sqrt(rho * math.log(1 / delta))
    assert convert(Concentrated(rho), Approximate, delta=delta).epsilon < older


def test_concentrated_at_the_best_order() -> None:
    """The formula of Canonne, Kamath & Steinke 2020, Proposition 12, on a fine grid of orders."""
    grid = [1 + n / 1000 for n in range(1, 20_000)]
    best = min(a * 0.5 + math.log(1e6 / a) / (a - 1) + math.log(1 - 1 / a) for a in grid)
    assert best - 1e-6 < epsilon_at(Concentrated("0.5"), "1e-6") < best + 1e-9


def test_concentrated_with_a_delta_of_its_own() -> None:
    loss = Concentrated(1, "1e-7")
    spare = (Fraction(1, 10**6) - Fraction(1, 10**7)) / (1 - Fraction(1, 10**7))
    assert epsilon_at(loss, "1e-6") == epsilon_at(Concentrated(1), spare)
    for delta in ("1e-8", "1e-7"):
        with pytest.raises(Refusal, match="delta"):
            convert(loss, Approximate, delta=delta)
    assert convert(Concentrated(0, "1e-7"), Approximate, delta="1e-7") == Approximate(0, "1e-7")


def test_a_large_delta_needs_no_epsilon() -> None:
    assert epsilon_at(Concentrated("0.5"), "0.9") == 0
    assert epsilon_at(Pure(1), "0.5") == 0
    assert epsilon_at(Gaussian(1), "0.4") == 0
    assert epsilon_at(Concentrated(0), "1e-9") == 0


@given(sizes)
def test_pure_to_gaussian_touches_the_corner(epsilon: Fraction) -> None:
    """With false alarms a = 1/(1 + e^ε), randomized response misses a; so does the test of N(0, 1) and N(μ, 1)."""
    mu_squared = convert(Pure(epsilon), Gaussian).mu_squared
    with mpmath.workdps(40):
        corner = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator))
        mu = -2 * mpmath.sqrt(2) * mpmath.erfinv(2 * corner - 1)
        ours = mpmath.sqrt(mpmath.mpf(mu_squared.numerator) / mu_squared.denominator)
        assert 0 <= ours - mu < mu * mpmath.mpf(10) ** -9


@pytest.mark.slow
@given(sizes, st.fractions(0, 8, max_denominator=50))
def test_pure_to_gaussian_covers_the_whole_profile(epsilon: Fraction, target: Fraction) -> None:
    covering = convert(Pure(epsilon), Gaussian)
    assert response(epsilon).delta_at(target, [(0, 1)]) <= covering.delta_at(target)


def test_gaussian_to_others() -> None:
    assert convert(Gaussian(3), Concentrated) == Concentrated("1.5")
    assert convert(Gaussian(3), Renyi) == Renyi.gaussian(1) + Renyi.gaussian(1) + Renyi.gaussian(1)
    assert convert(Gaussian(1), Approximate, delta="1e-6").epsilon == Gaussian(1).epsilon_at("1e-6")


def test_renyi_and_profile_use_their_own_way() -> None:
    renyi = Renyi.gaussian(10)
    assert epsilon_at(renyi, "1e-6") == renyi.epsilon_at("1e-6")
    profile = Profile.gaussian(2)
    assert epsilon_at(profile, "1e-6") == profile.epsilon_at("1e-6")
    assert convert(Pure(1), Renyi) == Renyi.pure(Pure(1))
    assert convert(Concentrated(1), Renyi) == Renyi.concentrated(Concentrated(1))


class Stranger:
    """A measure that convert has never heard of: all it has to offer is δ at each ε."""

    def __add__(self, other: Stranger) -> Stranger:
        raise NotImplementedError

    def __rmul__(self, times: int) -> Stranger:
        raise NotImplementedError

    def __le__(self, other: Stranger) -> bool:
        raise NotImplementedError

    def group(self, size: int) -> Stranger:
        raise NotImplementedError

    def delta_at(self, epsilon: Number) -> Fraction:
        return Gaussian(9).delta_at(epsilon)


def test_a_stranger_is_converted_by_its_profile() -> None:
    epsilon = epsilon_at(Stranger(), "1e-6")
    assert Gaussian(9).delta_at(epsilon) <= Fraction(1, 10**6)
    assert abs(epsilon / Gaussian(9).epsilon_at("1e-6") - 1) < Fraction(1, 10**9)
    with pytest.raises(Refusal, match="no finite ε at delta=0"):
        epsilon_at(Stranger(), 0)


def test_nothing_follows_where_nothing_is_true() -> None:
    cases: list[tuple[Loss, type[Loss]]] = [
        (Approximate(1, "1e-6"), Pure),
        (Concentrated(1), Pure),
        (Gaussian(1), Pure),
        (Renyi.gaussian(1), Pure),
        (Approximate(1, "1e-6"), Gaussian),
        (Concentrated(1), Gaussian),
        (Renyi.gaussian(1), Gaussian),
        (Renyi.gaussian(1), Concentrated),
        (Concentrated(1, "1e-6"), Renyi),
        (Approximate(1, "1e-6"), Renyi),
        (Pure(1), Profile),
    ]
    for loss, to in cases:
        with pytest.raises(Refusal) as refusal:
            convert(loss, to)
        assert type(loss).__name__ in str(refusal.value)
        assert to.__name__ in str(refusal.value)


def test_what_is_nothing_in_one_measure_is_nothing_in_all() -> None:
    for nothing in (Pure(0), Approximate(0), Concentrated(0), Gaussian(0)):
        assert convert(nothing, Pure) == Pure(0)
        assert convert(nothing, Gaussian) == Gaussian(0)
        assert convert(nothing, Concentrated) == Concentrated(0)
        assert epsilon_at(nothing, "1e-9") == 0
    assert convert(Approximate(2), Pure) == Pure(2)


def test_delta_is_asked_for_where_it_is_needed_and_only_there() -> None:
    for loss in (Concentrated(1), Gaussian(1), Renyi.gaussian(1)):
        with pytest.raises(Refusal, match="say which δ"):
            convert(loss, Approximate)
    with pytest.raises(Refusal, match=r"delta=1e-06 has no meaning for Concentrated"):
        convert(Pure(1), Concentrated, delta=1e-6)
    for bad in (-1, 1, float("nan"), True):
        with pytest.raises(Refusal, match="delta"):
            convert(Concentrated(1), Approximate, delta=bad)
    for loss in (Concentrated(1), Gaussian(1), Renyi.gaussian(1)):
        with pytest.raises(Refusal, match="delta"):
            convert(loss, Approximate, delta=0)
    assert convert(Pure(1), Approximate) == Approximate(1)
