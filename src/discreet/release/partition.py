"""Partition: counts of intervals that are short where there are many records, and the plausible ones among them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.declared.grid import Integers
from discreet.exact import Number, share
from discreet.mechanisms.mechanism import USUAL
from discreet.noise import SECURE, Entropy
from discreet.release.histogram import Histogram
from discreet.release.interval_tree import Whole, fixed
from discreet.release.noisy_cells import Counts, released
from discreet.release.plausible_counts import plausible
from discreet.release.tree_search import Search, descend

# Chosen like those of `tree_search`, on a plane on SF-CABS-E, BEIJING-CABS-E, LOAN-FUNDED-INCOME, MDSALARY-OVERT and
# TWITTER.
_LINE_BITS, _PLANE_BITS = 3, 4  # an interval has about eight pieces, a square sixteen
_COARSEST = 6  # bits of the first level on a plane, at least: a rectangle has a long rim
_LINE_SLOPE, _PLANE_SLOPE = Fraction(7, 8), Fraction(5, 4)  # of a level's share to the one above
_LINE_INSIDE, _PLANE_INSIDE = 3.0, 40.0  # weights of the error inside groups; on a line from 2 to 4 little changes


@lru_cache(maxsize=16)
def hilbert(rows: int, columns: int) -> Whole:
    """The cells of a plane, as row · columns + column, in the order of Hilbert's curve.

    The curve fills the square of the next power of two; cells outside the plane are left out.
    """
    side = 1 << max(rows - 1, columns - 1, 1).bit_length()
    step = np.arange(side * side, dtype=np.int64)
    row, column = np.zeros_like(step), np.zeros_like(step)
    size = 1
    while size < side:  # Hilbert 1891, from the smallest square to the largest
        right, up = 1 & (step >> 1), 1 & (step ^ (step >> 1))
        turned, flipped = up == 0, (up == 0) & (right == 1)
        row, column = np.where(flipped, size - 1 - row, row), np.where(flipped, size - 1 - column, column)
        row, column = np.where(turned, column, row), np.where(turned, row, column)
        row, column = row + size * right, column + size * up
        step, size = step >> 2, size << 1
    inside = (row < rows) & (column < columns)
    order = np.asarray(row[inside] * columns + column[inside])
    fixed(order)
    return order


@released("partition")
@dataclass(frozen=True)
class Partition(Counts):
    """Goes down a tree of intervals where there are many records, and counts what it finds with all of ε on each path.

    Every level has a share of ε. An interval whose noisy count is large beside the noise of its pieces is divided. One
    that is not is counted again, with neighbours where few large groups promise less error than many small ones, by
    all that the levels below would have cost. All counts are used, corrected for what they decided. The cells of a
    plane are taken in the order of Hilbert's curve.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/partition.md, "Privacy". What was told before fixes what is counted next, and at which scale. The
        scales of all counts that a cell is in add up, inverted, to ε/distance, wherever the search stops.
    Source: after Li, Hay, Miklau & Wang 2014 (DAWA: first parts, then counts), Qardaji, Yang & Li 2013 (adaptive grids:
        look deeper where there is more) and Zhang, Xiao & Xie 2016 (PrivTree: no path pays for another's depth).
    """

    @property
    def pieces(self) -> tuple[int, ...]:
        """Of an interval, by level: powers of two, which on Hilbert's curve are rectangles."""
        bits = (self.cells - 1).bit_length()
        if len(self.shape) == 1:
            levels = max(1, round(bits / _LINE_BITS))
            return tuple(1 << (bits + levels - 1 - level) // levels for level in range(levels))
        below = max(0, (bits - _COARSEST) // _PLANE_BITS)
        return (1 << bits - _PLANE_BITS * below, *(1 << _PLANE_BITS for _ in range(below)))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Of ε, by level: they add up to 1."""
        slope = _LINE_SLOPE if len(self.shape) == 1 else _PLANE_SLOPE
        weights = [slope**level for level in range(len(self.pieces))]
        return tuple(weight / sum(weights) for weight in weights)

    @property
    def search(self) -> Search:
        """How it is searched."""
        return Search(self.pieces, self.shares, _LINE_INSIDE if len(self.shape) == 1 else _PLANE_INSIDE)

    def error(self, confidence: Number = USUAL) -> None:
        """Known after paying: how exact any count will be depends on how many records there are, and where."""
        share(confidence, "confidence")

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The parts with noise, each divided evenly among its cells."""
        parts = self.parts(counts, rng)
        return parts if len(self.pieces) == 1 else parts.searched()  # in one level nothing is chosen

    def parts(self, counts: Integers, rng: Entropy) -> Histogram:
        """The same, with the standard errors of the noise alone."""
        values = self.counted(counts).ravel()
        order = np.arange(values.size) if len(self.shape) == 1 else hilbert(*self.shape)
        told = descend(values[order], self.search, self.distance / self.epsilon, rng)
        leaves, splits = told.consistent()
        sizes = np.diff(told.ends, prepend=0)
        part = np.empty_like(order)
        part[order] = np.repeat(np.arange(sizes.size), sizes)
        return Histogram.of(leaves, splits, self.shape, part)


@released("automatic")
@dataclass(frozen=True)
class Automatic(Counts):
    """Takes a `Partition`, and of its counts the plausible ones: among the best on nearly all data of DPBench.

    What suits depends on ε times the number of records. Others buy the total to choose by it. Here the first level of
    the search is that probe: it says more than a total, decides for each interval by itself, and is used again in the
    counts. With many records the search ends in a hierarchy of all cells, with few in some large parts. On even data
    with ε times records of some hundred, the error of `Uniform` is up to two fifths smaller; that data is even is not
    known for free (docs/proofs/partition.md, "What even data costs").

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: as `Partition` (docs/proofs/partition.md, "Privacy"); the rest is computed from what that tells.
    Source: Hay, Machanavajjhala, Miklau, Chen & Zhang 2016: what suits depends on ε times the number of records.
    """

    @property
    def chosen(self) -> Partition:
        """What is taken."""
        return Partition(self.epsilon, self.shape, self.most, self.neighbours)

    def error(self, confidence: Number = USUAL) -> None:
        """Known after paying, as with a `Partition`."""
        return self.chosen.error(confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The plausible counts of the parts that were found."""
        return plausible(self.chosen.parts(counts, rng)).chosen()
