"""LinearRegression and Ridge, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from discreet.declared.column import Column
from discreet.exact import Number, exact
from discreet.learn.estimator import PrivateEstimator, number_column, numbers_of, optional
from discreet.learn.least_squares import LeastSquares
from discreet.learn.model import LinearModel
from discreet.learn.sparse_regression import SparseLeastSquares


class _Linear(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Least squares of noisy sums."""

    alpha: Number = 0

    def mechanism(self, features: Sequence[str], label: str) -> LeastSquares | SparseLeastSquares:
        """The mechanism that a fit is, over columns of these names."""
        return LeastSquares(tuple(features), label, *self._terms())

    def _terms(self) -> tuple[Any, ...]:
        return (
            optional(self.epsilon, "epsilon"),
            exact(self.delta, "delta"),
            optional(self.rho, "rho"),
            exact(self.alpha, "alpha"),
            self.fit_intercept,
            optional(self.data_norm, "data_norm"),
            self.max_rows,
        )

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """One prediction for each row."""
        return self._predicted(X)

    def _read_label(self, y: NDArray[Any]) -> NDArray[Any]:
        return numbers_of(y)

    def _label_column(self, name: str) -> Column:
        return number_column(self, name)

    def _learnt(self, model: LinearModel) -> None:
        self.coef_, self.intercept_ = np.array(model.coefficients), model.intercept


class SparseRegression(_Linear):
    """Linear regression on `keep` features of many, which are chosen privately before the fit.

    Its other arguments are those of `Ridge`. `support_` says which were chosen; the others have the coefficient 0.

    Guarantee: that of `SparseLeastSquares`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        keep: int = 5,
        *,
        alpha: Number = 0,
        epsilon: Number | None = 1,
        delta: Number = 0,
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        label_bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        data_norm: Number | None = None,
        fit_intercept: bool = True,
        max_rows: int = 1,
    ) -> None:
        self.keep = keep
        self.alpha = alpha
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.label_bounds = label_bounds
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows

    def mechanism(self, features: Sequence[str], label: str) -> SparseLeastSquares:
        """The mechanism that a fit is, over columns of these names."""
        few = min(self.keep, len(features))
        return SparseLeastSquares(tuple(features), label, few, *self._terms())

    def _learnt(self, model: LinearModel) -> None:
        super()._learnt(model)
        self.support_ = self.coef_ != 0


class LinearRegression(_Linear):
    """Linear regression from sums of products with noise, which one unit changes by little.

    `epsilon` with `delta` (Gaussian noise) or without (Laplace noise), or `rho`, is what a fit loses; `bounds` and
    `label_bounds` are what is public about X and y, and values beyond them count as the nearer one. `data_norm` bounds
    the length of a row of X besides: longer ones are drawn towards zero.

    Guarantee: that of `LeastSquares`, when one unit is added or removed; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that scikit-learn's has, and what is promised
        self,
        epsilon: Number | None = 1,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        label_bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        data_norm: Number | None = None,
        fit_intercept: bool = True,
        max_rows: int = 1,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.label_bounds = label_bounds
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows


class Ridge(_Linear):
    """Linear regression with a ridge of `alpha` on the coefficients, from sums of products with noise.

    Its other arguments are those of `LinearRegression`.

    Guarantee: that of `LeastSquares`, when one unit is added or removed; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that scikit-learn's has, and what is promised
        self,
        alpha: Number = 1,
        *,
        epsilon: Number | None = 1,
        delta: Number = 0,
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        label_bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        data_norm: Number | None = None,
        fit_intercept: bool = True,
        max_rows: int = 1,
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.label_bounds = label_bounds
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows
