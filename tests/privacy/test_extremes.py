"""Legal parameters at the ends of their ranges: each is answered, from above, or refused by its value."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest

from discreet.errors import Refusal
from discreet.privacy import (
    AddRemove,
    Approximate,
    Channel,
    Concentrated,
    Gaussian,
    Guarantee,
    Profile,
    Pure,
    Renyi,
    Replace,
    account,
    advanced,
    advanced_each,
    convert,
    gaussian_for,
    laplace_error,
    lifetime,
    optimal,
    optimal_delta,
    optimal_each,
    poisson,
    renyi_divergence,
    shuffled,
    shuffled_delta,
    tradeoff,
    winning,
)
from discreet.privacy.account import Omission
from discreet.privacy.amplify import Clones

HUGE, TINY = "1e300", "1e-300"
RARE = Fraction("1e-6")


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def sampled_delta(rate: str, sigma: str, epsilon: Fraction) -> mpmath.mpf:
    """One Gaussian answer on a Poisson sample, a row removed: from the outcome x at which the ratio is e^ε."""
    q, shift, grown = mpmath.mpf(rate), 1 / mpmath.mpf(sigma), mpmath.exp(real(epsilon))
    x = mpmath.log((grown - 1 + q) / q) / shift + shift / 2
    return q * tail(x - shift) - (grown - 1 + q) * tail(x)


def tail(x: mpmath.mpf) -> mpmath.mpf:
    """Pr[N(0, 1) > x]; nothing, where mpmath gives up."""
    return mpmath.ncdf(-x) if x < 10**6 else mpmath.mpf(0)


@pytest.mark.parametrize("sigma", ["0.05", "0.03", "0.01", "0.001"])
def test_sampled_noise_that_hides_nothing_is_accounted_from_above(sigma: str) -> None:
    totals = account(sampled_gaussian=[("0.01", sigma, 1)], delta=RARE)
    assert {"basic", "Rényi"} <= {total.theorem.split()[0] for total in totals}
    with mpmath.workdps(60):
        for total in totals:
            assert sampled_delta("0.01", sigma, total.epsilon) <= real(RARE), total.theorem
        assert sampled_delta("0.01", sigma, totals[0].epsilon * Fraction(99, 100)) > real(RARE)


@pytest.mark.parametrize("epsilon", [700, 1500, 10**4, 10**6])
@pytest.mark.parametrize("kind", ["pure", "laplace", "discrete_laplace"])
def test_a_large_epsilon_is_accounted_from_above(kind: str, epsilon: int) -> None:
    totals = account(**{kind: [(epsilon, 3)]}, delta=RARE)  # type: ignore[arg-type]
    # the loss is 3ε with probability at least 1/8, so ε' with (1 − e^{ε' − 3ε})/8 > δ is too small
    assert all(total.epsilon >= 3 * epsilon - Fraction("8.1e-6") for total in totals)
    assert totals[0].epsilon <= 3 * epsilon
    assert ("advanced" in {total.theorem.split()[0] for total in totals}) == (epsilon <= 1000)


@pytest.mark.parametrize("kind", ["pure", "laplace", "gaussian", "discrete_gaussian", "discrete_laplace"])
@pytest.mark.parametrize("parameter", [HUGE, TINY, "1e999", "1e-999"])
def test_the_account_of_an_extreme_parameter_is_nothing_or_astronomic(kind: str, parameter: str) -> None:
    silent: list[Omission] = []
    totals = account(**{kind: [(parameter, 7)]}, delta=RARE, omitted=silent.append)  # type: ignore[arg-type]
    if (Fraction(parameter) > 1) == ("gaussian" in kind):
        assert 0 <= totals[0].epsilon < Fraction(1, 10**290)
    else:
        assert totals[0].epsilon > Fraction(10) ** 290
        assert {"basic", "zero-concentrated"} <= {total.theorem.split()[0] for total in totals}
        assert {"advanced", "optimal"} <= {one.theorem.split()[0] for one in silent}
        assert all("expected epsilon <= 1000" in one.reason for one in silent if one.theorem.startswith("optimal"))
    assert len({*(total.theorem for total in totals), *(one.theorem for one in silent)}) == len(totals) + len(silent)


def test_advanced_composition_refuses_an_epsilon_that_it_cannot_write_out() -> None:
    with pytest.raises(Refusal, match=r"epsilon <= 1000, got Pure\(epsilon=10000\).*add the losses"):
        advanced([Pure(10_000)], slack="1e-6")
    each = advanced_each(3, 10**9, slack="1e-6")
    assert advanced({each: 3}, slack="1e-6").epsilon <= 10**9
    assert 10 < each.epsilon < 1000


def test_many_mechanisms_are_refused_or_left_to_the_formulas() -> None:
    many = "expected times <= 10000000 in optimal composition, got times=1000000000"
    with pytest.raises(Refusal, match=many):
        optimal(Pure(1), 10**9, delta=RARE)
    with pytest.raises(Refusal, match=many):
        optimal_delta(Pure(1), 10**9, 1)
    with pytest.raises(Refusal, match=many):
        optimal_each(10**9, 1, delta=RARE)
    assert [answer.theorem.split()[0] for answer in lifetime(10**12, 1, RARE)] == ["advanced", "basic"]
    totals = account(pure=[("1e-5", 10**9)], delta=RARE)
    assert not any(total.theorem.startswith("optimal composition (") for total in totals)
    assert any(total.theorem.startswith("optimal composition, closed") for total in totals)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1e-109", "1e-27"), ("5", "0.9"), ("1e-999", "1e-300"), ("2e6", "0.5")]
)
def test_what_each_may_use_is_proven_also_far_out(epsilon: str, delta: str) -> None:
    each = optimal_each(9, epsilon, delta=delta)
    assert each.epsilon >= Fraction(epsilon) / 9
    assert optimal_delta(each, 9, epsilon) <= Fraction(delta)


def test_without_a_delta_only_the_plain_share_is_left() -> None:
    assert optimal_each(4787, "9e-73", delta=0) == Pure(Fraction("9e-73") / 4787)


def test_the_tradeoff_of_a_loss_that_hides_nothing() -> None:
    assert 0 <= tradeoff(Pure(10_000), "0.1") < Fraction(1, 10**4000)
    assert tradeoff(Pure(10_000), 0) == 1 - Pure(10_000).delta_at(10_000) == 1
    assert tradeoff(Pure("1e-20"), "0.5") == pytest.approx(0.5)
    assert tradeoff(Approximate(HUGE, "0.1"), "0.5") == 0


def test_a_profile_of_almost_nothing() -> None:
    for epsilon in ("1e-20", TINY, "1e-999"):
        profile = Profile.pure(epsilon)
        assert Pure(epsilon).delta_at(0) <= profile.delta_at(0) < Fraction(1, 10**11)
        assert profile.epsilon_at(RARE) == 0
        beside = (profile + Profile.gaussian(1)).epsilon_at(RARE)
        assert beside >= Gaussian(1).epsilon_at(RARE)
        assert float(beside) == pytest.approx(4.8866, abs=5e-5)
    faint = Profile.poisson_gaussian(TINY, HUGE) + Profile.gaussian(HUGE) + Profile.laplace(TINY)
    assert faint.epsilon_at(RARE) < Fraction(1, 10**8)


def test_a_profile_that_often_fails_is_answered_where_it_does_not() -> None:
    found = Profile.approximate(2, "0.9").epsilon_at("0.95")
    truth = math.log(math.exp(2) / 2 - 0.5)  # 0.1 (e² − e^ε)/(1 + e²) = 0.05
    assert truth <= float(found) <= truth * (1 + 1e-5)
    twice = (2 * Profile.approximate(1, "0.5")).epsilon_at("0.9")  # fails with 3/4, not with 1
    assert optimal_delta(Approximate(1, "0.5"), 2, twice) <= Fraction("0.9")
    assert float(twice) == pytest.approx(float(optimal(Approximate(1, "0.5"), 2, delta="0.9").epsilon), rel=1e-4)


@pytest.mark.parametrize("epsilon", [800, 10**5])
def test_steep_laplace_noise_has_its_closed_form(epsilon: int) -> None:
    for below in (1, 5, 40):  # δ = 1 − e^{(ε' − ε)/2}
        found = Profile.laplace(epsilon).delta_at(epsilon - below)
        assert -math.expm1(-below / 2) * (1 - 1e-9) <= float(found)
        assert Profile.pure(epsilon).delta_at(epsilon - below) >= -math.expm1(-below) * (1 - 1e-9)
    assert float(Profile.laplace(800).delta_at(795)) == pytest.approx(-math.expm1(-2.5), rel=1e-3)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Profile.pure("2e6"), r"losses up to 1000000, got AnyMechanism\(epsilon=2000000, delta=0\)"),
        (lambda: Profile.laplace(HUGE), r"got LaplaceNoise\(epsilon=1E\+300\)"),
        (lambda: Profile.discrete_laplace("1e999", 10**400), r"epsilon=1E\+999, sensitivity=1E\+400"),
        (lambda: Profile.discrete_gaussian("1e999"), r"sigma <= 40329, got 1E\+999"),
        (lambda: Profile.discrete_gaussian(TINY), r"got DiscreteGaussianNoise\(sigma=1E-300, sensitivity=1\)"),
        (lambda: Profile.poisson_gaussian("0.1", "0.01"), r"losses up to 700, got SampledGaussianNoise\(rate=0\.1"),
        (lambda: Profile.poisson_gaussian("0.9999999999", 1), r"rate <= 1 - 1e-9 or rate = 1, got rate=1 - 1E-10"),
        (lambda: Profile.approximate(1, "0." + "9" * 30), r"delta <= 1 - 1e-9, got delta=1 - 1E-30"),
        (lambda: 10**9 * Profile.pure(10**5), r"at most 1e12 together, these may lose 1E\+14"),
        (lambda: Profile.pure(1) + Profile.gaussian(TINY), r"these may lose"),
        (lambda: 10**12 * Profile.pure(1), "at most 1000000000 mechanisms, got 1000000000000"),
    ],
)
def test_events_that_floats_cannot_follow_are_refused_by_value(build: Callable[[], Profile], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        build().epsilon_at(RARE)
    with pytest.raises(Refusal, match=words):
        build().delta_at(1)


@pytest.mark.parametrize("epsilon", [HUGE, "1e999", TINY, "0"])
def test_a_profile_at_any_epsilon(epsilon: str) -> None:
    for profile in (Profile.pure(1) + Profile.gaussian(1), Profile.discrete_laplace(1, 10**400), Profile.gaussian(1)):
        found = profile.delta_at(epsilon)
        assert 0 <= found <= 1
        assert found < Fraction(1, 10**290) if Fraction(epsilon) > 1 else found > Fraction(1, 3)


def test_discrete_noise_of_an_astronomic_sensitivity_is_continuous() -> None:
    fine, continuous = (
        p.epsilon_at(RARE) for p in (10 * Profile.discrete_laplace(1, 10**400), 10 * Profile.laplace(1))
    )
    assert float(fine) == pytest.approx(float(continuous), rel=1e-4)


def person(epsilon: str | int) -> Guarantee[Pure]:
    return Guarantee(Pure(epsilon), Replace("person"))


def test_looking_at_fewer_counts_of_clones_only_raises_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    places = (0.0, 0.001, 0.003, 0.006)
    fine = [Clones(1.0, 10**6, 0.3).delta_at(at) for at in places]
    grouped = [Clones(1.0, 10**6, 0.3, looks=12).delta_at(at) for at in places]
    monkeypatch.setattr("discreet.privacy.amplify._COUNTS", 1)
    single = [Clones(1.0, 10**6, 0.3).delta_at(at) for at in places]
    for all_of_them, some, one in zip(fine, grouped, single, strict=True):
        assert all_of_them <= some <= one <= all_of_them * Fraction(6, 5)


def test_a_crowd_of_any_size() -> None:
    found = [shuffled(person(1), 10**n, delta=RARE).loss.epsilon for n in (6, 9, 10, 11, 12, 30)]
    assert found[:4] == sorted(found[:4], reverse=True)
    assert found[3] == found[4] == found[5]  # more than 10^11 hide no less
    assert shuffled_delta(person(1), 10**9, found[1]) <= RARE
    assert shuffled_delta(person(1), 10**9, found[1] * Fraction(99, 100)) > RARE


def test_a_crowd_whose_delta_is_too_small_for_a_float() -> None:
    assert shuffled_delta(person("9e-6"), 10**4, "8e-6") > 0
    assert shuffled(person("9e-6"), 10**4, delta="5.998e-9").loss.epsilon <= Fraction("9e-6")
    assert shuffled(person(1), 10**4, delta="1e-999").loss == Approximate(1, "1e-999")
    for epsilon in ("1e-13", TINY, "1e-999"):
        assert shuffled(person(epsilon), 10**4, delta=TINY).loss == Approximate(epsilon, TINY)


def test_renyi_bounds_far_out() -> None:
    assert Renyi.pure(Pure(HUGE), [2, "1e9"]) == Renyi([(2, HUGE), ("1e9", HUGE)])
    assert Renyi.laplace(HUGE, [2]) == Renyi([(2, HUGE)])
    curve = dict(Renyi.sampled_gaussian("0.01", "0.05", ["1.5", 2, "2.5", 3]).curve)
    with mpmath.workdps(60):
        second = mpmath.log1p(mpmath.mpf("1e-4") * mpmath.expm1(400))  # 1 + q² (e^{1/σ²} − 1)
        assert second <= real(curve[Fraction(2)]) <= second * (1 + mpmath.mpf("1e-15"))
    assert sorted(curve.values()) == list(curve.values())
    assert Renyi.sampled_gaussian("0.01", TINY, [2]) == Renyi([(2, "1e600")])
    near_one = Renyi([(1 + Fraction(1, 10**300), 1), ("1e300", 2)])
    assert 2 <= near_one.epsilon_at(RARE) < 3
    assert near_one.delta_at(3) < Fraction(1, 10**1000)


def test_a_group_of_a_tiny_loss() -> None:
    grown = Approximate("2.46e-129", "8.521e-16").group(10**9)
    plain = 10**9 * Fraction("8.521e-16")
    assert plain < grown.delta <= plain * (1 + Fraction(1, 10**18))


def test_conversions_and_calibration_far_out() -> None:
    loss = convert(Gaussian(HUGE), Approximate, delta=RARE)
    assert loss.epsilon >= Fraction(10) ** 300 / 2
    assert Gaussian(TINY).epsilon_at(RARE) == 0
    assert gaussian_for("1e999", "0.9199").delta_at("1e999") <= Fraction("0.9199")
    assert winning(Concentrated(HUGE)) == 1
    assert poisson(Guarantee(Pure(HUGE), AddRemove()), TINY).loss.epsilon <= 10**300
    with pytest.raises(Refusal, match=r"scale <= 1e300, got scale=1e999"):
        laplace_error("1e999", "0.5")


def test_divergences_far_out() -> None:
    coin: Channel[int, int] = Channel({0: {0: "1e-300", 1: 1 - Fraction("1e-300")}, 1: {0: "0.5", 1: "0.5"}})
    assert coin.delta_at(HUGE, [(0, 1)]) == 0
    with pytest.raises(Refusal, match=r"alpha <= 1e12, got alpha=1e300.*max_divergence"):
        renyi_divergence(coin[1], coin[0], HUGE)
    high = renyi_divergence(coin[1], coin[0], "1e12")
    assert high is not None
    assert float(high.high) == pytest.approx(300 * math.log(10) - math.log(2), rel=1e-9)
