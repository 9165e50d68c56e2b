"""One or more small instances of every registered mechanism, for the audit that all of them must pass.

A mechanism that is registered and not here fails `test_registry.py`: add it, with parameters at which it is fast and
its noise small.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.mechanisms import (
    ConcentratedTopK,
    Exponential,
    Gaussian,
    GaussianReal,
    GaussianVector,
    Geometric,
    Laplace,
    LaplaceReal,
    LaplaceVector,
    PermuteAndFlip,
    RandomizedResponse,
    RationedPrice,
    ReportNoisyMax,
    TopK,
    Tulap,
)
from discreet.mechanisms.auction import PostedPrice
from discreet.mechanisms.key_selection import GaussianKeys, LaplaceKeys, OptimalKeys
from discreet.mechanisms.mean_and_variance import Mean, Variance
from discreet.mechanisms.median import PureMedian, PureRank, SmoothMedian, SmoothRank
from discreet.mechanisms.online_weights import OnlineWeights, RefreshedOnlineWeights
from discreet.mechanisms.propose_test_release import ProposedMedian, ProposeTestRelease
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.quantile_interval import QuantileEnd
from discreet.mechanisms.quantiles import Quantiles
from discreet.mechanisms.sample_and_aggregate import BlockMean
from discreet.mechanisms.sparse import RefreshedSparseVector, SparseVector
from discreet.privacy import Replace

ONE, HALF = Fraction(1), Fraction(1, 2)
GRID = (Fraction(0), Fraction(8), ONE)  # lower, upper, step
PLACES = (("region", "north", "south"), ("smokes", "false", "true"))
MEDIAN_LEVELS = (Fraction(1, 4), HALF, Fraction(3, 4))

# One call takes more than about 40 µs: audited with fewer outputs in `make test`, with as many in `make test-all`.
COSTLY = {
    "block-mean",
    "exponential",
    "gaussian-keys",
    "laplace-keys",
    "mean",
    "online-weights",
    "online-weights-refreshed",
    "permute-and-flip",
    "posted-price",
    "proposed-median",
    "pure-median",
    "pure-rank",
    "quantile",
    "quantile-end",
    "quantiles",
    "rationed-price",
    "report-noisy-max",
    "smooth-median",
    "smooth-rank",
    "sparse-vector",
    "sparse-vector-refreshed",
    "top-k",
    "top-k-concentrated",
    "variance",
}

EXAMPLES: dict[str, list[Any]] = {
    "laplace": [Laplace(ONE), Laplace(Fraction(3, 2), 3)],
    "laplace-vector": [LaplaceVector(ONE, 2)],
    "gaussian": [Gaussian(ONE)],
    "gaussian-vector": [GaussianVector(Fraction(2), 2)],
    "geometric": [Geometric.of(1, -3, 4)],
    "laplace-real": [LaplaceReal(ONE, HALF, Fraction(0), Fraction(4), Fraction(1, 8))],
    "gaussian-real": [GaussianReal(HALF, HALF, Fraction(0), Fraction(4), Fraction(1, 8))],
    "tulap": [Tulap(ONE), Tulap(ONE, Fraction(1, 100))],
    "randomized-response": [RandomizedResponse(ONE), RandomizedResponse(ONE, 4)],
    "exponential": [Exponential(ONE, 3), Exponential(ONE, 3, monotone=True)],
    "permute-and-flip": [PermuteAndFlip(ONE, 3), PermuteAndFlip(ONE, 3, monotone=True)],
    "report-noisy-max": [ReportNoisyMax(ONE, 3)],
    "top-k": [TopK(ONE, 4, 2)],
    "top-k-concentrated": [ConcentratedTopK(HALF, 4, 2)],
    "posted-price": [PostedPrice(ONE, 1, 4)],
    "rationed-price": [RationedPrice(ONE, 1, 4, supply=2)],
    "sparse-vector": [SparseVector(HALF, HALF, 0), SparseVector(HALF, HALF, 0, hard=2, epsilon_numbers=HALF)],
    "sparse-vector-refreshed": [RefreshedSparseVector(ONE, 0), RefreshedSparseVector(ONE, 0, hard=2)],
    "quantile": [Quantile(ONE, *GRID), Quantile(ONE, *GRID, neighbours=Replace())],
    "quantile-end": [
        QuantileEnd(ONE, *GRID, Fraction(4), HALF, HALF),
        QuantileEnd(ONE, *GRID, ONE, Fraction(3, 4), HALF, "upper", 2),
    ],
    "quantiles": [Quantiles(ONE, *GRID, MEDIAN_LEVELS)],
    "smooth-median": [SmoothMedian(ONE, Fraction(1, 100), *GRID)],
    "pure-median": [PureMedian(ONE, *GRID)],
    "smooth-rank": [SmoothRank(ONE, Fraction(1, 100), *GRID, 3, 5)],
    "pure-rank": [PureRank(ONE, *GRID, 3, 5)],
    "propose-test-release": [ProposeTestRelease(HALF, HALF, Fraction(1, 100), 1)],
    "proposed-median": [ProposedMedian(HALF, HALF, Fraction(1, 100), ONE, *GRID)],
    "mean": [Mean(ONE, *GRID)],
    "variance": [Variance(ONE, *GRID)],
    "block-mean": [BlockMean(ONE, *GRID, 5)],
    "online-weights": [
        OnlineWeights(PLACES, HALF, HALF, HALF, 1, 4, hard=1),
        OnlineWeights(PLACES, HALF, HALF, HALF, 2, 4, hard=2, sensitivity=2, questions=20),
    ],
    "online-weights-refreshed": [RefreshedOnlineWeights(PLACES, ONE, HALF, 1, 4, hard=2)],
    "optimal-keys": [OptimalKeys(ONE, Fraction(1, 100)), OptimalKeys(ONE, Fraction(1, 100), 2)],
    "laplace-keys": [LaplaceKeys(ONE, Fraction(1, 100)), LaplaceKeys(ONE, Fraction(1, 100), 2)],
    "gaussian-keys": [GaussianKeys(HALF, Fraction(1, 100), 2)],
}
