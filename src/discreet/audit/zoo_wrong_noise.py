"""Mechanisms that are wrong in themselves: noise of the wrong kind or size, a careless sparse vector, odds that tell.

The sparse vectors are four published forms that are not private, after Lyu, Su & Li 2017, Figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Specimen
from discreet.local import OptimizedUnary
from discreet.local.unary import packed
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, coins, gaussians, laplaces
from discreet.noise.secure_random import words
from discreet.privacy.loss import Approximate, Concentrated, Pure

Sets = NDArray[np.uint8]
SOUND = OptimizedUnary(Fraction(1), 4)

_PAIR = Pair(0, 1, "a person with one value, and with another")
_UNARY = "Wang, Blocki, Li & Jha 2017, “Locally differentially private protocols for frequency estimation”, Section 4.2"
STEPS = 16  # of the grid, in one unit of a query
BELOW, ABOVE, SILENT = 0, 1, -1
NEVER = 1 << 40  # a value that no noise reaches
_SOURCE = "Lyu, Su & Li 2017, “Understanding the sparse vector technique for differential privacy”, Figure 2"
Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
TOP = 400
CLASSIC = Approximate(5, "0.8")
FINE = 1 << 10  # steps of the grid in one unit, so that the discrete Gaussian is as good as the continuous one
ONE_UNIT = Pair(0, 1, "a count with one person and without")
ONE_UNIT_AS_FLOAT = Pair(0.0, 1.0, "a count with one person and without")
_MIRONOV = "Mironov 2012, “On significance of the least significant bits for differential privacy”"
_SMOOTH = "Nissim, Raskhodnikova & Smith 2007"


def never_cleared(value: int, size: int, rng: Entropy) -> Sets:
    """The true bit always set, others now and then."""
    said = coins(SOUND.odds.other, size * SOUND.choices, rng).reshape(size, SOUND.choices)
    said[:, value] = True
    return packed(said)


def never_set(value: int, size: int, rng: Entropy) -> Sets:
    """The true bit by a fair coin, and no other."""
    said = np.zeros((size, SOUND.choices), dtype=np.bool_)
    said[:, value] = coins(SOUND.odds.holder, size, rng)
    return packed(said)


def half_the_lies(value: int, size: int, rng: Entropy) -> Sets:
    """The true bit by a fair coin, others half as often as the price asks."""
    said = coins(SOUND.odds.other / 2, size * SOUND.choices, rng).reshape(size, SOUND.choices)
    said[:, value] = coins(SOUND.odds.holder, size, rng)
    return packed(said)


def told_twice(value: int, size: int, rng: Entropy) -> Sets:
    """Two reports, each with coins of its own."""
    return np.hstack([SOUND.sample(value, size, rng=rng) for _ in range(2)])


LOCAL = (
    Specimen(
        "never-cleared",
        Pure(1),
        _PAIR,
        "a bit that is set is never cleared: a 0 rules its value out",
        "the RAPPOR client of pure-ldp 1.2.0; Erlingsson, Pihur & Korolova 2014, Section 3, flip both ways",
        never_cleared,
    ),
    Specimen(
        "never-set",
        Pure(1),
        _PAIR,
        "a bit that is clear is never set: a 1 is the truth",
        _UNARY,
        never_set,
    ),
    Specimen(
        "half-the-lies",
        Pure(1),
        _PAIR,
        "a bit of another value is set with probability 1/(2e^ε + 2): a 1 tells more than ε",
        _UNARY,
        half_the_lies,
    ),
    Specimen(
        "told-twice",
        Pure(1),
        _PAIR,
        "a person asked twice answers with fresh coins, for the price of one answer",
        "Erlingsson, Pihur & Korolova 2014, Section 3: an answer is drawn once and kept",
        told_twice,
    ),
)


def sparse_vector(  # noqa: PLR0913  # the six published forms differ in exactly these
    queries: Sequence[int],
    size: int,
    *,
    threshold_scale: Fraction | int,
    query_scale: Fraction | int,
    most: int | None,
    numeric: bool = False,
    rng: Entropy = SECURE,
) -> NDArray[np.int64]:
    """`size` runs: for each query whether it is above a noisy threshold, and nothing more after `most` that are.

    `numeric` answers with the noisy value itself, in steps of the grid, and with the least integer instead of `BELOW`.
    """
    noisy = np.tile(STEPS * np.asarray(queries, dtype=np.int64), (size, 1))
    if query_scale:
        noisy += laplaces(STEPS * Fraction(query_scale), noisy.size, rng=rng).reshape(noisy.shape)
    above = noisy >= laplaces(STEPS * Fraction(threshold_scale), size, rng=rng)[:, None]
    answers = np.where(above, noisy, -NEVER) if numeric else np.where(above, ABOVE, BELOW)
    if most is not None:
        answers[np.cumsum(above, axis=1) - above >= most] = -2 * NEVER if numeric else SILENT
    return answers


SPARSE = (
    Specimen(
        "svt-3",
        Pure(2),
        Pair((0,) * 8 + (1,), (1,) * 8 + (0,), "one person moves from the last query to the first eight"),
        "it answers with the very noisy value that it compared: that value bounds the secret threshold from above, and"
        " every query found below it then tells more than the threshold's noise hides",
        f"{_SOURCE}, Algorithm 3, after lecture notes of 2011",
        lambda queries, size, rng: sparse_vector(
            queries, size, threshold_scale=1, query_scale=1, most=1, numeric=True, rng=rng
        ),
        runs=100_000,
    ),
    Specimen(
        "svt-4",
        Pure(1),
        Pair((0,) * 8 + (1,) * 2, (1,) * 8 + (0,) * 2, "one person moves from the last two queries to the first eight"),
        "the noise of a query does not grow with the number c of answers above: it may lose up to (1 + 6c)/4 times ε",
        f"{_SOURCE}, Algorithm 4, after Lee & Clifton 2014",
        lambda queries, size, rng: sparse_vector(
            queries, size, threshold_scale=4, query_scale=Fraction(4, 3), most=2, rng=rng
        ),
        runs=100_000,
    ),
    Specimen(
        "svt-5",
        Pure(1),
        Pair((0, 1), (1, 0), "one person moves from the second query to the first"),
        "the queries get no noise: two neighbours can order them differently, and the order is told",
        f"{_SOURCE}, Algorithm 5, after Stoddard, Chen & Machanavajjhala 2014",
        lambda queries, size, rng: sparse_vector(queries, size, threshold_scale=2, query_scale=0, most=None, rng=rng),
    ),
    Specimen(
        "svt-6",
        Pure(1),
        Pair((0,) * 10, (1,) * 5 + (-1,) * 5, "one person adds to five queries and takes from five"),
        "it never stops, so every answer above its threshold is given for free",
        f"{_SOURCE}, Algorithm 6, after Chen, Xiao, Zhang & Xu 2015",
        lambda queries, size, rng: sparse_vector(queries, size, threshold_scale=2, query_scale=2, most=None, rng=rng),
    ),
)


def uniforms(size: int, *, rng: Entropy = SECURE) -> Reals:
    """Multiples of 2^−53 in [0, 1), as every library draws its floats."""
    return (words(size, rng=rng) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def inverse_laplace(value: float, size: int, rng: Entropy) -> Reals:
    """The inverse of the distribution function at a random float."""
    u = uniforms(size, rng=rng) - 0.5
    with np.errstate(divide="ignore"):
        noise: Reals = -np.sign(u) * np.log(1 - 2 * np.abs(u))
    return value + noise


def library_laplace(value: float, size: int, rng: Entropy) -> Reals:
    """The two branches by which numerical libraries draw Laplace noise: each halves the range again."""
    u = uniforms(size, rng=rng)
    with np.errstate(divide="ignore"):
        return np.where(u >= 0.5, value - np.log(2.0 - u - u), value + np.log(u + u))


def box_muller(value: float, size: int, rng: Entropy) -> Reals:
    """A standard normal float from two uniform ones."""
    radius: Reals = np.sqrt(-2 * np.log(1 - uniforms(size, rng=rng)))
    return value + radius * np.cos(2 * np.pi * uniforms(size, rng=rng))


def local_sensitivity(ordered: Sequence[int]) -> int:
    """How far the median of an odd number of values can move when one of them changes."""
    middle = len(ordered) // 2
    return max(ordered[middle] - ordered[middle - 1], ordered[middle + 1] - ordered[middle])


def smooth_bound(ordered: Sequence[int], top: int, beta: int) -> Fraction:
    """The β-smooth sensitivity of the median on [0, top] (Nissim, Raskhodnikova & Smith 2007, Section 3.1).

    max over k of e^{−kβ} max_{t ≤ k+1} (x_{m+t} − x_{m+t−k−1}), with 0 before the first value and `top` after the last.
    """
    middle, n = len(ordered) // 2, len(ordered)

    def at(i: int) -> int:
        return 0 if i < 0 else top if i >= n else ordered[i]

    best = max(
        math.exp(-k * beta) * max(at(middle + t) - at(middle + t - k - 1) for t in range(k + 2)) for k in range(n + 1)
    )
    return Fraction(math.ceil(best * 1024), 1024)


def at_local_sensitivity(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """The median, with noise of a scale that is read off the data."""
    ordered = sorted(values)
    scale, middle = local_sensitivity(ordered), ordered[len(ordered) // 2]
    return middle + (laplaces(scale, size, rng=rng) if scale else np.zeros(size, dtype=np.int64))


def at_smooth_bound(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """The median, with Laplace noise of scale S/ε for an ε-smooth bound S and ε = 1."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2] + laplaces(smooth_bound(ordered, TOP, 1), size, rng=rng)


