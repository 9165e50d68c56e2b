"""Wavelet: noisy Haar coefficients in whole numbers, a total and at every node its left half less its right."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.release.counts import Counts, flat, noise_variance, noisy, released
from discreet.release.hierarchy import divided, even, worst_prefix
from discreet.release.histogram import Histogram
from discreet.release.tree import Splits, Whole, branches, fixed, starts, totals


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
                "a wavelet measures every level, and a share of 0 buys none", hint="a hierarchy may leave one out"
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
