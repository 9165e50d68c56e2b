"""PCA and LowRank, by scikit-learn's conventions: directions in which rows differ most, matrices of low rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from discreet.declared.column import Column
from discreet.errors import Refusal
from discreet.exact import Number, exact, shown
from discreet.learn.constructor_arguments import neighbours_of
from discreet.learn.estimator import ArgumentRefusal, PrivateEstimator, PrivateTransformer, feature_columns, optional
from discreet.learn.exponential_components import SMALL, ExponentialComponents
from discreet.learn.low_rank import MatrixFactors
from discreet.learn.principal_components import PrincipalComponents
from discreet.learn.projection_model import Projection
from discreet.privacy import Guarantee, Neighbours


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


class LowRank(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Approximation of a matrix by one of low rank, when one *entry* of it is somebody's.

    The promise is for one entry, not for a row: `units` of the shape of X say whose each entry is, with `max_rows` of
    one unit at most. `bounds` say how far an entry reaches; what is no number counts as zero. `iterations` is how often
    products are multiplied again, `coherence` how long rows of factors may be. It needs a `delta`, or `rho`.

    Guarantee: that of the mechanism `low-rank`; `privacy_` says it.
    """

    labelled = False

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        n_components: int = 5,
        *,
        epsilon: Number | None = 1,
        delta: Number = "1e-6",
        rho: Number | None = None,
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers
        iterations: int = 1,
        coherence: Number | None = None,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.iterations = iterations
        self.coherence = coherence
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str = "value") -> MatrixFactors:
        """The mechanism that a fit is, over a table of entries: their row, their column, and what they are."""
        return MatrixFactors(
            tuple(features),
            label,
            self.n_components,
            optional(self.epsilon, "epsilon"),
            exact(self.delta, "delta"),
            optional(self.rho, "rho"),
            self.iterations,
            optional(self.coherence, "coherence"),
            self.max_rows,
            neighbours_of(self.neighbours),
        )

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, units: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit to a matrix, which is read once. `units` are whose its entries are."""
        X, _ = self._read(X, y)  # noqa: N806
        mechanism, [value] = self.mechanism(("row", "column")), feature_columns(self, ("value",))
        rows, columns = (np.repeat(np.arange(X.shape[0]), X.shape[1]), np.tile(np.arange(X.shape[1]), X.shape[0]))
        sizes = {"row": max(1, X.shape[0]), "column": X.shape[1]}
        every = [Column(name, keys=tuple(range(size))) for name, size in sizes.items()]
        whose = None if units is None else np.asarray(units).ravel()
        self.model_ = mechanism(self._frame([rows, columns, X.ravel()], whose, [*every, value]))
        unit = type(mechanism.neighbours)("entry") if units is None else mechanism.neighbours
        self.privacy_ = Guarantee(mechanism.privacy, unit)
        self.components_ = np.array(self.model_.right)
        self.singular_values_ = np.array(self.model_.values)
        self.approximation_ = self.model_.matrix[: len(X)]
        self._n_features_out = len(self.components_)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """Where each row lies along the factors."""
        rows = self._checked(X)
        told: NDArray[np.float64] = np.nan_to_num(rows) @ self.components_.T
        return told
