"""Gaussian mixture from noisy sums: rounds of expectation and maximisation, of sums weighted in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count, positive
from discreet.interval_arithmetic import simpler_down
from discreet.learn.cluster_seeds import Seeds, levels_for, pictured, seeds_of
from discreet.learn.design_matrix import Design
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.fit_price import rho_of
from discreet.learn.mixture_model import Mixture
from discreet.learn.partition_sums import BITS, MOST, ONE, CellNoise, Reals, Room
from discreet.learn.worst_neighbours import LongRows
from discreet.mechanisms import Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure

LEAST = 2.0**-12  # of a variance, where the widest feature reaches 1 from its middle

_MOST = 1000  # components
_FAINT = 2.0  # standard deviations of noise: a component with fewer rows stays what it was
_COARSE = 8  # bits of what scores are made of, and of how far apart they are told from another
_FARTHEST = 16  # by which ln of a chance differs at most: what is less likely has none
_CHUNK = 1 << 12  # rows of which sums are below 2⁵³


@registered("gaussian-mixture")
@dataclass(frozen=True)
class GaussianComponents(LongRows, Priced, OverRows):
    """Gaussian mixture with features that are independent in each component.

    Half of the price buys where to begin, as for k-means; the other half `iterations` rounds. In each every row is
    shared among the components by how likely it came from each, and their weights, means and variances are those of
    noisy sums of shares. How many rounds there are is fixed beforehand.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/clusters.md, "Shares of a row".
    Source: Park, Foulds, Choudhary & Welling 2017, for rounds with noise on sums.
    """

    model: ClassVar[type[Mixture]] = Mixture

    features: tuple[str, ...]
    components: int
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    iterations: int = 6
    data_norm: Fraction | None = None
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(
            self,
            components=count(self.components, "components"),
            iterations=count(self.iterations, "iterations"),
            data_norm=None if self.data_norm is None else positive(self.data_norm, "data_norm"),
        )
        if len(self.features) > MOST:
            raise Refusal(f"expected at most {MOST} features, got {len(self.features)}", hint="take PCA first")
        if self.components > _MOST:
            raise Refusal(f"expected components <= {_MOST}, got components={self.components}")

    @property
    def numbers(self) -> int:
        """A weight of each component, and a mean and a variance of each feature in it."""
        return self.components * (2 * len(self.features) + 1)

    def noise(self, room: Room, parts: int) -> CellNoise:
        """On each of so many stages that have half of the price together."""
        pure = isinstance(self.privacy, Pure)
        whole = self.privacy.epsilon if isinstance(self.privacy, Pure) else rho_of(self.privacy)
        price = simpler_down(whole / (2 * parts))
        return CellNoise.at(room, price, self.max_rows, self.neighbours, gaussian=not pure, squares=True)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Mixture:
        """The model. Spends `privacy`."""
        moved = self.data_norm is None
        room = Room.of(Design.of(relation, self.features, intercept=moved, norm=self.data_norm))
        points, reach = room.points(relation, rng), np.array(room.reach) / ONE
        levels = levels_for(self.components)
        picture = pictured(points, reach, self.noise(room, levels), levels, rng)
        told, noise = Laws.begun(seeds_of(picture, self.components, reach, rng)), self.noise(room, self.iterations)
        for _ in range(self.iterations):
            rows, sums, squares = noise.told(shared_sums(points, told), rng, ONE**2)
            told = told.improved((rows, sums, squares), noise.deviation, reach)
        order = np.lexsort(told.means.T[::-1])
        means, wide = room.told(told.means[order] * ONE), told.variances[order] * (room.unit * ONE) ** 2
        rows_of = [tuple(tuple(map(float, own)) for own in each) for each in (means, wide)]
        return Mixture(self.features, tuple(map(float, told.weights[order])), *rows_of)


@dataclass(frozen=True, eq=False)
class Laws:
    """Normal laws, in the units of a room: their weights, means and variances."""

    weights: Reals
    means: Reals
    variances: Reals

    @classmethod
    def begun(cls, seeds: Seeds) -> Laws:
        """From seeds."""
        return cls(seeds.weights, seeds.centers, np.maximum(seeds.variances, LEAST))

    def improved(self, told: tuple[Reals, Reals, Reals], deviation: float, reach: Reals) -> Laws:
        """Of noisy sums. A variance is no smaller than what noise makes of none."""
        rows, sums, squares = told
        there = (rows > _FAINT * deviation)[:, np.newaxis]
        of = np.maximum(rows, 1)[:, np.newaxis]
        means = np.where(there, np.clip(sums / of, -reach, reach), self.means)
        least = np.minimum(np.maximum(deviation / of, LEAST), reach**2)
        wide = np.where(there, np.clip(squares / of - means**2, least, np.maximum(reach**2, LEAST)), self.variances)
        known = np.maximum(rows, max(deviation, 1.0))
        return Laws(known / known.sum(), means, np.maximum(wide, LEAST))

    def scores(self) -> tuple[Reals, Reals]:
        """What v² and v, and 1, count in ln of a row's chance, whole numbers, in units of 2⁻²⁸ where v is in steps."""
        sharp = 1 / self.variances
        times = np.hstack([-sharp / 2, sharp * self.means]) * (1 << _COARSE)
        start = np.log(self.weights) - (np.log(self.variances) + sharp * self.means**2).sum(axis=1) / 2
        return np.rint(times), np.rint(start * (1 << BITS + _COARSE))


def _chances() -> Reals:
    """exp(−i/256), in units of 2⁻²⁰."""
    told: Reals = np.floor(np.exp(-np.arange((_FARTHEST << _COARSE) + 1) / (1 << _COARSE)) * ONE)
    told[-1] = 0
    return told


def shares(points: Reals, laws: Laws) -> tuple[Reals, Reals]:
    """Of each row how much it counts in each component, a row each, in steps of 2⁻²⁰ of at most one together; and v².

    Proof that nothing but the row decides it: docs/proofs/clusters.md, "Shares of a row".
    """
    squares = np.floor(points * points / ONE)
    times, start = laws.scores()
    scores = times @ np.hstack([squares, points]).T + start[:, np.newaxis]
    behind = np.floor((scores.max(axis=0) - scores) * 2.0**-BITS)
    table = _chances()
    chances = table[np.minimum(behind, len(table) - 1).astype(np.int64)].astype(np.int64)
    told = (chances << BITS) // chances.sum(axis=0)
    return told.astype(np.float64), squares


def shared_sums(points: Reals, laws: Laws) -> NDArray[np.object_]:
    """Of each component Σ shares, Σ shares · v and Σ shares · v², in steps of 2⁻⁴⁰, exactly."""
    total = np.zeros((len(laws.weights), 2 * points.shape[1] + 1), dtype=object)
    for start in range(0, len(points), _CHUNK):
        rows = points[start : start + _CHUNK]
        told, squares = shares(rows, laws)
        parts = told @ np.hstack([np.full((len(rows), 1), float(ONE)), rows, squares])
        total = total + parts.astype(np.int64).astype(object)
    return total
