"""Profiles against exact sums over outcomes, closed forms, exact composition and dp-accounting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.interval_arithmetic import normal_tail
from discreet.privacy.compose import optimal, optimal_delta
from discreet.privacy.convolve import compose, near_delta
from discreet.privacy.event import AnyMechanism, DiscreteGaussianNoise, DiscreteLaplaceNoise
from discreet.privacy.loss import AddRemove, Pure, Replace
from discreet.privacy.profile import Profile
from discreet.privacy.tradeoff import Gaussian

NUMBERS = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)
PROFILES = st.one_of(
    NUMBERS.map(Profile.pure),
    NUMBERS.map(Profile.laplace),
    NUMBERS.map(Profile.gaussian),
    st.builds(Profile.approximate, NUMBERS, st.fractions(min_value=0, max_value=Fraction(1, 100))),
    st.builds(Profile.discrete_laplace, NUMBERS, st.integers(1, 9)),
    st.builds(Profile.discrete_gaussian, NUMBERS, st.integers(1, 9)),
    st.builds(Profile.poisson_gaussian, st.fractions(min_value=Fraction(1, 50), max_value=1), NUMBERS),
)
Losses = dict[Fraction, Decimal]


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def response(epsilon: Fraction) -> Losses:
    growth = decimal(epsilon).exp()
    return {epsilon: growth / (1 + growth), -epsilon: 1 / (1 + growth)}


def discrete_laplace(epsilon: Fraction, sensitivity: int) -> Losses:
    """Every outcome near enough to matter, with its loss against the neighbour `sensitivity` away."""
    losses: Losses = {}
    scale = epsilon / sensitivity
    a = (-decimal(scale)).exp()
    for n in range(-2000, 2000):
        chance = (1 - a) / (1 + a) * a ** abs(n)
        loss = scale * (abs(n - sensitivity) - abs(n))
        losses[loss] = losses.get(loss, Decimal(0)) + chance
    return losses


def discrete_gaussian(sigma: Fraction, sensitivity: int) -> Losses:
    weights = {n: (-decimal(n**2 / (2 * sigma**2))).exp() for n in range(-60, 61)}
    total = sum(weights.values())
    return {(sensitivity**2 - 2 * n * sensitivity) / (2 * sigma**2): w / total for n, w in weights.items()}


def together(*parts: Losses) -> Losses:
    whole: Losses = {Fraction(0): Decimal(1)}
    for part in parts:
        sums: Losses = {}
        for (a, p), (b, q) in itertools.product(whole.items(), part.items()):
            sums[a + b] = sums.get(a + b, Decimal(0)) + p * q
        whole = sums
    return whole


def exact_delta(losses: Losses, epsilon: Fraction) -> Decimal:
    far = decimal(epsilon)
    return sum((p * (1 - (far - decimal(x)).exp()) for x, p in losses.items() if x > epsilon), Decimal(0))


def hugs(profile: Profile, losses: Losses, within: float) -> None:
    """Never below the truth, and not far above it."""
    for share in (0, Fraction(1, 7), Fraction(1, 3), Fraction(2, 3), Fraction(9, 10)):
        epsilon = max(losses) * share
        exact, found = exact_delta(losses, epsilon), decimal(profile.delta_at(epsilon))
        if exact > Decimal("1e-12"):
            assert exact <= found <= exact * (1 + Decimal(within)), float(found / exact - 1)


@given(PROFILES, st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_n_times_an_event_is_n_events(profile: Profile, times: int) -> None:
    """The defect measured in dp-accounting: a count that is ignored."""
    one_by_one = Profile()
    for _ in range(times):
        one_by_one = one_by_one + profile
    assert times * profile == one_by_one == Profile.together([profile] * times)
    assert hash(times * profile) == hash(one_by_one)


@given(PROFILES, PROFILES, PROFILES)
@settings(max_examples=60, deadline=None)
def test_composition_is_a_monoid(a: Profile, b: Profile, c: Profile) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert 0 * a + b == b
    assert a <= a + b
    assert 2 * a <= 3 * a
    assert not 3 * a <= 2 * a


@pytest.mark.parametrize(
    ("epsilon", "times"),
    [
        *((epsilon, times) for epsilon in ("0.03", "0.4", "2") for times in (1, 3, 50)),
        ("0.4", 400),
        *(pytest.param(epsilon, 400, marks=pytest.mark.slow) for epsilon in ("0.03", "2")),
    ],
)
def test_pure_events_compose_as_exactly_known(epsilon: str, times: int) -> None:
    loss, profile = Pure(epsilon), times * Profile.pure(epsilon)
    for delta in ("1e-3", "1e-6", "1e-10"):
        exact = optimal(loss, times, delta=delta).epsilon
        found = profile.epsilon_at(delta)
        assert optimal_delta(loss, times, found) <= Fraction(delta)
        assert found <= exact * Fraction(10001, 10000)


def test_counts_of_randomized_response_are_honoured() -> None:
    """RandomizedResponse(0.9, 2) a hundred times: about 10.72, where dp-accounting's accountant says 0.2007."""
    epsilon = Fraction(math.log(0.55 / 0.45))
    found = (100 * Profile.pure(epsilon)).epsilon_at("1e-6")
    assert float(found) == pytest.approx(10.7221, rel=5e-4)
    assert found >= optimal(Pure(epsilon), 100, delta="1e-6").epsilon * (1 - Fraction(1, 10**12))


