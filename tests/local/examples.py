"""One or more small instances of every client, for the suites that all of them must pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.local import (
    CountMeanSketch,
    DuchiMean,
    Hadamard,
    HadamardSketch,
    HeavyHitters,
    HybridMean,
    LocalHashing,
    OptimizedUnary,
    Oracle,
    PiecewiseMean,
    Rappor,
    Response,
    SubsetSelection,
    SymmetricUnary,
    VectorMean,
)

ONE, HALF = Fraction(1), Fraction(1, 2)

ORACLES: dict[str, list[Oracle]] = {
    "response": [Response(ONE, 2), Response(HALF, 5)],
    "symmetric-unary": [SymmetricUnary(ONE, 3), SymmetricUnary(Fraction(2), 9)],
    "optimized-unary": [OptimizedUnary(ONE, 3), OptimizedUnary(Fraction(2), 9)],
    "local-hashing": [LocalHashing(ONE, 4), LocalHashing(Fraction(6), 300)],
    "hadamard": [Hadamard(ONE, 3), Hadamard(HALF, 4)],
    "subset-selection": [SubsetSelection(HALF, 5), SubsetSelection(ONE, 9)],
}
EXAMPLES: dict[str, list[Any]] = {
    **ORACLES,
    "duchi-mean": [DuchiMean(ONE), DuchiMean(ONE, Fraction(0), Fraction(100), 3)],
    "piecewise-mean": [PiecewiseMean(ONE, digits=3), PiecewiseMean(Fraction(2), Fraction(10), Fraction(20), 9)],
    "hybrid-mean": [HybridMean(ONE, digits=2), HybridMean(HALF)],
    "rappor": [
        Rappor(Fraction(2), 5, 1, 3, Fraction(1, 8), Fraction(7, 8)),
        Rappor.flipping("0.5", bits=16, cohorts=5),
    ],
    "count-mean-sketch": [CountMeanSketch(ONE, 3, 6), CountMeanSketch(Fraction(3), 2, 9, 7)],
    "hadamard-sketch": [HadamardSketch(ONE, 3, 4), HadamardSketch(HALF, 5, 16, 7)],
    "heavy-hitters": [HeavyHitters(ONE, 2, 4, 4, 3, 8), HeavyHitters(Fraction(2), 1, 8, 8, 1, 64)],
    "vector-mean": [VectorMean(ONE, 3, digits=1), VectorMean(Fraction(5), 3, Fraction(0), Fraction(1), 2)],
}
