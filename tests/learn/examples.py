"""Small instances of every mechanism that fits a model, and of every estimator, for the suites that all must pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.learn import (
    PCA,
    AdditiveClassification,
    AdditiveClassifier,
    AdditiveRegression,
    AdditiveRegressor,
    ClassificationTree,
    ConvexERM,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExponentialComponents,
    ExponentialLearner,
    FunctionalLogistic,
    GaussianComponents,
    GaussianMixture,
    GaussianNB,
    HingeRisk,
    HuberRegressor,
    HuberRisk,
    KernelRisk,
    KernelSVC,
    KMeans,
    KMeansClusters,
    LeastSquares,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    LogisticRisk,
    LowRank,
    MatrixFactors,
    NaiveBayes,
    PrincipalComponents,
    PrivateSearch,
    RandomForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RegressionForest,
    RegressionTree,
    Ridge,
    RuleLearner,
    SparseLeastSquares,
    SparseRegression,
    Standardize,
    StandardScaler,
)
from discreet.learn.convex_losses import Huber
from discreet.privacy import Replace

ONE, HALF, RARE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)

EXAMPLES: dict[str, list[Any]] = {
    "linear-regression": [
        LeastSquares(("a",), "y", ONE),
        LeastSquares(("a", "b"), "y", ONE, RARE, alpha=HALF, max_rows=2),
        LeastSquares(("a",), "y", rho=HALF, fit_intercept=False, data_norm=ONE, neighbours=Replace("person")),
    ],
    "logistic-regression": [
        LogisticRisk(("a",), "y", ONE, RARE),
        LogisticRisk(("a", "b"), "y", ONE, RARE, method="gaussian", data_norm=ONE, max_rows=2),
        LogisticRisk(("a",), "y", ONE, RARE, l1=HALF, method="output", neighbours=Replace("person")),
    ],
    "linear-svc": [HingeRisk(("a",), "y", ONE, RARE, ONE, fit_intercept=False)],
    "huber-regression": [HuberRisk(("a",), "y", ONE, RARE, ONE, method="objective")],
    "kernel-svc": [KernelRisk(("a",), "y", ONE, RARE, ONE, components=2)],
    "functional-logistic": [
        FunctionalLogistic(("a",), "y", ONE, max_rows=2),
        FunctionalLogistic(("a", "b"), "y", rho=HALF, data_norm=ONE, fit_intercept=False, neighbours=Replace()),
    ],
    "naive-bayes": [
        NaiveBayes(("a",), "y", ONE, max_rows=2),
        NaiveBayes(("a", "b"), "y", ONE, RARE, neighbours=Replace("person")),
    ],
    "standard-scaler": [Standardize(("a", "b"), ONE), Standardize(("a",), rho=HALF, with_mean=False)],
    "pca": [
        PrincipalComponents(("a", "b"), 2, ONE, max_rows=2),
        PrincipalComponents(("a",), 1, ONE, RARE, data_norm=Fraction(2), center=False),
        PrincipalComponents(("a", "b"), 1, rho=HALF, center=False, neighbours=Replace("person")),
    ],
    "low-rank": [
        MatrixFactors(("a", "b"), "y", 1, ONE, RARE, iterations=0, max_rows=2),
        MatrixFactors(("a", "b"), "y", 2, rho=HALF, coherence=ONE, neighbours=Replace("person")),
    ],
    "gaussian-mixture": [
        GaussianComponents(("a", "b"), 2, ONE, iterations=1, max_rows=2),
        GaussianComponents(("a",), 1, ONE, RARE, iterations=2, data_norm=Fraction(2), neighbours=Replace("person")),
    ],
    "k-means": [
        KMeansClusters(("a", "b"), 2, ONE, iterations=1, max_rows=2),
        KMeansClusters(("a",), 1, ONE, RARE, data_norm=Fraction(2)),
        KMeansClusters(("a", "b"), 2, rho=HALF, iterations=2, neighbours=Replace("person")),
    ],
    "exponential-pca": [
        ExponentialComponents(("a", "b"), 1, ONE, center=False, max_rows=2),
        ExponentialComponents(("a", "b"), 2, ONE, RARE, data_norm=Fraction(2), neighbours=Replace("person")),
    ],
    "exponential-learner": [
        RuleLearner(("a", "b"), "y", ONE, cuts=2, terms=2, max_rows=2),
        RuleLearner(("a",), "y", ONE, neighbours=Replace("person")),
    ],
    "additive-classifier": [
        AdditiveClassification(("a",), "y", ONE, rounds=2, cuts=2, max_rows=2),
        AdditiveClassification(("a", "b"), "y", ONE, RARE, neighbours=Replace("person")),
    ],
    "additive-regressor": [
        AdditiveRegression(("a",), "y", ONE, rounds=1),
        AdditiveRegression(("a", "b"), "y", rho=HALF, max_rows=2, neighbours=Replace()),
    ],
    "private-search": [
        PrivateSearch(
            ("a",),
            "y",
            "naive-bayes",
            ((("smoothing", "1/10"),), (("smoothing", 0),)),
            ONE,
            tries=Fraction(2),
            max_rows=2,
        ),
        PrivateSearch(("a",), "y", "linear-regression", ((("alpha", 1),),), ONE, RARE, neighbours=Replace("person")),
    ],
    "random-forest-classifier": [
        RandomForest(("a",), "y", ONE, trees=2, max_depth=2, max_rows=2),
        RandomForest(("a", "b"), "y", ONE, RARE, trees=4, max_depth=3, neighbours=Replace("person")),
    ],
    "random-forest-regressor": [
        RegressionForest(("a",), "y", ONE, trees=2, max_depth=2, max_rows=2),
        RegressionForest(("a", "b"), "y", ONE, RARE, trees=4, max_depth=3, neighbours=Replace("person")),
    ],
    "decision-tree-classifier": [
        ClassificationTree(("a",), "y", ONE, max_depth=2, max_rows=2),
        ClassificationTree(("a", "b"), "y", ONE, RARE, neighbours=Replace("person")),
    ],
    "decision-tree-regressor": [
        RegressionTree(("a",), "y", ONE, max_depth=1),
        RegressionTree(("a", "b"), "y", rho=HALF, max_rows=2, neighbours=Replace()),
    ],
    "sparse-regression": [
        SparseLeastSquares(("a", "b", "c"), "y", 1, ONE),
        SparseLeastSquares(("a", "b"), "y", 1, ONE, RARE, fit_intercept=False, max_rows=2, neighbours=Replace()),
    ],
}

# Instances with bounds and a price at which the noise is next to nothing, for scikit-learn's own checks.
HUGE = 10**30
DEAR: dict[str, Any] = {"epsilon": 40, "delta": "1e-6", "alpha": "0.01", "bounds": (-10, 10)}
NUMBERS: dict[str, Any] = {"bounds": (-1000, 1000), "label_bounds": (-1000, 1000)}


class Declared:
    """Classes that are read from data, which only a test may: scikit-learn's checks declare none."""

    classes: Any

    def fit(self, X: Any, y: Any = None, units: Any = None) -> Any:  # noqa: ANN401, N803
        """As it stands, the classes known."""
        if y is None:
            return super().fit(X, y, units)  # type: ignore[misc]
        self.classes = np.unique(np.asarray(y))
        try:
            return super().fit(X, y, units)  # type: ignore[misc]
        finally:
            self.classes = None


