"""Wrong formulas: clamps and sums in the wrong order, NULLs and bounds from the data, noise of another law's size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Specimen
from discreet.audit.outputs import Outputs
from discreet.mechanisms.mechanism import Pair
from discreet.noise import Entropy, flips, gaussians, laplaces
from discreet.privacy.loss import Concentrated, Pure
from discreet.privacy.tradeoff import Gaussian

Integers = NDArray[np.int64]
UPPER = 4
WIDEST = 4096
LEFT_OUT = 3  # the most that bounded noise adds
FINE = 1 << 10
_ONE = Pair(0, 1, "a count with one person and without")
_UNIT = "SOUNDNESS 13: what one unit can do is bounded before anything is summed"
_NULLS = "SOUNDNESS 30: rows left out are named; ISO/IEC 9075-2, Section 10.9, on NULL in aggregates"
_DATA = "SOUNDNESS 38: bounds are functions of bought numbers only"


def clamped_sum(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """A sum that is clamped as a whole, to what that many values may add up to, with noise for one value."""
    total = min(max(sum(values), 0), UPPER * 100)
    return total + laplaces(UPPER, size, rng=rng)


def half_floats(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """A sum in 16-bit floats, with noise for the largest value; at 4096 floats are 2 apart, and a 1 vanishes."""
    total = np.float16(0)
    for value in values:
        total += np.float16(min(max(value, -WIDEST), WIDEST))
    return int(total) + laplaces(WIDEST, size, rng=rng)


def clamped_to_the_data(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """A sum with noise for the largest value that occurs."""
    most = max(values)
    return sum(values) + (laplaces(most, size, rng=rng) if most else np.zeros(size, dtype=np.int64))


def poisoned(values: Sequence[int | None], size: int, rng: Entropy) -> Outputs:
    """A noisy sum that is NULL where a value is."""
    if None in values:
        return [None] * size
    return sum(value for value in values if value is not None) + laplaces(UPPER, size, rng=rng)


def nulls_counted(values: Sequence[int | None], size: int, rng: Entropy) -> Integers:
    """A noisy sum, and beside it how many values were missing."""
    known = [value for value in values if value is not None]
    noisy = sum(known) + laplaces(UPPER, size, rng=rng)
    return np.column_stack([noisy, np.full(size, len(values) - len(known), dtype=np.int64)])


def own_edges(values: Sequence[int], size: int, rng: Entropy) -> list[object]:
    """Noisy counts of two bins whose common edge is the median of the values."""
    edge = sorted(values)[len(values) // 2]
    below = sum(value < edge for value in values)
    noise = laplaces(1, 2 * size, rng=rng).reshape(size, 2).tolist()
    return [{"edge": edge, "below": below + a, "above": len(values) - below + b} for a, b in noise]


def cut_off(count: int, size: int, rng: Entropy) -> Integers:
    """Noise that is never larger than three: what is beyond is drawn again."""
    noise = laplaces(1, 2 * size, rng=rng)
    return count + noise[np.abs(noise) <= LEFT_OUT][:size]


def gaussian_called_pure(count: int, size: int, rng: Entropy) -> Integers:
    """Gaussian noise of standard deviation 1/ε, as if it were Laplace noise."""
    return FINE * count + gaussians(FINE**2, size, rng=rng)


def not_squared(value: int, size: int, rng: Entropy) -> Integers:
    """Gaussian noise of variance Δ/(2ρ), where it takes Δ²/(2ρ)."""
    return FINE * value + gaussians(3 * FINE**2, size, rng=rng)


def largest_coordinate(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Gaussian noise of variance 1 on nine sums, each of which one person moves by one."""
    noise = gaussians(FINE**2, 9 * size, rng=rng).reshape(size, 9)
    return FINE * np.asarray(values) + noise


