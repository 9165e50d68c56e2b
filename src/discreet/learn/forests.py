"""RandomForestClassifier and RandomForestRegressor, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.constructor_arguments import CellArguments
from discreet.learn.forest_learner import RandomForest, RegressionForest
from discreet.learn.regressors import PrivateRegressor


@dataclass(eq=False, repr=False, kw_only=True)
class RandomForestClassifier(CellArguments, PrivateClassifier):
    """Random forest whose splits are drawn without looking at the rows, and whose leaves are noisy counts.

    `n_estimators` and `max_depth` are how many trees and levels there are at most: a noisy number of rows says how many
    are worth their price. The other arguments are those of `DecisionTreeClassifier`; `delta` makes for less noise where
    there are many trees.

    Guarantee: that of `RandomForest`; `privacy_` says it.
    """

    classes: Any = None  # labels of any type
    n_estimators: int = 20
    max_depth: int = 9

    def mechanism(self, features: Sequence[str], label: str) -> RandomForest:
        """The mechanism that a fit is, over columns of these names."""
        return RandomForest(**self._over_cells(features, label), trees=self.n_estimators, max_depth=self.max_depth)


@dataclass(eq=False, repr=False, kw_only=True)
class RandomForestRegressor(CellArguments, PrivateRegressor):
    """Random forest that predicts a number between `label_bounds`; else as `RandomForestClassifier`.

    Guarantee: that of `RegressionForest`; `privacy_` says it.
    """

    label_bounds: Any = None  # a pair of numbers
    n_estimators: int = 20
    max_depth: int = 9

    def mechanism(self, features: Sequence[str], label: str) -> RegressionForest:
        """The mechanism that a fit is, over columns of these names."""
        return RegressionForest(**self._over_cells(features, label), trees=self.n_estimators, max_depth=self.max_depth)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """Splits that know nothing of the label say little where there are many columns and few rows."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
