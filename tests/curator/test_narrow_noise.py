"""Sums of a listed noise and another: against all pairs of numbers, one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.ratio_intervals import listed
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.mechanisms.noise_sums import Additive

NARROW, WIDE = LaplaceVector(Fraction(1, 2)), LaplaceVector(Fraction(40))


def law(noise: Additive, far: int = 400) -> dict[int, float]:
    if isinstance(noise, LaplaceVector):
        sizes = {n: math.exp(-abs(n) / noise.scale) for n in range(-far, far + 1)}
    else:
        sizes = {n: math.exp(-n * n / (2 * noise.variance)) for n in range(-far, far + 1)}
    total = sum(sizes.values())
    return {n: size / total for n, size in sizes.items()}


def chance(noises: tuple[Additive, Additive], weights: tuple[float, float], far: float) -> float:
    one, two = (law(noise) for noise in noises)
    reached = np.abs(weights[0] * np.array(list(one))[:, None] + weights[1] * np.array(list(two))[None, :]) >= far
    return float(np.array(list(one.values())) @ reached @ np.array(list(two.values())))


@pytest.mark.parametrize("noises", [(NARROW, NARROW), (NARROW, WIDE), (GaussianVector(Fraction(1)), WIDE)])
@pytest.mark.parametrize("weights", [(0.7, 1.0), (-3.0, 1.0), (40.0, -1.0), (0.0, 2.0)])
def test_one_set_of_weights_is_weighed_exactly(noises: tuple[Additive, Additive], weights: tuple[float, float]) -> None:
    known = listed(noises)
    assert known is not None
    for far in (0.5, 2.0, 7.3, 60.0):
        exactly = chance(noises, weights, far)
        ends = [(weight, weight) for weight in weights]
        assert known.within(ends, far - 1e-6, exactly * 1.001 + 1e-9)
        assert not known.within(ends, far - 1e-6, exactly * 0.999 - 1e-9)


def test_a_piece_is_as_bad_as_the_worst_of_it() -> None:
    known = listed((NARROW, NARROW))
    assert known is not None
    ends, far = [(0.2, 0.9), (1.0, 1.3)], 2.4
    worst = max(chance((NARROW, NARROW), (0.2 + 0.7 * t, 1 + 0.3 * t), far) for t in np.linspace(0, 1, 41))
    assert not known.within(ends, far, worst * 0.999)


def test_where_both_are_wide_or_a_weight_changes_its_sign_nothing_is_said() -> None:
    assert listed((WIDE, WIDE)) is None
    assert listed((NARROW, NARROW, NARROW)) is None
    known = listed((NARROW, WIDE))
    assert known is not None
    assert not known.within([(-1.0, 1.0), (-1.0, 1.0)], 1e9, 0.5)