def winner_and_its_count(counts: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Report noisy max, and the noisy count that won, for the price of the name alone."""
    noisy = np.asarray(counts) + laplaces(1, size * len(counts), rng=rng).reshape(size, -1)
    return np.column_stack([noisy.argmax(axis=1), noisy.max(axis=1)])


def weights_that_vanish(scores: Sequence[int], size: int, rng: Entropy) -> Integers:
    """The exponential mechanism with weights e^{u/2} as floats: below −1490 they are 0."""
    weights = [math.exp(score / 2) for score in scores]
    chance = Fraction(weights[0] / total) if (total := sum(weights)) else Fraction(1, 2)
    if chance in {0, 1}:
        return np.full(size, 1 - int(chance), dtype=np.int64)
    return 1 - flips(chance, size, rng=rng).astype(np.int64)


FORMULAS = (
    Specimen(
        "clamped-as-a-whole",
        Pure(1),
        Pair((1, 1), (1, 1, 100), "one person added, with a value beyond the bounds"),
        "the sum is clamped, the values are not: one of them may move it as far as all together",
        _UNIT,
        clamped_sum,
    ),
    Specimen(
        "half-floats",
        Pure(1),
        Pair((-1,) * 2048, (WIDEST, *(-1,) * 2048), "one person added, at the upper bound and the first in order"),
        "floats round: after one large value 2048 small ones add nothing, and the sum moves by half as much again",
        "Casacuberta, Shoemate, Vadhan & Wagaman 2022, “Widespread underestimation of sensitivity”",
        half_floats,
    ),
    Specimen(
        "bounds-from-the-data",
        Pure(1),
        Pair((0, 0, 0), (0, 0, UPPER), "one person added to zeros"),
        "noise of the size of the largest value tells how large that is",
        _DATA,
        clamped_to_the_data,
    ),
    Specimen(
        "null-poisons-the-sum",
        Pure(1),
        Pair((1, 1), (1, None), "one person's value becomes NULL"),
        "one NULL makes the sum NULL, and NULL has no noise",
        _NULLS,
        poisoned,
    ),
    Specimen(
        "nulls-counted",
        Pure(1),
        Pair((1, 1), (1, 1, None), "one person added, whose value is NULL"),
        "how many rows were left out is told exactly, beside the noisy sum of the others",
        _NULLS,
        nulls_counted,
    ),
    Specimen(
        "edges-from-the-data",
        Pure(1),
        Pair((1, 2, 3), (1, 2, 3, 4), "one person added"),
        "the counts of the bins have noise, their edge is somebody's value",
        _DATA,
        own_edges,
    ),
    Specimen(
        "noise-cut-off",
        Pure(1),
        _ONE,
        "noise that is bounded rules inputs out: at its end an output is possible on one of them only",
        "Dagan & Kur 2022, “A bounded-noise mechanism for differential privacy”: bounded noise needs δ > 0",
        cut_off,
    ),
    Specimen(
        "gaussian-called-pure",
        Pure(1),
        Pair(0, 1, "a count with one person and without"),
        "the loss of Gaussian noise has no bound: it grows with the output",
        "Dwork & Roth 2014, Section 3.5.3: the Gaussian mechanism needs δ > 0",
        gaussian_called_pure,
    ),
    Specimen(
        "distance-not-squared",
        Concentrated("1/2"),
        Pair(0, 3, "one person moves a sum by three"),
        "ρ = Δ²/(2σ²); with Δ instead of Δ² it is three times as large as said",
        "Bun & Steinke 2016, Proposition 6, with the square left out",
        not_squared,
    ),
    Specimen(
        "largest-coordinate",
        Gaussian.of(1),
        Pair((0,) * 9, (1,) * 9, "one person counts in each of nine cells"),
        "the noise is for the largest move of one coordinate; nine of them together move three times as far",
        "Dong, Roth & Su 2022, Theorem 1: the distance is Euclid's, over all coordinates",
        largest_coordinate,
    ),
    Specimen(
        "winner-and-its-count",
        Pure(1),
        Pair((0,) * 4, (1,) * 4, "one person counts in each of four"),
        "the name of the largest noisy count is private, the noisy count itself is that of all four",
        "Dwork & Roth 2014, Claim 3.9, is about the name alone",
        winner_and_its_count,
    ),
    Specimen(
        "weights-that-vanish",
        Pure(1),
        Pair((-1490, -1491), (-1491, -1490), "one person moves from one score to the other"),
        "e^−745.5 is 0 as a float: what should be a little less likely becomes impossible",
        "IEEE 754-2019, Section 7.5; Ilvento 2020, “Implementing the exponential mechanism with base-2 differential"
        " privacy”",
        weights_that_vanish,
    ),
)
