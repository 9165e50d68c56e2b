"""Trees of intervals: counts of nodes made to add up, the variance of every sum, and the nearest whole counts.

An estimate that is consistent on a tree is a total of variance `total`, and at each node a division among its children
that is independent of everything else. Under it the children c of a node behave like independent numbers of variance
`spread[c]`, conditioned on their sum. Least squares on noisy nodes has this form, and so has the wavelet
(docs/proofs/hierarchy.md, "Variances"). So the variance of a weighted sum of leaves takes one pass over the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Whole = NDArray[np.int64]


def sums(values: NDArray[np.generic], children: Whole) -> NDArray[np.generic]:
    """The sum over each node's children; every node has at least one."""
    total: NDArray[np.generic] = np.add.reduceat(values, starts(children)[:-1])
    return total


def starts(children: Whole) -> Whole:
    """Where each node's children begin, and where the last one's end."""
    return np.concatenate([[0], np.cumsum(children)]).astype(np.int64)


def fixed(*arrays: NDArray[np.generic]) -> None:
    """Make arrays read-only, because they are shared: by those who hold a result, and with results to come."""
    for array in arrays:
        array.setflags(write=False)


@dataclass(frozen=True, eq=False)
class _Ahead:
    """Running sums, and what rounding took from each: so a difference of two of them keeps its digits.

    Where a few large spreads stand before small ones, a plain difference of sums is their rounding errors.
    """

    total: Reals
    lost: Reals

    @classmethod
    def of(cls, spread: Reals) -> _Ahead:
        total = np.concatenate([[0.0], np.cumsum(spread)])
        step = np.diff(total)  # Knuth 1969: the exact error of each addition
        lost = (total[:-1] - (total[1:] - step)) + (spread - step)
        return cls(total, np.concatenate([[0.0], np.cumsum(lost)]))

    def __call__(self, low: Whole, high: Whole) -> Reals:
        """What the nodes from `low` to before `high` spread."""
        return (self.total[high] - self.total[low]) + (self.lost[high] - self.lost[low])


@dataclass(frozen=True, eq=False)
class Splits:
    """A tree from its root down: children per node, and the spread of every node below the root. Leaves are last."""

    total: float
    children: tuple[Whole, ...]
    spread: tuple[Reals, ...]

    def __post_init__(self) -> None:
        fixed(*self.children, *self.spread)

    @property
    def leaves(self) -> int:
        """How many there are."""
        return self.spread[-1].size if self.spread else 1

    @cached_property
    def _pools(self) -> tuple[Reals, ...]:
        """What the children of each node spread together."""
        return tuple(sums(z, c).astype(np.float64) for z, c in zip(self.spread, self.children, strict=True))

    @cached_property
    def _ahead(self) -> tuple[_Ahead, ...]:
        """Of each level below the root, what all nodes before each spread."""
        return tuple(_Ahead.of(z) for z in self.spread)

    @cached_property
    def _firsts(self) -> tuple[Whole, ...]:
        return tuple(starts(children) for children in self.children)

    def variance(self, weights: Reals) -> float:
        """Of the sum of the leaves with these weights."""
        loading, noise = np.asarray(weights, dtype=np.float64), 0.0
        for children, spread, pool in zip(self.children[::-1], self.spread[::-1], self._pools[::-1], strict=True):
            above = sums(loading * spread, children).astype(np.float64) / pool
            rest = loading - np.repeat(above, children)  # the part that its parent's total does not explain
            noise += float(np.sum(rest * rest * spread))
            loading = above
        return float(loading[0]) ** 2 * self.total + noise

    def ranges(self, first: Whole, low: Reals, last: Whole, high: Reals) -> Reals:
        """The variances of sums of neighbouring leaves, many at once.

        Each sum takes the share `low` of leaf `first`, all of the leaves between, and the share `high` of leaf `last`;
        where the two are one leaf, the share `high`.
        """
        a, c = np.asarray(first), np.asarray(last)
        left, right = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        noise, left = np.zeros(a.shape), np.where(a == c, right, left)
        for k in range(len(self.spread) - 1, -1, -1):
            spread, ahead, pool, begin = self.spread[k], self._ahead[k], self._pools[k], self._firsts[k]
            up, over = (np.searchsorted(begin, node, side="right") - 1 for node in (a, c))
            one, joined = a == c, up == over
            za, zc = spread[a], np.where(one, 0.0, spread[c])
            full = np.where(joined, np.where(one, 0.0, ahead(a + 1, c)), ahead(a + 1, begin[up + 1]))
            near = np.where(joined, zc, 0.0)
            other = ahead(begin[up], a) + np.where(joined, ahead(c + 1, begin[up + 1]), 0.0)
            above = (left * za + right * near + full) / pool[up]
            noise = noise + za * (left - above) ** 2 + near * (right - above) ** 2
            noise = noise + full * (1 - above) ** 2 + other * above**2
            before, after = ahead(begin[over], c), ahead(c + 1, begin[over + 1])
            beside = (right * zc + before) / pool[over]
            more = zc * (right - beside) ** 2 + before * (1 - beside) ** 2 + after * beside**2
            noise = noise + np.where(joined, 0.0, more)
            a, c, left, right = up, over, above, np.where(joined, above, beside)
        return np.asarray(left**2 * self.total + noise)


