"""Ranges over released histograms, by the protocol of DPBench: no method wins everywhere, and ours is among the best.

Data: a real histogram is made a probability, and so many records are drawn from it. Error: ‖W x − W x̂‖₂ over queries
and records, times 10⁶, for all prefixes, and for 2000 random ranges; on a plane for 2000 random rectangles. ε = 0.1. In
bold the methods whose mean is the least or cannot be told from it (Welch's test, 5 % shared among the comparisons).
Published: the reference implementation of DAWA, three by three runs, in its own environment; docs/proofs/partition.md
says why `Partition` goes another way. ≥ 0 means the non-negative fit. The constants of `Partition` were chosen on
the four data sets that are shown by default, those of `Automatic` on all of them: other data is the fairer test.

    python -m benchmarks.ranges [--data DIR] [--samples 5] [--runs 10] [--sets ADULT,…] [--scales 1000,…] [--side 128]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.release import (
    AdaptiveGrid,
    Automatic,
    Hierarchy,
    Histogram,
    Identity,
    MultiplicativeWeights,
    Partition,
    QuadTree,
    Uniform,
    UniformGrid,
    Wavelet,
    tuned,
)

Reals = NDArray[np.float64]
EPSILON = Fraction(1, 10)
CELLS = 4096
PUBLISHED = {  # DAWA, prefixes and ranges
    ("ADULT", 10**3): (726, 777),
    ("ADULT", 10**5): (14.4, 22.7),
    ("MEDCOST", 10**3): (811, 725),
    ("MEDCOST", 10**5): (22.1, 24.3),
    ("SEARCHLOGS", 10**3): (786, 1540),
    ("SEARCHLOGS", 10**5): (15.7, 33.9),
    ("PATENT", 10**3): (966, 1530),
    ("PATENT", 10**5): (18.5, 30.3),
}
PLANES = "GOWALLA,ADULT-2D,STROKE"


def exactly(histogram: Histogram) -> Histogram:
    """As it was released."""
    return histogram


def fitted(histogram: Histogram) -> Histogram:
    """The non-negative fit."""
    return histogram.nonnegative()


def lines(shape: tuple[int, ...]) -> dict[str, tuple[Any, Callable[[Histogram], Histogram]]]:
    """Releases on a line, by name."""
    return {
        "uniform": (Uniform(EPSILON, shape), exactly),
        "identity": (Identity(EPSILON, shape), exactly),
        "H": (Hierarchy(EPSILON, shape), exactly),
        "wavelet": (Wavelet(EPSILON, shape), exactly),
        "Hb": (Hierarchy.of(EPSILON, shape[0]), exactly),
        "tuned": (tuned(EPSILON, shape[0]), exactly),
        "MWEM": (MultiplicativeWeights(EPSILON, shape), exactly),
        "partition": (Partition(EPSILON, shape), exactly),
        "partition ≥ 0": (Partition(EPSILON, shape), fitted),
        "automatic ≥ 0": (Automatic(EPSILON, shape), fitted),
    }


def planes(shape: tuple[int, ...]) -> dict[str, tuple[Any, Callable[[Histogram], Histogram]]]:
    """Releases on a plane, by name."""
    half = Fraction(1, 2)
    return {
        "uniform": (Uniform(EPSILON, shape), exactly),
        "identity": (Identity(EPSILON, shape), exactly),
        "quadtree": (QuadTree(EPSILON, shape), exactly),
        "uniform grid": (UniformGrid(EPSILON, shape), exactly),
        "adaptive grid": (AdaptiveGrid(EPSILON, shape), exactly),
        "MWEM": (MultiplicativeWeights(EPSILON, shape), exactly),
        "partition ≥ 0": (Partition(EPSILON, shape, ratio=half), fitted),
        "automatic": (Automatic(EPSILON, shape), exactly),
    }


def sides(cells: int, rng: np.random.RandomState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """2000 lengths, then places."""
    lengths = rng.randint(1, cells + 1, 2000)
    low = np.array([rng.randint(0, cells - length + 1) for length in lengths])
    return low, low + lengths


def line_errors(cells: int) -> Callable[[Reals], tuple[float, ...]]:
    """For prefixes, and for ranges."""
    low, high = sides(cells, np.random.RandomState(9001))

    def errors(off: Reals) -> tuple[float, ...]:
        sums = np.concatenate([[0.0], np.cumsum(off)])
        return float(np.linalg.norm(sums[1:])) / cells, float(np.linalg.norm(sums[high] - sums[low])) / low.size

    return errors


def plane_errors(side: int) -> Callable[[Reals], tuple[float, ...]]:
    """For rectangles."""
    rng = np.random.RandomState(9001)
    (top, bottom), (left, right) = sides(side, rng), sides(side, rng)

    def errors(off: Reals) -> tuple[float, ...]:
        sums = np.zeros((side + 1, side + 1))
        sums[1:, 1:] = off.cumsum(0).cumsum(1)
        answers = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
        return (float(np.linalg.norm(answers)) / top.size,)

    return errors


def competitive(errors: dict[str, Reals]) -> set[str]:
    """The least mean, and those that Welch's test cannot tell from it."""
    best = min(errors, key=lambda name: float(errors[name].mean()))
    alpha = 0.05 / max(1, len(errors) - 1)

    def same(other: Reals) -> bool:
        return bool(stats.ttest_ind(errors[best], other, equal_var=False).pvalue > alpha)

    return {best} | {name for name, each in errors.items() if name != best and same(each)}