def test_discrete_laplace_of_one_count_is_randomized_response() -> None:
    with localcontext(prec=50):
        law = discrete_laplace(Fraction(1, 2), 1)
        assert law[Fraction(1, 2)] == pytest.approx(response(Fraction(1, 2))[Fraction(1, 2)])
        hugs(Profile.discrete_laplace("0.5"), law, 1e-4)


@pytest.mark.parametrize(("epsilon", "sensitivity", "times"), [("1.3", 2, 3), ("0.6", 5, 2), ("3", 7, 1)])
def test_discrete_laplace_noise_is_hugged(epsilon: str, sensitivity: int, times: int) -> None:
    with localcontext(prec=50):
        law = together(*[discrete_laplace(Fraction(epsilon), sensitivity)] * times)
        hugs(times * Profile.discrete_laplace(epsilon, sensitivity), law, 1e-3)


@pytest.mark.parametrize(("sigma", "sensitivity", "times"), [("1", 1, 2), ("2.5", 3, 1), ("0.6", 1, 3)])
def test_discrete_gaussian_noise_is_hugged(sigma: str, sensitivity: int, times: int) -> None:
    with localcontext(prec=50):
        law = together(*[discrete_gaussian(Fraction(sigma), sensitivity)] * times)
        hugs(times * Profile.discrete_gaussian(sigma, sensitivity), law, 1e-3)


def test_a_mixture_is_hugged() -> None:
    with localcontext(prec=50):
        law = together(discrete_laplace(Fraction(1), 3), response(Fraction(1, 3)), response(Fraction(7, 10)))
        profile = Profile.discrete_laplace(1, 3) + Profile.pure(Fraction(1, 3)) + Profile.pure("0.7")
        hugs(profile, law, 1e-3)


def test_a_mechanism_that_may_fail() -> None:
    profile = 3 * Profile.approximate("0.5", "0.001")
    assert profile.delta_at(2) >= 1 - (1 - Fraction("0.001")) ** 3
    assert float(profile.delta_at(2)) == pytest.approx(0.003, rel=1e-3)
    with pytest.raises(Refusal, match=r"fails with a probability above delta=0\.001"):
        profile.epsilon_at("0.001")


@pytest.mark.parametrize("mu", ["0.05", "1", "3"])
def test_gaussian_noise_beside_another_event_stays_exact(mu: str) -> None:
    """With one pure event: p δ_G(ε − ε₀) + (1 − p) δ_G(ε + ε₀), in closed form for every real ε."""
    noise, loss = Fraction(mu), Fraction(1, 2)
    profile = Profile.gaussian(1 / noise) + Profile.pure(loss)
    truth = 1 / (1 + math.exp(-0.5))

    def gaussian(epsilon: Fraction) -> float:
        likely, rare = normal_tail(epsilon / noise - noise / 2), normal_tail(epsilon / noise + noise / 2)
        return float(likely.up) - math.exp(epsilon) * float(rare.up)

    for epsilon in map(Fraction, ("0", "0.2", "0.6", "1", "2")):
        exact = truth * gaussian(epsilon - loss) + (1 - truth) * gaussian(epsilon + loss)
        assert float(profile.delta_at(epsilon)) == pytest.approx(exact, rel=1e-6, abs=1e-14)
        assert float(profile.delta_at(epsilon)) >= exact * (1 - 1e-11) - 1e-15


def sampled_delta(rate: float, sigma: float, epsilon: float) -> float:
    """The larger of both directions, by the outcome x at which the likelihood ratio is e^ε; digits from `interval`."""
    shift = 1 / sigma

    def tail(x: float) -> float:
        return float(normal_tail(Fraction(x)).up)

    def outcome(ratio: float) -> float:
        return (math.log((ratio - 1 + rate) / rate) + shift**2 / 2) / shift

    x = outcome(math.exp(epsilon))
    remove = (1 - rate) * tail(x) + rate * tail(x - shift) - math.exp(epsilon) * tail(x)
    if math.exp(-epsilon) <= 1 - rate:
        return remove
    y = outcome(math.exp(-epsilon))
    return max(remove, tail(-y) - math.exp(epsilon) * ((1 - rate) * tail(-y) + rate * tail(shift - y)))


