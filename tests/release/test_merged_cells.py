"""Groups of small neighbours: the best of all ways to make them, and never across what may not be joined."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from discreet.release.tree_search import Noise, together

EVEN = Noise(first=100.0, again=20.0, inside=1.5)


def loss(bounds: tuple[int, ...], counts: Any, most: int, noise: Noise) -> float:  # noqa: ANN401
    """What is expected of groups between such bounds, one group at a time."""
    total = 0.0
    for lo, hi in pairwise(bounds):
        pieces, held = hi - lo, max(float(sum(counts[lo:hi])), 0.0)
        # a prefix of j + u pieces given their sum, averaged over all of them by many small steps
        places = (np.arange(200 * pieces) + 0.5) / 200
        whole, part = np.floor(places), places % 1
        known = whole + part**2 - places**2 / pieces  # of independent pieces of variance 1, straight within each
        noisy, lumpy = noise.first * float(known.mean()), 0.1 * held**2
        inside = noisy * lumpy / (noisy + lumpy) if noisy + lumpy else 0.0
        total += noise.again + noise.inside * pieces / most * (inside if pieces > 1 else 0.0)
    return total


@pytest.mark.parametrize("noise", [EVEN, Noise(100.0, 200.0, 1.5), Noise(100.0, 20.0, 40.0), Noise(400.0, 20.0, 0.3)])
def test_no_other_way_is_better(noise: Noise) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        counts = rng.choice([0, 5, 60, 300], 7) + rng.normal(0, 10, 7)
        stopped = rng.random(7) < 0.85
        first = together(np.array([7]), stopped, counts, noise).tolist()
        ways = [
            (0, *(i for i, cut in enumerate(cuts, 1) if cut), 7)
            for cuts in product([False, True], repeat=6)
            if all(cut or (stopped[i] and stopped[i + 1]) for i, cut in enumerate(cuts))
        ]
        best = min(loss(way, counts, 7, noise) for way in ways)
        assert (*first, 7) in ways
        assert loss((*first, 7), counts, 7, noise) == pytest.approx(best, rel=1e-3)


def test_each_interval_is_grouped_by_itself() -> None:
    """Of several intervals with 8, 1, 8 and 3 pieces: as if each were alone, if all have the same noise."""
    rng = np.random.default_rng(2)
    divided = np.array([8, 1, 8, 3])
    counts, stopped = rng.normal(20, 40, 20), rng.random(20) < 0.8
    stopped[8] = False
    begins, expected = together(divided, stopped, counts, EVEN).tolist(), []
    for lo, hi in pairwise([0, 8, 9, 17, 20]):
        padded, open_ = np.zeros(8), np.zeros(8, dtype=bool)
        padded[: hi - lo], open_[: hi - lo] = counts[lo:hi], stopped[lo:hi]
        alone = together(np.array([8]), open_, padded, EVEN)
        expected += [lo + int(at) for at in alone if at < hi - lo]
    assert begins == expected


def test_what_is_divided_is_alone_and_nothing_is_counted_with_nothing() -> None:
    stopped = np.array([1, 1, 0, 1, 1, 1, 0, 1], dtype=bool)
    assert together(np.array([8]), stopped, np.zeros(8), EVEN).tolist() == [0, 2, 3, 6, 7]
    assert together(np.array([8]), np.ones(8, dtype=bool), np.full(8, -5.0), EVEN).tolist() == [0]


def test_the_more_the_inside_weighs_the_more_groups_there_are() -> None:
    counts, stopped = np.full(8, 60.0), np.ones(8, dtype=bool)
    sizes = [together(np.array([8]), stopped, counts, Noise(100.0, 20.0, weight)).size for weight in (0, 1, 4, 40)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] == 8
