"""Sample and aggregate: one row touches one block, failures are one public number, and the noise is the aggregate's."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded

from discreet.declared.grid import Grid
from discreet.errors import Refusal
from discreet.mechanisms.median import PureMedian, SmoothRank
from discreet.mechanisms.registry import described, rebuilt
from discreet.mechanisms.sample_and_aggregate import BlockMean, SampleAggregate
from discreet.privacy import AddRemove, Approximate, Pure, Replace

GRID = Grid(0, 10, Fraction(1, 2))
ONE = Fraction(1)
MEAN = BlockMean(ONE, Fraction(0), Fraction(10), Fraction(1, 2), 4)


class Same:
    """Bits for where rows fall: the i-th row's block is a digit of a fixed string, whatever the rows are."""

    def __init__(self, seed: int) -> None:
        self._words = np.random.default_rng(seed).bytes(8 * 4096)

    def bits(self, count: int, /) -> int:
        raise AssertionError(f"where rows fall takes raw words, not {count} bits")

    def raw(self, count: int, /) -> bytes:
        return self._words[:count]


def test_a_row_more_changes_one_block_at_most() -> None:
    mechanism: SampleAggregate[float, Pure] = SampleAggregate.mean(sum, GRID, 8, 1)
    rows = [0.5 * i for i in range(24)]
    before = mechanism.results(rows, rng=Same(1))
    for extra in (3.0, float("nan"), 1e300):
        after = mechanism.results([*rows, extra], rng=Same(1))
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_a_row_that_breaks_the_function_breaks_one_block() -> None:
    def fragile(block: Sequence[float]) -> float:
        if any(math.isnan(row) for row in block):
            while True:
                pass
        return sum(block)

    mechanism = replace(SampleAggregate.mean(fragile, GRID, 5, 1), seconds=Fraction(1, 5))
    rows = [0.5] * 10  # and one more, which the same coins put into the same block
    before, after = (mechanism.results([*rows, last], rng=Same(2)) for last in (0.5, float("nan")))
    changed = [b for a, b in zip(before, after, strict=True) if a != b]
    assert changed == [5.0]  # the middle of the grid


def test_every_row_falls_into_one_block_at_random() -> None:
    mechanism: SampleAggregate[int, Pure] = SampleAggregate.mean(len, Grid(0, 1000, 1), 4, 1)
    sizes = np.array([mechanism.results(range(400), rng=Seeded(seed)) for seed in range(4)])
    assert set(sizes.sum(axis=1)) == {400.0}
    counts, each = [Coverage(int(size), 400) for size in sizes.ravel()], 1e-9 / 32  # 16 counts, two sides
    assert not any(count.refuted(0.25, each) or count.exceeded(0.25, each) for count in counts)
    assert np.abs(sizes - 100).max() > 5  # and not dealt out evenly, which one row more would shift


@pytest.mark.parametrize("result", [None, "7", float("nan"), float("inf"), (1, 2), 10**400], ids=repr)
def test_what_is_no_number_counts_as_the_public_one(result: object) -> None:
    mean: SampleAggregate[int, Pure] = SampleAggregate.mean(lambda _: result, GRID, 3, 1)
    mechanism = replace(mean, otherwise=Fraction(7, 2))
    assert mechanism.results([1, 2, 3], rng=Seeded(1)) == [3.5] * 3


def test_results_are_clamped_before_they_are_summed() -> None:
    wild: SampleAggregate[int, Pure] = SampleAggregate.mean(lambda _: 1e12, GRID, 10, 500)
    assert abs(wild([1], rng=Seeded(1)) - 10) < 1
    low: SampleAggregate[int, Pure] = SampleAggregate.median(lambda _: -1e12, GRID, 10, 500)
    assert low([1], rng=Seeded(1)) == 0


@pytest.mark.parametrize("how", [SampleAggregate.mean, SampleAggregate.median])
def test_a_function_nobody_analysed_gets_a_useful_answer(how: Callable[..., SampleAggregate[float, Pure]]) -> None:
    """The geometric mean of lognormal rows: about e² in every block."""
    rows = np.random.default_rng(3).lognormal(2, 0.3, 4000)
    mechanism = how(lambda block: np.exp(np.mean(np.log(block))), Grid(0, 20, Fraction(1, 100)), 16, 12)
    assert abs(float(mechanism(rows, rng=Seeded(4))) - math.exp(2)) < 0.5


def test_no_rows_are_answered_too() -> None:
    mechanism: SampleAggregate[float, Pure] = SampleAggregate.median(np.mean, GRID, 3, 1)
    assert 0 <= mechanism([], rng=Seeded(1)) <= 10


def test_rows_arrive_as_they_came() -> None:
    table = np.arange(12).reshape(6, 2)
    mechanism: SampleAggregate[object, Pure] = SampleAggregate.mean(
        lambda block: float(getattr(block, "shape", (0, 0))[1]), GRID, 1, 1
    )
    assert mechanism.results(table, rng=Seeded(1)) == [2.0]


