"""Advice on bounds and caps is bought, not peeked at; mechanisms run on rows at the price of a unit."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import clinic
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from doubles import Seeded

from discreet.curator import Curator
from discreet.curator import curator as curator_module
from discreet.curator.bounds_advice import BARS, ROWS, Bars, advise_bounds, bounds_parts, most_rows, outer
from discreet.curator.chosen_bars import SEEMS_EMPTY, of_bounds, standing_out
from discreet.curator.noisy_statistics import NoisyGroups
from discreet.curator.price import priced
from discreet.curator.purchase import BoughtTable
from discreet.curator.share_intervals import compatible
from discreet.declared.group_key import Type
from discreet.declared.table import MOST_ROWS_A_UNIT
from discreet.errors import Fault, OverBudget, Refusal
from discreet.mechanisms import Gaussian, Laplace, LaplaceVector, Quantile, Takes
from discreet.noise import SECURE, Entropy, gaussian
from discreet.privacy import AddRemove, Approximate, Pure, Replace
from discreet.sql.expression import Call, Field
from discreet.sql.render import expression

EXACT = 400  # a part of it, at least a quarter, for each of at most 140 numbers: one has noise with chance < 1e-40
MEDIAN = Quantile(Fraction(1, 100), Fraction(0), Fraction(1000), Fraction(1))


def rows(values: list[float], per_unit: int = 1) -> list[tuple[object, ...]]:
    return [(i // per_unit, "north", "d", value, clinic.START, True) for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([7.0] * 500, 0, 8),
        ([-3.0] * 500 + [100.0] * 500, -4, 128),
        ([0.0] * 500, 0, 1),
        ([0.3] * 500, 0, Fraction(1, 2)),
        ([8.0] * 500, 0, 8),  # what lies on an end is not beyond it
        ([-8.0] * 500, -8, 0),
    ],
)
def test_suggested_bounds_hold_what_is_there(tmp_path: Path, values: list[float], low: int, high: int) -> None:
    folder = clinic.home(tmp_path / "home", clinic.table(rows(values)), max_rows=1, bounds={"cost": (0, 10)})
    found = Curator(folder).bounds("visits", "cost", epsilon=EXACT)
    assert found.low == low
    assert found.high == high
    truth = sum(not 0 <= value <= 10 for value in values) / len(values)
    assert found.cut is not None
    assert found.cut.low <= truth <= found.cut.high <= truth + 0.05
    assert found.beyond is not None
    assert found.beyond.low == 0
    assert found.beyond.high < 0.05


def test_bounds_cost_what_was_named_and_the_same_again_is_free(home: Path) -> None:
    curator = Curator(home)
    first = curator.bounds("visits", "cost", epsilon="0.5")
    assert first.cost == Approximate("0.5")
    assert first.left == curator.budget("patient").left
    assert curator.bounds("visits", "cost", epsilon="0.5") == replace(first, cost=None)
    assert curator.budget("patient").spent == Approximate("0.5")
    with pytest.raises(Refusal, match="only numbers"):
        curator.bounds("visits", "region", epsilon="0.5")


@pytest.mark.parametrize(("per_unit", "suggested"), [(1, 1), (2, 2), (3, 3), (5, 5), (8, 11)])
def test_suggested_caps_hold_nearly_all_units(tmp_path: Path, per_unit: int, suggested: int) -> None:
    data = clinic.table(rows([1.0] * (200 * per_unit), per_unit))
    curator = Curator(clinic.home(tmp_path / "home", data, max_rows=2))
    advice = curator.caps("visits", epsilon=EXACT)
    assert advice.rows == suggested
    assert advice.beyond is not None
    assert advice.beyond.low == 0
    assert advice.beyond.high < 0.05
    assert advice.cut is not None
    assert advice.cut.low <= (per_unit > 2) <= advice.cut.high <= advice.cut.low + 0.05
    assert (advice.cost, advice.left) == (Approximate(EXACT), curator.budget("patient").left)


def test_where_nothing_stands_out_nothing_is_suggested_and_the_price_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curator_module, "SECURE", Seeded(1))  # an empty bar stands out once in a thousand times
    data = clinic.table(rows([1.0] * 20))
    curator = Curator(clinic.home(tmp_path / "home", data, max_rows=2))
    caps, bounds = curator.caps("visits", epsilon="0.001"), curator.bounds("visits", "cost", epsilon="0.001")
    assert (caps.rows, caps.beyond, bounds.low, bounds.high, bounds.beyond) == (None,) * 5
    assert caps.cut is not None
    assert str(caps.cut) == "anything from 0 to 100 %"
    assert caps.cost == bounds.cost == Approximate("0.001")
    assert bounds.left == curator.budget("patient").left


def test_each_number_of_rows_lies_in_the_bar_that_says_so() -> None:
    ends = [most_rows(bar) for bar in ROWS]
    assert 22 not in ROWS  # no number of rows has a square of 2 or 3
    assert ends == sorted(ends)
    assert ends[:7] == [1, 2, 3, 5, 7, 11, 15]
    assert ends[-1] == MOST_ROWS_A_UNIT
    for rows_of_one in range(1, 5000):
        bar = 21 + math.floor(math.log2(rows_of_one**2))
        assert (most_rows(bar - 1) if bar > ROWS[0] else 0) < rows_of_one <= most_rows(bar)


def test_bars_cover_the_line() -> None:
    ends = [outer(bar) for bar in BARS]
    assert ends == sorted(ends)
    assert outer(21) == 2  # sizes from 1 up to 2
    assert outer(60) == 2**40
    assert outer(61) == 2**48
    assert outer(BARS[-2]) == 2**96


@pytest.mark.parametrize(
    ("values", "low", "high", "beyond"),
    [
        ([1.7e15 + i for i in range(500)], 0, 2**56, 0),  # all in the last bar once, and told to lie below 2^41
        ([(-1.0) ** i * 1e-9 for i in range(500)], -Fraction(1, 2**19), Fraction(1, 2**19), 0),  # half of it is below 0
        ([math.inf, 5.0] * 500, 0, 8, Fraction(1, 2)),  # no bounds hold it
        ([math.nan, 5.0] * 500, 0, 8, 0),  # no number
        ([math.inf] * 500, None, None, None),
    ],
)
def test_what_is_told_of_extreme_values_is_true(
    tmp_path: Path, values: list[float], low: Fraction | None, high: Fraction | None, beyond: Fraction | None
) -> None:
    folder = clinic.home(tmp_path / "home", clinic.table(rows(values)), max_rows=1, bounds={"cost": (0, 10)})
    found = Curator(folder).bounds("visits", "cost", epsilon=EXACT)
    assert (found.low, found.high) == (low, high)
    if beyond is None:
        assert found.beyond is None
    else:
        assert found.beyond is not None
        assert found.beyond.low <= beyond <= found.beyond.high <= beyond + 0.05
    there = [value for value in values if not math.isnan(value)]
    truth = sum(not 0 <= value <= 10 for value in there) / len(there)
    assert found.cut is not None
    assert found.cut.low <= truth <= found.cut.high <= truth + 0.05


def test_the_engine_puts_each_value_into_its_bar() -> None:
    edges = [2.0**power for power in range(-25, 110)]
    near = [math.nextafter(edge, towards) for edge in edges for towards in (0, math.inf)]
    values = [0.0, *edges, *near, *(-edge * 1.5 for edge in edges), 5e-324, math.inf, -math.inf]
    text = expression(Call("closed band", (Field("x", Type.DOUBLE),), Type.BIGINT))
    with duckdb.connect() as engine:
        engine.register("given", pa.table({"x": [*values, math.nan, None]}))
        found = dict(enumerate(engine.execute(f"SELECT {text} FROM given").fetchall()))
    assert [found[len(values)], found[len(values) + 1]] == [(None,), (None,)]
    for place, value in enumerate(values):
        bar = found[place][0]
        sign = 1 if value > 0 else -1
        inner = abs(outer(bar - sign)) if bar else 0
        assert bar == 0 if not value else bar * sign > 0
        assert not value or (float(inner) if abs(bar) > 1 else 0.0) < abs(value), value
        assert abs(bar) == BARS[-1] or abs(value) <= abs(outer(bar)), value


@pytest.mark.parametrize("scale", [1, 40])
def test_of_empty_bars_one_stands_out_in_a_thousand_histograms(scale: int) -> None:
    noise, q = LaplaceVector(Fraction(scale)), math.exp(-1 / scale)
    above = q ** (standing_out(noise, len(BARS)) + 1) / (1 + q)  # Pr[noise > n] = q^(n + 1) / (1 + q)
    assert len(BARS) * above <= 0.001
    assert len(BARS) * above > 0.001 / 2 * q  # of both sides, and no more than it must be


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("first", [0, -25])
def test_the_share_beyond_bounds_has_the_tails_of_bounds_that_noise_chose(first: int, *, empty: bool) -> None:
    histogram, _ = priced(bounds_parts(clinic.schema().tables["visits"], "cost"), Pure(10), AddRemove("patient"))
    noise = histogram.charge(histogram.part.measurement.statistics[0]).mechanism
    assert isinstance(noise, LaplaceVector)
    seems = noise.error(1 - SEEMS_EMPTY / len(BARS)) + (not empty)
    heights = {bar: 5000 if 20 <= bar <= 25 or bar == first else seems for bar in BARS}
    groups = tuple((bar,) for bar in BARS)
    bought = BoughtTable(histogram, NoisyGroups(groups, tuple((heights[bar],) for bar in BARS)), 1)
    told = advise_bounds(bought, None).beyond
    far = [height for bar, height in heights.items() if not first <= bar <= 25]
    near = [height for bar, height in heights.items() if first <= bar <= 25]
    sides = 1 if first == 0 else 2
    tails = of_bounds(noise, len(BARS), sides=sides, chosen=sides, empty=empty)
    assert told == compatible(sum(far), sum(near), ((noise, len(far)), (noise, len(near))), tails)
    assert tails.excess == sides * noise.error(1 - Fraction(1, 500) / len(BARS))


def test_numbers_up_to_1_are_within_0_to_1_where_only_0_stands_out() -> None:
    """As many small numbers as zeros, in bars too low to be seen: none of them is beyond 1."""
    histogram, _ = priced(bounds_parts(clinic.schema().tables["visits"], "cost"), Pure(10), AddRemove("patient"))
    noise = histogram.charge(histogram.part.measurement.statistics[0]).mechanism
    assert isinstance(noise, LaplaceVector)
    low = standing_out(noise, len(BARS))
    bought = NoisyGroups(
        tuple((bar,) for bar in BARS), tuple((20 * low if bar == 0 else low if 1 <= bar <= 20 else 0,) for bar in BARS)
    )
    advice = advise_bounds(BoughtTable(histogram, bought, 1), None)
    assert advice.low == 0
    assert advice.high == 1
    assert advice.beyond is not None
    assert advice.beyond.low == 0
    assert advice.beyond.high > 0.5


def test_what_bounds_that_noise_chose_may_miss_adds_up_to_one_in_twenty() -> None:
    """One chain of ends misses a (1 + L) at most, two a (1 + L + L²/2), with L = ln 1/a; any chain is tried, too."""
    one, both, rng = 547e-5, 223e-6, np.random.default_rng(1)
    log, more = math.log(1 / one), math.log(1 / both)
    assert 0.005 + 0.001 + one * (1 + log) + both * (1 + more + more**2 / 2) <= 0.05
    for seen in (0.01, 0.05, 0.3, 0.9):
        chances = [rng.beta(1, 1 / seen, 68) for _ in range(2)]
        left, right = (np.concatenate([[1.0], np.cumprod(1 - each)[:-1]]) for each in chances)
        assert chances[0] @ np.minimum(one, left) <= one * (1 + log)
        missed = chances[0] @ np.minimum(both, left[:, None] * right[None, :]) @ chances[1]
        assert missed <= both * (1 + more + more**2 / 2)


def test_a_mechanism_is_charged_for_all_rows_of_a_unit(home: Path) -> None:
    curator = Curator(home)
    median = Quantile(Fraction(1, 100), Fraction(0), Fraction(1000), Fraction(1))
    assert 0 <= curator.run(median, "SELECT cost FROM visits WHERE urgent", max_rows=3) <= 1000
    assert curator.budget("patient").spent == Approximate(Fraction(3, 100))
    with pytest.raises(OverBudget):
        curator.run(Quantile(Fraction(1), Fraction(0), Fraction(1), Fraction(1)), "SELECT cost FROM visits")
    assert curator.budget("patient").spent == Approximate(Fraction(3, 100))


def test_a_mechanism_sees_no_more_rows_of_a_unit_than_it_pays_for(tmp_path: Path) -> None:
    data = clinic.table(rows([5.0] * 40, per_unit=8))
    curator = Curator(clinic.home(tmp_path / "home", data))
    seen: list[object] = []

    class Watching:
        takes = Takes.ROWS
        privacy = Laplace(Fraction(1)).privacy
        neighbours = AddRemove()

        def __call__(self, given: object, /, *, rng: Entropy = SECURE) -> int:  # noqa: ARG002
            seen.append(given)
            return 0

    curator.run(Watching(), "SELECT cost FROM visits", max_rows=3)
    curator.run(Watching(), "SELECT cost, region FROM visits", max_rows=1)
    assert seen == [[5.0] * 15, [(5.0, "north")] * 5]


def test_what_a_mechanism_raises_is_a_constant_sentence_and_stays_paid(home: Path) -> None:
    class Raising:
        takes = Takes.ROWS
        privacy = Laplace(Fraction(2)).privacy
        neighbours = AddRemove()

        def __call__(self, given: list[object], /, *, rng: Entropy = SECURE) -> int:  # noqa: ARG002
            raise ValueError(f"row {given[0]}")

    curator = Curator(home)
    with pytest.raises(Fault, match="could not be computed") as said:
        curator.run(Raising(), "SELECT cost FROM visits", max_rows=1)
    assert said.value.__cause__ is None
    assert curator.budget("patient").spent == Approximate("0.5")
    with pytest.raises(Refusal, match="maintenance"):
        curator.run(MEDIAN, "SELECT cost FROM visits", max_rows=1)


class Concentrating:
    takes = Takes.ROWS
    privacy = Gaussian(Fraction(1)).privacy
    neighbours = AddRemove()

    def __call__(self, given: list[object], /, *, rng: Entropy = SECURE) -> int:
        return gaussian(1, rng=rng) + len(given)


def test_promises_that_do_not_carry_over_are_refused(home: Path) -> None:
    curator = Curator(home)
    with pytest.raises(Refusal, match="adding or removing"):
        curator.run(replace(MEDIAN, neighbours=Replace()), "SELECT cost FROM visits", max_rows=1)
    with pytest.raises(Refusal, match="Concentrated"):
        curator.run(Concentrating(), "SELECT cost FROM visits", max_rows=1)
    with pytest.raises(Refusal, match="without aggregates"):
        curator.run(MEDIAN, "SELECT count(*) FROM visits")
    assert curator.budget("patient").spent == Approximate(0)


@pytest.mark.parametrize("far", [0, 1, 300, 30_007, 99_999])
def test_a_share_that_lies_between_two_that_are_tried_is_told_closely(far: int) -> None:
    """With a hundred thousand rows and little noise nothing was told: anything from 0 to 100 %."""
    bars = Bars({0: 100_000 - far, 1: far}, LaplaceVector(Fraction(1, 50)))
    share = bars.beyond(lambda bar: bar == 1)
    assert share.low <= far / 100_000 <= share.high
    assert share.high - share.low < 0.0021
