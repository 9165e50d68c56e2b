"""Small instances of every session and test of this room, for the suites that all must pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.privacy import Replace
from discreet.validity import (
    AdaptiveCounts,
    BinomialTest,
    ChiSquareTest,
    Ladder,
    PermutationTest,
    PopulationMean,
    PopulationShare,
    Thresholdout,
    TTest,
)

ONE, HALF, TWO = Fraction(1), Fraction(1, 2), Fraction(2)

EXAMPLES: dict[str, list[Any]] = {
    "adaptive-counts": [
        AdaptiveCounts(HALF, 50, 3),
        AdaptiveCounts(HALF, 50, 3, 2, Fraction(1, 10**6), neighbours=Replace()),
    ],
    "binomial-test": [
        BinomialTest("smokes", "yes", HALF, 2, ONE),
        BinomialTest("smokes", "yes", HALF, 2, ONE, Fraction(1, 100), "two-sided", neighbours=Replace()),
    ],
    "chi-square-test": [
        ChiSquareTest(("smokes",), ONE, (HALF, HALF), 19),
        ChiSquareTest(("smokes", "drinks"), ONE, draws=19, neighbours=Replace()),
    ],
    "ladder": [Ladder(TWO, 4, 9), Ladder(TWO, 6, 9, hard=2, sensitivity=2)],
    "permutation-test": [PermutationTest("cost", "group", ONE, 2)],
    "population-mean": [PopulationMean("cost", ONE), PopulationMean("cost", ONE, neighbours=Replace())],
    "population-share": [
        PopulationShare("smokes", "yes", ONE),
        PopulationShare("smokes", "yes", ONE, neighbours=Replace()),
    ],
    "t-test": [TTest("cost", ONE, blocks=2), TTest("cost", ONE, by="group", blocks=2, neighbours=Replace())],
    "thresholdout": [Thresholdout(TWO, 4, 9), Thresholdout(TWO, 6, 9, hard=2, rounding=2)],
}
