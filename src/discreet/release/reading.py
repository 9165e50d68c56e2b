"""What is read off a release: a number with its standard error, and a curve of shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.release.histogram import Estimate, Histogram
from discreet.release.splits import Reals, Splits, starts


@dataclass(frozen=True)
class Reading(Estimate):
    """A number with its standard error, where one is known, and what has to be said about it."""

    note: str = ""

    def __str__(self) -> str:
        told = f"{self.value:.6g}" if self.error is None else f"{self.value:.6g} ± {self.error:.3g}"
        return f"{told} ({self.note})" if self.note else told


@dataclass(frozen=True, eq=False)
class Curve:
    """Rising shares: of all records, how much lies up to each value; with standard errors, where they are known."""

    values: Reals
    shares: Reals
    errors: Reals | None


def weighed(histogram: Histogram, weights: Reals) -> tuple[float, float | None]:
    """A weighted sum of the cells, and its standard error."""
    value = float(np.sum(weights * histogram.counts))
    if histogram.splits is None:
        return value, None
    sizes = np.bincount(histogram.part)
    return value, math.sqrt(histogram.splits.variance(np.bincount(histogram.part, weights.ravel()) / sizes))


def cell_errors(histogram: Histogram) -> Reals | None:
    """The standard error of every cell: that of its part, divided evenly."""
    if histogram.splits is None:
        return None
    sizes = np.bincount(histogram.part)
    errors = np.sqrt(leaf_variances(histogram.splits)) / sizes
    return np.asarray(errors[histogram.part].reshape(histogram.shape))


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
