"""RandomForestClassifier, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.exact import Number, exact
from discreet.learn.classifiers import neighbours_of
from discreet.learn.estimator import optional
from discreet.learn.forest_learner import RandomForest
from discreet.learn.trees import ChanceClassifier
from discreet.privacy import Neighbours


class RandomForestClassifier(ChanceClassifier):
    """Random forest whose splits are drawn without looking at the rows, and whose leaves are noisy counts.

    `n_estimators` and `max_depth` are how many trees and levels there are at most: a noisy number of rows says how many
    are worth their price. The other arguments are those of `DecisionTreeClassifier`; `delta` makes for less noise where
    there are many trees.

    Guarantee: that of `RandomForest`; `privacy_` says it.
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
        n_estimators: int = 20,
        max_depth: int = 9,
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
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.cuts = cuts
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> RandomForest:
        """The mechanism that a fit is, over columns of these names."""
        return RandomForest(
            tuple(features),
            label,
            optional(self.epsilon, "epsilon"),
            exact(self.delta, "delta"),
            optional(self.rho, "rho"),
            self.n_estimators,
            self.max_depth,
            self.cuts,
            self.max_rows,
            neighbours_of(self.neighbours),
        )
