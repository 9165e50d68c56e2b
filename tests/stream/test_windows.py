"""Errors of running counts, totals, windows and the largest keys cover: simulated, against the exact binomial law."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from scipy.stats import binom

from discreet.curator.stream_answers import StreamWords
from discreet.declared.column import Column
from discreet.declared.table import Table
from discreet.stream import BufferedCounter, SquareRootCounter, Stream, TreeCounter
from discreet.stream.declaration import StreamDeclaration

STEPS, KEYS, RUNS = 12, ("a", "b", "c"), 300
KINDS: list[Callable[[float], Any]] = [
    lambda loud: TreeCounter(Fraction(20 * loud), STEPS, 3),
    lambda loud: SquareRootCounter(Fraction((30 * loud) ** 2), STEPS),
    lambda loud: BufferedCounter(Fraction((30 * loud) ** 2), STEPS),
]
LEAST = int(binom.ppf(1e-11, RUNS, 0.95))  # 60 comparisons: a right error fails one of them with 1e-9 at most


def words(counter: Any, keys: tuple[str, ...] = KEYS) -> StreamWords:  # noqa: ANN401
    table = Table("live", (Column("who"), Column("key", keys=keys)), "who", "who", 1)
    return StreamWords(Stream(counter, keys), StreamDeclaration(table, "key"))


def covered(asked: Any, drawn: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401
    """How many of the runs of one counter are within what is told of another: of nothing, so that all is noise."""
    telling, rng = words(asked), Seeded(5)
    runs = []
    for _ in range(RUNS):
        columns = [drawn([0] * STEPS, rng=rng).tolist() for _ in KEYS]
        answers = list(zip(*columns, strict=True))
        runs.append((telling.running(answers)[-1], *telling.windows(answers, 5)[2::4], *telling.windows(answers, 3, 3)))
    for place, told in enumerate(zip(*runs, strict=True)):
        yield f"key {place}", sum(abs(each.by["b"]) <= each.key_error for each in told)
        yield f"total {place}", sum(abs(each.count) <= each.error for each in told)
        yield f"top {place}", sum(abs(each.top(1)[0][1]) <= each.top_error for each in told)
        yield f"all {place}", sum(max(map(abs, each.by.values())) <= each.top_error for each in told)


@pytest.mark.parametrize("kind", KINDS, ids=["tree", "square root", "buffered"])
def test_what_is_told_covers_what_is_drawn(kind: Callable[[float], Any]) -> None:
    for what, inside in covered(kind(1), kind(1)):
        assert inside >= LEAST, what


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=["tree", "square root", "buffered"])
def test_errors_of_less_noise_than_is_drawn_are_found_out(kind: Callable[[float], Any]) -> None:
    for what, inside in covered(kind(1), kind(3)):
        assert inside < LEAST, what


def test_errors_are_those_of_their_own_window() -> None:
    """Not of the longest, nor of the running counts: an error of 12 windows has several values, as a tree's noise."""
    tree = words(TreeCounter(Fraction(20), 40, 3))
    told = tree.windows([(0, 0, 0)] * 40, 5)
    assert len({each.key_error for each in told}) > 3
    assert [each.key_error for each in told] == [
        tree.stream.window_error(max(0, stop - 5), stop) for stop in range(1, 41)
    ]
    assert all(each.key_error < each.error < 3 * each.key_error for each in told)
    assert np.ptp([float(each.top_error) for each in told]) > 0
