"""LinearRegression and Ridge, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.exact import Number, exact
from discreet.learn.constructor_arguments import LineArguments
from discreet.learn.fitted_model import LinearModel
from discreet.learn.least_squares import LeastSquares
from discreet.learn.regressors import PrivateRegressor
from discreet.learn.sparse_regression import SparseLeastSquares


@dataclass(eq=False, repr=False, kw_only=True)
class SparseRegression(LineArguments, PrivateRegressor):
    """Linear regression on `keep` features of many, which are chosen privately before the fit.

    Its other arguments are those of `Ridge`. `support_` says which were chosen; the others have the coefficient 0.

    Guarantee: that of `SparseLeastSquares`; `privacy_` says it.
    """

    keep: int = field(default=5, kw_only=False)
    alpha: Number = 0

    def mechanism(self, features: Sequence[str], label: str) -> SparseLeastSquares:
        """The mechanism that a fit is, over columns of these names."""
        few = min(self.keep, len(features))
        return SparseLeastSquares(keep=few, alpha=exact(self.alpha, "alpha"), **self._line(features, label))

    def _learnt(self, model: LinearModel) -> None:
        super()._learnt(model)
        self.support_ = self.coef_ != 0


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(LineArguments, PrivateRegressor):
    """Linear regression from sums of products with noise, which one unit changes by little.

    `epsilon` with `delta` (Gaussian noise) or without (Laplace noise), or `rho`, is what a fit loses; `bounds` and
    `label_bounds` are what is public about X and y, and values beyond them count as the nearer one. `data_norm` bounds
    the length of a row of X besides: longer ones are drawn towards zero.

    Guarantee: that of `LeastSquares`, when one unit is added or removed; `privacy_` says it.
    """

    epsilon: Number | None = field(default=1, kw_only=False)

    def mechanism(self, features: Sequence[str], label: str) -> LeastSquares:
        """The mechanism that a fit is, over columns of these names."""
        return LeastSquares(**self._line(features, label))


@dataclass(eq=False, repr=False, kw_only=True)
class Ridge(LineArguments, PrivateRegressor):
    """Linear regression with a ridge of `alpha` on the coefficients, from sums of products with noise.

    Its other arguments are those of `LinearRegression`.

    Guarantee: that of `LeastSquares`, when one unit is added or removed; `privacy_` says it.
    """

    alpha: Number = field(default=1, kw_only=False)

    def mechanism(self, features: Sequence[str], label: str) -> LeastSquares:
        """The mechanism that a fit is, over columns of these names."""
        return LeastSquares(**self._line(features, label), alpha=exact(self.alpha, "alpha"))
