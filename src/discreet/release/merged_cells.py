"""Which small neighbours are counted together: the fewer groups, the less noise; the larger, the less is known inside.

Computed from told counts alone, and for every interval by itself (docs/proofs/partition.md, "Groups").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.release.counts import TINY
from discreet.release.tree_variances import Reals, Whole, starts

Marks = NDArray[np.bool_]

_LUMPY = 0.1  # of the square of what a group holds: how unequal its pieces may be. From 0.03 to 0.3 little changes


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
