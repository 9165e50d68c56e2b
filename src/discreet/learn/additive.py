"""AdditiveClassifier and AdditiveRegressor, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.exact import Number, exact
from discreet.learn.additive_learner import AdditiveClassification, AdditiveRegression
from discreet.learn.classifiers import neighbours_of
from discreet.learn.estimator import optional
from discreet.learn.trees import ChanceClassifier, NumberRegressor
from discreet.privacy import Neighbours


def _terms(model: Any, features: Sequence[str], label: str) -> dict[str, Any]:  # noqa: ANN401  # of either kind
    """The fields of a mechanism."""
    return {
        "features": tuple(features),
        "label": label,
        "epsilon": optional(model.epsilon, "epsilon"),
        "delta": exact(model.delta, "delta"),
        "rho": optional(model.rho, "rho"),
        "rounds": model.rounds,
        "cuts": model.cuts,
        "max_rows": model.max_rows,
        "neighbours": neighbours_of(model.neighbours),
    }


class AdditiveClassifier(ChanceClassifier):
    """Classifier whose log-odds are a sum of one curve for each feature, by boosting with noise: a private EBM.

    `classes` are the two labels that there can be and `bounds` how far features reach, both public; `categories` are
    the values of those that are no numbers, by the name of the column or its place. Each number has `cuts` + 1 bins.
    `epsilon` with `delta`, or `rho`, is what a fit loses; `delta=0` needs more noise.

    Guarantee: that of `AdditiveClassification`; `privacy_` says it.
    """

    _most = 2

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number | None = 1,
        *,
        delta: Number = "1e-6",
        rho: Number | None = None,
        classes: Any = None,  # noqa: ANN401  # labels of any type
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        categories: Any = None,  # noqa: ANN401  # lists of values
        rounds: int = 4,
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
        self.rounds = rounds
        self.cuts = cuts
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> AdditiveClassification:
        """The mechanism that a fit is, over columns of these names."""
        return AdditiveClassification(**_terms(self, features, label))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """It tells two classes apart."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class AdditiveRegressor(NumberRegressor):
    """Regressor that adds up one curve for each feature, between `label_bounds`; else as `AdditiveClassifier`.

    Guarantee: that of `AdditiveRegression`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number | None = 1,
        *,
        delta: Number = "1e-6",
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        label_bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        categories: Any = None,  # noqa: ANN401  # lists of values
        rounds: int = 4,
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
        self.rounds = rounds
        self.cuts = cuts
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> AdditiveRegression:
        """The mechanism that a fit is, over columns of these names."""
        return AdditiveRegression(**_terms(self, features, label))
