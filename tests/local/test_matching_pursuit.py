"""Matching pursuit: p-values of a sketch's texts that hold whatever people hold, on the list or not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded

from discreet.local.frequencies import Odds
from discreet.local.heavy_hitters import Hitters
from discreet.local.matching_pursuit import ALPHA, Pursuit
from discreet.local.sketch import CellCounts, CountMeanSketch, HadamardSketch
from discreet.survey.results import held

TRIED = 256


def crowd(shares: list[float], seed: int, rows: int = 4, width: int = 256, listed: int = 0) -> Pursuit:
    """300,000 people with these texts, of which so many are on a list of 256. Cells are drawn evenly."""
    draw = np.random.default_rng(seed)
    table = draw.integers(0, width, (TRIED, rows))
    held = np.vstack([table[:listed], draw.integers(0, width, (len(shares) - listed, rows))])
    reports = draw.multinomial(300_000, np.full(rows, 1 / rows))
    odds = np.full((rows, width), 0.5)
    for share, cells in zip(shares, held, strict=True):
        odds[np.arange(rows), cells] += share / 2
    return Pursuit.of(
        CellCounts(reports, draw.binomial(reports[:, None], odds), Odds(Fraction(1), Fraction(1, 2))), table
    )


def found(one: Pursuit, alpha: float = ALPHA) -> list[int]:
    """As heavy hitters are."""
    return np.flatnonzero(one.chances <= alpha).tolist()


def test_three_common_texts_on_no_list_make_none_of_the_list_found() -> None:
    """As if one text held all of it, two rows shared with two of three seemed too many: 41 false alarms of 200.

    200 crowds at 0.05, by exact tails at 1e-9.
    """
    runs = [crowd([0.25, 0.25, 0.25], seed) for seed in range(200)]
    assert Coverage(sum(bool(np.any(TRIED * run.seeming <= ALPHA)) for run in runs), 200).exceeded(ALPHA)
    assert not Coverage(sum(bool(found(run)) for run in runs), 200).exceeded(ALPHA)


@pytest.mark.parametrize("shares", [[0.9], [0.3, 0.2, 0.1], [0.1] * 8])
def test_common_texts_on_the_list_are_found(shares: list[float]) -> None:
    """And no others, of which each of three crowds has one with a probability of 1e-10. Shares are within 7 errors."""
    for seed in range(3):
        run = crowd(shares, seed, rows=16, listed=len(shares))
        assert found(run, 1e-10) == list(range(len(shares)))
        assert run.shares[: len(shares)].tolist() == pytest.approx(shares, abs=7 * float(run.errors.max()))


def test_the_chance_of_a_text_that_was_taken_off_is_of_a_pursuit_that_never_saw_it() -> None:
    """Another text in its place, which takes none of its cells, leaves the same."""
    run = crowd([0.3, 0.2, 0.1], 1, rows=16, listed=3)
    assert run.taken == (0, 1, 2)
    for one in run.taken:
        table = run.table.copy()
        table[one] = np.random.default_rng(5).integers(0, 256, 16)
        blind = Pursuit.of(run.rows, table)
        assert set(blind.taken) == {0, 1, 2} - {one}
        seen = Pursuit(run.rows, run.table, run.guess, blind.taken, blind.large, {})
        assert run.chance(one) == pytest.approx(seen.chance(one), rel=1e-6)


def test_no_chance_is_below_that_of_sharing_all_cells() -> None:
    run = crowd([0.9], 1, rows=2, width=16, listed=1)
    assert run.chance(0) == pytest.approx(16.0**-2, rel=1e-6)
    assert found(run) == []


@pytest.mark.parametrize("kind", [HadamardSketch, CountMeanSketch])
def test_a_text_that_all_hold_and_nobody_named_makes_none_of_the_named_found(
    kind: type[HadamardSketch | CountMeanSketch],
) -> None:
    """Whoever shares one of four rows with it has a quarter of its share: by a normal law, an alarm in every crowd."""
    named, alarms = [f"text {i}" for i in range(100)], 0
    for seed in range(12):
        client = kind(Fraction(5), 4, 64, seed)
        tally = client.tally(client.batch(["stranger"] * 1500, rng=Seeded(seed)))
        alarms += any(one.chance <= ALPHA for one in held(client, tally, named))
        assert held(client, tally, ["stranger", *named])[0].chance <= ALPHA
    assert not Coverage(alarms, 12).exceeded(ALPHA)


def test_an_interval_holds_the_share_of_a_text_that_shares_a_row_with_one_that_was_lost() -> None:
    """No coins: half hold it, the others a text that nobody tried, and in one of eight rows both have one cell.

    The normal law reaches 0.049, and the row adds 0.056.
    """
    supports = np.full((8, 64), 2500)
    supports[np.arange(8), 0] += 1250
    supports[np.arange(8), [0, *[1] * 7]] += 1250
    rows = CellCounts(np.full(8, 5000), supports, Odds(Fraction(1), Fraction(1, 2)))
    run = Pursuit.of(rows, np.array([[0] * 8, [2] * 8]))
    hitters = Hitters(40_000, 2, ("a",), run.shares[:1], run.errors[:1], run.chances[:1], run.jump)
    low, high = hitters.interval()
    assert low[0] <= 0.5 <= high[0]
    assert run.shares[0] - 2.24 * run.errors[0] > 0.5
    assert high[0] - low[0] < 0.25
