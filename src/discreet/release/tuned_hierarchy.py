"""A hierarchy that is good for ranges over so many cells: its branching, and how its levels share ε."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.exact import Number, count, positive
from discreet.privacy import AddRemove, Neighbours
from discreet.release.hierarchy import Hierarchy
from discreet.release.tree import branches, consistent
from discreet.release.tree_variances import Reals, Splits, Whole, fixed

_HEIGHTS = range(1, 7)
_SLOPES = tuple(Fraction(text) for text in ("0.7", "0.85", "1", "1.2", "1.5"))  # of a level's share to the one above
_LOOKED_AT = 256  # ends of prefixes, and lengths and places of ranges


def tuned(epsilon: Number, cells: int, most: int = 1, neighbours: Neighbours = AddRemove()) -> Hierarchy:
    """Of the hierarchies tried, that with the least mean variance over prefixes and ranges. Its root is not measured.

    Least squares makes every choice unbiased, so this looks at no data. It takes time linear in the cells.
    """
    size = count(cells, "cells")
    branching, shares = _plan(size)
    return Hierarchy(positive(epsilon, "epsilon"), (size,), most, neighbours, branching, shares)


@lru_cache(maxsize=1024)
def _plan(cells: int) -> tuple[int, tuple[Fraction, ...]]:
    if cells == 1:
        return 2, ()
    plans = [(base, shares) for base in _bases(cells) for shares in _shares(len(branches(cells, base)))]
    return min(plans, key=lambda plan: _cost(_splits(cells, *plan)))


def _bases(cells: int) -> list[int]:
    """For each height the least base that reaches over the cells."""
    found = {max(2, math.ceil(cells ** (1 / height) - 1e-9)) for height in _HEIGHTS}
    return sorted(base for base in found if base <= max(2, 64)) or [2]


def _shares(levels: int) -> list[tuple[Fraction, ...]]:
    """Nothing for the root; below it shares in geometric progression."""
    slopes = _SLOPES if levels > 1 else (Fraction(1),)
    lists = [[slope**level for level in range(levels)] for slope in slopes]
    return [(Fraction(0), *(weight / sum(weights) for weight in weights)) for weights in lists]


def _splits(cells: int, branching: int, shares: tuple[Fraction, ...]) -> Splits:
    children = branches(cells, branching)
    sizes = [1, *(int(level.sum()) for level in children)]
    variances = [
        np.full(size, float(1 / part**2) if part else math.inf) for size, part in zip(sizes, shares, strict=True)
    ]
    return consistent(children, [np.zeros(size) for size in sizes], variances)[1]


def _cost(splits: Splits) -> float:
    """Twice the mean variance of a prefix and once that of a range: they are then about equally large."""
    ends = np.unique(np.linspace(0, splits.leaves - 1, _LOOKED_AT).astype(np.int64))
    first, last = _ranges(splits.leaves)
    return 2 * float(_mean(splits, np.zeros_like(ends), ends)) + float(_mean(splits, first, last))


def _mean(splits: Splits, first: Whole, last: Whole) -> float:
    ones: Reals = np.ones(first.size)
    return float(splits.ranges(first, ones, last, ones).mean())


@lru_cache(maxsize=64)
def _ranges(cells: int) -> tuple[Whole, Whole]:
    """Ranges whose length and place are spread evenly, by two irrational steps: the same every time."""
    steps = np.arange(1, _LOOKED_AT + 1)
    lengths = 1 + np.floor(np.mod(steps * math.sqrt(2), 1) * cells).astype(np.int64)
    places = np.floor(np.mod(steps * math.sqrt(3), 1) * (cells - lengths + 1)).astype(np.int64)
    ends = places + lengths - 1
    fixed(places, ends)
    return places, ends