def classic_gaussian(value: int, size: int, rng: Entropy) -> Integers:
    """σ = √(2 ln(1.25/δ))/ε, rounded up."""
    variance = 2 * math.log(1.25 / float(CLASSIC.delta)) / float(CLASSIC.epsilon) ** 2
    return FINE * value + gaussians(Fraction(math.ceil(variance * FINE**2)), size, rng=rng)


NOISE = (
    Specimen(
        "inverse-laplace",
        Pure(1),
        ONE_UNIT_AS_FLOAT,
        "the floats that can come out depend on the count: their lowest bits tell which one it was",
        _MIRONOV,
        inverse_laplace,
    ),
    Specimen(
        "library-laplace",
        Pure(1),
        ONE_UNIT_AS_FLOAT,
        "as the inverse, with a branch: floats near 0 have bits that floats near 1 cannot have",
        _MIRONOV,
        library_laplace,
    ),
    Specimen(
        "box-muller",
        Concentrated("1/2"),
        ONE_UNIT_AS_FLOAT,
        "Gaussian noise of variance 1 as floats leaks by its lowest bits just as Laplace noise does",
        "Jin, McMurtry, Rubinstein & Ohrimenko 2022, “Are we there yet? Timing and floating-point attacks”",
        box_muller,
    ),
    Specimen(
        "half-sensitivity",
        Pure(1),
        Pair(0, 2, "replacing a person moves a count of votes +1 and −1 by two"),
        "the sensitivity is 2, the noise has scale 1",
        "Dwork, McSherry, Nissim & Smith 2006, Proposition 1, with the wrong number in it",
        lambda value, size, rng: value + laplaces(1, size, rng=rng),
    ),
    Specimen(
        "each-by-itself",
        Pure(1),
        Pair((0,) * 4, (1,) * 4, "one person counts in each of four cells"),
        "each cell gets noise of scale 1, as if a person could be in one only: together they lose 4",
        "Dwork, McSherry, Nissim & Smith 2006, Proposition 1: the distance is L1, over all cells",
        lambda values, size, rng: np.asarray(values) + laplaces(1, 4 * size, rng=rng).reshape(size, 4),
    ),
    Specimen(
        "local-sensitivity",
        Pure(1),
        Pair(
            (0, 0, 0, 0, TOP), (0, 0, 0, TOP, TOP), "one value replaced; the median stays, the gap next to it does not"
        ),
        "the scale of the noise is a function of the data and is not protected by anything",
        f"{_SMOOTH}, Section 1",
        at_local_sensitivity,
    ),
    Specimen(
        "smooth-laplace",
        Pure(2),
        Pair((0,) * 7, (0,) * 6 + (TOP,), "one value replaced; the median stays, its smooth bound grows by a factor e"),
        "Laplace noise of scale S/ε for an ε-smooth bound S was said to be 2ε-private; where S differs between"
        " neighbours, the ratio of their tails has no bound",
        f"{_SMOOTH}, Section 2: Laplace noise needs δ > 0 here",
        at_smooth_bound,
    ),
    Specimen(
        "classic-gaussian",
        CLASSIC,
        ONE_UNIT,
        "the formula σ = √(2 ln(1.25/δ))/ε is proven for ε < 1 only; for large ε noise must fall as 1/√ε, not as 1/ε",
        "Balle & Wang 2018, “Improving the Gaussian mechanism for differential privacy”, Section 2",
        classic_gaussian,
        runs=100_000,
    ),
)
