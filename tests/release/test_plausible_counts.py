"""Plausible counts: their means against integrals, what they keep, and that they are nearer to the truth."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from scipy import integrate

from discreet.release import (
    AdaptiveGrid,
    Automatic,
    Hierarchy,
    Histogram,
    Identity,
    MultiplicativeWeights,
    Partition,
    tuned,
)
from discreet.release.interval_tree import Splits
from discreet.release.plausible_counts import expected, likely, plausible

TENTH = Fraction(1, 10)


def density(away: float, variance: float) -> float:
    return float(np.exp(-(away**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance))


def by_integrals(told: float, variance: float, total: float, even: float) -> float:
    """The mean of the same mixture, with the integrals done one by one."""
    drawn = total * even * (1 - even)
    rough = drawn + 4 * even * (1 - even) * (0.2 * total) ** 2
    parts = []
    for spread in (drawn, rough):
        wide = variance + spread
        mean = (told / variance + even * total / spread) / (1 / variance + 1 / spread)
        parts.append((density(told - even * total, wide) / 6, min(max(mean, 0.0), total)))
    points = [min(max(told, 0.0), total)]
    mass = integrate.quad(lambda x: density(told - x, variance) / total, 0, total, points=points)[0]
    first = integrate.quad(lambda x: x * density(told - x, variance) / total, 0, total, points=points)[0]
    parts.append((mass / 6, first / mass))
    parts += [(density(told, variance) / 4, 0.0), (density(told - total, variance) / 4, total)]
    return sum(weight * mean for weight, mean in parts) / sum(weight for weight, _ in parts)


@pytest.mark.parametrize("told", [-30.0, 0.0, 20.0, 48.0, 77.0, 130.0])
@pytest.mark.parametrize("deviation", [3.0, 20.0, 200.0])
@pytest.mark.parametrize("even", [0.5, 0.2])
def test_a_mean_is_that_of_the_mixture(told: float, deviation: float, even: float) -> None:
    total = 100.0
    mine = expected(np.array([told]), np.array([deviation**2]), np.array([total]), np.array([even]))[0]
    assert mine == pytest.approx(by_integrals(told, deviation**2, total, even), rel=1e-6, abs=1e-6)


def test_noise_that_hides_everything_leaves_the_middle_and_none_leaves_what_was_told() -> None:
    total, half = np.array([1000.0]), np.array([0.5])
    assert expected(np.array([900.0]), np.array([1e12]), total, half)[0] == pytest.approx(500, rel=1e-3)
    for told in (0.0, 1.0, 333.0, 1000.0):
        assert expected(np.array([told]), np.array([1e-12]), total, half)[0] == pytest.approx(told, abs=1e-5)
    assert expected(np.array([5.0]), np.array([9.0]), np.zeros(1), half)[0] == 0


def test_no_number_makes_it_fail() -> None:
    numbers = [-1e17, -1.0, 0.0, 1e-200, 1.0, 1e17]
    variances = [1e-200, 1.0, 1e20]
    cases = np.array([(a, v, max(t, 0.0)) for a in numbers for v in variances for t in numbers]).T
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        means = expected(cases[0], cases[1], cases[2], np.full(cases.shape[1], 0.25))
    assert np.all(means >= 0)
    assert np.all(means <= cases[2])


@pytest.mark.parametrize(
    "release",
    [Identity(TENTH, (100,)), tuned(TENTH, 100), Hierarchy(TENTH, (100,), 1, branching=7), Partition(TENTH, (100,))],
)
def test_totals_stay_and_no_count_is_negative(release: Any) -> None:  # noqa: ANN401
    counts = np.zeros(100, dtype=np.int64)
    counts[7], counts[40:50] = 3000, 100
    told = release(counts, rng=Seeded(1))
    shown = plausible(told)
    assert told.total.value > 0
    assert shown.total.value == pytest.approx(told.total.value, rel=1e-9)
    assert shown.total.error == pytest.approx(told.total.error, rel=1e-9)
    assert shown.shift is not None
    assert np.bincount(told.part, told.counts) - np.bincount(told.part, shown.counts) == pytest.approx(shown.shift)
    assert shown.counts.min() >= 0
    assert shown.bounding == told.bounding
    assert plausible(told.whole()).counts.min() >= 0
    assert release(np.full(100, -50), rng=Seeded(1)).total.value < 0
    assert not plausible(release(np.full(100, -50), rng=Seeded(1))).counts.any()


def test_a_part_keeps_its_cells_equal() -> None:
    told = Partition(TENTH, (16, 16))(np.eye(16, dtype=np.int64) * 99, rng=Seeded(5))
    shown = plausible(told).counts.ravel()
    for one in set(told.part.tolist()):
        assert np.ptp(shown[told.part == one]) == pytest.approx(0, abs=1e-12)


def test_an_odd_number_of_children_is_halved_without_losing_one() -> None:
    for children in (1, 2, 3, 5, 8, 13):
        splits = Splits(1e-9, (np.array([children]),), (np.full(children, 1e-9),))
        leaves = np.arange(1.0, children + 1)
        assert likely(leaves, splits, np.ones(children)) == pytest.approx(leaves, abs=1e-4)


def test_without_standard_errors_nothing_is_known_and_nothing_changes() -> None:
    told = MultiplicativeWeights(TENTH, (8,), rounds=2)(np.arange(8), rng=Seeded(1))
    assert plausible(told) is told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "cells", "prefixes"),
    [(Identity(TENTH, (512,)), 0.7, 1.1), (tuned(TENTH, 512), 0.5, 0.95), (Partition(TENTH, (512,)), 0.95, 1)],
)
def test_on_uneven_data_it_is_nearer_to_the_truth(release: Any, cells: float, prefixes: float) -> None:  # noqa: ANN401
    counts = np.zeros(512, dtype=np.int64)
    counts[3], counts[100:164], counts[300] = 4000, 30, 900
    before: list[tuple[float, float]] = []
    after: list[tuple[float, float]] = []
    for seed in range(40):
        told = release(counts, rng=Seeded(seed))
        for shown, errors in ((told, before), (plausible(told), after)):
            off = shown.counts - counts
            errors.append((np.square(off).mean(), np.square(np.cumsum(off)).mean()))
    ratios = np.sqrt(np.mean(after, axis=0) / np.mean(before, axis=0))
    assert ratios[0] < cells
    assert ratios[1] < prefixes


def normal_means(told: float, variance: float, total: float, rough: float) -> tuple[float, float]:
    """Of a half that is told so, and about half of the total beforehand: the density of what was told, and the mean."""
    spread = total / 4 + (rough * total) ** 2
    mean = (told / variance + total / 2 / spread) / (1 / variance + 1 / spread)
    return density(told - total / 2, variance + spread), min(max(mean, 0.0), total)


def five_kinds(told: float, variance: float, total: float) -> tuple[float, float]:
    """The same of a half by itself: the density of what was told by the five kinds of division, and the mean."""
    points = [min(max(told, 0.0), total)]
    inside = integrate.quad(lambda x: density(told - x, variance) / total, 0, total, points=points)[0]
    near = normal_means(told, variance, total, 0.0)[0] + normal_means(told, variance, total, 0.2)[0]
    ends = density(told, variance) + density(told - total, variance)
    return (near + inside) / 6 + ends / 4, by_integrals(told, variance, total, 0.5)


ROUGHS = [0.4, 0.2, 0.1, 0.05, 0.025, 0.0]


@pytest.mark.parametrize(
    "leaves", [(250.0, 240, 270, 245), (100.0, 180, 300, 390), (900.0, 20, 10, 40), (0.0, 3, 500, 480)]
)
def test_gentle_stretches_are_weighed_as_if_all_were_listed(leaves: tuple[float, ...]) -> None:
    """Four leaves of variance 40²: 6 stretches from the root, and 7 · 7 ways in which its halves begin one or none.

    The chances are of what was told; the means are then of the totals that were guessed above.
    """
    told = [(leaves[0] + leaves[1], 3200.0 / 2, sum(leaves))]
    told += [(leaves[i], 800.0, leaves[i] + leaves[i + 1]) for i in (0, 2)]
    later = [*ROUGHS[1:], 0.0]
    ways: dict[tuple[int | None, int | None, int | None], float] = {}
    for kind, (rough, next_) in enumerate(zip(ROUGHS, later, strict=True)):
        halves = [normal_means(*half, next_)[0] for half in told[1:]]
        below = min(kind + 1, 5)
        ways[kind, below, below] = normal_means(*told[0], rough)[0] * halves[0] * halves[1] / 200
    each = [
        {kind: normal_means(*half, rough)[0] / 200 for kind, rough in enumerate(ROUGHS)}
        | {None: five_kinds(*half)[0] * 0.97}
        for half in told[1:]
    ]
    for (one, first), (two, second) in product(each[0].items(), each[1].items()):
        way = (None, one, two)
        ways[way] = ways.get(way, 0.0) + five_kinds(*told[0])[0] * 0.97 * first * second

    def guess(node: int, seen: tuple[float, float, float]) -> float:
        means = {
            way: normal_means(*seen, ROUGHS[kind])[1] if (kind := way[node]) is not None else five_kinds(*seen)[1]
            for way in ways
        }
        return sum(ways[way] * means[way] for way in ways) / sum(ways.values())

    first = guess(0, told[0])
    halves = [first, sum(leaves) - first]
    expected_ = []
    for node, half in enumerate(halves):
        a, b = leaves[2 * node : 2 * node + 2]
        mine = guess(node + 1, (a + (half - a - b) / 2, 800.0, half))
        expected_ += [mine, half - mine]
    splits = Splits(6400.0, (np.array([2]), np.array([2, 2])), (np.full(2, 3200.0), np.full(4, 1600.0)))
    assert likely(np.array(leaves), splits, np.ones(4)) == pytest.approx(expected_, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_on_a_tilt_with_few_records_it_is_nearer_to_the_truth() -> None:
    """Gentle stretches do it, and without them it is no nearer: eighths hold 0.7 to 1.3 times their share."""
    share = np.linspace(0.7, 1.3, 8) / 8
    counts = np.diff(np.round(np.concatenate([[0], np.cumsum(np.repeat(share, 512) / 512)]) * 1000)).astype(np.int64)
    before: list[float] = []
    after: list[float] = []
    for seed in range(60):
        told = Partition(TENTH, (4096,)).parts(counts, Seeded(seed))
        for shown, errors in ((told, before), (plausible(told), after)):
            off = np.cumsum(shown.counts - counts)
            errors.append(np.square(off - off[-1] * np.arange(1, 4097) / 4096).mean())  # the total stays as it is
    assert np.mean(after) < 0.85 * np.mean(before)


def test_it_takes_any_tree_of_a_plane() -> None:
    counts = np.zeros((32, 32), dtype=np.int64)
    counts[4:9, 4:9] = 500
    told = AdaptiveGrid(TENTH, (32, 32))(counts, rng=Seeded(2))
    assert plausible(told).counts.min() >= 0
    assert plausible(told).total.value == pytest.approx(told.total.value, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1, 12, 40, 64, 400, 10**6])
@pytest.mark.parametrize("shape", [(2,), (16,), (64,), (512,), (32, 32)])
def test_no_data_make_it_fail_at_any_price(epsilon: int, shape: tuple[int, ...]) -> None:
    for seed, high in enumerate([0, 1, 91, 94, 96, 100_000, 100_001, 10**12, 1 << 53]):
        counts = np.zeros(shape, dtype=np.int64)
        counts.flat[0] = high
        counts.flat[-1] += high // 2
        told = Automatic(Fraction(epsilon), shape)(counts, rng=Seeded(seed))
        assert np.isfinite(told.counts).all()
        assert told.counts.min() >= 0
        assert Histogram.from_json(told.to_json()) == told
