"""A tree over the plane: each rectangle has four quarters, and every level is counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from discreet.declared.grid import Integers
from discreet.exact import Number, count
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.release.counts import Counts, level_variances, noisy, plane, released, within
from discreet.release.grids import added
from discreet.release.hierarchy import divided, even
from discreet.release.histogram import Histogram
from discreet.release.tree import consistent, totals
from discreet.release.tree_variances import Splits, Whole, fixed


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
