"""A search down a tree of intervals: it goes on where there is much, and where it stops it spends what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy
from discreet.release.counts import noise_variance, noisy
from discreet.release.splits import Reals, Whole, starts

Marks = NDArray[np.bool_]

# Chosen on HEPTH, NETTRACE, INCOME, BIDS and LC-REQ of DPBench's data; between 7 and 12, and 3 and 6, little changes.
_WORTH = 9  # an interval is divided if its count is so many times the noise of its parts
_FULL = 4  # neighbours that are not divided are counted together until they hold so many times the noise of that count


@dataclass(frozen=True, eq=False)
class Told:
    """Parts of a line by where they end, and all that was told: a tree, root first, with the variance of each count.

    Parts are the leaves. What was not counted has an infinite variance.
    """

    ends: Whole
    children: tuple[Whole, ...]
    counts: tuple[Reals, ...]
    variances: tuple[Reals, ...]


def descend(values: Whole, pieces: Sequence[int], shares: Sequence[Fraction], unit: Fraction, rng: Entropy) -> Told:
    """Count intervals, level by level, of which each has so many `pieces`; a record is paid for along its path.

    A level costs its share, whose noise has the scale unit / share. An interval in which the search stops is counted
    once more, alone or with its neighbours, by what the levels below would have cost.
    """
    before, width = np.concatenate([[0], np.cumsum(values)]), math.prod(pieces)
    ends, live = np.array([values.size]), np.ones(1, dtype=bool)
    children: list[Whole] = []
    counts, variances = [np.zeros(1)], [np.full(1, math.inf)]
    for level, share in enumerate(shares):
        width //= pieces[level]
        divided, parent, ends = _divided(ends, live, width)
        asked, sums = live[parent], np.diff(before[ends], prepend=0)
        count, variance = counts[-1][parent], variances[-1][parent]
        count[asked], variance[asked] = noisy(sums[asked], unit / share, rng), noise_variance(unit / share)
        variances[-1] = np.where(live, variances[-1], math.inf)  # a part that goes on as it is takes its count along
        left = sum(shares[level + 1 :], Fraction(0))
        if left:
            live = asked & (count > _WORTH * float(unit / shares[level + 1]))
            first = joined(parent, asked & ~live, count, _FULL * float(unit / left))
            stopped = (asked & ~live)[first]
            again, spread = np.zeros(first.size), np.full(first.size, math.inf)
            again[stopped] = noisy(np.add.reduceat(sums, first)[stopped], unit / left, rng)
            spread[stopped] = noise_variance(unit / left)
            children += [np.bincount(parent[first]), np.diff(first, append=parent.size)]
            counts.append(again)
            variances.append(spread)
        else:
            children.append(divided)
        counts.append(count)
        variances.append(variance)
    return Told(ends, tuple(children), tuple(counts), tuple(variances))


def _divided(ends: Whole, live: Marks, width: int) -> tuple[Whole, Whole, Whole]:
    """Live intervals cut into pieces of a width, the last as it comes: how many, of which they are, where they end."""
    begins = np.concatenate([[0], ends[:-1]])
    pieces = np.where(live, -(-(ends - begins) // width), 1)
    parent = np.repeat(np.arange(ends.size), pieces)
    nth = np.arange(parent.size) - np.repeat(starts(pieces)[:-1], pieces)
    cut = np.minimum(begins[parent] + (nth + 1) * width, ends[parent])
    return pieces, parent, np.where(live[parent], cut, ends[parent])


def joined(parent: Whole, stopped: Marks, count: Reals, full: float) -> Whole:
    """Where groups begin: neighbours of one parent in which the search stopped, until they hold `full` together."""
    first: list[int] = []
    holding, above = full, -1
    for i, (mine, stops, held) in enumerate(zip(parent.tolist(), stopped.tolist(), count.tolist(), strict=True)):
        if not stops or mine != above or holding >= full:
            first.append(i)
            holding = 0.0
        holding = holding + held if stops else full
        above = mine
    return np.array(first, dtype=np.int64)
