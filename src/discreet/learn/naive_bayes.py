"""GaussianNB and StandardScaler, by scikit-learn's conventions: noisy means and variances of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.exact import Number, exact
from discreet.learn.bayes_model import BayesClassifier
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.constructor_arguments import PricedArguments
from discreet.learn.estimator import PrivateTransformer
from discreet.learn.moments import NaiveBayes, Standardize
from discreet.learn.scaling_model import Scaling


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(PricedArguments, PrivateClassifier):
    """Naive Bayes classifier of normal features, from noisy means and variances of each class.

    `classes` are the labels that there can be and `bounds` how far features reach, both public. `epsilon` with `delta`
    (Gaussian noise) or without (Laplace noise), or `rho`, is what a fit loses. `var_smoothing` is as in scikit-learn.

    Guarantee: that of `NaiveBayes`; `privacy_` says it.
    """

    epsilon: Number | None = field(default=1, kw_only=False)
    classes: Any = None  # labels of any type
    var_smoothing: Number = "1e-9"

    def mechanism(self, features: Sequence[str], label: str) -> NaiveBayes:
        """The mechanism that a fit is, over columns of these names."""
        smoothing = exact(self.var_smoothing, "var_smoothing")
        return NaiveBayes(tuple(features), label, smoothing=smoothing, **self._priced())

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Its logarithm."""
        with np.errstate(divide="ignore"):  # of a chance that is 0 in doubles
            told: NDArray[np.float64] = np.log(self.predict_proba(X))
        return told

    def predict_joint_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """ln of the chance of each class times the density of the row in it."""
        rows = self._checked(X)
        told: NDArray[np.float64] = self.model_.joint(rows)
        return told

    def _learnt(self, model: BayesClassifier) -> None:
        super()._learnt(model)
        self.theta_, self.var_ = np.array(model.means), np.array(model.variances)
        self.class_prior_ = np.array(model.shares)


@dataclass(eq=False, repr=False, kw_only=True)
class StandardScaler(PricedArguments, PrivateTransformer):
    """Scaling of columns to mean 0 and variance 1, by noisy means and variances.

    Its arguments are those of `GaussianNB`, and scikit-learn's `with_mean` and `with_std`.

    Guarantee: that of `Standardize`; `privacy_` says it.
    """

    epsilon: Number | None = field(default=1, kw_only=False)
    with_mean: bool = True
    with_std: bool = True

    def mechanism(self, features: Sequence[str], label: str = "") -> Standardize:  # noqa: ARG002  # none is learnt
        """The mechanism that a fit is, over columns of these names."""
        return Standardize(tuple(features), with_mean=self.with_mean, with_std=self.with_std, **self._priced())

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """The columns that have these scaled ones."""
        rows = self._checked(X)
        told: NDArray[np.float64] = rows * self.scale_ + self.mean_
        return told

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """What the new columns are called: as before."""
        given = self.model_.features if input_features is None else input_features
        return np.asarray(given, dtype=object)

    def _learnt(self, model: Scaling) -> None:
        self.mean_, self.scale_ = np.array(model.means), np.array(model.scales)
        self.var_ = self.scale_**2
