"""Principal components by the exponential mechanism: directions drawn with density ∝ exp(λ · variance along them)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from discreet.errors import Fault, Refusal
from discreet.exact import positive, probability
from discreet.interval_arithmetic import exp
from discreet.learn.bingham import GRID, MOST, Reals, Whole, bingham
from discreet.learn.design_matrix import Design
from discreet.learn.principal_components import OfComponents
from discreet.learn.projection_model import Projection, upright
from discreet.mechanisms import Relation, registered
from discreet.mechanisms.gram import gram
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Approximate, Neighbours

SMALL = Fraction(1, 10**12)  # what whole numbers may be off, unless something else is said

_MOMENT, _RATE, _BASIS = 48, 96, 52  # bits behind the point: of the matrix, of λ, and of directions left
_DEAREST = 1000


@registered("exponential-pca")
@dataclass(frozen=True)
class ExponentialComponents(OfComponents):
    """Principal components, drawn one after another by the exponential mechanism.

    A direction is drawn of all that are across those drawn before, each at an equal share of epsilon, more often the
    more rows vary along it. `center` is for the rows from their mean, which is not told. `delta` is for what whole
    numbers are off the ideal law. Where doubles cannot certify the way it is drawn, which was seen only where epsilon
    times the number of rows is beyond 10^8, the fit ends in a `Fault`, and the price stays spent: the guarantee is
    conditional on that not happening.

    Guarantee: Approximate(epsilon, delta), when all rows of one unit, of which there are at most `max_rows`, are added
        or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/bingham.md, "The promise".
    Source: Chaudhuri, Sarwate & Sinha 2012, Algorithm 2; Kapralov & Talwar 2013, Section 4, for one after another;
        Kent, Ganeiber & Mardia 2018, Section 2, for the draw.
    """

    features: tuple[str, ...]
    components: int
    epsilon: Fraction
    delta: Fraction = SMALL
    center: bool = True
    data_norm: Fraction | None = None
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settle()
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=positive(probability(self.delta, "delta"), "delta"),
        )
        if self.epsilon > _DEAREST:
            raise Refusal(f"expected epsilon <= {_DEAREST}, got epsilon={self.epsilon}")
        if len(self.features) > MOST:
            raise Refusal(f"expected at most {MOST} features, got {len(self.features)}", hint="PCA without a method")

    @property
    def privacy(self) -> Approximate:
        """As asked for, for all directions together."""
        return Approximate(self.epsilon, self.delta)

    @property
    def numbers(self) -> int:
        """Each component."""
        return self.components * len(self.features)

    @property
    def rate(self) -> Fraction:
        """λ, a whole number of steps of 2⁻⁹⁶.

        Proof: docs/proofs/bingham.md, "The promise".
        """
        reach = self.max_rows * (4 if self.center else 1) + Fraction(2 * len(self.features), 1 << _MOMENT)
        two = 1 if isinstance(self.neighbours, AddRemove) else 2
        return Fraction(floor(self.epsilon / self.components / (two * reach) * (1 << _RATE)), 1 << _RATE)

    @property
    def gap(self) -> Fraction:
        """How far the law of each direction may be from the ideal one."""
        return self.delta / (self.components * (1 + exp(self.epsilon / self.components).up))

    def moments(self, design: Design, relation: Relation, rng: Entropy = SECURE) -> Whole:
        """Σ vvᵀ of rows v from zero, or from their mean, in steps of 2⁻⁴⁸ of the square of the longest that may be."""
        products = design.products(relation, rng)
        if self.center:
            rows, first = max(1, int(products[0, 0])), products[0, 1:]
            products = products[1:, 1:] * rows - np.outer(first, first)
        else:
            rows = 1
        each = [scale.grid.step for scale in design.features]
        ends = sum((Fraction(scale.steps * scale.grid.step) ** 2 for scale in design.features), Fraction(0))
        unit = Fraction(1 << _MOMENT) / (rows * (ends if design.norm is None else design.norm**2))
        return np.array([
            [round(int(v) * unit * one * two) for v, two in zip(row, each, strict=True)]
            for row, one in zip(products, each, strict=True)
        ], dtype=object)  # fmt: skip

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Projection:
        """The model. Spends `privacy`."""
        design = Design.of(relation, self.features, intercept=self.center, norm=self.data_norm)
        told = self.directions(self.moments(design, relation, rng), rng)
        rows = tuple(tuple(map(float, own)) for own in upright(told))
        return Projection(self.features, tuple(each.zero for each in design.features), rows, (None,) * len(rows), None)

    def directions(self, moments: Whole, rng: Entropy = SECURE) -> Reals:
        """The directions, one after another."""
        rate, told = int(self.rate * (1 << _RATE)), np.zeros((0, len(moments)))
        for _ in range(self.components):
            basis = across(told, len(moments))
            score = basis.T.dot(moments).dot(basis) * rate
            drawn = bingham(score, _RATE + _MOMENT + 2 * _BASIS, self.gap, rng=rng)
            found = basis.astype(np.float64) @ np.array([each / (1 << GRID) for each in drawn])
            told = np.vstack([told, found / np.linalg.norm(found)])
        return told


def across(told: Reals, size: int) -> Whole:
    """An orthonormal basis of what is across these directions, a little shorter than that, in steps of 2⁻⁵².

    Guarantee: it makes no vector longer; no row of its products with itself has sizes that add up to more than 1.
    """
    left = np.eye(size) if not len(told) else np.linalg.qr(told.T, mode="complete")[0][:, len(told) :]
    short = np.rint(left * (1 - 2.0**-30) * 2.0**_BASIS).astype(np.int64)
    if np.abs(gram(short)).sum(axis=1).max() > 1 << 2 * _BASIS:
        raise Fault
    return short.astype(object)
