"""Noisy counts of a tree of intervals, made consistent: every range is a sum of few of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, count, nonnegative, positive, shown
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours
from discreet.release.counts import Counts, flat, level_variances, noisy, released, within
from discreet.release.histogram import Histogram
from discreet.release.tree import branches, consistent, totals
from discreet.release.tree_variances import Splits, Whole, fixed


@released("hierarchy")
@dataclass(frozen=True)
class Hierarchy(Counts):
    """Counts of a tree of intervals with `branching` children a node, with noise, made consistent by least squares.

    `shares` divides ε among the levels, root first; none at all means evenly. A level with share 0 is not measured,
    the last one must be. `of` takes the branching that is best for ranges (Hb); branching 2 is the classical tree (H).

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/hierarchy.md, "Privacy". A record is in one node of each level, so a level at scale
        distance/(share · ε) loses share · ε, and shares add up to 1. Least squares is computed from what is released.
    Source: Hay, Rastogi, Miklau & Suciu 2010; branching: Qardaji, Yang & Li 2013.
    """

    branching: int = 2
    shares: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        flat(self.shape, "a hierarchy")
        settle(self, branching=count(self.branching, "branching", least=2))
        settle(self, shares=divided(self.shares, len(self.children) + 1))
        self.payable(self.shares, "shares")

    @classmethod
    def of(cls, epsilon: Number, cells: int, most: int = 1, neighbours: Neighbours = AddRemove()) -> Hierarchy:
        """The one whose branching suits ranges over so many cells (Hb)."""
        size = count(cells, "cells")
        return cls(positive(epsilon, "epsilon"), (size,), most, neighbours, best_branching(size))

    @property
    def children(self) -> tuple[Whole, ...]:
        """The tree: children per node, root first."""
        return _branches(self.cells, self.branching)

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        """Of the noise, by level, root first; None where a level is not measured."""
        each = self.shares or even(len(self.children) + 1)
        return tuple(self.distance / (share * self.epsilon) if share else None for share in each)

    @property
    def splits(self) -> Splits:
        """How exact every range will be: known before anything is bought."""
        return _splits(self)

    def error(self, confidence: Number = USUAL) -> Fraction:
        """An α that a given prefix misses by at most, with this probability, whichever it is.

        For sums of several draws that is counted in tests, not proved (docs/proofs/hierarchy.md, "Error bars").
        """
        return worst_prefix(self.splits, confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The consistent cells."""
        children, scales = self.children, self.scales
        levels = totals(self.counted(counts), children)
        measured = [
            np.zeros(level.size) if scale is None else noisy(level, scale, rng)
            for level, scale in zip(levels, scales, strict=True)
        ]
        leaves, splits = consistent(children, measured, level_variances(children, scales))
        return Histogram.of(leaves, splits, self.shape)


def best_branching(cells: int) -> int:
    """The b that minimises (b−1)h³ − 2(b+1)h²/3 with h = ⌈log_b cells⌉: the mean variance of a range (Hb).

    Source: Qardaji, Yang & Li 2013, Section 4. A larger b than ⌈cells^(1/h)⌉ at the same h only adds children.
    """
    if cells <= 2:
        return 2
    wide = {_root(cells, height) for height in range(1, cells.bit_length() + 1)}
    return min(sorted(base for base in wide if base >= 2), key=lambda base: _range_cost(base, cells))


def _root(cells: int, height: int) -> int:
    """The least b with b^height ≥ cells."""
    base = max(1, round(math.pow(cells, 1 / height)) - 1)
    while base**height < cells:
        base += 1
    return base


def _range_cost(base: int, cells: int) -> Fraction:
    height, reach = 0, 1
    while reach < cells:
        height, reach = height + 1, reach * base
    return (base - 1) * Fraction(height) ** 3 - Fraction(2, 3) * (base + 1) * height**2


def divided(shares: tuple[Fraction, ...], levels: int) -> tuple[Fraction, ...]:
    """Shares of ε, one for each level, that add up to 1; none at all means evenly."""
    if not isinstance(shares, tuple):
        raise Refusal(f"expected shares as a tuple, got shares={shown(shares)}")
    parts = tuple(nonnegative(share, "shares") for share in shares)
    if parts and (len(parts) != levels or sum(parts) != 1 or not parts[-1]):
        raise Refusal(
            f"expected {levels} shares that add up to 1, the last above 0, got shares={shown([str(p) for p in parts])}",
            hint="leave shares out to divide evenly",
        )
    return parts


def even(levels: int) -> tuple[Fraction, ...]:
    """Equal shares."""
    return (Fraction(1, levels),) * levels


def worst_prefix(splits: Splits, confidence: Number) -> Fraction:
    """For the prefix with the largest variance."""
    ends = np.arange(splits.leaves)
    variances = splits.ranges(np.zeros_like(ends), np.ones(ends.size), ends, np.ones(ends.size))
    return within(float(variances.max()), confidence)


@lru_cache(maxsize=4)
def _branches(cells: int, branching: int) -> tuple[Whole, ...]:
    tree = branches(cells, branching)
    fixed(*tree)
    return tree


@lru_cache(maxsize=3)  # few: whoever asks for prices chooses what is kept, and of 2^22 cells that is 300 MB
def _splits(hierarchy: Hierarchy) -> Splits:
    children = hierarchy.children
    variances = level_variances(children, hierarchy.scales)
    return consistent(children, [np.zeros(level.size) for level in variances], variances)[1]
