"""Every error that a release states covers: cell by cell, range by range, totals, shares, quantiles and tables.

Each number that a release states with an error bar is looked at in runs of its own: how often does the truth lie inside
(exact binomial test of 95 %, false-alarm rate 1e-9), is the square of what is off no more than that of the standard
error, and how wide is the bar beside the best that could be, half as wide as what 95 % of the errors stay within. What
is not stated in a run is not counted; that such numbers are none that could be stated is shown as well.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from covering import RUNS, Coverage
from doubles import Seeded

from discreet.release import (
    AdaptiveGrid,
    Automatic,
    FourierMarginals,
    Hierarchy,
    Histogram,
    Identity,
    Marginals,
    Partition,
    QuadTree,
    ResidualMarginals,
    Uniform,
    UniformGrid,
    Wavelet,
    tuned,
)
from discreet.release.histogram import MORE, TIMES, Estimate

pytestmark = pytest.mark.slow

ONE, TENTH, THREE = Fraction(1), Fraction(1, 10), Fraction(3)
ENOUGH = 400  # runs in which a number is stated, to say something of it: what is stated less often is not looked at
WIDEST = 1.3  # times the best
CELLS = 64

Array = np.ndarray[Any, Any]


@dataclass
class Stated:
    """One number over many runs: how far off it was, its standard error, and whether its bar covered."""

    off: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    hits: int = 0

    def add(self, told: Estimate, truth: float) -> None:
        if not told.barred:
            return
        low, high = told.interval()
        self.hits += low - 1e-9 <= truth <= high + 1e-9
        self.width.append((high - low) / 2)
        if told.error is not None:
            self.off.append(told.value - truth)
            self.error.append(told.error)

    def check(self, what: str) -> None:
        covered = Coverage(self.hits, len(self.width), float(np.mean(self.width)))
        assert not covered.refuted(Fraction(19, 20)), f"{what}: {covered}"
        if not self.off:
            return
        squares, stated = np.square(self.off), np.square(self.error)
        gap = squares - stated  # Chebyshev would be no test, Gauss is: six of its standard errors are once in 1e9
        assert gap.mean() <= 6.1 * gap.std() / math.sqrt(gap.size) + 1e-9, f"{what}: errors are stated too small"
        best = float(np.quantile(np.abs(self.off), 0.95))
        assert covered.width <= WIDEST * max(best, 1.0) + 0.5, f"{what}: {covered}, the best is {best:.3g}"


def lines() -> dict[str, Array]:
    """Spikes on eights, a gentle hill, few records, none, and as many as make a search hesitate."""
    place, rng = np.arange(CELLS), np.random.default_rng(5)
    spikes = np.zeros(CELLS, dtype=np.int64)
    spikes[::8] = rng.integers(200, 2000, 8)
    return {
        "spikes": spikes,
        "hill": (3000 * np.exp(-(((place - 20) / 8) ** 2))).astype(np.int64),
        "few": rng.poisson(0.3, CELLS).astype(np.int64),
        "none": np.zeros(CELLS, dtype=np.int64),
        "hesitant": np.tile([20, 0, 0, 0, 0, 0, 0, 0], CELLS // 8),
    }


def planes() -> dict[str, Array]:
    side, rng = 16, np.random.default_rng(6)
    place = np.arange(side)
    lumps = np.zeros((side, side), dtype=np.int64)
    lumps[rng.integers(0, side, 20), rng.integers(0, side, 20)] = rng.integers(50, 3000, 20)
    hill = 400 * np.exp(-(((place[:, None] - 5) / 4) ** 2) - ((place[None, :] - 9) / 3) ** 2)
    return {"lumps": lumps, "hill": hill.astype(np.int64), "few": rng.poisson(0.3, (side, side)).astype(np.int64)}


LINES: dict[str, Callable[[Fraction], Any]] = {
    "identity": lambda epsilon: Identity(epsilon, (CELLS,)),
    "uniform": lambda epsilon: Uniform(epsilon, (CELLS,)),
    "hierarchy": lambda epsilon: tuned(epsilon, CELLS),
    "binary tree": lambda epsilon: Hierarchy(epsilon, (CELLS,)),
    "wavelet": lambda epsilon: Wavelet(epsilon, (CELLS,)),
    "partition": lambda epsilon: Partition(epsilon, (CELLS,)),
    "automatic": lambda epsilon: Automatic(epsilon, (CELLS,)),
}
PLANES: dict[str, Callable[[Fraction], Any]] = {
    "quadtree": lambda epsilon: QuadTree(epsilon, (16, 16)),
    "shallow quadtree": lambda epsilon: QuadTree(epsilon, (16, 16), height=2),
    "partition": lambda epsilon: Partition(epsilon, (16, 16)),
    "automatic": lambda epsilon: Automatic(epsilon, (16, 16)),
    "uniform grid": lambda epsilon: UniformGrid(epsilon, (16, 16)),
    "adaptive grid": lambda epsilon: AdaptiveGrid(epsilon, (16, 16)),
}
RANGES = [(0, 1), (8, 9), (17, 18), (0, 8), (8, 24), (0, 32), (3, 50), (40, 64), (0, 64)]
BOXES = [((0, 1), (0, 1)), ((5, 6), (9, 10)), ((0, 8), (0, 8)), ((4, 8), (8, 12)), ((0, 16), (0, 8)), ((0, 16), (0, 16))]


def asked(told: Histogram, truth: Array) -> dict[str, tuple[Estimate, float]]:
    """Everything that is looked at: ranges or boxes, and on a line a quantile."""
    if truth.ndim == 2:
        return {
            f"{box}": (told.range(*box), float(truth[slice(*box[0]), slice(*box[1])].sum())) for box in BOXES
        }
    found = {f"{low}:{high}": (told.range(low, high), float(truth[low:high].sum())) for low, high in RANGES}
    found["total"] = told.total, float(truth.sum())
    return found


def covered(release: Any, truth: Array, seed: int) -> dict[str, Stated]:  # noqa: ANN401
    rng, seen = Seeded(seed), defaultdict[str, Stated](Stated)
    for _ in range(RUNS):
        for name, (told, exactly) in asked(release(truth, rng=rng), truth).items():
            seen[name].add(told, exactly)
    return seen


@pytest.mark.parametrize("epsilon", [TENTH, ONE, THREE], ids=["0.1", "1", "3"])
@pytest.mark.parametrize("method", LINES)
def test_what_is_stated_along_a_line_covers(method: str, epsilon: Fraction) -> None:
    for number, (data, truth) in enumerate(lines().items()):
        seen = covered(LINES[method](epsilon), truth, number)
        assert len(seen["total"].width) == RUNS  # a total is always stated
        for name, stated in seen.items():
            if len(stated.width) >= ENOUGH:
                stated.check(f"{method} at {epsilon} of {data}, {name}")


@pytest.mark.parametrize("epsilon", [TENTH, ONE], ids=["0.1", "1"])
@pytest.mark.parametrize("method", PLANES)
def test_what_is_stated_on_a_plane_covers(method: str, epsilon: Fraction) -> None:
    for number, (data, truth) in enumerate(planes().items()):
        for name, stated in covered(PLANES[method](epsilon), truth, number).items():
            if len(stated.width) >= ENOUGH:
                stated.check(f"{method} at {epsilon} of {data}, {name}")
