"""Counts as a statistician would guess them from noisy ones: none negative, and even where noise hides how they differ.

Everything here is computed from what was released, and free. The tree of the release is taken from its root down, two
halves at a time. What was told about a half has a mean and a variance; how a total divides among two halves is one of
few things beforehand: as their cells do, roughly so, in any way, or all of it lies in one half. Or all that lies below
is gentle, so that halves of halves differ less and less. The guess is the mean of what remains after that
(docs/proofs/partition.md, "Plausible counts").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from discreet.release.histogram import Histogram
from discreet.release.interval_tree import Reals, Splits, Whole, starts

# Chosen with the constants of `tree_search` and `partition`; other weights change errors by some per cent.
_ROUGH = 0.2  # the standard deviation of a rough division of the total, for equal halves
_EVEN, _ROUGHLY, _ANYHOW, _ONE_SIDE = (math.log(weight) for weight in (1 / 6, 1 / 6, 1 / 6, 1 / 4))
_GENTLE = np.array([[2 / 5], [1 / 5], [1 / 10], [1 / 20], [1 / 40], [0.0]])  # as `_ROUGH`; one half down, the next one
_BEGINS = 1 / 200  # the chance of each that a gentle stretch of this kind begins at a node
_LEAST = 1e-300  # of a probability
_SHARPEST = 1e-18  # of a variance, beside the total's square: a double tells no numbers apart that are nearer


def plausible(histogram: Histogram) -> Histogram:
    """The histogram with the likely counts of its parts, and how far they moved. Without errors it stays as it is."""
    if histogram.splits is None:
        return histogram
    sizes = np.bincount(histogram.part).astype(np.float64)
    leaves: Reals = np.bincount(histogram.part, np.ravel(histogram.counts)).astype(np.float64)
    parts = likely(leaves, histogram.splits, sizes)
    counts = (parts / sizes)[histogram.part].reshape(histogram.shape)
    return replace(histogram, counts=counts, shift=leaves - parts)


def likely(leaves: Reals, splits: Splits, sizes: Reals) -> Reals:
    """The likely leaves for estimated ones that hold so many cells each. Their sum stays, or becomes 0 if negative."""
    steps = list(_binary(leaves, splits, sizes))
    guess = np.array([max(0.0, float(leaves.sum()))])
    gentle, lumpy = (
        np.zeros((len(_GENTLE), 1)),
        np.ones(1),
    )  # chances: a stretch of each kind, or none
    for (children, below), begins in zip(steps, _beginnings(steps), strict=True):
        gentle, lumpy = gentle + lumpy * begins, lumpy * (1 - begins.sum(axis=0))
        halved = children == 2
        left, total = starts(children)[:-1][halved], guess[halved]
        seen = _seen(below, left, total)
        mine = lumpy[halved] * expected(*seen) + (gentle[:, halved] * _gently(*seen)[1]).sum(axis=0)
        gentle[:, halved] = _gentler(gentle[:, halved])
        guess, gentle, lumpy = (np.repeat(each, children, axis=-1) for each in (guess, gentle, lumpy))
        guess[left] = np.clip(mine, 0.0, total)  # a digit may lie beyond
        guess[left + 1] = total - guess[left]
    return guess


def _beginnings(steps: Sequence[tuple[Whole, Reals]]) -> list[Reals]:
    """Of every node of every level, coarse first: the chances that a gentle stretch of each kind begins there.

    Given that none has begun above, and all that was told below. From the leaves up: how well all below is foretold by
    each kind, and by whatever may be.
    """
    beginnings: list[Reals] = []
    cells = steps[-1][1].shape[1] if steps else 1
    kinds, any_ = np.zeros((len(_GENTLE), cells)), np.zeros(cells)
    for children, below in reversed(steps):
        kinds, any_ = _added(kinds, children), _added(any_[None], children)[0]
        halved = children == 2
        left = starts(children)[:-1][halved]
        seen = _seen(below, left, np.maximum(below[0][left] + below[0][left + 1], 0.0))
        kinds[:, halved] = _below(kinds[:, halved]) + _gently(*seen)[0]
        begun = math.log(_BEGINS) + kinds[:, halved]
        other = math.log1p(-_BEGINS * len(_GENTLE)) + any_[halved] + np.logaddexp.reduce(_divisions(*seen)[0])
        any_[halved] = np.logaddexp(np.logaddexp.reduce(begun), other)
        begins = np.zeros_like(kinds)
        begins[:, halved] = np.exp(begun - any_[halved])
        beginnings.append(begins)
    return beginnings[::-1]


def _gentler(chances: Reals) -> Reals:
    """Of the halves of nodes in stretches of each kind."""
    return np.concatenate([np.zeros_like(chances[:1]), chances[:-2], chances[-2:].sum(axis=0, keepdims=True)])


def _below(values: Reals) -> Reals:
    """For each kind, the value of the kind that its halves have."""
    return np.concatenate([values[1:], values[-1:]])


def _seen(below: Reals, left: Whole, total: Reals) -> tuple[Reals, Reals, Reals, Reals]:
    """What was told about left halves, given totals: a mean, its variance, the total, the share of the cells."""
    held, spread, cells = below
    together = spread[left] + spread[left + 1]
    # the estimate of the left half, moved as least squares does if the two are to add up to what was guessed
    told = held[left] + spread[left] / together * (total - held[left] - held[left + 1])
    variance = spread[left] * (spread[left + 1] / together)
    variance = np.maximum(variance, _SHARPEST * (1 + total * total))  # what is told exactly has no odds to weigh
    return told, variance, total, cells[left] / (cells[left] + cells[left + 1])


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
    logs, means = _divisions(told, variance, total, even)
    weights = np.exp(logs - logs.max(axis=0))
    mean: Reals = np.clip((weights * means).sum(axis=0) / weights.sum(axis=0), 0.0, total)  # a digit may lie beyond
    return mean


def _divisions(told: Reals, variance: Reals, total: Reals, even: Reals) -> tuple[Reals, Reals]:
    """Of each kind of division: the logarithm of its weight times how well it foretells what was told, and its mean."""
    noise = np.sqrt(variance)
    normal, middle = _near(told, variance, total, even, np.array([[0.0], [_ROUGH]]))
    low, high = -told / noise, (total - told) / noise
    inside = np.maximum(ndtr(high) - ndtr(low), _LEAST)
    cut = (np.exp(-low * low / 2) - np.exp(-high * high / 2)) / (math.sqrt(2 * math.pi) * inside)
    anyhow = np.log(inside / np.maximum(total, _LEAST))
    none, every = _normal(told, variance), _normal(told - total, variance)
    logs = np.stack([_EVEN + normal[0], _ROUGHLY + normal[1], _ANYHOW + anyhow, _ONE_SIDE + none, _ONE_SIDE + every])
    return logs, np.stack([*middle, np.clip(told + noise * cut, 0.0, total), np.zeros_like(total), total])


def _gently(told: Reals, variance: Reals, total: Reals, even: Reals) -> tuple[Reals, Reals]:
    """The same of each kind of gentle stretch, without its weight."""
    return _near(told, variance, total, even, _GENTLE)


def _near(told: Reals, variance: Reals, total: Reals, even: Reals, rough: Reals) -> tuple[Reals, Reals]:
    """The same of divisions about as the cells are, with such standard deviations of the total."""
    middle, equal = even * total, even * (1 - even)
    drawn = total * equal + 4 * equal * (rough * total) ** 2  # as records fall to either side, each by itself, and more
    wide = variance + drawn
    return _normal(told - middle, wide), np.clip((told * drawn + middle * variance) / wide, 0.0, total)


def _normal(away: Reals, variance: Reals) -> Reals:
    """The logarithm of the normal density."""
    return np.asarray(-(np.log(2 * math.pi * variance) + away * away / variance) / 2)
