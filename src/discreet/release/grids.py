"""Grids of a plane: rectangles as fine as the number of records warrants, once or twice, or quartered and quartered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from discreet.declared.grid import Integers
from discreet.exact import Number, count, share
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.release.hierarchy_and_wavelet import divided, even
from discreet.release.histogram import WIDER_GRID, Histogram
from discreet.release.interval_tree import Reals, Splits, Whole, consistent, fixed, starts, totals
from discreet.release.noisy_cells import Counts, level_variances, noise_variance, noisy, plane, released, within

_COARSE, _FINE = 10, 5  # Qardaji, Yang & Li 2013: c and c₂ of their two guidelines
_LEAST = 10  # rectangles a side of the first of two grids


@released("uniform-grid")
@dataclass(frozen=True)
class UniformGrid(Counts):
    """Counts rectangles of one size, √(N ε / 10) a side, and takes cells within a rectangle to be equal.

    N is the total, bought with `ratio` of ε, and used again in the counts; the ε in the root is the rest, for one of
    `distance` records.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/grids.md, "One grid". The total loses ratio · ε. Given it, a record is in one rectangle, so the
        rectangles lose the rest.
    Source: Qardaji, Yang & Li 2013, "Differentially private grids for geospatial data".
    """

    ratio: Fraction = Fraction(1, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self)

    def error(self, confidence: Number = USUAL) -> None:
        """Known after paying: how finely is counted depends on how many records there are."""
        share(confidence, "confidence")

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The rectangles with noise, made to agree with the total."""
        values = self.counted(counts)
        first, rest = (self.distance / (part * self.epsilon) for part in (self.ratio, 1 - self.ratio))
        total = noisy(values.sum(keepdims=True).ravel(), first, rng)
        label, pieces = boxes(self.shape, guideline(float(total[0]), rest, _COARSE))
        sums = noisy(added(values, label, pieces), rest, rng)
        variances = [np.array([noise_variance(first)]), np.full(pieces, noise_variance(rest))]
        leaves, splits = consistent((np.array([pieces]),), [total, sums], variances)
        return Histogram.of(leaves, splits, self.shape, label).chosen(WIDER_GRID)


@released("adaptive-grid")
@dataclass(frozen=True)
class AdaptiveGrid(Counts):
    """Counts rectangles of one size, then divides each into as many as its count warrants, and counts these.

    The total is bought with `ratio` of ε; of the rest the first grid gets half.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/grids.md, "Two grids". A record is in one rectangle of either grid. How a rectangle is divided
        depends on released counts only.
    Source: Qardaji, Yang & Li 2013, "Differentially private grids for geospatial data".
    """

    ratio: Fraction = Fraction(1, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self)

    def error(self, confidence: Number = USUAL) -> None:
        """Known after paying: how finely is counted depends on how many records there are."""
        share(confidence, "confidence")

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
        return Histogram.of(leaves, splits, self.shape, label).chosen(WIDER_GRID)


def _check(grid: UniformGrid | AdaptiveGrid) -> None:
    """Refuse what is no plane, and a `ratio` with which one of the parts of ε buys nothing."""
    plane(grid.shape, "a grid")
    settle(grid, ratio=share(grid.ratio, "ratio"))
    grid.payable((grid.ratio, (1 - grid.ratio) / 2), "a ratio")  # the second of two grids has half of the rest


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
    for box, (cells, many) in enumerate(zip(np.split(order, ends[:-1]), held.tolist(), strict=True)):
        top, left = row[cells[0]], column[cells[0]]
        sides = (int(row[cells[-1]] - top) + 1, int(column[cells[-1]] - left) + 1)
        inner, children[box] = boxes(sides, guideline(many, scale, _FINE))
        label[cells] = inner
    return label + starts(children)[large], children


@released("quadtree")
@dataclass(frozen=True)
class QuadTree(Counts):
    """Counts of a tree of rectangles, each divided in four, `height` times, with noise, made consistent.

    Rectangles at the bottom may hold several cells, which are taken to be equal. `shares` divides ε among the levels,
    root first; none at all means evenly.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/hierarchy.md, "Privacy". A record is in one rectangle of each level.
    Source: Cormode, Procopiuc, Shen, Srivastava & Yu 2012.
    """

    height: int = 10
    shares: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        plane(self.shape, "a quadtree")
        settle(self, height=count(self.height, "height"))
        settle(self, shares=divided(self.shares, len(self._tree[1]) + 1))
        self.payable(self.shares, "shares")

    @property
    def _tree(self) -> tuple[Whole, tuple[Whole, ...]]:
        return _quarters(self.shape, self.height)

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        """Of the noise, by level, root first; None where a level is not measured."""
        each = self.shares or even(len(self._tree[1]) + 1)
        return tuple(self.distance / (part * self.epsilon) if part else None for part in each)

    @property
    def splits(self) -> Splits:
        """How exact every sum of rectangles at the bottom will be: known before anything is bought."""
        _, children = self._tree
        variances = level_variances(children, self.scales)
        return consistent(children, [np.zeros(level.size) for level in variances], variances)[1]

    def error(self, confidence: Number = USUAL) -> Fraction:
        """An α that the total misses by at most, with this probability.

        For sums of several draws that is counted in tests, not proved (docs/proofs/hierarchy.md, "Error bars").
        """
        return within(self.splits.total, confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The consistent cells."""
        label, children = self._tree
        levels = totals(added(self.counted(counts), label, int(label.max()) + 1), children)
        measured = [
            np.zeros(level.size) if scale is None else noisy(level, scale, rng)
            for level, scale in zip(levels, self.scales, strict=True)
        ]
        leaves, splits = consistent(children, measured, level_variances(children, self.scales))
        return Histogram.of(leaves, splits, self.shape, label)


@lru_cache(maxsize=16)
def _quarters(shape: tuple[int, ...], height: int) -> tuple[Whole, tuple[Whole, ...]]:
    """The rectangle at the bottom of each cell, and the children of every rectangle, root first.

    A side of one cell is not divided. Rectangles are numbered in the order of the tree.
    """
    rows, columns = (np.arange(side) for side in shape)
    levels = min(height, max(side - 1 for side in shape).bit_length())
    keys = np.zeros(shape, dtype=np.int64)
    known = [np.zeros(keys.size, dtype=np.int64)]
    for level in range(1, levels + 1):
        down, across = (_piece(line, 1 << level) for line in (rows, columns))
        quarter = 2 * (down[:, None] & 1) + (across[None, :] & 1)
        keys = 4 * keys + quarter
        known.append(np.unique(keys, return_inverse=True)[1].ravel())
    children = []
    for above, below in pairwise(known):
        parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
        parent[below] = above
        children.append(np.bincount(parent))
    fixed(known[-1], *children)
    return known[-1], tuple(children)


def _piece(line: Whole, pieces: int) -> Whole:
    """Which of so many equal pieces of a line each cell is in; the halves of a piece are 2i and 2i + 1."""
    side = 1 << max(line.size - 1, 0).bit_length()
    return np.asarray(line * pieces // side)
