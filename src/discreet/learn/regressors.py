"""HuberRegressor and ConvexERM: linear scores under a convex loss of a number, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from discreet.declared.column import Column
from discreet.exact import Number, exact
from discreet.learn.classifiers import neighbours_of
from discreet.learn.convex_risk import ConvexRisk, HuberRisk
from discreet.learn.estimator import PrivateEstimator, number_column, numbers_of, optional
from discreet.learn.losses import Huber, Loss
from discreet.learn.model import LinearModel
from discreet.privacy import Neighbours


class _Robust(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """By objective or output perturbation."""

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """One prediction for each row."""
        return self._predicted(X)

    def _common(self, features: Sequence[str], label: str) -> dict[str, Any]:
        return {
            "features": tuple(features),
            "label": label,
            "epsilon": exact(self.epsilon, "epsilon"),
            "delta": exact(self.delta, "delta"),
            "alpha": optional(self.alpha, "alpha"),
            "l1": exact(self.l1, "l1"),
            "method": self.method,
            "fit_intercept": self.fit_intercept,
            "data_norm": optional(self.data_norm, "data_norm"),
            "max_rows": self.max_rows,
            "neighbours": neighbours_of(self.neighbours),
        }

    def _read_label(self, y: NDArray[Any]) -> NDArray[Any]:
        return numbers_of(y)

    def _label_column(self, name: str) -> Column:
        return number_column(self, name)

    def _learnt(self, model: LinearModel) -> None:
        self.coef_, self.intercept_ = np.array(model.coefficients), model.intercept


class HuberRegressor(_Robust):
    """Linear regression that far-off labels pull no harder than near ones, by objective or output perturbation.

    The loss of a distance r is √(h² + r²), with h the share `width` of half the range of `label_bounds`. The other
    arguments are those of `LogisticRegression`.

    Guarantee: that of `HuberRisk`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number = 1,
        *,
        delta: Number = "1e-9",
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        label_bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        data_norm: Number | None = None,
        alpha: Number | None = None,
        l1: Number = 0,
        width: Number = "0.1",
        method: str = "automatic",
        fit_intercept: bool = True,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.label_bounds = label_bounds
        self.data_norm = data_norm
        self.alpha = alpha
        self.l1 = l1
        self.width = width
        self.method = method
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> HuberRisk:
        """The mechanism that a fit is, over columns of these names."""
        return HuberRisk(**self._common(features, label), width=exact(self.width, "width"))


class ConvexERM(_Robust):
    """Linear scores under a convex loss of your own, by objective or output perturbation.

    `loss` is a value of a class as `discreet.learn.losses.Loss` describes it, or else `Huber()`: what it says of its
    slope and curvature is what the promise rests on. Labels reach it scaled to between −1 and 1. The other arguments
    are those of `HuberRegressor`.

    Guarantee: that of `ConvexRisk`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        loss: Loss | None = None,
        *,
        epsilon: Number = 1,
        delta: Number = "1e-9",
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        label_bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        data_norm: Number | None = None,
        alpha: Number | None = None,
        l1: Number = 0,
        method: str = "automatic",
        fit_intercept: bool = True,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.label_bounds = label_bounds
        self.data_norm = data_norm
        self.alpha = alpha
        self.l1 = l1
        self.method = method
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> ConvexRisk:
        """The mechanism that a fit is, over columns of these names."""
        return ConvexRisk(**self._common(features, label), of=Huber() if self.loss is None else self.loss)
