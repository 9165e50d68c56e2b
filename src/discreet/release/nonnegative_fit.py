"""Fit of counts on a tree: none negative, or whole ones, so that sums stay what they were.

Cutting negative cells off one by one adds up to a large error in every range. Here all cells move together: first to
the nearest non-negative counts, then to whole ones from the root down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.release.tree import Reals, Splits, Whole, branches, consistent, starts, sums, totals

_MOST = 1 << 60  # of a total


@lru_cache(maxsize=3)
def alike(leaves: int) -> Splits:
    """The metric in which every node of a binary tree over the leaves counts alike: long ranges as much as cells."""
    children = branches(leaves, 2)
    sizes = [1, *(int(level.sum()) for level in children)]
    return consistent(children, [np.zeros(size) for size in sizes], [np.ones(size) for size in sizes])[1]


def nonnegative(leaves: Reals, splits: Splits) -> Reals:
    """The nearest leaves of which none is negative, in the metric of `splits`: exact, in O(leaves · log · depth).

    The truth has no negative counts, so the fit is never further from it than `leaves`, in that metric.
    Proof: docs/proofs/hierarchy.md, "Counts that are not negative".
    """
    if not splits.spread:
        return np.maximum(leaves, 0.0)
    values = _levels(leaves, splits)
    spread = (np.array([splits.total]), *splits.spread)
    curves = [_leaf(values[-1], spread[-1])]
    for k in range(len(splits.children) - 1, -1, -1):
        pool = sums(spread[k + 1], splits.children[k]).astype(np.float64)
        curves.append(_raised(curves[-1], splits.children[k], values[k], 1 / spread[k] - 1 / pool))
    price = np.zeros(1)
    for curve, children in zip(curves[:0:-1], splits.children, strict=True):
        price = np.repeat(price - (curve.at(price) - curve.value) * curve.precision, children)
    return np.maximum(0.0, values[-1] + spread[-1] * price)


def _levels(leaves: Reals, splits: Splits) -> list[Reals]:
    levels = [leaves]
    for children in reversed(splits.children):
        levels.append(sums(levels[-1], children).astype(np.float64))
    return levels[::-1]


@dataclass(frozen=True, eq=False)
class _Curve:
    """For each node of a level, its best total as a function of a price: zero, then rising in pieces of a line.

    `first` says where the pieces of each node begin, and where the last one's end; from each `knot` on the total rises
    from `height` with `slope`. `value` and `precision` are those that the node itself adds to what its children cost.
    """

    first: Whole
    knot: Reals
    height: Reals
    slope: Reals
    value: Reals
    precision: Reals

    def at(self, price: Reals) -> Reals:
        """The totals at these prices, one a node."""
        begin = self.first[:-1]
        passed = np.add.reduceat(self.knot <= np.repeat(price, np.diff(self.first)), begin).astype(np.int64)
        piece = begin + np.maximum(passed - 1, 0)
        return np.where(passed > 0, self.height[piece] + self.slope[piece] * (price - self.knot[piece]), 0.0)


def _leaf(values: Reals, spread: Reals) -> _Curve:
    """max(0, value + spread · price)."""
    return _Curve(np.arange(values.size + 1), -values / spread, np.zeros(values.size), spread, values, 1 / spread)


def _raised(below: _Curve, children: Whole, value: Reals, precision: Reals) -> _Curve:
    """The curves of the parents: children face one price and their totals add, then the parent's own term tilts it."""
    first = below.first[starts(children)]
    pieces = np.diff(first)
    gain = np.diff(below.slope, prepend=0.0)
    gain[below.first[:-1]] = below.slope[below.first[:-1]]
    place = np.empty(gain.size, dtype=np.complex128)  # sorted by its real part first: by parents, then by knots
    place.real, place.imag = np.repeat(np.arange(children.size), pieces), below.knot
    order = np.argsort(place, kind="stable")  # the knots of a child are sorted, so this merges them in one pass
    knot = below.knot[order]
    slope = _running(gain[order], first)
    steps = np.concatenate([[0.0], slope[:-1] * np.diff(knot)])
    steps[first[:-1]] = 0.0
    height = _running(steps, first)
    own = np.repeat(precision, pieces)
    tilted = knot + own * (height - np.repeat(value, pieces))
    return _Curve(first, tilted, height, slope / (1 + own * slope), value, precision)


def _running(steps: Reals, first: Whole) -> Reals:
    """Running sums that begin anew at each `first`."""
    total = np.cumsum(steps)
    begin = first[:-1]
    return np.asarray(total - np.repeat(total[begin] - steps[begin], np.diff(first)))


def rounded(leaves: Reals, splits: Splits) -> Whole:
    """Whole leaves such that every node of the tree is its count rounded down or up, and the sum of its children.

    The larger remainders are rounded up first. Leaves that add up to more than 2^60 count as less.
    """
    clean = np.nan_to_num(leaves)
    clipped = np.clip(clean, -float(_MOST // clean.size), float(_MOST // clean.size))
    shift = max(0, 61 - int(np.sum(np.abs(clipped)) + 1).bit_length())
    levels = totals(np.rint(np.ldexp(clipped, shift)).astype(np.int64), splits.children)
    whole = (levels[0] + (1 << shift >> 1)) >> shift
    for children, below in zip(splits.children, levels[1:], strict=True):
        floors = below >> shift
        up = whole - sums(floors, children).astype(np.int64)
        parent = np.repeat(np.arange(children.size), children)
        order = np.lexsort(((floors << shift) - below, parent))
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size) - np.repeat(starts(children)[:-1], children)
        whole = floors + (rank < np.repeat(up, children))
    return np.asarray(whole, dtype=np.int64)
