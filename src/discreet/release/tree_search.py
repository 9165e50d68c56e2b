"""Search down a tree of intervals: it goes on where there is much; where it stops it groups, and spends what is left.

Which small neighbours are counted together is computed from told counts alone, for every interval by itself: the fewer
groups, the less noise; the larger, the less is known inside (docs/proofs/partition.md, "Groups").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy
from discreet.release.interval_tree import Reals, Splits, Whole, starts, sums
from discreet.release.noisy_cells import TINY, noise_variance, noisy

Marks = NDArray[np.bool_]

_LUMPY = 0.1  # of the square of what a group holds: how unequal its pieces may be. From 0.03 to 0.3 little changes
# Chosen on HEPTH, NETTRACE, INCOME, BIDS and LC-REQ of DPBench's data; between 7 and 12 little changes.
_WORTH = 9  # an interval is divided if its count is so many times the noise of its parts
# An interval that was divided is estimated without the count that decided, unless it is so many scales of its own noise
# above what was needed: one that rarely is divided is so once in e⁴ of these times (docs/proofs/partition.md).
_SURELY = 4
_TAKEN = 7 / 8  # of a count whose interval is divided: the best is 0.6 to 0.9, but a weight must not depend on noise


@dataclass(frozen=True)
class Noise:
    """The variances of a piece's first count and of a group's own, and how much the error inside a group weighs.

    `inside` is that weight beside the noise of one group, for a group that is all of its interval.
    """

    first: float
    again: float
    inside: float


def together(divided: Whole, stopped: Marks, count: Reals, noise: Noise) -> Whole:
    """Where groups begin. Intervals have so many pieces; those in which the search stopped may share a group.

    Of all ways to put neighbours together it is the one with the least expected loss, which is a sum over groups: the
    noise of their counts, and what is unknown inside. That is the noise of first counts given their sum, on average
    over all prefixes of a group (after j of m pieces j(m − j)/m times that of one), or less if there is little to
    divide.
    """
    parent = np.repeat(np.arange(divided.size), divided)
    nth, most = np.arange(parent.size) - starts(divided)[parent], int(divided.max())
    sums, alone = (np.zeros((divided.size, most + 1)) for _ in range(2))
    sums[parent, nth + 1], alone[parent, nth + 1] = count, ~stopped
    sums, alone = np.cumsum(sums, axis=1), np.cumsum(alone, axis=1)
    loss, begin = np.zeros((divided.size, most + 1)), np.zeros((divided.size, most + 1), dtype=np.int64)
    for end in range(1, most + 1):  # the best groups of the first pieces, of one more at a time
        size = end - np.arange(end)
        unknown = noise.first * (size - 1) / 6
        lumpy = _LUMPY * np.maximum(sums[:, [end]] - sums[:, :end], 0.0) ** 2
        inside = unknown * lumpy / (unknown + lumpy + TINY)
        each = loss[:, :end] + noise.again + noise.inside * size / most * inside
        each[(alone[:, [end]] > alone[:, :end]) & (size > 1)] = np.inf
        begin[:, end] = np.argmin(each, axis=1)
        loss[:, end] = np.take_along_axis(each, begin[:, [end]], axis=1)[:, 0]
    begins, at = np.zeros((divided.size, most), dtype=bool), divided.copy()
    while np.any(at > 0):
        rows = np.flatnonzero(at > 0)
        at[rows] = begin[rows, at[rows]]
        begins[rows, at[rows]] = True
    return np.flatnonzero(begins[parent, nth])


@dataclass(frozen=True, eq=False)
class Told:
    """Parts of a line by where they end, and all that was told, as a tree, root first. Parts are the leaves.

    The estimate of a node is its `weights` of its own count, the rest of the sum of its children's estimates, and its
    `offsets`; `variances` are those of weight times count and offset.
    """

    ends: Whole
    children: tuple[Whole, ...]
    counts: tuple[Reals, ...]
    weights: tuple[Reals, ...]
    offsets: tuple[Reals, ...]
    variances: tuple[Reals, ...]

    def consistent(self) -> tuple[Reals, Splits]:
        """The leaves, and how exact they are. What the children of a node lack is divided by their variances."""
        level, spread = self.counts[-1], self.variances[-1]
        ups, spreads, pools = [level], [spread], []
        nodes = zip(self.children, self.counts, self.weights, self.offsets, self.variances, strict=False)
        for children, count, weight, offset, own in reversed(list(nodes)):
            pools.append((sums(level, children).astype(np.float64), sums(spread, children).astype(np.float64)))
            level = weight * count + (1 - weight) * pools[-1][0] + offset
            spread = own + (1 - weight) ** 2 * pools[-1][1]
            ups.append(level)
            spreads.append(spread)
        for children, up, each, (added, pool) in zip(
            self.children, ups[-2::-1], spreads[-2::-1], pools[::-1], strict=True
        ):
            level = up + each * np.repeat((level - added) / pool, children)
        return level, Splits(float(spread[0]), self.children, tuple(spreads[-2::-1]))


@dataclass(frozen=True)
class Search:
    """What is public about a search: by level the pieces of an interval and the share of ε, and a weight.

    `inside` weighs the error inside a group that is all of its interval, beside the noise of one group: the more ranges
    cut through groups, the more.
    """

    pieces: tuple[int, ...]
    shares: tuple[Fraction, ...]
    inside: float


def descend(values: Whole, search: Search, unit: Fraction, rng: Entropy) -> Told:
    """Count intervals, level by level; a record is paid for along its path.

    A level costs its share, whose noise has the scale unit / share. An interval in which the search stops is counted
    once more, alone or with its neighbours, by what the levels below would have cost.
    """
    pieces, shares = search.pieces, search.shares
    before, width = np.concatenate([[0], np.cumsum(values)]), math.prod(pieces)
    ends, live = np.array([values.size]), np.ones(1, dtype=bool)
    count, variance = np.zeros(1), np.zeros(1)  # what was told last about each interval
    children: list[Whole] = []
    nodes = [(count, np.zeros(1), np.zeros(1), variance)]
    for level, share in enumerate(shares):
        width //= pieces[level]
        divided, parent, ends = _divided(ends, live, width)
        asked, held = live[parent], np.diff(before[ends], prepend=0)
        count, variance = count[parent], variance[parent]  # where the search has stopped they stay
        count[asked], variance[asked] = noisy(held[asked], unit / share, rng), noise_variance(unit / share)
        left = sum(shares[level + 1 :], Fraction(0))
        if not left:
            children.append(divided)
            nodes.append((count, np.ones(count.size), np.zeros(count.size), variance))
            continue
        least = math.floor(_WORTH * unit / shares[level + 1]) + 1
        live, stopped = asked & (count >= least), asked & (count < least)
        taken = _taken(np.diff(ends, prepend=0), search, level, unit)
        surely = least + math.ceil(_SURELY * unit / share)
        excess, spread = deciding(count, surely, unit / share)
        noise = Noise(noise_variance(unit / share), noise_variance(unit / left), search.inside)
        first = together(divided, stopped, count, noise)
        again, groups = np.zeros(first.size), stopped[first]
        again[groups] = noisy(np.add.reduceat(held, first)[groups], unit / left, rng)
        again -= np.add.reduceat(np.where(stopped, taken * excess, 0.0), first)
        around = np.where(groups, noise_variance(unit / left), 0.0)
        around += np.add.reduceat(np.where(stopped, taken**2 * spread, 0.0), first)
        children += [np.bincount(parent[first]), np.diff(first, append=parent.size)]
        nodes.append((again, groups.astype(np.float64), np.zeros(again.size), around))
        used = live & (count >= surely)
        offset = np.where(live & ~used, -taken * excess, 0.0)
        nodes.append((count - excess, np.where(used, taken, 0.0), offset, np.where(live, taken**2 * spread, 0.0)))
    counts, weights, offsets, variances = zip(*nodes, strict=True)
    return Told(ends, tuple(children), counts, weights, offsets, variances)


def deciding(count: Reals, least: int, scale: Fraction) -> tuple[Reals, Reals]:
    """What to take off a count that is used if it is at least `least` and else is not, and the variance of the rest.

    With N the noise and D = N [count ≥ least] − excess, E D = 0 and E D² = E variance, whatever is counted.
    Proof: docs/proofs/partition.md, "Standard errors".
    """
    rate = float(1 / scale)
    q, gap = math.exp(-rate), -math.expm1(-rate)  # gap = 1 − q
    away = np.where(count >= least, count - least + 1, least - count)
    rest = np.exp(-rate * away)
    above, below = 2 * q - (1 + q) * rest + rest**2, rest**2 + gap * (2 * away - 1) * rest
    return rest / gap, np.maximum(np.where(count >= least, above, below) / gap**2, TINY)


def _taken(sizes: Whole, search: Search, level: int, unit: Fraction) -> Reals:
    """The weight of an interval's count if it is divided: public. Before the last level it is that of least squares."""
    if level + 2 < len(search.shares):
        return np.full(sizes.size, _TAKEN)
    below = -(-sizes // math.prod(search.pieces[level + 2 :])) * noise_variance(unit / search.shares[level + 1])
    return np.asarray(below / (below + noise_variance(unit / search.shares[level])))


def _divided(ends: Whole, live: Marks, width: int) -> tuple[Whole, Whole, Whole]:
    """Live intervals cut into pieces of a width, the last as it comes: how many, of which they are, where they end."""
    begins = np.concatenate([[0], ends[:-1]])
    pieces = np.where(live, -(-(ends - begins) // width), 1)
    parent = np.repeat(np.arange(ends.size), pieces)
    nth = np.arange(parent.size) - np.repeat(starts(pieces)[:-1], pieces)
    cut = np.minimum(begins[parent] + (nth + 1) * width, ends[parent])
    return pieces, parent, np.where(live[parent], cut, ends[parent])
