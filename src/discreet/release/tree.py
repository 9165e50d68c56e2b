"""Trees of intervals: counts of nodes made to add up by least squares, and the variance of every sum.

An estimate that is consistent on a tree is a total of variance `total`, and at each node a division among its children
that is independent of everything else. Under it the children c of a node behave like independent numbers of variance
`spread[c]`, conditioned on their sum. Least squares on noisy nodes has this form, and so has the wavelet
(docs/proofs/hierarchy.md, "Variances"). So the variance of a weighted sum of leaves takes one pass over the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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