def leaf_variances(splits: Splits) -> Reals:
    """Of every leaf, in one pass down the tree.

    A child has the share s = z/Z of its node's total, Z being what all its children spread, and a rest of its own of
    variance z (Z − z)/Z. What the others spread is added up without the child that spreads most, where Z − z would lose
    its digits; for each other child Z − z is at least z.
    """
    known = np.array([splits.total])
    for children, spread in zip(splits.children, splits.spread, strict=True):
        first = starts(children)[:-1]
        own = np.repeat(np.arange(children.size), children)
        pool = np.add.reduceat(spread, first)[own]
        most = spread == np.maximum.reduceat(spread, first)[own]
        rest = np.add.reduceat(np.where(most, 0.0, spread), first)[own]
        several = np.add.reduceat(most.astype(np.int64), first)[own]
        others = np.where(most, rest + (several - 1) * spread, pool - spread)
        known = (spread / pool) ** 2 * known[own] + spread * (others / pool)
    return np.asarray(known)


def branches(leaves: int, branching: int) -> tuple[Whole, ...]:
    """The children of each node of a tree over so many leaves, root first; the last node of a level may have fewer."""
    levels: list[Whole] = []
    below = leaves
    while below > 1:
        above = -(-below // branching)
        children = np.full(above, branching, dtype=np.int64)
        children[-1] = below - branching * (above - 1)
        levels.append(children)
        below = above
    return tuple(levels[::-1])


def totals(leaves: Whole, children: Sequence[Whole]) -> list[Whole]:
    """The sum below every node, root first, leaves last."""
    levels = [leaves]
    for below in reversed(children):
        levels.append(sums(levels[-1], below).astype(np.int64))
    return levels[::-1]


def consistent(
    children: Sequence[Whole], measured: Sequence[NDArray[np.generic]], variances: Sequence[Reals]
) -> tuple[Reals, Splits]:
    """The least-squares leaves for measured nodes, root first, and how exact they are. In time linear in the nodes.

    An infinite variance says that a node was not measured; leaves are measured all. Going up, a node's own count and
    the sum of its children are averaged by their precisions; going down, what a node's children lack is divided among
    them by their variances (Hay, Rastogi, Miklau & Suciu 2010, here with any weights).
    """
    depth = len(children)
    upward: list[Reals] = [np.empty(0)] * (depth + 1)
    spread: list[Reals] = [np.empty(0)] * (depth + 1)
    pools: list[Reals] = [np.empty(0)] * depth
    added: list[Reals] = [np.empty(0)] * depth
    upward[depth], spread[depth] = np.asarray(measured[depth], dtype=np.float64), np.asarray(variances[depth])
    for k in range(depth - 1, -1, -1):
        pools[k] = sums(spread[k + 1], children[k]).astype(np.float64)
        added[k] = sums(upward[k + 1], children[k]).astype(np.float64)
        own = 1 / variances[k]
        spread[k] = 1 / (own + 1 / pools[k])
        upward[k] = spread[k] * (own * np.asarray(measured[k], dtype=np.float64) + added[k] / pools[k])
    level = upward[0]
    for k in range(depth):
        lacking = (level - added[k]) / pools[k]
        level = upward[k + 1] + spread[k + 1] * np.repeat(lacking, children[k])
    return level, Splits(float(spread[0][0]), tuple(children), tuple(spread[1:]))


_MOST = 1 << 60  # of a total

# Cutting negative cells off one by one adds up to a large error in every range. So all cells move together: first to
# the nearest non-negative counts, then to whole ones from the root down.


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
