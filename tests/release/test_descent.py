"""The search for parts: what it counts, what each record pays along its path, and where it stops."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded

from discreet.noise import Entropy
from discreet.release import Partition, descent
from discreet.release.counts import noise_variance
from discreet.release.descent import descend, joined

ONE = Fraction(1)
SHAPES: list[tuple[int, ...]] = [(1,), (2,), (9,), (24,), (100,), (513,), (4096,), (8, 8), (20, 30), (64, 64)]


def uneven(cells: int, seed: int) -> Any:  # noqa: ANN401
    """Some empty stretches, some full ones and some high cells."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.choice([0, 1, 40, 900], -(-cells // 7)), 7)[:cells]
    return rng.poisson(level) + 20_000 * (rng.random(cells) < 0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_shares_add_up_and_pieces_reach_every_cell(shape: tuple[int, ...]) -> None:
    release = Partition(ONE, shape)
    assert sum(release.shares) == 1
    assert len(release.shares) == len(release.pieces)
    assert math.prod(release.pieces) >= release.cells
    assert math.prod(release.pieces) < 2 * release.cells  # powers of two, of which half or more is needed


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_record_pays_exactly_the_price(
    shape: tuple[int, ...], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each draw of noise is watched: the cells it counts pay 1/scale, and in the end all have paid the same.

    Counts are long random numbers, small and large, so that a sum says which cells it is of.
    """
    release, unit = Partition(ONE, shape), Fraction(1 << 36)
    values = np.exp2(np.random.default_rng(seed).uniform(24, 44, release.cells)).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(values)])
    paid, draws = [Fraction(0)] * release.cells, 0
    real = descent.noisy

    def watched(sums: Any, scale: Fraction, rng: Entropy) -> Any:  # noqa: ANN401
        nonlocal draws
        draws += 1
        cells = [cell for lo, hi in intervals(sums.tolist(), before) for cell in range(lo, hi)]
        assert len(cells) == len(set(cells))  # one draw counts no record twice
        for cell in cells:
            paid[cell] += 1 / scale
        return real(sums, scale, rng)

    monkeypatch.setattr(descent, "noisy", watched)
    told = descend(values, release.pieces, release.shares, unit, Seeded(seed))
    assert set(paid) == {1 / unit}
    assert draws == 2 * len(release.pieces) - 1
    assert release.cells < 4096 or 1 < told.ends.size < release.cells  # some paths are short, some long


def intervals(sums: list[int], before: Any) -> list[tuple[int, int]]:  # noqa: ANN401
    """The intervals, from left to right, that have these sums."""
    found, at = [], 0
    known = {int(end): i for i, end in enumerate(before)}
    for one in sums:
        while int(before[at]) + one not in known:
            at += 1
        end = known[int(before[at]) + one]
        found.append((at, end))
        at = end
    return found


def test_it_looks_where_the_records_are() -> None:
    counts = np.zeros(4096, dtype=np.int64)
    counts[777] = 100_000
    release = Partition(ONE, (4096,))
    told = descend(counts, release.pieces, release.shares, ONE, Seeded(1))
    sizes = np.diff(told.ends, prepend=0)
    at = int(np.searchsorted(told.ends, 777, side="right"))
    assert (told.ends[at], sizes[at]) == (778, 1)
    assert int(sizes.sum()) == 4096
    assert sizes.max() == 512  # an empty eighth is not looked into
    assert set(sizes.tolist()) == {1, 8, 64, 512}
    assert sizes.size == 4 * 7 + 1  # seven empty brothers a level


def test_what_it_tells_are_the_sums_of_its_tree() -> None:
    """Without noise to speak of every count is the truth, and least squares has nothing to do."""
    counts = uneven(4096, 4)
    release = Partition(ONE, (4096,))
    told = descend(counts, release.pieces, release.shares, Fraction(1, 10**6), Seeded(1))
    level = np.diff(np.concatenate([[0], np.cumsum(counts)])[told.ends], prepend=0)
    for children, seen, variance in zip(
        (*told.children[::-1], None), told.counts[::-1], told.variances[::-1], strict=True
    ):
        known = np.isfinite(variance)
        assert seen[known].tolist() == level[known].tolist()
        if children is not None:
            assert int(children.sum()) == level.size
            level = np.add.reduceat(level, np.concatenate([[0], np.cumsum(children)[:-1]]))
    assert np.all(np.isfinite(told.variances[-1]))


def test_variances_are_those_of_the_noise() -> None:
    """Where there is no record every count is noise: the first ones of eighths, and those of eighths together."""
    release, unit = Partition(ONE, (64,)), Fraction(10)
    scales = [unit / share for share in release.shares]
    first, more = [], []
    for seed in range(1000):
        told = descend(np.zeros(64, dtype=np.int64), release.pieces, release.shares, unit, Seeded(seed))
        first.append(told.counts[2][3])
        if np.isfinite(told.variances[1][0]):
            more.append(told.counts[1][0])
            assert told.variances[1][0] == noise_variance(scales[1])
        assert set(told.variances[3].tolist()) <= {noise_variance(scale) for scale in scales}
    assert np.square(first).mean() == pytest.approx(noise_variance(scales[0]), rel=0.25)
    assert np.square(more).mean() == pytest.approx(noise_variance(scales[1]), rel=0.25)


def test_small_neighbours_of_one_parent_are_counted_together() -> None:
    parent = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    stopped = np.array([1, 1, 1, 1, 1, 0, 1, 1, 1, 1], dtype=bool)
    count = np.array([1.0, 1, 1, 1, 1, 90, 1, 5, 1, 1])
    assert joined(parent, stopped, count, 3).tolist() == [0, 3, 4, 5, 6, 7, 8]
    assert joined(parent, stopped, np.zeros(10), 3).tolist() == [0, 4, 5, 6, 7]
    assert joined(parent, stopped, np.full(10, 5.0), 3).tolist() == list(range(10))


def test_parts_of_a_square_are_squares() -> None:
    """On Hilbert's curve an interval of a power of four that begins at a multiple of it is a square."""
    counts = np.zeros((64, 64), dtype=np.int64)
    counts[10, 50] = 10**6
    told = Partition(Fraction(10), (64, 64))(counts, rng=Seeded(1))
    row, column = np.divmod(np.arange(4096), 64)
    for one in range(int(told.part.max()) + 1):
        mine = told.part == one
        assert (np.ptp(row[mine]) + 1) * (np.ptp(column[mine]) + 1) == mine.sum()
        assert np.ptp(row[mine]) == np.ptp(column[mine])
    assert np.sum(told.part == told.part[10 * 64 + 50]) == 1


@pytest.mark.parametrize(("records", "bias"), [(1, 0.4), (205, 0.8), (1024, 0.4)])
def test_counts_that_decide_and_are_used_again_move_the_total_little(records: int, bias: float) -> None:
    """In standard errors. With 205 records an eighth of the line holds 26, and 27 make the search go on."""
    counts = np.diff(np.arange(513) * records // 512)
    release = Partition(ONE, (512,))
    totals = [release(counts, rng=Seeded(seed)).total for seed in range(300)]
    scores = np.array([(total.value - records) / (total.error or math.nan) for total in totals])
    assert abs(scores.mean()) < bias
    assert np.square(scores).mean() < 2
