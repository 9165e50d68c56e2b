"""HuberRegressor and ConvexERM: linear scores under a convex loss of a number, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from discreet.declared.column import Column
from discreet.exact import Number, exact
from discreet.learn.constructor_arguments import RiskArguments
from discreet.learn.convex_losses import Huber, Loss
from discreet.learn.convex_risk import ConvexRisk, HuberRisk
from discreet.learn.estimator import PrivateEstimator, number_column, numbers_of
from discreet.learn.fitted_model import LinearModel


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A regressor whose label has `label_bounds`."""

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """One prediction for each row."""
        return self._predicted(X)

    def _read_label(self, y: NDArray[Any]) -> NDArray[Any]:
        return numbers_of(y)

    def _label_column(self, name: str) -> Column:
        return number_column(self, name)

    def _learnt(self, model: Any) -> None:  # noqa: ANN401  # each has its own kind of model
        if isinstance(model, LinearModel):
            self.coef_, self.intercept_ = np.array(model.coefficients), model.intercept


@dataclass(eq=False, repr=False, kw_only=True)
class HuberRegressor(RiskArguments, PrivateRegressor):
    """Linear regression that far-off labels pull no harder than near ones, by objective or output perturbation.

    The loss of a distance r is √(h² + r²), with h the share `width` of half the range of `label_bounds`. The other
    arguments are those of `LogisticRegression`.

    Guarantee: that of `HuberRisk`; `privacy_` says it.
    """

    label_bounds: Any = None  # a pair of numbers
    width: Number = "0.1"

    def mechanism(self, features: Sequence[str], label: str) -> HuberRisk:
        """The mechanism that a fit is, over columns of these names."""
        return HuberRisk(**self._risk(features, label), width=exact(self.width, "width"))


@dataclass(eq=False, repr=False, kw_only=True)
class ConvexERM(RiskArguments, PrivateRegressor):
    """Linear scores under a convex loss of your own, by objective or output perturbation.

    `loss` is a value of a class as `discreet.learn.convex_losses.Loss` describes it, or else `Huber()`: what it says of
    its slope and curvature is what the promise rests on. Labels reach it scaled to between −1 and 1. The other
    arguments are those of `HuberRegressor`.

    Guarantee: that of `ConvexRisk`; `privacy_` says it.
    """

    loss: Loss | None = field(default=None, kw_only=False)
    epsilon: Number = 1
    label_bounds: Any = None  # a pair of numbers

    def mechanism(self, features: Sequence[str], label: str) -> ConvexRisk:
        """The mechanism that a fit is, over columns of these names."""
        return ConvexRisk(**self._risk(features, label), of=Huber() if self.loss is None else self.loss)
