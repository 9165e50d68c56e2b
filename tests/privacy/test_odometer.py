"""A reading that is right at every time at once, checked on games where the privacy loss can be enumerated."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp
from discreet.privacy.budget import Odometer
from discreet.privacy.convert import convert, epsilon_at
from discreet.privacy.loss import AddRemove, Approximate, Concentrated, FilterLoss, Guarantee, Pure, Replace
from discreet.privacy.profile import Profile
from discreet.privacy.renyi import Renyi
from discreet.privacy.tradeoff import Gaussian

L = TypeVar("L", bound=FilterLoss)
rhos = st.fractions(Fraction(1, 10**6), 1000, max_denominator=10**6)


def of(loss: L) -> Guarantee[L]:
    """The loss with the neighbours that an odometer has unless it is told otherwise."""
    return Guarantee(loss, AddRemove())


def test_sums_are_read_as_they_are() -> None:
    assert Odometer(Pure(0)).spend(of(Pure(0.1))).spend(of(Pure(0.2))).bound() == Approximate("0.3")
    spent = Odometer(Approximate(0)).spend(of(Approximate(1, "1e-6"))).spend(of(Approximate(1, "1e-6")))
    assert spent.bound() == Approximate(2, "2e-6")


def test_nothing_spent_is_nothing_lost() -> None:
    assert Odometer(Concentrated(0), "1e-6").bound() == Approximate(0, "1e-6")


@given(rhos, rhos, st.sampled_from(["1e-3", "1e-9"]))
def test_the_reading_never_falls(rho: Fraction, more: Fraction, delta: str) -> None:
    before = Odometer(Concentrated(rho), delta)
    assert before.bound() <= before.spend(of(Concentrated(more))).bound()


@given(rhos, st.sampled_from(["1e-3", "1e-6", "1e-12"]))
def test_the_reading_costs_more_than_a_filter_but_not_much(rho: Fraction, delta: str) -> None:
    """Dearer than one conversion at a total fixed beforehand; within 4 % of the best line with its share of δ."""
    reading = Odometer(Concentrated(rho), delta).bound().epsilon
    assert reading >= epsilon_at(Concentrated(rho), delta)
    steps = abs(math.log2(rho)) + 2
    line = float(rho) + 2 * math.sqrt(float(rho) * math.log(1.5 * (steps + 1) * (steps + 2) / float(delta))) * 1.04
    assert reading <= line


@pytest.mark.parametrize("delta", ["1e-6", "1e-12"])
@pytest.mark.parametrize("around", [Fraction(1), Fraction(3, 100)])
def test_the_lines_share_delta(around: Fraction, delta: str) -> None:
    """A line αρ + ln(1/δ_k)/(α − 1) is told from two readings on it, and so is its δ_k: all of these are at most δ.

    Ville's inequality needs no more, and less would be a gift: of the 61 lines that are found here all but 5 % of δ.
    """
    shares: dict[Fraction, float] = {}
    for k in range(-30, 31):
        near, far = (around * Fraction(2) ** k * part for part in (1, Fraction(1001, 1000)))
        low, high = (Odometer(Concentrated(rho), delta, around).bound().epsilon for rho in (near, far))
        alpha = (high - low) / (far - near)
        shares[alpha] = math.exp(-float((low - alpha * near) * (alpha - 1)))
    assert len(shares) == 61  # no line twice
    assert 0.95 * float(delta) < sum(shares.values()) <= float(delta)


def test_a_line_is_fixed_before_the_data() -> None:
    """The reading at ρ is a line of ρ: readings between two on the same line lie on it, whatever was spent before."""
    odometer = Odometer(Concentrated(1), "1e-6")
    for k in range(-3, 4):
        at = [odometer._line(Fraction(n), k) for n in (1, 2, 3)]
        assert abs(at[2] - 2 * at[1] + at[0]) < Fraction(1, 10**15)


def test_around_says_where_it_is_tightest() -> None:
    far = Odometer(Concentrated("0.001"), "1e-6").bound().epsilon
    near = Odometer(Concentrated("0.001"), "1e-6", around="0.001").bound().epsilon
    assert near < far


def test_gaussian_is_read_as_the_zcdp_it_is() -> None:
    assert Odometer(Gaussian(1), "1e-6").bound() == Odometer(Concentrated("0.5"), "1e-6").bound()


def test_charges_with_a_delta_add_it() -> None:
    plain = Odometer(Concentrated(1), "1e-6").bound()
    marred = Odometer(Concentrated(0), "1e-6").spend(of(Concentrated(1, "1e-7"))).bound()
    assert marred == Approximate(plain.epsilon, "1.1e-6")
    assert Odometer(3 * Concentrated(1, "0.5"), "1e-6").bound().delta == 1


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2)]), min_size=1, max_size=9),
    st.sampled_from([Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)]),
)
def test_the_privacy_loss_crosses_no_reading_more_often_than_delta(prices: list[Fraction], delta: Fraction) -> None:
    """Randomized responses at prices that an adversary raises after each unlucky answer; every path is enumerated.

    The probability that the loss exceeds the reading after *any* answer must be at most δ. Prices depend on the path.
    """
    crossed, bounds = Fraction(0), dict[Fraction, Fraction]()
    paths = {(Fraction(0), Fraction(0), 0): Fraction(1)}  # (loss, ρ so far, how often in a row it told): probability
    for price in prices:
        following = dict[tuple[Fraction, Fraction, int], Fraction]()
        for (loss, rho, told), chance in paths.items():
            epsilon = min(price + Fraction(told, 2), Fraction(3, 2))  # bolder while it goes well
            spent = rho + convert(Pure(epsilon), Concentrated).rho
            if spent not in bounds:
                bounds[spent] = Odometer(Concentrated(spent), delta).bound().epsilon
            truth = (1 / (1 + exp(-epsilon))).up
            for more, step, run in ((truth, epsilon, min(told + 1, 2)), (1 - truth, -epsilon, 0)):
                if loss + step > bounds[spent]:
                    crossed += chance * more  # and the path ends: it has crossed
                else:
                    here = (loss + step, spent, run)
                    following[here] = following.get(here, Fraction(0)) + chance * more
        paths = following
    assert crossed <= delta


def crossing_chance(scale: float, steps: int, delta: Fraction) -> float:
    """How likely the loss of so many randomized responses at ε = 1 ever exceeds `scale` times the reading."""
    rho, truth = convert(Pure(1), Concentrated).rho, 1 / (1 + math.exp(-1))
    crossed, paths = 0.0, {0: 1.0}  # how often the truth was told: probability of not having crossed yet
    for step in range(1, steps + 1):
        bound = scale * float(Odometer(Concentrated(step * rho), delta).bound().epsilon)
        following: dict[int, float] = {}
        for told, chance in paths.items():
            following[told + 1] = following.get(told + 1, 0.0) + chance * truth
            following[told] = following.get(told, 0.0) + chance * (1 - truth)
        crossed += math.fsum(chance for told, chance in following.items() if 2 * told - step > bound)
        paths = {told: chance for told, chance in following.items() if 2 * told - step <= bound}
    return crossed


def test_a_long_game_does_not_cross_the_reading_and_would_cross_three_quarters_of_it() -> None:
    assert crossing_chance(1.0, 400, Fraction(1, 2)) <= 0.5
    assert crossing_chance(0.75, 400, Fraction(1, 2)) > 0.5


def test_what_has_no_odometer_is_refused() -> None:
    with pytest.raises(Refusal, match="no odometer is proven for Renyi"):
        Odometer(Renyi.gaussian(1), "1e-6")  # type: ignore[type-var]
    with pytest.raises(Refusal, match="needs a delta above 0, got delta=0"):
        Odometer(Concentrated(0))
    with pytest.raises(Refusal, match="delta must be 0, got delta=1e-06"):
        Odometer(Pure(0), 1e-6)
    for bad in (-1, 1, float("nan"), True):
        with pytest.raises(Refusal, match="delta"):
            Odometer(Concentrated(0), bad)
    with pytest.raises(Refusal, match="around=0"):
        Odometer(Concentrated(0), "1e-6", around=0)


def test_an_odometer_reads_whole_sentences_in_its_own_measure_and_for_its_own_neighbours() -> None:
    person, other = AddRemove("person"), Replace("person")
    read = Odometer(Pure(0), neighbours=other).spend(Guarantee(Pure(1), person))
    assert read.spent == Pure(2)  # replacing is removing, then adding
    assert read.neighbours == other
    assert read.spend(Guarantee(Pure(1), other)).spent == Pure(3)
    with pytest.raises(Refusal, match="says nothing about adding or removing"):
        Odometer(Pure(0), neighbours=person).spend(Guarantee(Pure(1), other))
    with pytest.raises(Refusal, match="about one 'row' says nothing about one 'person'"):
        Odometer(Pure(0), neighbours=person).spend(Guarantee(Pure(1), AddRemove()))
    bare: Any = Pure(1)
    with pytest.raises(Refusal, match=r"^expected a Guarantee, .* got Pure\(epsilon=1\); write Guarantee"):
        Odometer(Pure(0)).spend(bare)
    for loss in (Concentrated(1), Profile.gaussian(1), Renyi.gaussian(1), 1):
        wrong: Any = Guarantee(loss, AddRemove())
        with pytest.raises(Refusal, match=f"^this odometer is kept in Pure, got a loss in {type(loss).__name__};"):
            Odometer(Pure(0)).spend(wrong)
