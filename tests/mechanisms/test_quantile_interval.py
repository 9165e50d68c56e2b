"""The ends of a quantile's interval: their law, their promise and their coverage, computed by other means."""

from __future__ import annotations

import math
import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.mechanisms import QuantileEnd
from discreet.mechanisms.quantile_interval import _CELLS
from discreet.privacy import Replace

GRID = (Fraction(0), Fraction(40), Fraction(1))


def law(end: QuantileEnd, rows: list[int]) -> dict[int, float]:
    """Pr of each end, from the definition: weights exp(−rate · distance of the target from the ranks of a cell)."""
    starts = [int(start) for start in end.starts]
    target = end.level * len(rows) + (end.shift if end.side == "upper" else -end.shift)
    weights: dict[int, float] = {}
    for i, start in enumerate(starts):
        after = starts[i + 1] if i + 1 < len(starts) else 41
        first: float = sum(x < start for x in rows)
        last: float = sum(x < after for x in rows)
        if end.side == "lower" and i == 0:
            first = -math.inf
        if end.side == "upper" and i + 1 == len(starts):
            last = math.inf
        gap = max(0.0, first - float(target), float(target) - last)
        weights[start if end.side == "lower" else after - 1] = math.exp(-float(end.rate) * gap)
    whole = sum(weights.values())
    return {value: weight / whole for value, weight in weights.items()}


def made(rng: random.Random) -> tuple[QuantileEnd, list[int]]:
    """An end with made-up parameters, and rows of many kinds: none, equal ones, two heaps, scattered."""
    level = rng.choice([Fraction(1, 2), Fraction(9, 10), Fraction(1, 5)])
    end = QuantileEnd(
        Fraction(rng.choice([1, 2, 8]), 2),
        *GRID,
        Fraction(rng.randrange(41)),
        level,
        rng.choice([Fraction(1, 2), Fraction(39, 40)]),
        rng.choice(["lower", "upper"]),
        rng.choice([1, 3]),
    )
    many = rng.choice([0, 1, 3, 40, 200])
    spot, other = rng.randrange(41), rng.randrange(41)
    kinds = [[spot] * many, [rng.choice([spot, other]) for _ in range(many)], [rng.randrange(41) for _ in range(many)]]
    return end, rng.choice(kinds)


def test_it_covers_on_every_table_that_was_tried() -> None:
    rng = random.Random(1)
    for _ in range(300):
        end, rows = made(rng)
        if not rows:
            continue
        share = float(end.level)
        ranks = np.sort(rows)
        place = (len(rows) - 1) * end.level  # counted from 0
        truths = [float(np.quantile(rows, share)), float(ranks[math.floor(place)]), float(ranks[math.ceil(place)])]
        truths.append(float(ranks[max(0, math.ceil(end.level * len(rows)) - 1)]))  # PERCENTILE_DISC
        inside = [value <= min(truths) if end.side == "lower" else value >= max(truths) for value in law(end, rows)]
        chance = sum(weight for weight, good in zip(law(end, rows).values(), inside, strict=True) if good)
        assert chance >= float(end.confidence) - 1e-12, (end, rows)


def furthest(rows: tuple[int, ...], level: Fraction, side: str) -> Fraction:
    """The lowest, or highest, number that is called this quantile: interpolated, or the row of rank ⌈level · n⌉."""
    place = (len(rows) - 1) * level  # counted from 0
    low, high = rows[math.floor(place)], rows[math.ceil(place)]
    between = low + (place - math.floor(place)) * (high - low)
    return (min if side == "lower" else max)(between, Fraction(rows[math.ceil(level * len(rows)) - 1]))


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 5)])
def test_at_a_large_price_it_covers_what_interpolation_takes_on_every_small_table(level: Fraction, side: str) -> None:
    """Hardly any choice is missed then, so all that keeps the end beyond the quantile is what interpolation may take.

    All tables of up to six rows of three values; cells of single steps, as the number around which they lie is near.
    """
    end = QuantileEnd(Fraction(200), *GRID, Fraction(20), level, Fraction(39, 40), side)
    for many in range(1, 7):
        for rows in combinations_with_replacement((18, 20, 22), many):
            aim, laws = furthest(rows, level, side), law(end, list(rows))
            beyond = [chance for value, chance in laws.items() if (value <= aim if side == "lower" else value >= aim)]
            assert sum(beyond) >= 39 / 40, rows


