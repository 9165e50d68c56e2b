"""Do the intervals of texts cover? Over coins and hash functions: every run has a key of its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from covering import RUNS, Coverage
from doubles import Seeded

from discreet.local import CountMeanSketch, HadamardSketch, HeavyHitters, Rappor, Tally
from discreet.local.frequencies import Odds
from discreet.local.heavy_hitters import Hitters
from discreet.local.matching_pursuit import ALPHA, Pursuit
from discreet.local.rappor_decoder import decode
from discreet.local.sketch import CellCounts

pytestmark = pytest.mark.slow

NAMES = [f"text {i}" for i in range(12)]
CROWDS = {"all hold one": [1.0] + [0.0] * 11, "some common, some not": [0.5, 0.25, 0.1, 0.05] + [0.0125] * 8}
crowds = pytest.mark.parametrize("shares", CROWDS.values(), ids=CROWDS)


def people(shares: list[float], size: int) -> tuple[list[str], list[int]]:
    counts = [round(size * share) for share in shares]
    return [name for name, many in zip(NAMES, counts, strict=True) for _ in range(many)], counts


def joined(client: Any, crowd: list[str], seed: int) -> Tally:  # noqa: ANN401
    found: Tally = client.tally(client.batch(crowd, rng=Seeded(seed)))
    return found


@crowds
@pytest.mark.parametrize(
    "kind",
    [
        lambda key: CountMeanSketch(Fraction(2), 8, 32, key),
        lambda key: HadamardSketch(Fraction(3), 2, 16, key),
    ],
    ids=["count-mean", "two rows"],
)
def test_intervals_of_sketched_counts_cover(kind: Callable[[int], Any], shares: list[float]) -> None:
    crowd, counts = people(shares, 40)
    hits = np.zeros(len(NAMES), dtype=int)
    for key in range(RUNS):
        client = kind(key)
        low, high = client.estimate(joined(client, crowd, key), NAMES).interval()
        hits += (low <= counts) & (counts <= high)
    for hit in hits:
        assert not Coverage(int(hit), RUNS).refuted(0.95), hits


def test_intervals_of_decoded_texts_cover_all_that_are_shown_together() -> None:
    crowd, counts = people(CROWDS["all hold one"], 100)
    truth = dict(zip(NAMES, np.array(counts) / len(crowd), strict=True))
    hits = 0
    for key in range(RUNS):
        client = Rappor(Fraction(6), 16, 2, 4, Fraction(1, 4), Fraction(3, 4), key)
        guess = decode(client, joined(client, crowd, key), NAMES)
        low, high = guess.interval()
        hits += all(a <= truth[str(value)] <= b for value, a, b in zip(guess.values, low, high, strict=True))
    assert not Coverage(hits, RUNS).refuted(0.95), hits


def test_intervals_of_found_texts_cover_all_that_are_found_together() -> None:
    crowd = ["a"] * 120 + ["b"] * 80 + ["c", "d", "e", "f"] * 10
    truth, hits, some = {"a": 0.5, "b": 1 / 3}, 0, 0
    for key in range(RUNS):
        client = HeavyHitters(Fraction(4), 1, 4, 4, 4, 64, key)
        guess = client.estimate(joined(client, crowd, key))
        low, high = guess.interval()
        hits += all(
            a <= truth.get(v, 1 / 24 if v in "cdef" else 0) <= b
            for v, a, b in zip(guess.values, low, high, strict=True)
        )
        some += bool(guess.values)
    assert not Coverage(hits, RUNS).refuted(0.95), hits
    assert some > RUNS / 2


def test_intervals_of_found_texts_cover_beside_a_large_text_that_was_lost() -> None:
    """A half hold what is found, and the others a text of which the search lost the beginning: 8 rows of 64, ε = ∞.

    It shares a row in twelve of a hundred crowds. By the normal law alone 88 % covered.
    """
    draw, hits, some = np.random.default_rng(1), 0, 0
    for _ in range(RUNS):
        table = draw.integers(0, 64, (3, 8))
        told = draw.multinomial(40_000, np.full(16, 1 / 16)).reshape(2, 8)
        reports, inside = told.sum(axis=0), np.zeros((8, 64), dtype=np.int64)
        for held, cells in zip(told, table[[0, 2]], strict=True):
            inside[np.arange(8), cells] += held
        supports = inside + draw.binomial(reports[:, None] - inside, 0.5)
        rows = CellCounts(reports, supports, Odds(Fraction(1), Fraction(1, 2)))
        run = Pursuit.of(rows, table[:2])
        found = run.chances <= ALPHA
        guess = Hitters(40_000, 2, (), run.shares[found], run.errors[found], run.chances[found], run.jump)
        low, high = guess.interval()
        truth = np.array([0.5, 0.0])[found]
        hits += bool(np.all((low <= truth) & (truth <= high)))
        some += bool(found.any())
    assert not Coverage(hits, RUNS).refuted(0.95), hits
    assert some > RUNS / 2
