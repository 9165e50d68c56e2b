"""PCA, by scikit-learn's conventions: directions in which rows differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from discreet.errors import Refusal
from discreet.exact import Number, exact, shown
from discreet.learn.classifiers import neighbours_of
from discreet.learn.estimator import ArgumentRefusal, PrivateTransformer, optional
from discreet.learn.exponential_components import SMALL, ExponentialComponents
from discreet.learn.principal_components import PrincipalComponents
from discreet.learn.projection_model import Projection
from discreet.privacy import Neighbours


class PCA(ClassNamePrefixFeaturesOutMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn ships no types
    """Principal components, from noisy sums of products of all columns.

    `n_components` says how many are told, by default all: they cost the same. `epsilon` with `delta` (Gaussian noise)
    or without (Laplace noise), or `rho`, is what a fit loses; `bounds` or `data_norm` say how far rows reach. With
    `center=False` directions are those from zero, and the mean is not bought.

    `method="exponential"` draws directions by the exponential mechanism: each has its share of epsilon, and variances
    and the mean are not told. `delta`, there by default 10⁻¹², is for what whole numbers are off its law.

    Guarantee: that of `PrincipalComponents`, or of `ExponentialComponents`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        n_components: int | None = None,
        *,
        method: str = "sums",
        epsilon: Number | None = 1,
        delta: Number | None = None,
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        data_norm: Number | None = None,
        center: bool = True,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.data_norm = data_norm
        self.center = center
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(
        self,
        features: Sequence[str],
        label: str = "",  # noqa: ARG002  # none is learnt
    ) -> PrincipalComponents | ExponentialComponents:
        """The mechanism that a fit is, over columns of these names."""
        over = tuple(features), components_of(self.n_components, len(features))
        rest: dict[str, Any] = {
            "center": self.center,
            "data_norm": optional(self.data_norm, "data_norm"),
            "max_rows": self.max_rows,
            "neighbours": neighbours_of(self.neighbours),
        }
        epsilon, rho = optional(self.epsilon, "epsilon"), optional(self.rho, "rho")
        if self.method == "sums":
            return PrincipalComponents(*over, epsilon, exact(self.delta or 0, "delta"), rho, **rest)
        if self.method != "exponential":
            raise Refusal(f"expected method as 'sums' or 'exponential', got {shown(self.method)}")
        if epsilon is None or rho is not None:
            raise Refusal("the exponential mechanism is bought by epsilon", hint="say epsilon=1, for one")
        return ExponentialComponents(
            *over, epsilon, exact(SMALL if self.delta is None else self.delta, "delta"), **rest
        )

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """The rows that have these components, and nothing across them."""
        told: NDArray[np.float64] = self.model_.restored(X)
        return told

    def _learnt(self, model: Projection) -> None:
        self.components_, self.mean_ = np.array(model.components), np.array(model.means)
        self.n_components_ = self._n_features_out = len(model.components)
        self.explained_variance_ = np.array(model.variances, dtype=np.float64)
        whole = np.nan if model.total is None else model.total
        self.explained_variance_ratio_ = np.divide(self.explained_variance_, whole or np.nan)


def components_of(given: int | None, size: int) -> int:
    """How many components there are to be, of so many features."""
    if given is None:
        return size
    if given > size:
        raise ArgumentRefusal(f"expected n_components <= {size}, the number of features, got {given}")
    return given
