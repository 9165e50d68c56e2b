"""Counts of rectangles: a grid as fine as the number of records warrants, once or twice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.declared.grid import Integers
from discreet.exact import Number, share
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.release.counts import Counts, noise_variance, noisy, plane, released
from discreet.release.histogram import Histogram
from discreet.release.tree import consistent
from discreet.release.tree_variances import Reals, Whole, starts

_COARSE, _FINE = 10, 5  # Qardaji, Yang & Li 2013: c and c₂ of their two guidelines
_LEAST = 10  # rectangles a side of the first of two grids


@dataclass(frozen=True)
class _Gridded(Counts):
    """What both grids have: a total, bought first with `ratio` of ε, which says how fine they may be."""

    ratio: Fraction = Fraction(1, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        plane(self.shape, "a grid")
        settle(self, ratio=share(self.ratio, "ratio"))
        self.payable((self.ratio, (1 - self.ratio) / 2), "a ratio")  # the second of two grids has half of the rest

    def error(self, confidence: Number = USUAL) -> None:
        """Known after paying: how finely is counted depends on how many records there are."""
        share(confidence, "confidence")


@released("uniform-grid")
@dataclass(frozen=True)
class UniformGrid(_Gridded):
    """Counts rectangles of one size, √(N ε / 10) a side, and takes cells within a rectangle to be equal.

    N is the total, bought with `ratio` of ε, and used again in the counts; the ε in the root is the rest, for one of
    `distance` records.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/grids.md, "One grid". The total loses ratio · ε. Given it, a record is in one rectangle, so the
        rectangles lose the rest.
    Source: Qardaji, Yang & Li 2013, "Differentially private grids for geospatial data".
    """

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The rectangles with noise, made to agree with the total."""
        values = self.counted(counts)
        first, rest = (self.distance / (part * self.epsilon) for part in (self.ratio, 1 - self.ratio))
        total = noisy(values.sum(keepdims=True).ravel(), first, rng)
        label, pieces = boxes(self.shape, guideline(float(total[0]), rest, _COARSE))
        sums = noisy(added(values, label, pieces), rest, rng)
        variances = [np.array([noise_variance(first)]), np.full(pieces, noise_variance(rest))]
        leaves, splits = consistent((np.array([pieces]),), [total, sums], variances)
        return Histogram.of(leaves, splits, self.shape, label).chosen()


@released("adaptive-grid")
@dataclass(frozen=True)
class AdaptiveGrid(_Gridded):
    """Counts rectangles of one size, then divides each into as many as its count warrants, and counts these.

    The total is bought with `ratio` of ε; of the rest the first grid gets half.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/grids.md, "Two grids". A record is in one rectangle of either grid. How a rectangle is divided
        depends on released counts only.
    Source: Qardaji, Yang & Li 2013, "Differentially private grids for geospatial data".
    """

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The small rectangles, consistent with the large ones and the total."""
        values = self.counted(counts)
        first, half = self.distance / (self.ratio * self.epsilon), 2 * self.distance / ((1 - self.ratio) * self.epsilon)
        total = noisy(values.sum(keepdims=True).ravel(), first, rng)
        side = max(_LEAST, math.ceil(guideline(float(total[0]), half / 2, _COARSE) / 4))
        large, pieces = boxes(self.shape, side)
        coarse = noisy(added(values, large, pieces), half, rng)
        label, children = divided_boxes(self.shape, large, coarse.astype(np.float64), half)
        fine = noisy(added(values, label, int(children.sum())), half, rng)
        tree = (np.array([pieces]), children)
        each = noise_variance(half)
        variances = [np.array([noise_variance(first)]), np.full(pieces, each), np.full(fine.size, each)]
        leaves, splits = consistent(tree, [total, coarse, fine], variances)
        return Histogram.of(leaves, splits, self.shape, label).chosen()


def guideline(total: float, scale: Fraction, constant: int) -> int:
    """Rectangles a side, √(N/(constant · scale)): their noise is then about as large as what evenness misses."""
    return max(1, round(math.sqrt(max(0.0, total) / (constant * float(scale)))))


def boxes(shape: tuple[int, ...], side: int) -> tuple[Whole, int]:
    """The rectangle of each cell, if either side is cut into so many pieces or as many as it has cells; how many."""
    rows, columns = (np.arange(cells) * min(side, cells) // cells for cells in shape)
    across = int(columns[-1]) + 1
    return (rows[:, None] * across + columns[None, :]).ravel(), (int(rows[-1]) + 1) * across


def added(values: Whole, label: Whole, pieces: int) -> Whole:
    """The sum of the cells of each label, in whole numbers."""
    sums = np.zeros(pieces, dtype=np.int64)
    np.add.at(sums, label, values.ravel())
    return sums


def divided_boxes(shape: tuple[int, ...], large: Whole, held: Reals, scale: Fraction) -> tuple[Whole, Whole]:
    """Rectangles cut further by their counts: the small one of each cell, and how many each large one has."""
    row, column = np.divmod(np.arange(large.size), shape[1])
    label, children = np.zeros_like(large), np.ones(held.size, dtype=np.int64)
    order = np.argsort(large, kind="stable")
    ends = np.cumsum(np.bincount(large, minlength=held.size))
    for box, (cells, count) in enumerate(zip(np.split(order, ends[:-1]), held.tolist(), strict=True)):
        top, left = row[cells[0]], column[cells[0]]
        sides = (int(row[cells[-1]] - top) + 1, int(column[cells[-1]] - left) + 1)
        inner, children[box] = boxes(sides, guideline(count, scale, _FINE))
        label[cells] = inner
    return label + starts(children)[large], children
