"""Coins of exact probability."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from doubles import Prefixed, Scripted, Seeded, enumerated

from discreet.errors import Refusal
from discreet.noise import flip, flip_exp, flips, flips_exp
from discreet.noise.bernoulli import ERROR, exp_near, under_exp


@pytest.mark.parametrize(
    "p", [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(3, 8), Fraction(1, 3), Fraction(5, 7)]
)
def test_flip_has_its_probability_by_enumeration(p: Fraction) -> None:
    mass, unresolved = enumerated(lambda rng: flip(p, rng=rng), 15)
    assert mass.get(True, 0) <= p <= mass.get(True, 0) + unresolved
    assert unresolved < Fraction(1, 50)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2, 3), Fraction(5, 2)])
def test_flip_exp_has_its_probability_by_enumeration(x: Fraction) -> None:
    mass, unresolved = enumerated(lambda rng: flip_exp(x, rng=rng), 18)
    assert float(mass.get(True, 0)) <= math.exp(-x) <= float(mass.get(True, 0) + unresolved)
    assert unresolved < Fraction(1, 10)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(2, 7), Fraction(9, 10)])
def test_flips_decides_by_64_digits_and_settles_a_tie_with_the_rest(p: Fraction) -> None:
    threshold, rest = divmod(p.numerator << 64, p.denominator)
    words = np.array([threshold - 1, threshold + 1], dtype=np.uint64)
    assert flips(p, 2, rng=Scripted([words.tobytes()])).tolist() == [True, False]
    tie = threshold.to_bytes(8, "little")
    mass, unresolved = enumerated(lambda rng: bool(flips(p, 1, rng=Prefixed(tie, rng))[0]), 16)
    assert mass[True] <= Fraction(rest, p.denominator) <= mass[True] + unresolved
    assert unresolved < Fraction(1, 50)


def test_exp_near_keeps_its_promised_error() -> None:
    # corners of every cell, where the polynomial is worst, and points between
    x = np.concatenate([np.arange(0, 64, 1 / 16), np.nextafter(np.arange(1, 1024) / 16, 0), np.linspace(0, 63.99, 999)])
    near = exp_near(x)
    with mpmath.workdps(40):
        worst = max(
            abs(mpmath.mpf(float(p)) / mpmath.exp(-mpmath.mpf(float(v))) - 1) for p, v in zip(near, x, strict=True)
        )
    assert worst < ERROR
    assert worst > ERROR / 16  # else the promise is idle and hides a mistake in its derivation


def test_coins_near_their_threshold_are_settled_exactly() -> None:
    x = Fraction(1, 3)
    first = int(mpmath.floor(mpmath.exp(-mpmath.mpf(1) / 3) * 2**32))
    with mpmath.workdps(60):
        digits = int(mpmath.floor(mpmath.exp(-mpmath.mpf(1) / 3) * 2**96))
    rest = digits & ((1 << 64) - 1)
    for more, expected in ((rest - 1, True), (rest + 1, False)):
        script = [first.to_bytes(4, "little"), more.to_bytes(8, "little")]
        assert flips_exp(np.array([1 / 3]), lambda _: x, rng=Scripted(script)).tolist() == [expected]


def test_under_exp_reads_on_while_the_digits_agree() -> None:
    with mpmath.workdps(80):
        digits = int(mpmath.floor(mpmath.exp(-2) * 2**224))
    parts = [(digits >> (192 - 64 * i)) & ((1 << 64) - 1) for i in range(1, 4)]
    start = digits >> 192
    for nudge, expected in ((-1, True), (1, False)):
        script = [part.to_bytes(8, "little") for part in [*parts[:2], parts[2] + nudge]]
        assert under_exp(start, 32, Fraction(2), Scripted(script)) is expected


def test_far_exponents_are_tails_unless_all_digits_are_zero() -> None:
    tails = flips_exp(np.array([1e9, 100.0]), lambda _: Fraction(10**9), rng=Scripted([b"\x01\0\0\0" * 2]))
    assert tails.tolist() == [False, False]
    zero = [bytes(4), *([bytes(8)] * 4)]
    assert flips_exp(np.array([100.0]), lambda _: Fraction(100), rng=Scripted(zero)).tolist() == [True]


def test_an_astronomic_exponent_costs_no_more_than_a_small_one() -> None:
    assert not under_exp(1, 32, Fraction(10**9000), Seeded(1))
    assert not under_exp(0, 32, Fraction(10**9), Seeded(1))


@pytest.mark.parametrize("p", [Fraction(-1, 2), Fraction(3, 2), float("nan"), float("inf")])
def test_nonsense_probabilities_are_refused_by_value(p: Fraction) -> None:
    for coin in (lambda: flip(p), lambda: flips(p, 3)):
        with pytest.raises(Refusal, match=r"p\b"):
            coin()
    with pytest.raises(Refusal, match="x=-1"):
        flip_exp(-1, rng=Seeded(1))
