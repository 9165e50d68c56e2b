"""Steps told at a glance are those of rational arithmetic, and where doubles cannot tell them nothing is told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.declared.nearest_steps import NearestSteps

GRIDS = [
    (-50, 50, "0.1"),
    (0, 1000, "1/3"),
    (-(10**8), 10**8, "1e-7"),
    (-7, -3, "2"),
    (3, 1 << 40, "1e-12"),
    (0, 9, "1"),
]


def image(value: float, low: int, high: int, step: Fraction) -> int:
    """⌊v/s + 1/2⌋ in rationals, held between the bounds."""
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, math.floor(Fraction(value) / step + Fraction(1, 2))))


@pytest.mark.parametrize(("low", "high", "step"), GRIDS)
def test_what_is_told_is_the_exact_image(low: int, high: int, step: str) -> None:
    """Numbers all over, at the middles between steps and one double beside them, beyond the bounds and endless."""
    one, rng = Fraction(step), np.random.default_rng(1)
    nearest = NearestSteps.of([(low, high, one)])
    assert nearest is not None
    middles = [float((k + Fraction(1, 2)) * one) for k in (low, low + 1, (low + high) // 2, high - 1, high)]
    beside = [math.nextafter(each, side) for each in middles for side in (-math.inf, math.inf)]
    spread = (rng.uniform(low - 2, high + 2, 200) * float(one)).tolist()
    several = [*spread, *middles, *beside, math.inf, -math.inf, 5e-324, -1e308, 0.0, -0.0]
    told = 0
    for value in several:
        out, off = np.empty((1, 1)), np.empty((1, 1))
        if nearest.told([np.array([value])], out, off):
            told += 1
            assert out[0, 0] == image(value, low, high, one), value
    assert told > 190


def test_a_middle_between_two_steps_is_never_told() -> None:
    nearest = NearestSteps.of([(-(10**6), 10**6, Fraction(1, 10))])
    assert nearest is not None
    for k in range(-2000, 2000):
        assert not nearest.told([np.array([(k + 0.5) / 10])], np.empty((1, 1)), np.empty((1, 1)))


def test_one_cell_that_is_not_told_says_so_of_all() -> None:
    """What is not a number, or lies between two steps, in one column of several; and each column has its own grid."""
    nearest = NearestSteps.of([(0, 10, Fraction(1)), (-4, 4, Fraction(1, 2))])
    assert nearest is not None
    out, off = np.empty((2, 3)), np.empty((2, 3))
    assert nearest.told([np.array([1, 2.2, 99]), np.array([-9, 1.1, 0.5], dtype=np.float32)], out, off)
    assert out.tolist() == [[1, 2, 10], [-4, 2, 1]]
    assert not nearest.told([np.array([1, 2.2, 99]), np.array([0, math.nan, 0])], out, off)
    assert not nearest.told([np.array([1, 2.5, 99]), np.array([0, 1.0, 0])], out, off)


def test_grids_that_doubles_cannot_hold_are_left_to_others() -> None:
    assert NearestSteps.of([(0, 1 << 48, Fraction(1))]) is None
    assert NearestSteps.of([(-(1 << 50), 0, Fraction(1))]) is None
    assert NearestSteps.of([(0, 5, Fraction(1, 1 << 1001))]) is None
    assert NearestSteps.of([(0, 5, Fraction(1 << 1001))]) is None