def table(  # noqa: PLR0913  # a protocol has that many knobs
    shapes: dict[str, Reals],
    releases: dict[str, tuple[Any, Callable[[Histogram], Histogram]]],
    measure: Callable[[Reals], tuple[float, ...]],
    words: tuple[str, ...],
    *,
    scales: list[int],
    samples: int,
    runs: int,
) -> None:
    """One table for each workload: methods down, data sets and scales across."""
    columns: dict[tuple[str, int], dict[str, Reals]] = {}
    spent: dict[str, float] = dict.fromkeys(releases, 0.0)
    for name, shape in shapes.items():
        for scale in scales:
            found: dict[str, list[tuple[float, ...]]] = {method: [] for method in releases}
            for sample in range(samples):
                draw = np.random.default_rng(100 + sample).multinomial(scale, (shape / shape.sum()).ravel())
                counts = draw.reshape(shape.shape)
                for method, (release, finish) in releases.items():
                    begun = time.process_time()
                    for _ in range(runs):
                        off = np.asarray(finish(release(counts)).counts - counts, dtype=np.float64)
                        found[method].append(tuple(1e6 * error / scale for error in measure(off)))
                    spent[method] += time.process_time() - begun
            columns[name, scale] = {method: np.array(each) for method, each in found.items()}
    many = len(columns) * samples * runs
    for i, word in enumerate(words):
        print(f"\n{word}, {samples} × {runs} runs\n")
        print("| |", " | ".join(f"{name} {scale:.0e}" for name, scale in columns), "| CPU s |")
        print("|---|" + "---|" * (len(columns) + 1))
        best = {key: competitive({method: each[:, i] for method, each in col.items()}) for key, col in columns.items()}
        for method in releases:
            means = {key: f"{column[method][:, i].mean():.3g}" for key, column in columns.items()}
            cells = [f"**{mean}**" if method in best[key] else mean for key, mean in means.items()]
            print(f"| {method} |", " | ".join(cells), f"| {spent[method] / many:.3f} |")
        if i < 2 and any(key in PUBLISHED for key in columns) and len(words) == 2:
            figures = [str(PUBLISHED[key][i]) if key in PUBLISHED else "" for key in columns]
            print("| published DAWA |", " | ".join(figures), "| 1.0 |")


def main() -> None:
    """Print the tables, or say why there are none."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sets", default="ADULT,MEDCOST,SEARCHLOGS,PATENT")
    parser.add_argument("--planes", default=PLANES)
    parser.add_argument("--scales", default="1000,100000")
    parser.add_argument("--plane-scales", default="10000,1000000")
    parser.add_argument("--side", type=int, default=128)
    chosen = parser.parse_args()
    files = [chosen.data / f"dpbench_{kind}.npz" for kind in ("1d", "2d")]
    if not all(file.exists() for file in files):
        print("The data of DPBench is not here, so nothing was measured; say where it is with `--data DIR`.")
        return
    one, two = (np.load(file) for file in files)
    names = one.files if chosen.sets == "all" else [name for name in chosen.sets.split(",") if name]
    shapes = {name: one[name].astype(np.float64) for name in names}
    scales = [int(scale) for scale in chosen.scales.split(",")]
    words = ("All prefixes", "2000 random ranges")
    table(shapes, lines((CELLS,)), line_errors(CELLS), words, scales=scales, samples=chosen.samples, runs=chosen.runs)
    names = two.files if chosen.planes == "all" else [name for name in chosen.planes.split(",") if name]
    side, block = chosen.side, 256 // chosen.side
    squares = {name: two[name].reshape(side, block, side, block).sum((1, 3)).astype(np.float64) for name in names}
    scales = [int(scale) for scale in chosen.plane_scales.split(",")]
    wide = (f"2000 random rectangles of {side} × {side} cells",)
    table(
        squares, planes((side, side)), plane_errors(side), wide, scales=scales, samples=chosen.samples, runs=chosen.runs
    )


if __name__ == "__main__":
    main()
