"""Small instances of every mechanism that fits a model, and of every estimator, for the suites that all must pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.learn import LeastSquares, LinearRegression, Ridge
from discreet.privacy import Replace

ONE, HALF, RARE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)

EXAMPLES: dict[str, list[Any]] = {
    "linear-regression": [
        LeastSquares(("a",), "y", ONE),
        LeastSquares(("a", "b"), "y", ONE, RARE, alpha=HALF, max_rows=2),
        LeastSquares(("a",), "y", rho=HALF, fit_intercept=False, data_norm=ONE, neighbours=Replace("person")),
    ],
}

# Instances with bounds and a price at which the noise is next to nothing, for scikit-learn's own checks.
HUGE = 10**30
ESTIMATORS: list[Any] = [
    LinearRegression(HUGE, bounds=(-1000, 1000), label_bounds=(-1000, 1000)),
    Ridge(1, epsilon=HUGE, bounds=(-1000, 1000), label_bounds=(-1000, 1000)),
]
