"""k-means from noisy sums: rounds of Lloyd's algorithm, from seeds that a coarse private picture suggests."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.errors import Refusal
from discreet.exact import count, positive
from discreet.interval_arithmetic import simpler_down
from discreet.learn.cluster_seeds import levels_for, pictured, suited
from discreet.learn.clusters_model import Clusters
from discreet.learn.design_matrix import Design
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.fit_price import rho_of
from discreet.learn.partition_sums import MOST, ONE, CellNoise, Reals, Room, nearest_sums
from discreet.learn.worst_neighbours import LongRows
from discreet.mechanisms import Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure

_MOST = 1000  # clusters
_FAINT = 2.0  # standard deviations of noise: a cluster with fewer rows stays where it was


@registered("k-means")
@dataclass(frozen=True)
class KMeansClusters(LongRows, Priced, OverRows):
    """k-means: centres such that rows are near the nearest of them.

    Half of the price buys a coarse picture of where rows are, level by level, which the seeds suit best; the other half
    `iterations` rounds, each of which moves every centre to the noisy mean of the rows nearest to it. How many rounds
    there are is fixed beforehand.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/clusters.md.
    Source: Blum, Dwork, McSherry & Nissim 2005, Section 4, for rounds with noise; Su, Cao, Li, Bertino & Jin 2016 for
        buying where to begin.
    """

    model: ClassVar[type[Clusters]] = Clusters

    features: tuple[str, ...]
    clusters: int
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    iterations: int = 3
    data_norm: Fraction | None = None
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(
            self,
            clusters=count(self.clusters, "clusters"),
            iterations=count(self.iterations, "iterations"),
            data_norm=None if self.data_norm is None else positive(self.data_norm, "data_norm"),
        )
        if len(self.features) > MOST:
            raise Refusal(f"expected at most {MOST} features, got {len(self.features)}", hint="take PCA first")
        if self.clusters > _MOST:
            raise Refusal(f"expected clusters <= {_MOST}, got clusters={self.clusters}")

    @property
    def numbers(self) -> int:
        """A centre of each cluster, and how many rows it has."""
        return self.clusters * (len(self.features) + 1)

    def noise(self, room: Room, parts: int, *, squares: bool) -> CellNoise:
        """On each of so many partitions that have half of the price together."""
        pure = isinstance(self.privacy, Pure)
        whole = self.privacy.epsilon if isinstance(self.privacy, Pure) else rho_of(self.privacy)
        price = simpler_down(whole / (2 * parts))
        return CellNoise.at(room, price, self.max_rows, self.neighbours, gaussian=not pure, squares=squares)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Clusters:
        """The model. Spends `privacy`."""
        moved = self.data_norm is None
        room = Room.of(Design.of(relation, self.features, intercept=moved, norm=self.data_norm))
        points, reach = room.points(relation, rng), np.array(room.reach) / ONE
        levels = levels_for(self.clusters)
        picture = pictured(points, reach, self.noise(room, levels, squares=True), levels, rng)
        centers, rows = suited(picture, self.clusters, reach, rng), np.zeros(self.clusters)
        noise = self.noise(room, self.iterations, squares=False)
        for _ in range(self.iterations):
            centers, rows = moved_once(points, centers, reach, noise, rng)
        order = np.lexsort(centers.T[::-1])
        told = room.told(centers[order] * ONE)
        places = tuple(tuple(map(float, own)) for own in told)
        return Clusters(self.features, places, tuple(float(max(0.0, own)) for own in rows[order]))


def moved_once(points: Reals, centers: Reals, reach: Reals, noise: CellNoise, rng: Entropy) -> tuple[Reals, Reals]:
    """Each centre at the noisy mean of the rows nearest to it, and how many those are, about."""
    rows, sums, _ = noise.told(nearest_sums(points, np.rint(centers * ONE)), rng)
    there = (rows > _FAINT * noise.deviation)[:, np.newaxis]
    means = np.clip(sums / np.maximum(rows, 1)[:, np.newaxis], -reach, reach)
    return np.where(there, means, centers), rows
