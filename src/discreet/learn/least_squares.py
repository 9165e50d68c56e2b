"""Linear regression from noisy sums of products: what is summed where the rows live is all that is read of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline, grid_of
from discreet.exact import nonnegative, positive
from discreet.interval_arithmetic import sqrt
from discreet.learn.design_matrix import Design, Scale
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.fit_price import FitLoss, rho_of
from discreet.learn.fitted_model import LinearModel
from discreet.mechanisms import Column, Frame, Pair, Relation, registered
from discreet.mechanisms.mechanism import settle, yes_or_no
from discreet.mechanisms.private_rows import squares
from discreet.noise import SECURE, Entropy, gaussian, laplace
from discreet.privacy import AddRemove, Neighbours, Pure

_STEEPEST = Fraction(1 << 500)  # of a ridge in a design's units: doubles still hold what is made of it
_RIDGE = 1.0  # times the typical size of the noise: how large the smallest eigenvalue is made


@dataclass(frozen=True)
class Spread:
    """Noise on the sums, in units in which a row's numbers are between −1 and 1.

    Gaussian noise has variance `matrix` off the diagonal of Σ u uᵀ and twice that on it, and `vector` on Σ u v. Laplace
    noise has scale `matrix` everywhere on and above the diagonal, and `vector`.
    """

    matrix: Fraction
    vector: Fraction
    gaussian: bool

    @property
    def size(self) -> float:
        """The standard deviation off the diagonal."""
        return float(self.matrix) ** 0.5 if self.gaussian else float(self.matrix) * 2**0.5


def spread_of(design: Design, loss: FitLoss, rows: int, neighbours: Neighbours) -> Spread:
    """The noise on sums of products of so many rows of one unit, and of a label between −1 and 1, at this price.

    Proof: docs/proofs/least_squares.md, "How far one unit moves the sums".
    """
    square, one = design.length_squared, isinstance(neighbours, AddRemove)
    if isinstance(loss, Pure):
        # Σ_{i≤j} |uᵢuⱼ| = (‖u‖₁² + ‖u‖₂²)/2 ≤ (k + 1)‖u‖²/2 and Σ |uᵢ v| ≤ ‖u‖₁ ≤ √k ‖u‖, half of ε for each
        moved = (1 if one else 2) * rows / loss.epsilon
        return Spread(moved * (design.size + 1) * square, 2 * moved * sqrt(design.size * square).up, gaussian=False)
    rho = rho_of(loss)
    # Σ_{i<j} (uᵢuⱼ)² + Σ uᵢ⁴/2 = ‖u‖⁴/2 and Σ (uᵢ v)² ≤ ‖u‖², half of ρ for each
    return Spread(
        (1 if one else 2) * rows**2 * square**2 / (2 * rho),
        (1 if one else 4) * rows**2 * square / rho,
        gaussian=True,
    )


@registered("linear-regression")
@dataclass(frozen=True)
class LeastSquares(Priced, OverRows):
    """Linear regression of a column on others, by sums of products with noise.

    With δ or ρ the noise is Gaussian, and Laplace without. The sums that are told are brought back to a matrix that a
    sum of squares can have by a ridge, whose size follows from them and the public scale of the noise. `alpha` is a
    ridge on top, on the coefficients in their own units, as scikit-learn's `Ridge` has it. `data_norm` draws the
    features of each row towards zero until their length is at most that; without it the declared bounds hold alone.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/least_squares.md.
    Source: Dwork, Talwar, Thakurta & Zhang 2014, Algorithm 1, for noise on a matrix of products; Wang 2018,
        Algorithm 2, for a ridge that adapts; Zhang, Zhang, Xiao, Yang & Winslett 2012, Section 4, for Laplace noise on
        sums.
    """

    model: ClassVar[type[LinearModel]] = LinearModel

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    alpha: Fraction = Fraction(0)
    fit_intercept: bool = True
    data_norm: Fraction | None = None
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(
            self,
            alpha=nonnegative(self.alpha, "alpha"),
            fit_intercept=yes_or_no(self.fit_intercept, "fit_intercept"),
            data_norm=None if self.data_norm is None else positive(self.data_norm, "data_norm"),
        )

    @property
    def numbers(self) -> int:
        """A coefficient for each feature, and an intercept."""
        return len(self.features) + self.fit_intercept

    def spread(self, design: Design) -> Spread:
        """How much noise there is on the sums of rows of this design, by public facts alone."""
        return spread_of(design, self.privacy, self.max_rows, self.neighbours)

    def refuse_unfit(self, known: Outline) -> None:
        """Where a column has no bounds and step, or columns are more than sums of their products can be held of."""
        grid_of(known, self.label)
        self.spread(Design.of(known, self.features, intercept=self.fit_intercept, norm=self.data_norm))
        if self.data_norm is None:
            squares(known, [], [*self.features, self.label])

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few rows in the corners of their bounds, and those of one unit more: there the sums move furthest."""
        every, rows = (*self.features, self.label), self.max_rows
        columns = [Column(name, bounds=(-1, 1), step=1) for name in every]

        def frame(few: int, own: tuple[int, ...], label: int = 1) -> Frame:
            held = {name: [*((-1) ** i for i in range(few)), *own] for name in every}
            held[self.label][few:] = [label * part for part in own]
            held["of"] = [*range(few), *[few] * len(own)]
            return Frame.of(held, *columns, unit="of", max_rows=rows, neighbours=self.neighbours)

        if isinstance(self.neighbours, AddRemove):
            why = "rows of others, and those of one unit in a corner"
            return tuple(Pair(frame(few, ()), frame(few, (1,) * rows), f"{few} {why}") for few in (0, 4))
        corner = frame(4, (1,) * rows)
        return (Pair(corner, frame(4, (1,) * rows, -1), "the rows of a unit in a corner, or in that below it"),)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LinearModel:
        """The model. Spends `privacy`."""
        design = Design.of(relation, self.features, intercept=self.fit_intercept, norm=self.data_norm)
        label = Scale.centred(grid_of(relation, self.label), moved=self.fit_intercept)
        spread = self.spread(design)
        sums = design.sums(relation, self.label, label, rng)
        matrix, vector = noisy(design, label.steps, spread, sums, rng)
        weights = solved(self._ridge(design), spread, matrix, vector)
        [slopes], [start] = design.unscaled(weights[:, np.newaxis])
        return LinearModel(self.features, tuple(label.one * each for each in slopes), label.zero + label.one * start)

    def _ridge(self, design: Design) -> NDArray[np.float64]:
        """The ridge in the design's units, of which the intercept has none."""
        own = [min(_STEEPEST, self.alpha / (scale.steps * scale.grid.step) ** 2) for scale in design.features]
        return np.array([0.0] * design.intercept + [float(each) for each in own])


