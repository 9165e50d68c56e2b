"""Trees of intervals, and least squares on them: from noisy counts of nodes to counts that add up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.release.tree_variances import Reals, Splits, Whole, sums


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