def test_the_promise_and_the_error_are_the_aggregate_s() -> None:
    assert SampleAggregate.mean(len, GRID, 9, Fraction(1, 3)).privacy == Pure(Fraction(1, 3))
    summary = SmoothRank(ONE, Fraction(1, 10**6), Fraction(0), Fraction(10), Fraction(1, 2), 5, 9)
    mechanism: SampleAggregate[object, Approximate] = SampleAggregate(len, summary, Fraction(5))
    assert mechanism.privacy == Approximate(1, Fraction(1, 10**6))
    assert mechanism.error(Fraction(1, 2)) == summary.error(Fraction(1, 2))
    assert isinstance(mechanism.neighbours, AddRemove)


def test_the_mean_of_blocks_covers_at_its_error() -> None:
    alpha, rng = MEAN.error(Fraction(9, 10)), Seeded(5)
    near = sum(abs(MEAN([1, 2.5, 9, 40], rng=rng) - Fraction(45, 8)) <= alpha for _ in range(2000))
    assert not Coverage(near, 2000).refuted(0.9)


def test_the_mean_of_blocks_has_laplace_noise_of_the_whole_span() -> None:
    """False alarms: 1e-9 (Hoeffding, a union over 41 answers), if the bits were fresh."""
    rng, runs, q = Seeded(6), 6000, math.exp(-1 / 20)  # 20 steps, ε = 1
    counts = Counter(int(8 * MEAN([0, 0, 0, 0], rng=rng)) for _ in range(runs))
    allowed = math.sqrt(math.log(2 * 41 / 1e-9) / (2 * runs))
    tail = sum(count for n, count in counts.items() if n >= 20) / runs
    assert abs(tail - q**20 / (1 + q)) <= allowed
    assert all(abs(counts[n] / runs - (1 - q) / (1 + q) * q ** abs(n)) <= allowed for n in range(-20, 21))


def test_its_worst_pair_crosses_the_span() -> None:
    (pair,) = MEAN.pairs()
    assert [b - a for a, b in zip(pair.left, pair.right, strict=True)] == [0, 0, 0, 10]
    assert rebuilt(**described(MEAN)) == MEAN


PLAIN: SampleAggregate[object, Pure] = SampleAggregate.mean(len, GRID, 3, 1)


def test_whatever_public_number_is_accepted_can_be_used() -> None:
    for otherwise in (Fraction(sys.float_info.max), -Fraction(sys.float_info.max), Fraction(1, 10**400)):
        failing = replace(PLAIN, function=lambda _: None, otherwise=otherwise)
        assert failing.results([1], rng=Seeded(1)) == [float(otherwise)] * 3


def test_the_shortest_time_has_an_end() -> None:
    """A timer of zero would be none."""

    def spin(_: object) -> float:
        while True:
            pass

    mechanism = replace(PLAIN, function=spin, seconds=Fraction(1, 10**6))
    assert mechanism.results([1], rng=Seeded(1)) == [5.0] * 3


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: SampleAggregate.mean(len, GRID, 0, 1), "size >= 1, got size=0"),
    (lambda: SampleAggregate.median(len, GRID, 0, 1), "blocks >= 1, got blocks=0"),
    (lambda: SampleAggregate.mean(len, GRID, 3, 0), "epsilon > 0, got epsilon=0"),
    (lambda: replace(SampleAggregate.mean(len, GRID, 3, 1), seconds=Fraction(0)), "seconds > 0"),
    (lambda: replace(SampleAggregate.mean(len, GRID, 3, 1), patience=Fraction(-1)), "patience > 0"),
    (
        lambda: SampleAggregate(len, PureMedian(ONE, Fraction(0), Fraction(10), ONE), ONE),  # type: ignore[arg-type]
        "for Replace, got AddRemove",
    ),
    (lambda: replace(MEAN, neighbours=AddRemove()), "proved for Replace, got AddRemove"),
    (lambda: replace(PLAIN, otherwise=Fraction(10**400)), "otherwise within a float's range, got otherwise=1E+400"),
    (lambda: replace(PLAIN, otherwise=Fraction(-(10**400))), "otherwise within a float's range"),
    (lambda: replace(PLAIN, seconds=Fraction(1, 10**400)), "0.000001 <= seconds <= 1000000000, got seconds=1E-400"),
    (lambda: replace(PLAIN, seconds=Fraction(10**400)), "0.000001 <= seconds <= 1000000000, got seconds=1E+400"),
    (lambda: replace(PLAIN, patience=Fraction(1, 10**400)), "0.000001 <= patience <= 1000000000, got"),
    (lambda: replace(PLAIN, patience=Fraction(10**400)), "0.000001 <= patience <= 1000000000, got"),
    (lambda: MEAN([1, 2]), "expected 4 values, got 2"),
    (lambda: replace(MEAN, neighbours=Replace("block"), step=Fraction(0)), "step > 0"),
]


@pytest.mark.parametrize(("build", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        build()
    assert words in str(refused.value)
