"""What is read off a release: a number with its standard error, and a curve of shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.release.histogram import Estimate, Histogram
from discreet.release.splits import Reals


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
    leaves, ones = np.arange(sizes.size), np.ones(sizes.size)
    variances = histogram.splits.ranges(leaves, ones, leaves, ones)
    return np.asarray((np.sqrt(variances) / sizes)[histogram.part].reshape(histogram.shape))
