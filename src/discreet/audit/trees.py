"""A score learned from two samples: boosted shallow trees on binned features (Friedman 2001, with Newton's step).

It only has to rank outputs. Whatever it learns, the event that it leads to is proven on a fresh sample, so a poor score
costs power and never soundness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]

ROUNDS, DEPTH = 30, 4
RATE = 0.3  # of a tree's step that is taken
RIDGE = 1.0  # added to every leaf's curvature
LEAST = 5.0  # curvature of a leaf: twenty outputs or more
_TAILS = (1e-4, 3e-4, 1e-3, 3e-3)
_LEVELS = np.array([*_TAILS, *np.linspace(0, 1, 65)[1:-1], *(1 - t for t in _TAILS)])
_ATOMS = 24  # values so frequent that each gets a bin of its own
BINS = _LEVELS.size + 2 * _ATOMS + 2  # the edges, what lies above them, and what is not a number


@dataclass(frozen=True, eq=False)
class Tree:
    """A complete tree: node i sends codes above `bounds[i]` of feature `features[i]` to 2i + 2, others to 2i + 1."""

    features: Codes
    bounds: Codes
    leaves: Reals

    def score(self, codes: Codes) -> Reals:
        """The leaf of each row."""
        return self.leaves[self.leaf(codes)]

    def leaf(self, codes: Codes) -> Codes:
        """The number of each row's leaf, from left to right."""
        node, every = np.zeros(codes.shape[1], dtype=np.intp), np.arange(codes.shape[1])
        for _ in range(DEPTH):
            node = 2 * node + 1 + (codes[self.features[node], every] > self.bounds[node])
        return node - ((1 << DEPTH) - 1)


@dataclass(frozen=True, eq=False)
class Boosted:
    """A sum of trees: large where an output speaks for the first sample, small where it speaks for the second."""

    edges: tuple[Reals, ...]
    trees: tuple[Tree, ...]

    @classmethod
    def learned(cls, left: Reals, right: Reals) -> Boosted:
        """From two tables with one column a feature."""
        edges = tuple(_edges(np.concatenate([a, b])) for a, b in zip(left.T, right.T, strict=True))
        codes = np.hstack([_codes(left, edges), _codes(right, edges)])
        label = np.repeat([1.0, 0.0], [len(left), len(right)])
        score, trees = np.zeros(label.size), []
        for turn in range(ROUNDS):
            chance = 1 / (1 + np.exp(-score))
            half = slice(turn % 2, None, 2)  # every other row: quicker, and less greedy
            tree = _grown(codes[:, half], (label - chance)[half], (chance * (1 - chance))[half])
            score += tree.score(codes)
            trees.append(tree)
        return cls(edges, tuple(trees))

    def score(self, table: Reals) -> Reals:
        """The log-odds that each row came from the first sample, as far as was learned."""
        codes = _codes(table, self.edges)
        total = np.zeros(len(table))
        for tree in self.trees:
            total += tree.score(codes)
        return total

    def weights(self) -> NDArray[np.int64]:
        """How many nodes ask for each feature."""
        asked = np.concatenate([tree.features for tree in self.trees])
        return np.bincount(asked, minlength=len(self.edges))


def _edges(column: Reals) -> Reals:
    """Quantiles, but of what is left when the most frequent values have got bins of their own."""
    values, times = np.unique(column[~np.isnan(column)], return_counts=True)
    if values.size <= _LEVELS.size:
        return values
    heavy = np.argsort(-times, kind="stable")[:_ATOMS]
    heavy = heavy[times[heavy] * _LEVELS.size > times.sum()]
    ends = np.concatenate([heavy, np.maximum(heavy - 1, 0)])  # a bin is (edge before, edge]
    times[heavy] = 0
    share = np.cumsum(times) / max(1, times.sum())
    return np.unique(np.concatenate([values[ends], values[np.searchsorted(share, _LEVELS)]]))


def _codes(table: Reals, edges: tuple[Reals, ...]) -> Codes:
    """The bin of each cell, one row a feature: how many edges lie below it."""
    codes = np.empty((len(edges), len(table)), dtype=np.intp)
    for i, edge in enumerate(edges):
        column = table[:, i]
        codes[i] = np.where(np.isnan(column), BINS - 1, np.searchsorted(edge, column, side="left"))
    return codes


def _grown(codes: Codes, slope: Reals, curve: Reals) -> Tree:
    """The tree that fits the slopes best, level by level; a split is taken wherever it gains anything."""
    inner = (1 << DEPTH) - 1
    features, bounds = np.zeros(inner, dtype=np.intp), np.full(inner, BINS, dtype=np.intp)
    node, every = np.zeros(codes.shape[1], dtype=np.intp), np.arange(codes.shape[1])
    for level in range(DEPTH):
        first, width = (1 << level) - 1, 1 << level
        gains = np.stack([_gains((node - first) * BINS + row, slope, curve, width) for row in codes])
        best = gains.reshape(len(codes), width, BINS).transpose(1, 0, 2).reshape(width, -1)
        at = best.argmax(axis=1)
        split = best[np.arange(width), at] > 0
        features[first : first + width] = np.where(split, at // BINS, 0)
        bounds[first : first + width] = np.where(split, at % BINS, BINS)  # else everything goes to the left
        node = 2 * node + 1 + (codes[features[node], every] > bounds[node])
    leaf = node - inner
    steps = np.bincount(leaf, slope, 1 << DEPTH) / (np.bincount(leaf, curve, 1 << DEPTH) + RIDGE)
    return Tree(features, bounds, RATE * steps)


def _gains(cell: Codes, slope: Reals, curve: Reals, width: int) -> Reals:
    """What is won in each node by a split after each bin of one feature."""
    g = np.bincount(cell, slope, width * BINS).reshape(width, BINS).cumsum(axis=1)
    h = np.bincount(cell, curve, width * BINS).reshape(width, BINS).cumsum(axis=1)
    total, weight = g[:, -1:], h[:, -1:]
    won = g**2 / (h + RIDGE) + (total - g) ** 2 / (weight - h + RIDGE) - total**2 / (weight + RIDGE)
    return np.where((h < LEAST) | (weight - h < LEAST), -1.0, won)
