"""DecisionTreeClassifier and DecisionTreeRegressor, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from discreet.declared.column import Column
from discreet.exact import Number, exact
from discreet.learn.classifiers import PrivateClassifier, neighbours_of
from discreet.learn.estimator import PrivateEstimator, number_column, numbers_of, optional
from discreet.learn.tree_learner import ClassificationTree, RegressionTree
from discreet.privacy import Neighbours


class ChanceClassifier(PrivateClassifier):
    """A classifier whose model says how likely each class is."""

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """The chance of each class, a column each."""
        rows = self._checked(X)
        told: NDArray[np.float64] = self.model_.probabilities(rows)
        return told

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Its logarithm."""
        told: NDArray[np.float64] = np.log(self.predict_proba(X))
        return told


class NumberRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A regressor whose label has `label_bounds`."""

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """One prediction for each row."""
        return self._predicted(X)

    def _read_label(self, y: NDArray[Any]) -> NDArray[Any]:
        return numbers_of(y)

    def _label_column(self, name: str) -> Column:
        return number_column(self, name)


def _terms(tree: Any, features: Sequence[str], label: str) -> dict[str, Any]:  # noqa: ANN401  # of either kind
    """The fields of a mechanism."""
    return {
        "features": tuple(features),
        "label": label,
        "epsilon": optional(tree.epsilon, "epsilon"),
        "delta": exact(tree.delta, "delta"),
        "rho": optional(tree.rho, "rho"),
        "max_depth": tree.max_depth,
        "cuts": tree.cuts,
        "max_rows": tree.max_rows,
        "neighbours": neighbours_of(tree.neighbours),
    }


class DecisionTreeClassifier(ChanceClassifier):
    """Decision tree of which each split is chosen privately among public cuts.

    `classes` are the labels that there can be and `bounds` how far features reach, both public; `categories` are the
    values of those that are no numbers, by the name of the column or its place. Each number is cut at `cuts` places.
    `max_depth` is how many levels there are at most: a noisy number of rows says how many are worth their price.
    `epsilon`, perhaps with `delta`, or `rho` is what a fit loses.

    Guarantee: that of `ClassificationTree`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number | None = 1,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        classes: Any = None,  # noqa: ANN401  # labels of any type
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        categories: Any = None,  # noqa: ANN401  # lists of values
        max_depth: int = 6,
        cuts: int = 15,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.classes = classes
        self.bounds = bounds
        self.categories = categories
        self.max_depth = max_depth
        self.cuts = cuts
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> ClassificationTree:
        """The mechanism that a fit is, over columns of these names."""
        return ClassificationTree(**_terms(self, features, label))


class DecisionTreeRegressor(NumberRegressor):
    """Decision tree that predicts a number between `label_bounds`; else as `DecisionTreeClassifier`.

    Guarantee: that of `RegressionTree`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number | None = 1,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        label_bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        categories: Any = None,  # noqa: ANN401  # lists of values
        max_depth: int = 6,
        cuts: int = 15,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.label_bounds = label_bounds
        self.categories = categories
        self.max_depth = max_depth
        self.cuts = cuts
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> RegressionTree:
        """The mechanism that a fit is, over columns of these names."""
        return RegressionTree(**_terms(self, features, label))
