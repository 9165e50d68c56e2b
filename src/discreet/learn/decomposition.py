"""PCA, by scikit-learn's conventions: directions in which rows differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from discreet.exact import Number, exact
from discreet.learn.classifiers import neighbours_of
from discreet.learn.estimator import ArgumentRefusal, PrivateTransformer, optional
from discreet.learn.principal_components import PrincipalComponents
from discreet.learn.projection_model import Projection
from discreet.privacy import Neighbours


class PCA(ClassNamePrefixFeaturesOutMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn ships no types
    """Principal components, from noisy sums of products of all columns.

    `n_components` says how many are told, by default all: they cost the same. `epsilon` with `delta` (Gaussian noise)
    or without (Laplace noise), or `rho`, is what a fit loses; `bounds` or `data_norm` say how far rows reach. With
    `center=False` directions are those from zero, and the mean is not bought.

    Guarantee: that of `PrincipalComponents`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        n_components: int | None = None,
        *,
        epsilon: Number | None = 1,
        delta: Number = 0,
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        data_norm: Number | None = None,
        center: bool = True,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.data_norm = data_norm
        self.center = center
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str = "") -> PrincipalComponents:  # noqa: ARG002  # none is learnt
        """The mechanism that a fit is, over columns of these names."""
        return PrincipalComponents(
            tuple(features),
            components_of(self.n_components, len(features)),
            optional(self.epsilon, "epsilon"),
            exact(self.delta, "delta"),
            optional(self.rho, "rho"),
            self.center,
            optional(self.data_norm, "data_norm"),
            self.max_rows,
            neighbours_of(self.neighbours),
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
