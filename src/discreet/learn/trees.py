"""DecisionTreeClassifier and DecisionTreeRegressor, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.constructor_arguments import CellArguments
from discreet.learn.regressors import PrivateRegressor
from discreet.learn.tree_learner import ClassificationTree, RegressionTree


@dataclass(eq=False, repr=False, kw_only=True)
class DecisionTreeClassifier(CellArguments, PrivateClassifier):
    """Decision tree of which each split is chosen privately among public cuts.

    `classes` are the labels that there can be and `bounds` how far features reach, both public; `categories` are the
    values of those that are no numbers, by the name of the column or its place. Each number is cut at `cuts` places.
    `max_depth` is how many levels there are at most: a noisy number of rows says how many are worth their price.
    `epsilon`, perhaps with `delta`, or `rho` is what a fit loses.

    Guarantee: that of `ClassificationTree`; `privacy_` says it.
    """

    classes: Any = None  # labels of any type
    max_depth: int = 6

    def mechanism(self, features: Sequence[str], label: str) -> ClassificationTree:
        """The mechanism that a fit is, over columns of these names."""
        return ClassificationTree(**self._over_cells(features, label), max_depth=self.max_depth)


@dataclass(eq=False, repr=False, kw_only=True)
class DecisionTreeRegressor(CellArguments, PrivateRegressor):
    """Decision tree that predicts a number between `label_bounds`; else as `DecisionTreeClassifier`.

    Guarantee: that of `RegressionTree`; `privacy_` says it.
    """

    label_bounds: Any = None  # a pair of numbers
    max_depth: int = 6

    def mechanism(self, features: Sequence[str], label: str) -> RegressionTree:
        """The mechanism that a fit is, over columns of these names."""
        return RegressionTree(**self._over_cells(features, label), max_depth=self.max_depth)
