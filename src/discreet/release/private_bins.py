"""Private bins, which hold about as many records each: chosen with one part of ε, counted with the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, count, share, shown
from discreet.mechanisms import registered
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.release.counting_methods import counting
from discreet.release.hierarchy_and_wavelet import Hierarchy, tuned
from discreet.release.histogram import Histogram
from discreet.release.interval_tree import Whole
from discreet.release.noisy_cells import Counts, Measured, Names


@dataclass(frozen=True)
class Chosen:
    """Where the bins of each side begin and end, in cells of the fine grid, and the counts of the bins."""

    cuts: tuple[tuple[int, ...], ...]
    histogram: Histogram


@registered("private-bins")
@dataclass(frozen=True)
class PrivateBins(Counts):
    """Cuts a fine public grid into `bins` bins of about equal counts, at `ratio` of ε, and counts them at the rest.

    `bins` says how many, for each side; 0 leaves a side as it is. Each side that is cut gets an equal part of `ratio`,
    for a `Hierarchy` over its cells, and its bins end where the released shares come nearest to 1/bins, 2/bins, …
    Where two ends fall together there is one bin less. `method` counts the bins.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: the sums along a side are a line of cells of which a record is in one, and so
        are the bins once their ends are told: either way the counts of neighbours differ by at most `distance`. Each
        hierarchy loses its part of ratio · ε, the counts of the bins the rest, and the ends are computed from what the
        hierarchies released (composition, the second stage chosen after the first).
    Source: after Li, Hay, Miklau & Wang 2014 (first parts, then counts), with the hierarchy of Hay, Rastogi, Miklau &
        Suciu 2010 in place of their search.
    """

    bins: tuple[int, ...] = (16,)
    ratio: Fraction = Fraction(1, 4)
    method: str = "identity"

    def __post_init__(self) -> None:
        super().__post_init__()
        bins = tuple(count(many, "bins", least=0) for many in listed(self.bins))
        if len(bins) != len(self.shape):
            raise Refusal(f"expected bins as a tuple, one number a side, got bins={bins}")
        if not any(bins) or any(many > side for many, side in zip(bins, self.shape, strict=True)):
            raise Refusal(f"expected bins up to the cells of each side, {self.shape}, and not 0 all, got bins={bins}")
        settle(self, bins=bins, ratio=share(self.ratio, "ratio"))
        self.counter(self.coarse)  # refuses what no run could build
        self.finder(self.shape[0])

    @property
    def coarse(self) -> tuple[int, ...]:
        """The shape of the bins, if no two ends fall together."""
        return tuple(many or side for many, side in zip(self.bins, self.shape, strict=True))

    def finder(self, cells: int) -> Hierarchy:
        """What the ends of bins along so many cells are read off."""
        cut = sum(1 for many in self.bins if many)
        return tuned(self.ratio * self.epsilon / cut, cells, self.most, self.neighbours)

    def counter(self, shape: tuple[int, ...]) -> Counts:
        """What counts bins of this shape."""
        return counting(self.method, (1 - self.ratio) * self.epsilon, shape, self.most, self.neighbours)

    @property
    def numbers(self) -> int:
        """As many as there are bins, if no two ends fall together."""
        return math.prod(self.coarse)

    @property
    def about(self) -> str:  # type: ignore[override]  # it depends on the method
        """As the method's."""
        return self.counter(self.coarse).about

    def bins_at(self, place: int) -> int:
        """The bins of a side that is cut."""
        return self.bins[place]

    def measure(self, counts: Callable[[Names], Whole], columns: Names, rng: Entropy) -> Measured:
        """The counts of the bins, and where these end."""
        chosen = self(counts(columns), rng=rng)
        return Measured(chosen.histogram, chosen.cuts)

    def error(self, confidence: Number = USUAL) -> Fraction | int | None:
        """That of the method, for as many bins as were asked for: with fewer it is no larger."""
        return self.counter(self.coarse).error(confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Chosen:
        """Bins and their counts."""
        values = self.counted(counts)
        ends = []
        for axis, (many, side) in enumerate(zip(self.bins, self.shape, strict=True)):
            if many:
                others = tuple(other for other in range(len(self.shape)) if other != axis)
                line = self.finder(side)(values.sum(others), rng=rng)
                ends.append(even_ends(line.nonnegative(), many))
            else:
                ends.append(np.arange(side + 1))
        coarse = values
        for axis, own in enumerate(ends):
            coarse = np.add.reduceat(coarse, own[:-1], axis=axis)
        told = self.counter(coarse.shape)(coarse, rng=rng)
        return Chosen(tuple(tuple(own.tolist()) for own in ends), told)


def listed(bins: object) -> tuple[int, ...]:
    """The numbers of bins, if that is what they are."""
    if isinstance(bins, tuple):
        return bins
    raise Refusal(f"expected bins as a tuple, one number a side, got bins={shown(bins)}")


def even_ends(line: Histogram, bins: int) -> Whole:
    """Where the shares of a line come nearest to 1/bins, 2/bins, …, in cells, with both ends; each place once."""
    shares = np.concatenate([[0.0], line.cdf()[0]])
    levels = np.arange(1, bins) / bins
    above = np.clip(np.searchsorted(shares, levels), 1, shares.size - 1)
    near = np.where(levels - shares[above - 1] < shares[above] - levels, above - 1, above)
    return np.unique(np.concatenate([[0], near, [shares.size - 1]]).astype(np.int64))