class OfLogistic(Declared, LogisticRegression):
    """Logistic regression of whatever classes there are."""


class OfSupport(Declared, LinearSVC):
    """Support vectors of whatever classes there are."""


class OfBayes(Declared, GaussianNB):
    """Naive Bayes of whatever classes there are."""


class OfRules(Declared, ExponentialLearner):
    """Rules about whatever classes there are."""


class OfEffects(Declared, AdditiveClassifier):
    """Additive model of whatever two classes there are."""


class OfForest(Declared, RandomForestClassifier):
    """Random forest of whatever classes there are."""


class OfTree(Declared, DecisionTreeClassifier):
    """Decision tree of whatever classes there are."""


class OfFunctional(Declared, LogisticRegression):
    """Logistic regression by a quadratic: of two classes."""

    _most = 2

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class OfKernel(Declared, KernelSVC):
    """The same with a kernel."""


ESTIMATORS: list[Any] = [
    LinearRegression(HUGE, **NUMBERS),
    Ridge(1, epsilon=HUGE, **NUMBERS),
    SparseRegression(2, epsilon=HUGE, **NUMBERS),
    StandardScaler(HUGE, bounds=(-1000, 1000)),
    LowRank(2, epsilon=HUGE, bounds=(-1000, 1000)),
    GaussianMixture(2, epsilon=HUGE, bounds=(-20, 20)),
    KMeans(3, epsilon=HUGE, bounds=(-20, 20)),
    PCA(1, method="exponential", epsilon=1000, bounds=(-10, 10)),
    PCA(1, epsilon=HUGE, bounds=(-1000, 1000)),
    PCA(epsilon=HUGE, delta="1e-6", bounds=(-1000, 1000), data_norm=10**4, center=False),
    OfBayes(HUGE, bounds=(-1000, 1000)),
    OfRules(HUGE, bounds=(-10, 10), cuts=100, terms=2),
    OfEffects(HUGE, bounds=(-10, 10), cuts=100, rounds=20),
    AdditiveRegressor(HUGE, bounds=(-10, 10), label_bounds=(-300, 300), cuts=100, rounds=20),
    OfForest(HUGE, bounds=(-6, 6), cuts=60),
    RandomForestRegressor(HUGE, bounds=(-10, 10), label_bounds=(-300, 300), cuts=200),
    OfTree(HUGE, bounds=(-10, 10), cuts=200),
    DecisionTreeRegressor(HUGE, bounds=(-10, 10), label_bounds=(-300, 300), cuts=200),
    OfFunctional(HUGE, delta=0, bounds=(-10, 10), method="functional"),
    OfLogistic(**DEAR),
    OfLogistic(**DEAR, l1="0.1"),
    OfSupport(**DEAR),
    OfKernel(**DEAR, gamma=20),
    HuberRegressor(**DEAR, label_bounds=(-300, 300), width="0.01"),
    ConvexERM(Huber(Fraction(1, 100)), **DEAR, label_bounds=(-300, 300)),
]
