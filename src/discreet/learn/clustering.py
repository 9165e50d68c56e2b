"""KMeans and GaussianMixture, by scikit-learn's conventions: clusters from noisy sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, DensityMixin

from discreet.learn.clusters_model import Clusters
from discreet.learn.constructor_arguments import ClusterArguments
from discreet.learn.estimator import PrivateEstimator, PrivateTransformer
from discreet.learn.kmeans import KMeansClusters
from discreet.learn.mixture import GaussianComponents
from discreet.learn.mixture_model import Mixture


@dataclass(eq=False, repr=False, kw_only=True)
class KMeans(ClusterArguments, ClassNamePrefixFeaturesOutMixin, ClusterMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn ships no types
    """k-means: rounds of noisy means, from seeds that a private coarse picture of the rows suggests.

    `epsilon` with `delta` (Gaussian noise) or without (Laplace noise), or `rho`, is what a fit loses; `bounds` or
    `data_norm` say how far rows reach. `max_iter` rounds are made, no more and no fewer. There is no `labels_`: which
    cluster each row is in belongs to the rows; `predict` says it to whoever has them.

    Guarantee: that of `KMeansClusters`; `privacy_` says it.
    """

    n_clusters: int = field(default=8, kw_only=False)
    max_iter: int = 3

    def mechanism(self, features: Sequence[str], label: str = "") -> KMeansClusters:  # noqa: ARG002  # none is learnt
        """The mechanism that a fit is, over columns of these names."""
        return KMeansClusters(clusters=self.n_clusters, **self._rounds(features, self.max_iter))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:  # noqa: N803  # as scikit-learn has it
        """The cluster of each row, from 0."""
        told: NDArray[np.int64] = self._predicted(X)
        return told

    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None, **more: Any) -> NDArray[np.int64]:  # noqa: ANN401, N803
        """The cluster of each row, of a model fitted to them."""
        return self.fit(X, y, **more).predict(X)

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """How far each row is from each centre."""
        rows = self._checked(X)
        told: NDArray[np.float64] = self.model_.distances(rows)
        return told

    def _learnt(self, model: Clusters) -> None:
        self.cluster_centers_, self.sizes_ = np.array(model.centers), np.array(model.sizes)
        self.n_iter_ = self.max_iter
        self._n_features_out = len(model.centers)


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianMixture(ClusterArguments, DensityMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Gaussian mixture by private expectation and maximisation; features are independent in each component.

    `epsilon` with `delta` (Gaussian noise) or without (Laplace noise), or `rho`, is what a fit loses; `bounds` or
    `data_norm` say how far rows reach. `max_iter` rounds are made, no more and no fewer.

    Guarantee: that of `GaussianComponents`; `privacy_` says it.
    """

    labelled = False

    n_components: int = field(default=1, kw_only=False)
    max_iter: int = 6

    def mechanism(self, features: Sequence[str], label: str = "") -> GaussianComponents:  # noqa: ARG002  # none is learnt
        """The mechanism that a fit is, over columns of these names."""
        return GaussianComponents(components=self.n_components, **self._rounds(features, self.max_iter))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:  # noqa: N803  # as scikit-learn has it
        """The component that each row most likely came from, from 0."""
        told: NDArray[np.int64] = self._predicted(X)
        return told

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The chance that each row came from each component."""
        rows = self._checked(X)
        told: NDArray[np.float64] = self.model_.probabilities(rows)
        return told

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """ln of the density of each row."""
        rows = self._checked(X)
        told: NDArray[np.float64] = self.model_.densities(rows)
        return told

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:  # noqa: ARG002, N803
        """The mean of those."""
        return float(self.score_samples(X).mean())

    def _learnt(self, model: Mixture) -> None:
        self.weights_, self.means_ = np.array(model.weights), np.array(model.means)
        self.covariances_ = np.array(model.variances)
        self.n_iter_ = self.max_iter
