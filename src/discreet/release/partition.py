"""Counts of intervals that hold about as many records each: found with one part of ε, counted with the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.exact import Number, share
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.mechanisms.whole import Integers
from discreet.noise import SECURE, Entropy
from discreet.privacy.calibrate import laplace_error
from discreet.release.counts import Counts, noisy, released
from discreet.release.curve import hilbert
from discreet.release.histogram import Histogram
from discreet.release.splits import Reals, Whole, starts
from discreet.release.tuned import tuned

# These three were chosen among some fifty settings, on four of DPBench's data sets at ε · records of 100 and 10,000.
_BRANCHING = 8  # of the search
_WORTH = 4  # an interval is looked into if its count is so many times the noise of its parts
_FULL = 16  # a part of the result is closed when its count is so many times the noise at all of ε


@released("partition")
@dataclass(frozen=True)
class Partition(Counts):
    """Divides the cells into parts of about equal counts, at `ratio` of ε, and counts the parts by a tree, at the rest.

    The search goes down a tree of intervals and counts, with noise, the children of those that are still worth it. Then
    neighbours are joined until they hold enough; an interval that holds enough by itself stays alone. The second stage
    is a `Hierarchy` over the parts, of the branching and shares that are best for ranges. The cells of a plane are
    taken in the order of Hilbert's curve.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/partition.md. In each level of the search a record is in at most one interval that is counted,
        whatever was counted before. The second stage is a hierarchy over parts that the first one has told.
    Source: after Li, Hay, Miklau & Wang 2014 (DAWA: first parts, then counts) and Qardaji, Yang & Li 2013 (adaptive
        grids: look deeper where there is more).
    """

    ratio: Fraction = Fraction(1, 4)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, ratio=share(self.ratio, "ratio"))

    def error(self, confidence: Number = USUAL) -> int:
        """An α with Pr[|noise of the total| ≤ α] ≥ confidence, if all is one part; ranges: known after paying."""
        return laplace_error(self.distance / ((1 - self.ratio) * self.epsilon), confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The parts with noise, each divided evenly among its cells."""
        values = self.counted(counts).ravel()
        order = np.arange(values.size) if len(self.shape) == 1 else hilbert(*self.shape)
        line, full = values[order], _FULL * self.distance / self.epsilon
        sizes = np.diff(cuts(line, self.distance / (self.ratio * self.epsilon), full, rng), prepend=0)
        sums = np.add.reduceat(line, starts(sizes)[:-1])
        parts = tuned((1 - self.ratio) * self.epsilon, sums.size, self.most, self.neighbours)
        counted = parts(sums, rng=rng)
        part = np.empty_like(order)
        part[order] = np.repeat(np.arange(sizes.size), sizes)
        return Histogram.of(counted.counts, parts.splits, self.shape, part)


def cuts(values: Whole, scale: Fraction, full: Fraction, rng: Entropy) -> Whole:
    """Where parts end that hold about `full` records each. One count at `scale` would use up the share of ε."""
    ends, counts = search(values, scale, rng)
    return joined(ends, counts, float(full))


def search(values: Whole, scale: Fraction, rng: Entropy, branching: int = _BRANCHING) -> tuple[Whole, Reals]:
    """Intervals by where they end, fine where there is much, with their noisy counts.

    Every level of a tree of intervals gets the same share. A node whose count is small beside the noise of its children
    is left as it is.
    """
    cells, levels = values.size, 1
    while branching**levels < cells:
        levels += 1
    before, noise = np.concatenate([[0], np.cumsum(values)]), levels * scale
    start, end = np.zeros(1, dtype=np.int64), np.array([cells])
    held, spread, live = np.zeros(1), np.full(1, math.inf), np.ones(1, dtype=bool)
    width, fresh = branching**levels, 2 * float(noise) ** 2
    for _ in range(levels):
        width //= branching
        split = live & (end - start > width)
        pieces = np.where(split, -(-(end - start) // width), 1)
        parent = np.repeat(np.arange(start.size), pieces)
        nth = np.arange(parent.size) - np.repeat(starts(pieces)[:-1], pieces)
        begins = np.where(split[parent], start[parent] + nth * width, start[parent])
        finish = np.where(split[parent], np.minimum(begins + width, end[parent]), end[parent])
        asked = split[parent]
        told = np.zeros(parent.size)
        told[asked] = noisy(before[finish[asked]] - before[begins[asked]], noise, rng)
        # what the parent was told corrects its children evenly, as least squares does
        lack = held - np.bincount(parent, told, minlength=start.size)
        gain = fresh / (pieces * fresh + np.where(np.isinf(spread), 1.0, spread)) * np.isfinite(spread)
        held = np.where(asked, told + (lack * gain)[parent], held[parent])
        spread = np.where(asked, fresh * (1 - gain)[parent], spread[parent])
        start, end, live = begins, finish, asked & (held > _WORTH * float(noise))
    return end, held


def joined(ends: Whole, counts: Reals, full: float) -> Whole:
    """Where the parts end when neighbours are joined until they hold `full`; what holds as much alone stays alone."""
    kept: list[int] = []
    holding, previous = 0.0, 0
    for end, held in zip(ends.tolist(), counts.tolist(), strict=True):
        if held >= full and previous and (not kept or kept[-1] != previous):
            kept.append(previous)
            holding = 0.0
        holding += held
        if holding >= full or held >= full:
            kept.append(end)
            holding = 0.0
        previous = end
    if not kept or kept[-1] != previous:
        kept.append(previous)
    return np.array(kept, dtype=np.int64)
