"""Principal components from noisy sums of products: what is summed where the rows live is all that is read of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count, positive
from discreet.learn.design_matrix import Design
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.fit_price import FitLoss, rho_of
from discreet.learn.least_squares import Spread, with_noise
from discreet.learn.projection_model import Projection, upright
from discreet.learn.worst_neighbours import LongRows
from discreet.mechanisms import Relation, registered
from discreet.mechanisms.mechanism import settle, yes_or_no
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure

Reals = NDArray[np.float64]


def matrix_spread(design: Design, loss: FitLoss, rows: int, neighbours: Neighbours) -> Spread:
    """The noise on Σ u uᵀ alone, at this price.

    Proof: docs/proofs/components.md, "How far one unit moves the matrix".
    """
    square, one = design.length_squared, isinstance(neighbours, AddRemove)
    if isinstance(loss, Pure):
        moved = (1 if one else 2) * rows * (design.size + 1) * square / 2
        return Spread(moved / loss.epsilon, Fraction(0), gaussian=False)
    return Spread((1 if one else 2) * rows**2 * square**2 / (4 * rho_of(loss)), Fraction(0), gaussian=True)


def noisy_matrix(design: Design, spread: Spread, matrix: NDArray[np.object_], rng: Entropy) -> Reals:
    """Sums of products with noise on every whole number on and above the diagonal, as doubles in the design's units."""
    scales, told = design.scales, np.zeros(matrix.shape)
    for i, own in enumerate(scales):
        for j, other in enumerate(scales[i:], start=i):
            width = spread.matrix * (2 if i == j and spread.gaussian else 1)
            drawn = with_noise(matrix[i, j], width, own * other, spread, rng)
            told[i, j] = told[j, i] = float(drawn / (own * other))
    return told


class OfComponents(LongRows, OverRows):
    """What mechanisms that tell components say of themselves alike."""

    model: ClassVar[type[Projection]] = Projection

    features: tuple[str, ...]
    components: int
    center: bool
    data_norm: Any
    neighbours: Any

    def _settle(self) -> None:
        settle_columns(self)
        norm = self.data_norm
        settle(
            self,
            components=count(self.components, "components"),
            center=yes_or_no(self.center, "center"),
            data_norm=None if norm is None else positive(norm, "data_norm"),
        )
        if self.components > len(self.features):
            raise Refusal(
                f"expected components <= {len(self.features)}, the number of features, got components={self.components}"
            )


@registered("pca")
@dataclass(frozen=True)
class PrincipalComponents(OfComponents, Priced):
    """Principal components, from sums of products of all columns with noise.

    With δ or ρ the noise is Gaussian, and Laplace without. How many components are told costs nothing. `center` takes
    the mean of each column away first, which is bought with the rest. `data_norm` draws each row towards zero until its
    length is at most that; without it the declared bounds hold alone.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/components.md, "How far one unit moves the matrix".
    Source: Dwork, Talwar, Thakurta & Zhang 2014, Algorithm 1 (Analyze Gauss).
    """

    features: tuple[str, ...]
    components: int
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    center: bool = True
    data_norm: Fraction | None = None
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settle()
        settle_price(self)

    @property
    def numbers(self) -> int:
        """Each component and its variance, a mean of each column, and the variance of all."""
        return self.components * (len(self.features) + 1) + len(self.features) * self.center + 1

    def spread(self, design: Design) -> Spread:
        """How much noise there is on the sums of rows of this design, by public facts alone."""
        return matrix_spread(design, self.privacy, self.max_rows, self.neighbours)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Projection:
        """The model. Spends `privacy`."""
        design = Design.of(relation, self.features, intercept=self.center, norm=self.data_norm)
        spread = self.spread(design)
        told = noisy_matrix(design, spread, design.products(relation, rng), rng)
        middle, moments = _centred(told, spread.size) if self.center else (np.zeros(len(told)), told)
        one, zero = (np.array([getattr(each, name) for each in design.features]) for name in ("one", "zero"))
        return leading(self.features, self.components, zero + one * middle, one[:, np.newaxis] * moments * one)


def _centred(told: Reals, deviation: float) -> tuple[Reals, Reals]:
    """The mean of u and its covariance, from noisy sums of products of 1 and u. Few rows count as some."""
    rows = max(told[0, 0], 2 * deviation, 2.0)
    mean = np.clip(told[0, 1:] / rows, -1, 1)
    return mean, told[1:, 1:] / (rows - 1) - np.outer(mean, mean) * (rows / (rows - 1))


def leading(features: tuple[str, ...], components: int, means: Reals, moments: Reals) -> Projection:
    """The directions along which a matrix is largest. What noise made of a variance below zero counts as none."""
    values, vectors = np.linalg.eigh(moments)
    kept = np.maximum(values[::-1], 0)
    return Projection(
        features,
        tuple(map(float, means)),
        tuple(tuple(map(float, own)) for own in upright(vectors.T[::-1][:components])),
        tuple(map(float, kept[:components])),
        float(kept.sum()),
    )