@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.5, 0.7), (0.2, 5.0)])
def test_one_sampled_gaussian_is_hugged(rate: float, sigma: float) -> None:
    for epsilon in (0.001, 0.01, 0.1, 0.5):
        exact, found = (
            sampled_delta(rate, sigma, epsilon),
            float(Profile.poisson_gaussian(rate, sigma).delta_at(epsilon)),
        )
        assert exact * (1 - 1e-9) - 1e-16 <= found <= exact * (1 + 1e-4) + 1e-16


def test_one_laplace_is_hugged() -> None:
    for epsilon in ("0", "0.1", "0.5", "0.9"):
        exact = -math.expm1((float(epsilon) - 1) / 2)
        assert exact <= float(Profile.laplace(1).delta_at(epsilon)) <= exact * (1 + 1e-4)


def test_continuous_noise_loses_less_than_discrete_and_discrete_less_than_any() -> None:
    for epsilon in ("0.1", "0.5", "1.5"):
        kinds = Profile.laplace(1), Profile.discrete_laplace(1, 100), Profile.discrete_laplace(1, 3), Profile.pure(1)
        found = [(2 * kind).delta_at(epsilon) for kind in kinds]
        assert found == sorted(found)


@pytest.mark.parametrize(
    ("profile", "figure"),
    [
        (100 * Profile.gaussian(10), 4.8866),
        (10_000 * Profile.gaussian(10), 96.717),
        (10_000 * Profile.laplace("0.01"), 4.8763),
        (10_000 * Profile.poisson_gaussian("0.01", 1), 6.9074),
    ],
)
def test_figures_of_the_accounting_table(profile: Profile, figure: float) -> None:
    assert float(profile.epsilon_at("1e-6")) == pytest.approx(figure, rel=2e-5)


def mixed() -> Profile:
    return Profile.together(
        [
            *(Profile.laplace(float(x)) for x in np.geomspace(0.005, 0.1, 300)),
            *(Profile.gaussian(float(x)) for x in np.linspace(20, 200, 400)),
            *(Profile.pure(float(x)) for x in np.linspace(0.01, 0.05, 300)),
        ]
    )


def test_a_thousand_different_mechanisms() -> None:
    """dp-accounting at its finest finished run says 4.6073; a pessimistic bound may only be above the truth."""
    assert float(mixed().epsilon_at("1e-6")) == pytest.approx(4.5776, abs=1e-4)


def test_dp_accounting_agrees_from_both_sides() -> None:
    """Its pessimistic distribution is above the truth and its optimistic one below; ours lies between them."""
    found = float((50 * Profile.laplace("0.3")).epsilon_at("1e-6"))
    low, high = (
        peer.from_laplace_mechanism(1 / 0.3, pessimistic_estimate=side, use_connect_dots=side).self_compose(50)
        for side in (False, True)
    )
    assert low.get_epsilon_for_delta(1e-6) <= found <= high.get_epsilon_for_delta(1e-6) * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "sigma", "times"), [(0.1, 2.0, 500), (0.001, 0.8, 3000), (0.5, 10.0, 100)])