def test_neighbours_are_told_apart_no_better_than_promised() -> None:
    rng, worst = random.Random(2), 0.0
    for _ in range(300):
        end, rows = made(rng)
        more = rows + [rng.choice([0, 40, rng.randrange(41)])] * rng.randint(1, end.max_rows)
        one, two = law(end, rows), law(end, more)
        lost = max(abs(math.log(one[value] / two[value])) for value in one)
        assert lost <= float(end.epsilon) + 1e-9
        worst = max(worst, lost / float(end.epsilon))
    assert worst > 0.6  # the pairs are not idle


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_the_draw_follows_the_law_and_no_other(side: str) -> None:
    rows, rng, many = list(range(1, 40)) * 3, Seeded(5), 1_500
    end = QuantileEnd(Fraction(1, 2), *GRID, Fraction(16), Fraction(1, 2), Fraction(1, 2), side)
    drawn = Counter(int(end(rows, rng=rng)) for _ in range(many))

    def follows(law_of: dict[int, float]) -> bool:
        """Dvoretzky, Kiefer & Wolfowitz with Massart's constant: a false alarm once in 1e9."""
        gap = max(abs(sum(drawn[k] / many - law_of[k] for k in law_of if k <= value)) for value in law_of)
        return gap <= math.sqrt(math.log(2e9) / (2 * many))

    assert follows(law(end, rows))
    assert not follows(law(replace(end, epsilon=Fraction(1)), rows))
    assert not follows(law(replace(end, epsilon=Fraction(1, 4)), rows))


def test_its_cells_tile_the_grid_and_grow() -> None:
    end = QuantileEnd(Fraction(1), Fraction(0), Fraction(10**9), Fraction(1), Fraction(1000))
    starts = end.starts
    assert starts[0] == 0
    assert (np.diff(starts) >= 1).all()
    assert len(starts) < 200
    assert {999, 1000, 1001} <= set(starts.tolist())


def test_no_grid_is_cut_into_more_cells_than_the_least_epsilon_is_refused_for() -> None:
    most = Fraction((1 << 53) - 1)
    for around in (Fraction(0), most / 2, most):
        assert len(QuantileEnd(Fraction(1), -most, most, Fraction(1), around).starts) <= _CELLS


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction((1 << 19) + 1, 1 << 20)])
def test_gaps_never_leave_64_bits(level: Fraction, side: str) -> None:
    """A shift of 2^63 fine steps wrapped around: with a row more the outermost cell went from probability 1 to 1/42."""

    def end(epsilon: Fraction) -> QuantileEnd:
        return QuantileEnd(epsilon, *GRID, Fraction(20), level, 1 - Fraction(1, 10**9), side)

    few, cheap = Fraction(1), end(Fraction(1))
    with suppress(Refusal):
        while True:
            cheap = end(few)
            few /= 2
    with pytest.raises(Refusal, match="too small"):
        end(few)
    assert cheap.shift * level.denominator > 1 << 57  # it is not refused long before it must be
    rows = 1 << 40
    for first in (0, 1, rows // 2, rows):
        within = np.zeros(len(cheap.starts), dtype=np.int64)
        within[0], within[-1] = first, rows - first
        ahead = np.cumsum(within) - within
        gaps = cheap._gaps(ahead, within).tolist()
        target = level * rows + (cheap.shift if side == "upper" else -cheap.shift)
        for place, gap in enumerate(gaps):
            low, high = int(ahead[place]), int(ahead[place] + within[place])
            outermost = place == (0 if side == "lower" else len(gaps) - 1)
            under = low - target if not (outermost and side == "lower") else 0
            over = target - high if not (outermost and side == "upper") else 0
            assert gap == level.denominator * max(0, under, over)
            assert gap < 1 << 62


def test_what_it_cannot_promise_is_refused() -> None:
    with pytest.raises(Refusal, match="AddRemove"):
        QuantileEnd(Fraction(1), *GRID, Fraction(1), neighbours=Replace())
    with pytest.raises(Refusal, match="side"):
        QuantileEnd(Fraction(1), *GRID, Fraction(1), side="left")
