"""What it costs that noise chose a bar: no table makes shares beyond it be told wrong more often than is planned."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.curator import chosen_bars
from discreet.curator.bounds_advice import Bars, _possible
from discreet.curator.chosen_bars import BOUNDS, CAPS, SEEMS_EMPTY, farthest, of_bounds, of_cap, standing_out
from discreet.mechanisms import GaussianVector, LaplaceVector

MANY = 137
NOISES = [LaplaceVector(Fraction(2)), LaplaceVector(Fraction(90)), LaplaceVector(Fraction(1, 2))]


def tail(scale: float, least: int) -> float:
    """How likely discrete Laplace noise is at least this, added up from its law."""
    q = math.exp(-1 / scale)
    upper = q ** max(least, 1 - least) / (1 + q)
    return upper if least > 0 else 1 - upper


@pytest.mark.parametrize("spent", [BOUNDS, CAPS])
def test_all_that_may_go_wrong_is_one_in_twenty(spent: chosen_bars.Spent) -> None:
    assert spent.larger + spent.empty + spent.one + spent.several + chosen_bars._TALL == Fraction(1, 20)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("sides", [1, 2])
def test_no_heights_make_choices_that_seem_sure_miss_more_often(noise: LaplaceVector, sides: int) -> None:
    """Every sequence of a few heights, and long ones of one: a bar is chosen, all beyond seem empty, and it misses."""
    planned = float(BOUNDS.empty)
    a, scale = float(chosen_bars._empty(noise, MANY, BOUNDS.empty, sides)), float(noise.scale)
    out, seems = standing_out(noise, MANY), standing_out(noise, MANY, SEEMS_EMPTY)
    assert 0.01 < a < planned

    def lost(heights: tuple[int, ...]) -> list[tuple[float, float]]:
        """How likely each is seen, and how likely all beyond it seem empty."""
        pairs, before = [], 1.0
        for height in heights:
            pairs.append((tail(scale, out + 1 - height), before))
            before *= 1 - tail(scale, seems + 1 - height)
        return pairs

    levels = [round(seems + part * scale) for part in np.linspace(-6, 16, 23)]
    ladders = [(*few, 10**6) for few in itertools.product(levels, repeat=2)]
    ladders += [(level,) * 60 + (10**6,) for level in levels]
    sides_of = [lost(heights) for heights in ladders]
    worst = max(sum(e * min(a, pi) for e, pi in one) for one in sides_of)
    assert worst <= planned
    if sides == 2:
        few = sorted(sides_of, key=lambda one: -sum(e * min(a, pi) for e, pi in one))[:12]
        both = max(sum(e * f * min(a, pi * rho) for e, pi in one for f, rho in two) for one in few for two in sides_of)
        assert both <= planned


def test_where_noise_tells_empty_bars_from_others_little_is_paid() -> None:
    clear = of_bounds(NOISES[0], MANY, sides=2, chosen=2, empty=True)
    unclear = of_bounds(NOISES[0], MANY, sides=2, chosen=2, empty=False)
    assert clear.smaller > 100 * unclear.smaller
    assert clear.larger == unclear.larger
    assert unclear.excess == 2 * standing_out(NOISES[0], MANY, Fraction(1, 500))
    wide = GaussianVector(Fraction(135))  # its tails fall so fast that what stands out is hardly more than what may not
    assert of_bounds(wide, MANY, sides=1, chosen=1, empty=True) == of_bounds(wide, MANY, sides=1, chosen=1, empty=False)


def test_bars_that_could_have_been_the_last() -> None:
    """By trying: heights moved as far as noise may be, twice, in any direction."""
    noise, rng = LaplaceVector(Fraction(1, 2)), np.random.default_rng(1)
    heights = dict(zip(range(21, 29), (900, 0, 60, 12, 3, 0, 8, 0), strict=True))
    bars = Bars(heights, noise)
    out, far = standing_out(noise, 8), 2 * farthest(noise, 8)
    found = set()
    for _ in range(20_000):
        moved = [height + int(n) for height, n in zip(heights.values(), rng.integers(-far, far + 1, 8), strict=True)]
        seen = [height if height > out else 0 for height in moved]
        whole = sum(seen)
        found.add(next(i for i in range(8) if seen[i] and sum(seen[: i + 1]) >= 0.99 * whole))
    assert len(found) >= 3
    assert len(found) <= _possible(bars)
    sure = Bars({21: 100_000, 22: 50_000, 23: 30, 24: 30}, noise)
    assert _possible(sure) == 1
    assert of_cap(noise, 4, outermost=False, possible=1, empty=False).larger == (CAPS.several - Fraction(1, 500)) / 2