def test_dp_accounting_agrees_on_sampled_noise(rate: float, sigma: float, times: int) -> None:
    theirs = peer.from_gaussian_mechanism(sigma, sampling_prob=rate, value_discretization_interval=1e-4)
    expected = theirs.self_compose(times).get_epsilon_for_delta(1e-6)
    found = float((times * Profile.poisson_gaussian(rate, sigma)).epsilon_at("1e-6"))
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.slow
def test_the_mixed_workload_below_a_balanced_tree_of_dp_accounting() -> None:
    step, size = 5e-4, math.sqrt(sum(1 / x**2 for x in np.linspace(20, 200, 400)))
    parts = [
        *(
            peer.from_laplace_mechanism(1 / x, value_discretization_interval=step)
            for x in np.geomspace(0.005, 0.1, 300)
        ),
        *(
            peer.from_privacy_parameters(common.DifferentialPrivacyParameters(x, 0), value_discretization_interval=step)
            for x in np.linspace(0.01, 0.05, 300)
        ),
        peer.from_gaussian_mechanism(1 / size, value_discretization_interval=step),
    ]
    while len(parts) > 1:
        pairs = [a.compose(b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
    assert float(mixed().epsilon_at("1e-6")) < float(parts[0].get_epsilon_for_delta(1e-6)) < 4.75


def test_far_below_the_guard_the_numbers_still_hold() -> None:
    """What is refused is not wrong: 10,000 pure events of 1/801 at δ = e^−32, where an untilted transform says 2.3."""
    each, delta = Fraction(1, 801), math.exp(-32)
    found = compose([(AnyMechanism(each, Fraction(0)), 10_000)], 0.0, "remove", near_delta(delta)).epsilon_at(delta)
    exact = float(optimal(Pure(each), 10_000, delta=delta).epsilon)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-6)


def test_a_small_delta_is_refused_by_name_with_what_to_use() -> None:
    with pytest.raises(Refusal, match=r"delta >= 1e-10, got delta=1E-11.*compose\.optimal"):
        Profile.laplace(1).epsilon_at("1e-11")
    with pytest.raises(Refusal, match=r"delta >= 1e-10, got delta=1E-11"):
        Profile.gaussian(1).epsilon_at("1e-11")  # though its bound is exact: the page says whatever the events are
    assert Profile.laplace(1).epsilon_at("1e-10") > 0


def test_gaussian_noise_adds_up_before_anything_else() -> None:
    assert (9 * Profile.gaussian(3)).epsilon_at("1e-6") == Profile.gaussian(1).epsilon_at("1e-6")
    assert Profile.poisson_gaussian(1, 3) == Profile.gaussian(3)
    assert Profile.gaussian(2) <= Profile.gaussian(1)
    assert not Profile.gaussian(1) <= Profile.gaussian(2)


def test_an_event_without_epsilon_only_fails() -> None:
    profile = 2 * Profile.approximate(0, "1e-7")
    assert profile.epsilon_at("1e-6") == 0
    assert float(profile.delta_at(1)) == pytest.approx(2e-7, rel=1e-6)


def test_nothing_loses_nothing() -> None:
    assert Profile().delta_at(0) == Profile().epsilon_at("1e-6") == 0


def test_the_neighbours_belong_to_it() -> None:
    both = Profile.poisson_gaussian("0.1", 1) + Profile.laplace(1)
    assert both.under(AddRemove("person")).loss == both
    with pytest.raises(Refusal, match="adding or removing one unit, not for Replace"):
        both.under(Replace("person"))
    assert Profile.laplace(1).under(Replace("person")).neighbours == Replace("person")
    with pytest.raises(Refusal, match="for 2 units is not known"):
        Profile.laplace(1).under(AddRemove("person")).under(Replace("person"))


def test_it_has_no_filter() -> None:
    assert not hasattr(Profile, "fills")
    assert not hasattr(Profile, "less")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Profile.pure(0), "epsilon=0"),
        (lambda: Profile.pure("nan"), "nan"),
        (lambda: Profile.laplace(-1), "epsilon=-1"),
        (lambda: Profile.gaussian(0), "sigma=0"),
        (lambda: Profile.gaussian(float("inf")), "inf"),
        (lambda: Profile.approximate(1, 1), "delta=1"),
        (lambda: Profile.discrete_laplace(1, 0), "sensitivity=0"),
        (lambda: Profile.poisson_gaussian("1.1", 1), "rate=1.1"),
        (lambda: Profile.poisson_gaussian(0, 1), "rate=0"),
        (lambda: Profile.discrete_gaussian(10**6).epsilon_at("1e-6"), "sigma <= 40329, got 1000000"),
        (lambda: -1 * Profile.pure(1), "times=-1"),
        (lambda: Profile.pure(1).group(0), "size=0"),
        (lambda: Profile.pure(1).delta_at(-1), "epsilon=-1"),
        (lambda: Profile.pure(1).epsilon_at(1), "delta=1"),
        (lambda: (10**10 * Profile.pure(1)).epsilon_at("1e-6"), "at most 1000000000 mechanisms"),
    ],
)
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        build()


def test_an_event_is_plain_data() -> None:
    assert Profile.discrete_laplace("0.5", 2).events == {(DiscreteLaplaceNoise(Fraction(1, 2), 2), 1)}
    assert (3 * Profile.discrete_gaussian(2)).events == {(DiscreteGaussianNoise(Fraction(2), 1), 3)}
    assert Profile.gaussian(2)._gaussian == Gaussian(Fraction(1, 4))


def test_a_rare_sample_needs_no_endless_grid() -> None:
    # 1.2e8 grid points, and so gigabytes, if the step followed the small loss of an added row
    rare = Profile.poisson_gaussian("1e-7", "0.5")
    assert rare.delta_at(0) >= Fraction(68, 100) / 10**7  # q (2 Φ(1) − 1) is exact at ε = 0
    assert rare.epsilon_at("1e-6") < Fraction(1, 100)
