"""Hierarchies and the wavelet: noisy counts of a tree of intervals, made consistent; which tree is best for ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, count, nonnegative, positive, shown
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours
from discreet.release.histogram import Histogram
from discreet.release.interval_tree import Reals, Splits, Whole, branches, consistent, fixed, starts, totals
from discreet.release.noisy_cells import (
    Counts,
    flat,
    level_variances,
    noise_variance,
    noisy,
    noisy_levels,
    released,
    within,
)

_HEIGHTS = range(1, 7)
_SLOPES = tuple(Fraction(text) for text in ("0.7", "0.85", "1", "1.2", "1.5"))  # of a level's share to the one above
_LOOKED_AT = 256  # ends of prefixes, and lengths and places of ranges


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

    about: ClassVar[str] = "the cells up to any one"

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


def tuned(epsilon: Number, cells: int, most: int = 1, neighbours: Neighbours = AddRemove()) -> Hierarchy:
    """Of the hierarchies tried, that with the least mean variance over prefixes and ranges. Its root is not measured.

    Least squares makes every choice unbiased, so this looks at no data. It takes time linear in the cells.
    """
    size = count(cells, "cells")
    branching, shares = planned_shares(size, _variance_of_share)
    return Hierarchy(positive(epsilon, "epsilon"), (size,), most, neighbours, branching, shares)


@lru_cache(maxsize=1024)
def planned_shares(cells: int, variance: Callable[[Fraction], float]) -> tuple[int, tuple[Fraction, ...]]:
    """The branching and the shares of the tree that is best for ranges, if a share buys a level of such a variance."""
    if cells == 1:
        return 2, ()
    plans = [(base, shares) for base in _bases(cells) for shares in _shares(len(branches(cells, base)))]
    return min(plans, key=lambda plan: _cost(_planned(cells, plan[0], plan[1], variance)))


def _variance_of_share(share: Fraction) -> float:
    """Of Laplace noise for a share of ε, beside others."""
    return float(1 / share**2)


def _bases(cells: int) -> list[int]:
    """For each height the least base that reaches over the cells."""
    bases = {max(2, math.ceil(cells ** (1 / height) - 1e-9)) for height in _HEIGHTS}
    return sorted(base for base in bases if base <= max(2, 64)) or [2]


def _shares(levels: int) -> list[tuple[Fraction, ...]]:
    """Nothing for the root; below it shares in geometric progression."""
    slopes = _SLOPES if levels > 1 else (Fraction(1),)
    lists = [[slope**level for level in range(levels)] for slope in slopes]
    return [(Fraction(0), *(weight / sum(weights) for weight in weights)) for weights in lists]


def _planned(cells: int, branching: int, shares: tuple[Fraction, ...], variance: Callable[[Fraction], float]) -> Splits:
    children = branches(cells, branching)
    variances = noisy_levels(children, [variance(part) if part else None for part in shares])
    return consistent(children, [np.zeros(level.size) for level in variances], variances)[1]


def _cost(splits: Splits) -> float:
    """Twice the mean variance of a prefix and once that of a range: they are then about equally large."""
    ends = np.unique(np.linspace(0, splits.leaves - 1, _LOOKED_AT).astype(np.int64))
    first, last = _ranges(splits.leaves)
    return 2 * float(_mean(splits, np.zeros_like(ends), ends)) + float(_mean(splits, first, last))


def _mean(splits: Splits, first: Whole, last: Whole) -> float:
    ones: Reals = np.ones(first.size)
    return float(splits.ranges(first, ones, last, ones).mean())


@lru_cache(maxsize=64)
def _ranges(cells: int) -> tuple[Whole, Whole]:
    """Ranges whose length and place are spread evenly, by two irrational steps: the same every time."""
    steps = np.arange(1, _LOOKED_AT + 1)
    lengths = 1 + np.floor(np.mod(steps * math.sqrt(2), 1) * cells).astype(np.int64)
    places = np.floor(np.mod(steps * math.sqrt(3), 1) * (cells - lengths + 1)).astype(np.int64)
    ends = places + lengths - 1
    fixed(places, ends)
    return places, ends


@released("wavelet")
@dataclass(frozen=True)
class Wavelet(Counts):
    """The total of a binary tree and, at each node, left less right, with noise; then turned back into cells.

    These are the Haar coefficients before they are divided by the number of cells, so they are whole and one noise
    scale for all is the weighting of Privelet. `shares` divides ε among the total and the levels below it, coarse
    first; none at all means evenly, and each is above 0.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/wavelet.md. A record moves the total by 1 and one difference of each level by 1 up or down.
    Source: Xiao, Wang & Gehrke 2010.
    """

    about: ClassVar[str] = "the cells up to any one"

    shares: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        flat(self.shape, "a wavelet")
        settle(self, shares=divided(self.shares, len(self.children) + 1))
        if not all(self.shares):
            raise Refusal(
                f"a wavelet measures every level, and a share of 0 buys none: {shown(self.shares)}",
                hint="a hierarchy may leave one out",
            )
        self.payable(self.shares, "shares")

    @property
    def children(self) -> tuple[Whole, ...]:
        """The tree: children per node, root first, two each or, at the end of a level, one."""
        return _halves(self.cells)

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """Of the noise of the total, and of the differences by level."""
        return tuple(self.distance / (share * self.epsilon) for share in self.shares or even(len(self.children) + 1))

    @property
    def splits(self) -> Splits:
        """How exact every range will be: known before anything is bought."""
        total, *differences = map(noise_variance, self.scales)
        spread = [np.full(int(level.sum()), each / 2) for level, each in zip(self.children, differences, strict=True)]
        return Splits(total, self.children, tuple(spread))

    def error(self, confidence: Number = USUAL) -> Fraction:
        """An α that a given prefix misses by at most, with this probability, whichever it is.

        For sums of several draws that is counted in tests, not proved (docs/proofs/hierarchy.md, "Error bars").
        """
        return worst_prefix(self.splits, confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The cells."""
        levels = totals(self.counted(counts), self.children)
        level = noisy(levels[0], self.scales[0], rng).astype(np.float64)
        for children, below, scale in zip(self.children, levels[1:], self.scales[1:], strict=True):
            first, pair = starts(children)[:-1], children == 2
            difference = noisy(below[first[pair]] - below[first[pair] + 1], scale, rng)
            level = np.repeat(level, children)
            level[first[pair]] = (level[first[pair]] + difference) / 2
            level[first[pair] + 1] -= level[first[pair]]
        return Histogram.of(level, self.splits, self.shape)


@lru_cache(maxsize=4)
def _halves(cells: int) -> tuple[Whole, ...]:
    tree = branches(cells, 2)
    fixed(*tree)
    return tree
