"""Gaussian counts: cells, or a tree of intervals over them, with discrete Gaussian noise, for a price in ρ."""

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
from discreet.exact import Number, count, positive, spoken
from discreet.mechanisms import GaussianVector, Pair
from discreet.mechanisms.mechanism import USUAL, Takes, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Concentrated, Neighbours
from discreet.release.hierarchy_and_wavelet import divided, even, planned_shares, worst_prefix
from discreet.release.histogram import Histogram
from discreet.release.interval_tree import Reals, Splits, Whole, branches, consistent, fixed, totals
from discreet.release.noisy_cells import (
    TINY,
    Measured,
    Names,
    counted_within,
    neighbouring_counts,
    noisy_levels,
    released,
    shaped,
)

_LEAST, _MOST = Fraction(1, 10**15), Fraction(10**9)  # of ρ for one record: floats hold all variances in between


@released("gaussian-tree")
@dataclass(frozen=True)
class GaussianTree:
    """Counts of a tree of intervals over cells, with discrete Gaussian noise, made consistent by least squares.

    `shares` divides ρ among the levels, root first; none at all means evenly. A level with share 0 is not measured, the
    last one must be. Of a plane, and where `branching` is the number of cells, the tree has a root and its leaves:
    with shares 0 and 1 every cell has its own noise and nothing else is told.

    Guarantee: Concentrated(rho) for counts that differ by the records of one unit, at most `most` of them; where units
        are replaced, by as many taken away and as many others.
    Proof: docs/proofs/hierarchy.md, "Gaussian noise". Counts of neighbours differ by at most `distance_squared` in L2,
        squared, at every level, so a level of variance distance_squared/(2 share · ρ) loses share · ρ, and shares add
        up to 1. Least squares is computed from what is released.
    Source: Bun & Steinke 2016, Proposition 1.6 and Lemma 1.7; Canonne, Kamath & Steinke 2020, Theorem 4; trees: Hay,
        Rastogi, Miklau & Suciu 2010.
    """

    takes: ClassVar[Takes] = Takes.COUNTS

    rho: Fraction
    shape: tuple[int, ...]
    most: int = 1
    neighbours: Neighbours = AddRemove()
    branching: int = 2
    shares: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        settle(
            self,
            rho=positive(self.rho, "rho"),
            shape=shaped(self.shape),
            most=count(self.most, "most"),
            neighbours=self.neighbours,
        )
        settle(self, branching=count(self.branching, "branching", least=2))
        if len(self.shape) == 2 and self.branching < self.cells:
            raise Refusal(
                f"expected branching of at least {self.cells} for a plane, got branching={self.branching}",
                hint="rows and columns have no tree of intervals: GaussianTree.cell_by_cell takes every cell",
            )
        settle(self, shares=divided(self.shares, len(self.children) + 1))
        bought = [share * self.rho / self.distance_squared for share in self.shares or (Fraction(1),) if share]
        if not _LEAST <= min(bought) <= max(bought) <= _MOST:
            each = f"each part of it and one of {self.most} records"
            raise Refusal(f"expected rho between 1e-15 and 1e9 for {each}, got rho={spoken(self.rho)}")

    @classmethod
    def cell_by_cell(
        cls, rho: Number, shape: tuple[int, ...], most: int = 1, neighbours: Neighbours = AddRemove()
    ) -> GaussianTree:
        """Noise on every cell: the best for single cells, poor for long ranges."""
        size = math.prod(shaped(shape))
        shares = (Fraction(0), Fraction(1)) if size > 1 else ()
        return cls(positive(rho, "rho"), shape, most, neighbours, max(2, size), shares)

    @classmethod
    def for_ranges(cls, rho: Number, cells: int, most: int = 1, neighbours: Neighbours = AddRemove()) -> GaussianTree:
        """Of the trees tried, that with the least mean variance over prefixes and ranges. Its root is not measured."""
        size = count(cells, "cells")
        branching, shares = planned_shares(size, _variance_of_share)
        return cls(positive(rho, "rho"), (size,), most, neighbours, branching, shares)

    @property
    def privacy(self) -> Concentrated:
        """ρ as asked for."""
        return Concentrated(self.rho)

    @property
    def about(self) -> str:
        """Of what its error speaks."""
        return "one cell" if self._plain else "the cells up to any one"

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @property
    def numbers(self) -> int:
        """How many it tells at most."""
        return self.cells

    @property
    def distance_squared(self) -> int:
        """How far the counts of neighbours are apart in L2, squared, at most."""
        return self.most**2 if isinstance(self.neighbours, AddRemove) else 2 * self.most**2

    @property
    def children(self) -> tuple[Whole, ...]:
        """The tree: children per node, root first."""
        return _branches(self.cells, self.branching)

    @property
    def variances(self) -> tuple[Fraction | None, ...]:
        """Of the noise, by level, root first; None where a level is not measured."""
        each = self.shares or even(len(self.children) + 1)
        return tuple(self.distance_squared / (2 * share * self.rho) if share else None for share in each)

    @property
    def splits(self) -> Splits:
        """How exact every range will be: known before anything is bought."""
        return _splits(self)

    def tables(self, columns: Names) -> tuple[Names, ...]:
        """One table, of all columns."""
        return (columns,)

    def bins_at(self, place: int) -> int:  # noqa: ARG002  # of those that choose
        """No bins of its own."""
        return 0

    def error(self, confidence: Number = USUAL) -> Fraction | int:
        """An α that a given prefix misses by at most, with this probability; of plain cells, a given cell.

        For sums of several draws that is counted in tests, not proved (docs/proofs/hierarchy.md, "Error bars").
        """
        alone = self.variances[-1]
        if self._plain and alone is not None:
            return GaussianVector(alone).error(confidence)
        return worst_prefix(self.splits, confidence)

    def pairs(self) -> tuple[Pair[Whole], ...]:
        """All of a unit's records in one cell of none, at either end, or moved from one to the other; beside others."""
        added = neighbouring_counts(self.shape, self.most)
        if isinstance(self.neighbours, AddRemove):
            return added
        first, last = added[0].right, added[1].right
        return (*added, Pair(first, last, "all of a unit's records move from the first cell to the last"))

    def measure(self, counts: Callable[[Names], Whole], columns: Names, rng: Entropy) -> Measured:
        """What it tells of all columns together."""
        return Measured(self(counts(columns), rng=rng))

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The consistent cells."""
        levels = totals(counted_within(counts, self.shape).ravel(), self.children)
        drawn = [None if variance is None else GaussianVector(variance) for variance in self.variances]
        measured = [
            np.zeros(level.size) if noise is None else noise(level, rng=rng)
            for level, noise in zip(levels, drawn, strict=True)
        ]
        leaves, splits = consistent(self.children, measured, _known(self))
        return Histogram.of(leaves, splits, self.shape)

    @property
    def _plain(self) -> bool:
        """Whether every cell has noise of its own, and nothing else is told."""
        return self.cells == 1 or self.shares == (Fraction(0), Fraction(1))


def _variance_of_share(share: Fraction) -> float:
    """How noisy a level is, beside others, for a share of ρ."""
    return float(1 / share)


def _known(tree: GaussianTree) -> list[Reals]:
    """The variance of each node's noise: that of whole noise is no larger than its parameter."""
    return noisy_levels(tree.children, [None if v is None else max(float(v), TINY) for v in tree.variances])


@lru_cache(maxsize=4)
def _branches(cells: int, branching: int) -> tuple[Whole, ...]:
    tree = branches(cells, branching)
    fixed(*tree)
    return tree


@lru_cache(maxsize=3)  # few: whoever asks for prices chooses what is kept, and of 2^22 cells that is 300 MB
def _splits(tree: GaussianTree) -> Splits:
    return consistent(tree.children, [np.zeros(level.size) for level in _known(tree)], _known(tree))[1]
