"""Noise at a data-dependent scale: the privacy of both shapes by summation, and Student's sampler by enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded, enumerated
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp
from discreet.mechanisms.smooth_noise import LaplaceTails, StudentTails, _student_proposal

Law = NDArray[np.float64]
MILLIONTH = Fraction(1, 10**6)
SIZES = [0.02, 0.1, 0.3, 0.7, 1, 1.2, 2, 3, 5, 9.5, 20, 60]  # of the smaller smooth bound, in steps


def laplace_law(center: int, scale: float, reach: int) -> Law:
    n = np.arange(-reach, reach + 1)
    return np.exp(-np.abs(n - center) / scale) * math.tanh(1 / (2 * scale))


def hockey(left: Law, right: Law, epsilon: float) -> float:
    return float(np.maximum(left - math.exp(epsilon) * right, 0).sum())


@pytest.mark.parametrize("delta", [MILLIONTH, Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4), Fraction(12)])
def test_laplace_noise_at_smooth_scales_keeps_its_promise(epsilon: Fraction, delta: Fraction) -> None:
    """Every shift d ≤ S and stretch up to the growth, both ways; what is beyond the window weighs less than e^−40."""
    tails = LaplaceTails(epsilon, delta)
    worst = 0.0
    for size, part in itertools.product(SIZES, [1.0, 0.4]):
        larger = size * (1 + float(tails.growth - 1) * part)
        small, large = (2 * smooth / float(epsilon) for smooth in (size, larger))
        reach = math.ceil(40 * large) + math.ceil(size) + 1
        for shift in {0, math.floor(size) // 2, math.floor(size)}:
            left, right = laplace_law(0, large, reach), laplace_law(shift, small, reach)
            worst = max(worst, hockey(left, right, float(epsilon)), hockey(right, left, float(epsilon)))
    assert worst <= float(delta)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_a_growth_that_is_not_much_larger_breaks_it(epsilon: Fraction) -> None:
    """The growth is within a factor of 1.6 of what is possible at all: the proof gives little away."""
    tails, size = LaplaceTails(epsilon, MILLIONTH), 40.0
    larger = size * (1 + 1.6 * float(tails.growth - 1))
    small, large = (2 * smooth / float(epsilon) for smooth in (size, larger))
    reach = math.ceil(60 * large)
    law = laplace_law(0, large, reach), laplace_law(40, small, reach)
    assert hockey(*law, float(epsilon)) > 1e-6


@pytest.mark.parametrize("delta", [Fraction(1, 10**12), MILLIONTH, Fraction(1, 10), Fraction(3, 4)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(100)])
def test_the_growth_solves_its_equation(epsilon: Fraction, delta: Fraction) -> None:
    def spent(gamma: Fraction) -> Fraction:
        far = exp(-epsilon / (2 * gamma))
        return (gamma / (1 + gamma) * (far + far * far * far)).up

    gamma = LaplaceTails(epsilon, delta).growth - 1
    assert 0 < gamma <= epsilon / 2
    assert spent(gamma) <= delta
    assert gamma == epsilon / 2 or spent(gamma * (1 + Fraction(2, 10**6))) > delta


def test_it_is_smoother_noise_than_published() -> None:
    """Nissim, Raskhodnikova & Smith take β = ε/(2 ln(2/δ)), so e^β − 1 is smaller than our γ in the usual range."""
    for epsilon, delta in itertools.product([0.1, 1.0, 3.0], [1e-4, 1e-6, 1e-9]):
        published = math.expm1(epsilon / (2 * math.log(2 / delta)))
        assert float(LaplaceTails(Fraction(epsilon), Fraction(delta)).growth) - 1 > 1.1 * published


def student_law(center: int, scale: float, reach: int) -> Law:
    """Normalised with the tail's integral: off by less than a millionth of a millionth here."""
    n = np.arange(-reach, reach + 1)
    weight: Law = (1 + ((n - center) / scale) ** 2) ** -2.0
    return weight / float(((1 + (n / scale) ** 2) ** -2.0).sum())


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4), Fraction(12)])
def test_student_noise_at_smooth_scales_keeps_its_promise(epsilon: Fraction) -> None:
    tails = StudentTails(epsilon)
    stretch, growth = float(tails.scale(Fraction(1))), float(tails.growth)
    worst = 0.0
    for size, part in itertools.product(SIZES, [1.0, 0.4, 0.0]):
        small, large = size * stretch, size * stretch * (1 + (growth - 1) * part)
        reach = math.ceil(400 * large) + 1000
        for shift in {0, math.floor(size) // 2, math.floor(size)}:
            left, right = student_law(0, large, reach), student_law(shift, small, reach)
            worst = max(worst, float(np.abs(np.log(left / right)).max()))
    assert worst <= float(epsilon)
    assert worst > 0.4 * float(epsilon)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_a_proposal_of_student_noise_is_kept_with_exactly_its_weight(scale: Fraction) -> None:
    """Every string of up to 19 bits: 7/64 · w(n) / ⌈s⌉ lies between the mass of n and that plus what is left open."""
    mass, rest = enumerated(lambda rng: _student_proposal(scale, rng), 19)
    assert rest < Fraction(1, 15)
    assert {-2, -1, 0, 1, 2} <= mass.keys()
    for n, found in mass.items():
        if isinstance(n, int):
            kept = Fraction(7, 64) / (1 + n * n / scale**2) ** 2 / math.ceil(scale)
            assert found <= kept <= found + rest
            assert found == mass[-n]


@pytest.mark.parametrize(
    "scale", [pytest.param(Fraction(1, 5), marks=pytest.mark.slow), Fraction(1), Fraction(37, 10), Fraction(1000)]
)
def test_student_noise_follows_its_law_and_no_other(scale: Fraction) -> None:
    """False alarms: 1e-10 each (Dvoretzky, Kiefer & Wolfowitz; Massart 1990), if the bits were fresh."""
    rng, runs = Seeded(3), 8000
    sample = np.array([StudentTails(Fraction(1)).draw(scale, rng) for _ in range(runs)])
    allowed = math.sqrt(math.log(2 / 1e-10) / (2 * runs))

    def distance(width: float) -> float:
        reach = math.ceil(60 * width) + 60
        below = np.cumsum(student_law(0, width, reach))
        return float(
            np.abs(np.searchsorted(np.sort(sample), np.arange(-reach, reach + 1), "right") / runs - below).max()
        )

    assert distance(float(scale)) <= allowed
    if scale >= 1:
        assert distance(float(scale) * 1.3) > allowed
        assert distance(float(scale) * 0.7) > allowed


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1, 5), Fraction(1), Fraction(7), Fraction(1000)])
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)])
def test_student_noise_is_within_its_error(scale: Fraction, confidence: Fraction) -> None:
    error = StudentTails(Fraction(1)).error(scale, confidence)
    reach = 200 * math.ceil(scale) + 2000
    law = student_law(0, float(scale), reach)
    inside = float(law[reach - error : reach + error + 1].sum())
    assert inside >= float(confidence)
    if error > 3:  # and not by much: a third less would not do
        less = 2 * error // 3
        assert float(law[reach - less : reach + less + 1].sum()) < max(float(confidence), 0.85)


def test_an_epsilon_that_the_weights_cannot_resolve_is_refused() -> None:
    for tails in (LaplaceTails(Fraction(1, 10**13), MILLIONTH), StudentTails(Fraction(1, 10**13))):
        with pytest.raises(Refusal, match="too small for a smooth bound"):
            _ = tails.growth