def noisy(
    design: Design,
    target: Fraction,
    spread: Spread,
    sums: tuple[NDArray[np.object_], NDArray[np.object_]],
    rng: Entropy,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums with noise on every whole number of them, then as doubles in the design's units."""
    scales, (matrix, vector) = design.scales, sums
    told, products = np.zeros(matrix.shape), np.zeros(vector.shape)
    for i, own in enumerate(scales):
        products[i] = float(with_noise(vector[i], spread.vector, own * target, spread, rng) / (own * target))
        for j in range(i, len(scales)):
            unit = own * scales[j]
            width = spread.matrix * (2 if i == j and spread.gaussian else 1)
            told[i, j] = told[j, i] = float(with_noise(matrix[i, j], width, unit, spread, rng) / unit)
    return told, products


def with_noise(value: int, width: Fraction, unit: Fraction, spread: Spread, rng: Entropy) -> Fraction:
    """A whole number with noise of so much in units of so many steps."""
    drawn = gaussian(width * unit**2, rng=rng) if spread.gaussian else laplace(width * unit, rng=rng)
    return Fraction(value + drawn)


def solved(
    ridge: NDArray[np.float64], spread: Spread, matrix: NDArray[np.float64], vector: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The least squares of noisy sums; all of it post-processing.

    Noise has eigenvalues of about 2 s √k in size, s its standard deviation off the diagonal. A matrix whose smallest
    eigenvalue is not above that is mostly noise there, so a ridge raises it so far and no further.
    """
    values, vectors = np.linalg.eigh(matrix + np.diag(ridge))
    floor = _RIDGE * 2 * spread.size * len(ridge) ** 0.5
    lifted = values + max(0.0, floor - float(values[0]))
    weights: NDArray[np.float64] = vectors @ ((vectors.T @ vector) / lifted)
    return weights
