"""AdditiveClassifier and AdditiveRegressor, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.exact import Number
from discreet.learn.additive_learner import AdditiveClassification, AdditiveRegression
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.constructor_arguments import CellArguments
from discreet.learn.regressors import PrivateRegressor


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveClassifier(CellArguments, PrivateClassifier):
    """Classifier whose log-odds are a sum of one curve for each feature, by boosting with noise: a private EBM.

    `classes` are the two labels that there can be and `bounds` how far features reach, both public; `categories` are
    the values of those that are no numbers, by the name of the column or its place. Each number has `cuts` + 1 bins.
    `epsilon` with `delta`, or `rho`, is what a fit loses; `delta=0` needs more noise.

    Guarantee: that of `AdditiveClassification`; `privacy_` says it.
    """

    delta: Number = "1e-6"
    classes: Any = None  # labels of any type
    rounds: int = 4

    _most = 2

    def mechanism(self, features: Sequence[str], label: str) -> AdditiveClassification:
        """The mechanism that a fit is, over columns of these names."""
        return AdditiveClassification(**self._over_cells(features, label), rounds=self.rounds)


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveRegressor(CellArguments, PrivateRegressor):
    """Regressor that adds up one curve for each feature, between `label_bounds`; else as `AdditiveClassifier`.

    Guarantee: that of `AdditiveRegression`; `privacy_` says it.
    """

    delta: Number = "1e-6"
    label_bounds: Any = None  # a pair of numbers
    rounds: int = 4

    def mechanism(self, features: Sequence[str], label: str) -> AdditiveRegression:
        """The mechanism that a fit is, over columns of these names."""
        return AdditiveRegression(**self._over_cells(features, label), rounds=self.rounds)
