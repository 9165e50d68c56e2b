"""Counts as a statistician would guess them from noisy ones: none negative, and even where noise hides how they differ.

Everything here is computed from what was released, and free. The tree of the release is taken from its root down, two
halves at a time. What was told about a half has a mean and a variance; how a total divides among two halves is one of
few things beforehand: as their cells do, roughly so, in any way, or all of it lies in one half. The guess is the mean
of what remains after that (docs/proofs/partition.md, "Plausible counts").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from discreet.release.histogram import Histogram
from discreet.release.splits import Reals, Splits, Whole, starts

SHRUNK = (
    "The standard errors are those of the noise, before the counts were made plausible, "
    "and not that cells of one part are taken to be equal."
)

# Chosen with the constants of `descent` and `partition`; other weights change errors by some per cent.
_ROUGH = 0.2  # the standard deviation of a rough division of the total, for equal halves
_EVEN, _ROUGHLY, _ANYHOW, _ONE_SIDED = (math.log(weight) for weight in (1 / 6, 1 / 6, 1 / 6, 1 / 2))
_LEAST = 1e-300  # of a probability
_SHARPEST = 1e-18  # of a variance, beside the total's square: a double tells no numbers apart that are nearer


def plausible(histogram: Histogram) -> Histogram:
    """The histogram with the likely counts of its parts. One without standard errors stays as it is."""
    if histogram.splits is None:
        return histogram
    sizes = np.bincount(histogram.part).astype(np.float64)
    leaves: Reals = np.bincount(histogram.part, np.ravel(histogram.counts)).astype(np.float64)
    parts = likely(leaves, histogram.splits, sizes)
    counts = (parts / sizes)[histogram.part].reshape(histogram.shape)
    return replace(histogram, counts=counts, bounding=SHRUNK)


def likely(leaves: Reals, splits: Splits, sizes: Reals) -> Reals:
    """The likely leaves for estimated ones that hold so many cells each. Their sum stays, or becomes 0 if negative."""
    guess = np.array([max(0.0, float(leaves.sum()))])
    for children, (held, spread, cells) in _binary(leaves, splits, sizes):
        left = starts(children)[:-1][children == 2]
        total, together = guess[children == 2], spread[left] + spread[left + 1]
        # the estimate of the left half, moved as least squares does if the two are to add up to what was guessed
        told = held[left] + spread[left] / together * (total - held[left] - held[left + 1])
        even = cells[left] / (cells[left] + cells[left + 1])
        mine = expected(told, spread[left] * (spread[left + 1] / together), total, even)
        guess = np.repeat(guess, children)
        guess[left], guess[left + 1] = mine, total - mine
    return guess


def _binary(leaves: Reals, splits: Splits, sizes: Reals) -> Iterator[tuple[Whole, Reals]]:
    """The levels of the tree with two children a node at most, coarse first: children; estimates, spreads, cells."""
    levels = [np.array([leaves, sizes])]
    for children in reversed(splits.children):
        levels.append(_added(levels[-1], children))
    for children, (held, cells), spread in zip(splits.children, levels[-2::-1], splits.spread, strict=True):
        yield from _halved(children, np.array([held, spread, cells]))


def _halved(children: Whole, below: Reals) -> list[tuple[Whole, Reals]]:
    """One level of many children as several of two, coarse first."""
    steps: list[tuple[Whole, Reals]] = []
    while children.max() > 1:
        above = -(-children // 2)
        pairs = np.full(int(above.sum()), 2, dtype=np.int64)
        pairs[starts(above)[1:] - 1] -= children & 1  # the last one of an odd number is alone
        steps.append((pairs, below))
        children, below = above, _added(below, pairs)
    return steps[::-1]


def _added(values: Reals, children: Whole) -> Reals:
    return np.asarray(np.add.reduceat(values, starts(children)[:-1], axis=1))


def expected(told: Reals, variance: Reals, total: Reals, even: Reals) -> Reals:
    """The mean of a part of a total, of which a normal number was told, and that holds the share `even` of the cells.

    Each kind of division is weighed by how well it foretells what was told, and has a mean of its own between 0 and the
    total: for normal ones that of two normal numbers, for any division that of a normal number cut off at both ends.
    """
    variance = np.maximum(variance, _SHARPEST * (1 + total * total))  # what is told exactly has no odds to weigh
    noise, middle = np.sqrt(variance), even * total
    drawn = total * even * (1 - even)  # as records fall to either side, each by itself
    kinds = []
    for weight, rough in ((_EVEN, drawn), (_ROUGHLY, drawn + 4 * even * (1 - even) * (_ROUGH * total) ** 2)):
        wide = variance + rough
        mean = np.clip((told * rough + middle * variance) / wide, 0.0, total)
        kinds.append((weight + _normal(told - middle, wide), mean))
    low, high = -told / noise, (total - told) / noise
    inside = np.maximum(ndtr(high) - ndtr(low), _LEAST)
    cut = (np.exp(-low * low / 2) - np.exp(-high * high / 2)) / (math.sqrt(2 * math.pi) * inside)
    kinds.append((_ANYHOW + np.log(inside / np.maximum(total, _LEAST)), np.clip(told + noise * cut, 0.0, total)))
    none, every = _normal(told, variance), _normal(told - total, variance)
    kinds += [(_ONE_SIDED - math.log(2) + none, np.zeros_like(total)), (_ONE_SIDED - math.log(2) + every, total)]
    logs = np.array([weight for weight, _ in kinds])
    weights = np.exp(logs - logs.max(axis=0))
    means = np.array([mean for _, mean in kinds])
    found: Reals = np.clip((weights * means).sum(axis=0) / weights.sum(axis=0), 0.0, total)  # a digit may lie beyond
    return found


def _normal(away: Reals, variance: Reals) -> Reals:
    """The logarithm of the normal density."""
    return np.asarray(-(np.log(2 * math.pi * variance) + away * away / variance) / 2)
