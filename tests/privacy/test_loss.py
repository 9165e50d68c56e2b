"""Each measure's own numbers, against mechanisms whose exact loss is known. The shared laws are in tests/contract."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.privacy.divergence import Channel
from discreet.privacy.loss import Approximate, Concentrated, Pure, best_order

small = st.fractions(min_value=Fraction(1, 100), max_value=5, max_denominator=100)
targets = st.fractions(min_value=0, max_value=6, max_denominator=50)


def test_ten_times_a_tenth_is_one() -> None:
    assert 10 * Pure(0.1) == Pure(1)
    assert 10 * Approximate(0.1, 1e-7) == Approximate(1, "1e-6")
    assert 10 * Concentrated(np.float32(0.1), Decimal("1e-7")) == Concentrated(1, "1e-6")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1, "-1e-9", float("nan"), float("inf"), True, "some", None], ids=repr)
def test_a_size_that_is_no_size_is_refused_by_value(bad: float) -> None:
    for build, name in ((Pure, "epsilon"), (Approximate, "epsilon"), (Concentrated, "rho")):
        with pytest.raises(Refusal) as refusal:
            build(bad)
        assert name in str(refusal.value)
        assert str(bad) in str(refusal.value)


@pytest.mark.parametrize("bad", [1, 2, "1.5", -1, float("nan"), False, "some"], ids=repr)
def test_a_delta_that_is_no_delta_is_refused_by_value(bad: float) -> None:
    for build in (Approximate, Concentrated):
        with pytest.raises(Refusal) as refusal:
            build(1, bad)
        assert "delta" in str(refusal.value)
        assert str(bad) in str(refusal.value)


def test_a_sum_may_reach_a_delta_that_nobody_may_ask_for() -> None:
    half = Approximate(1, 0.5)
    assert (half + half + half).delta == 1
    assert (3 * Concentrated(1, 0.5)).delta == 1
    assert (3 * half).delta_at(0) == 1
    assert (3 * half).delta_at(1000) == 1


def leaky_response(epsilon: Fraction, delta: Fraction) -> tuple[Channel[int, str], Fraction]:
    """The worst (ε', δ)-private mechanism for an ε' within 1e-12 below ε, and e^ε': tells all with probability δ."""
    ratio = Fraction(math.exp(epsilon)).limit_denominator(10**15) * (1 - Fraction(1, 10**12))
    lie, truth = (1 - delta) / (1 + ratio), (1 - delta) * ratio / (1 + ratio)
    rows = {0: {"0!": delta, "0": truth, "1": lie}, 1: {"1!": delta, "0": lie, "1": truth}}
    return Channel(rows), ratio


@given(small, st.fractions(0, Fraction(9, 10), max_denominator=100), targets)
def test_the_profile_is_that_of_the_worst_mechanism(epsilon: Fraction, delta: Fraction, target: Fraction) -> None:
    channel, _ = leaky_response(epsilon, delta)
    worst = channel.delta_at(target, [(0, 1)])
    promised = Approximate(epsilon, delta).delta_at(target)
    assert worst <= promised <= worst + Fraction(1, 10**11)
    if delta == 0:
        assert Pure(epsilon).delta_at(target) == promised


@given(st.integers(2, 4), st.fractions(Fraction(1, 10), 2, max_denominator=20), st.fractions(0, Fraction(1, 5)))
def test_a_group_is_covered_by_brute_force(size: int, epsilon: Fraction, delta: Fraction) -> None:
    """A chain of inputs 0, …, c, each next to the last: what holds for steps is spread over the whole chain."""
    ratio = Fraction(math.exp(epsilon)).limit_denominator(10**6)
    chain = [Fraction(1, 2) / ratio**size]
    for _ in range(size):
        chain.append(chain[-1] * ratio + delta)
    assume(chain[-1] <= 1)
    channel = Channel({x: {"yes": p, "no": 1 - p} for x, p in enumerate(chain)})
    steps = list(pairwise(range(size + 1)))
    step = Approximate(epsilon + Fraction(1, 10**5), max(delta, channel.delta_at(epsilon + Fraction(1, 10**5), steps)))
    group = step.group(size)
    assert channel.delta_at(group.epsilon, [(0, size)]) <= group.delta
    assert group.epsilon == size * step.epsilon


def test_the_delta_of_a_group_is_a_geometric_sum() -> None:
    group = Approximate(1, "1e-6").group(3)
    with mpmath.workdps(50):
        expected = mpmath.mpf(10) ** -6 * (1 + mpmath.e + mpmath.e**2)
        assert 0 <= mpmath.mpf(group.delta.numerator) / group.delta.denominator - expected < mpmath.mpf(10) ** -20
    assert Approximate(0, "0.1").group(3) == Approximate(0, "0.3")
    assert Approximate(1).group(3) == Approximate(3)
    assert Approximate(10**6, "1e-6").group(10).delta == 1
    assert Pure("0.5").group(4) == Pure(2)
    assert Concentrated("0.5").group(3) == Concentrated("4.5")


def test_no_group_rule_is_known_with_a_delta() -> None:
    with pytest.raises(Refusal, match="group privacy of Concentrated"):
        Concentrated(1, "1e-6").group(2)
    assert Concentrated(1, "1e-6").group(1) == Concentrated(1, "1e-6")


def weight(n: int, variance: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(n * n) * variance.denominator / (2 * variance.numerator))


def discrete_gaussian_delta(variance: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Exactly Σ max(0, p(n) − e^ε p(n−1)) for a shift of one: all n below 1/2 − εσ² contribute."""
    last = math.ceil(Fraction(1, 2) - epsilon * variance) - 1
    reach = 40 + int(15 * math.sqrt(variance))
    whole = sum(weight(n, variance) for n in range(-reach, reach + 1))
    factor = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    over = (weight(n, variance) - factor * weight(n - 1, variance) for n in range(last - reach, last + 1))
    return sum(over) / whole


@given(st.fractions(Fraction(1, 4), 30, max_denominator=20), st.fractions(0, 4, max_denominator=20))
def test_zcdp_covers_the_discrete_gaussian(variance: Fraction, epsilon: Fraction) -> None:
    with mpmath.workdps(60):
        exactly = discrete_gaussian_delta(variance, epsilon)
        promised = Concentrated(1 / (2 * variance)).delta_at(epsilon)
        assert exactly <= mpmath.mpf(promised.numerator) / promised.denominator


def test_zcdp_converts_as_published() -> None:
    """δ at the ε of the measured accounting table: 100 Gaussian answers of σ = 10, and 10,000 of them."""
    for rho, epsilon in ((Fraction(1, 2), "5.2215345"), (Fraction(50), "100.689906")):
        assert Fraction(99999, 10**11) < Concentrated(rho).delta_at(epsilon) <= Fraction(1, 10**6)


def test_the_delta_it_already_has_is_kept() -> None:
    assert Concentrated(0, "0.25").delta_at(5) == Fraction(1, 4)
    plain, marred = Concentrated(1).delta_at(3), Concentrated(1, "0.25").delta_at(3)
    assert marred == Fraction(1, 4) + Fraction(3, 4) * plain


@pytest.mark.parametrize("size", ["1e-400", "1e-30", "1e30", "1e400", 10**9])
def test_no_size_is_too_large_or_too_small(size: str) -> None:
    for loss in (Pure(size), Approximate(size, "1e-9"), Concentrated(size)):
        for epsilon in (0, 1, "1e350", "1e-350"):
            assert 0 <= loss.delta_at(epsilon) <= 1
    assert Pure("1e400").delta_at(0) == 1
    assert Pure("1e400").delta_at("1e400") == 0


def test_best_order_finds_the_bottom() -> None:
    for bottom in (1.001, 2.0, 50.0, 1e6):
        order = best_order(lambda a, bottom=bottom: (math.log(a - 1) - math.log(bottom - 1)) ** 2)  # type: ignore[misc]
        assert abs(float(order) - bottom) < 1e-6 * bottom


def test_losses_are_said_in_few_digits() -> None:
    assert str(Pure(0.1)) == "Pure(epsilon=0.1)"
    assert str(Approximate(Fraction(1, 3), "1e-9")) == "Approximate(epsilon=1/3, delta=0.000000001)"
    assert str(Concentrated("0.5")) == "Concentrated(rho=0.5, delta=0)"


@pytest.mark.parametrize(
    ("loss", "other", "met"),
    [
        (Pure("0.3"), Pure("0.2"), Pure("0.2")),
        (Approximate("0.3", "1e-9"), Approximate("0.2", "1e-6"), Approximate("0.2", "1e-9")),
        (Concentrated("0.3", "1e-6"), Concentrated("0.4", "1e-9"), Concentrated("0.3", "1e-9")),
    ],
)
def test_the_meet_of_two_losses_is_within_both(loss: Any, other: Any, met: Any) -> None:  # noqa: ANN401
    assert loss.meet(other) == other.meet(loss) == met
    assert loss.covers(met)
    assert other.covers(met)
    assert met.covers(loss) == (met == loss)
    assert loss.at(loss.amount, loss.delta) == loss
    assert {loss.word: loss.amount} == {name: value for name, value in vars(loss).items() if name != "delta"}
    assert loss.delta == vars(loss).get("delta", 0)


def test_losses_of_two_measures_neither_meet_nor_cover() -> None:
    losses: list[Any] = [Pure(1), Approximate(1), Concentrated(1)]
    for one, other in permutations(losses, 2):
        assert not one.covers(other)
        with pytest.raises(Refusal, match="two measures"):
            one.meet(other)


@pytest.mark.parametrize("make", [Pure, lambda x: Approximate(x, x), lambda x: Concentrated(x, x)])
def test_what_is_rounded_down_is_hardly_less_and_short(make: Callable[[Fraction], Any]) -> None:
    exactly = Fraction(10**90 + 7, 3 * 10**90)
    loss = make(exactly)
    down = loss.rounded_down()
    for before, after in zip(vars(loss).values(), vars(down).values(), strict=True):
        assert before * (1 - Fraction(1, 10**9)) <= after <= before
        assert len(str(after)) < 60
