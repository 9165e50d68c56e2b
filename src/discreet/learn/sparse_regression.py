"""Sparse linear regression: few of many features are chosen privately, and a line is fitted to those."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline, grid_of
from discreet.errors import Refusal
from discreet.exact import count, nonnegative, positive
from discreet.interval_arithmetic import simpler_down
from discreet.learn.design_matrix import Design, Scale
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.fit_price import rho_of
from discreet.learn.fitted_model import LinearModel
from discreet.learn.least_squares import LeastSquares
from discreet.mechanisms import ConcentratedTopK, Frame, Pair, Relation, TopK, registered
from discreet.mechanisms.gram import product
from discreet.mechanisms.mechanism import settle, yes_or_no
from discreet.noise import SECURE, Entropy, gaussian, laplace
from discreet.privacy import AddRemove, Neighbours, Pure

_CENTRE, _CHOICE = Fraction(1, 10), Fraction(4, 10)  # of the price; the rest is for the fit
_FINE = 1 << 30  # a score of one row, at most, in units of a choice
_ENGINE = 64  # columns of which an engine sums all products


@dataclass(frozen=True)
class Stages:
    """What the three stages may lose, in ε or in ρ: they add up to the price."""

    centre: Fraction
    choice: Fraction
    fit: Fraction
    pure: bool


@registered("sparse-regression")
@dataclass(frozen=True)
class SparseLeastSquares(Priced, OverRows):
    """Linear regression on the `keep` features that go best with the label.

    Bought are the mean of the label, then the features with the largest |Σ u (v − mean)| one after another, then least
    squares on those. What is chosen costs the same however many features there are, and is wrong more often the more.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/sparse_regression.md.
    Source: Kifer, Smith & Thakurta 2012, Section 4, for selection before a fit; the choices are those of `TopK`.
    """

    model: ClassVar[type[LinearModel]] = LinearModel

    features: tuple[str, ...]
    label: str
    keep: int
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
            keep=count(self.keep, "keep"),
            alpha=nonnegative(self.alpha, "alpha"),
            fit_intercept=yes_or_no(self.fit_intercept, "fit_intercept"),
            data_norm=None if self.data_norm is None else positive(self.data_norm, "data_norm"),
        )
        if self.keep > len(self.features):
            raise Refusal(f"expected keep <= {len(self.features)}, the number of features, got keep={self.keep}")

    @property
    def numbers(self) -> int:
        """Which features are chosen, their coefficients, and an intercept."""
        return 2 * self.keep + self.fit_intercept

    @property
    def stages(self) -> Stages:
        """How the price is divided."""
        loss = self.privacy
        whole = loss.epsilon if isinstance(loss, Pure) else rho_of(loss)
        centre = whole * _CENTRE if self.fit_intercept else Fraction(0)
        choice = simpler_down(whole * _CHOICE)
        return Stages(centre, choice, whole - centre - choice, isinstance(loss, Pure))

    def refuse_unfit(self, known: Outline) -> None:
        """Where a column has no bounds and step, or as many as are kept are too many for a fit."""
        self._design(known)
        self._fit(self.features[: self.keep]).refuse_unfit(known)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """Those of the fit alone, over as many columns: in a corner a unit moves all sums at once."""
        return self._fit(self.features).pairs()

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LinearModel:
        """The model. Spends `privacy`."""
        design = self._design(relation)
        label = self._label(relation)
        rows, first, vector = self.sums(relation, rng)
        centre = self.centre(label, rows, int(vector[0]), rng) if self.fit_intercept else 0
        scores = self.scores(design, label, first[1:], vector[1:], centre)
        chosen = self.chooser(label, centre)(scores, rng=rng)
        names = tuple(self.features[i] for i in sorted(chosen))
        told = self._fit(names)(relation, rng=rng)
        slopes = dict(zip(names, told.coefficients, strict=True))
        return LinearModel(self.features, tuple(slopes.get(name, 0.0) for name in self.features), told.intercept)

    def sums(self, relation: Relation, rng: Entropy = SECURE) -> tuple[int, NDArray[np.object_], NDArray[np.object_]]:
        """How many rows there are, and Σ z and Σ zw of 1 and the features z, from their middles, and the label w."""
        design, label = self._design(relation, intercept=True), self._label(relation)
        if len(self.features) <= _ENGINE:
            matrix, vector = design.sums(relation, self.label, label, rng)
            return int(matrix[0, 0]), matrix[0], vector
        total = np.zeros((len(self.features) + 1, 2), dtype=object)
        for features, target in design.batches(relation, self.label, rng, number=True):
            ones = np.ones((len(target), 1), dtype=np.int64)
            middles = np.array([each.middle for each in design.features], dtype=np.int64)
            both = np.column_stack([ones, target - label.middle])
            total = total + product(np.column_stack([ones, features - middles]), both)
        return int(total[0, 0]), total[:, 0], total[:, 1]

    def centre(self, label: Scale, rows: int, total: int, rng: Entropy) -> int:
        """The mean of the label in steps from its middle, noisy: of its sum and the number of rows."""
        unit, stages, two = label.steps, self.stages, 1 if isinstance(self.neighbours, AddRemove) else 2
        if stages.pure:  # a row adds 1 to one and at most `unit` to the other: half of the price each
            scale = 2 * two * self.max_rows / stages.centre
            told = total + laplace(scale * unit, rng=rng), rows + laplace(scale, rng=rng)
        else:
            variance = two**2 * self.max_rows**2 / stages.centre
            told = total + gaussian(variance * unit**2, rng=rng), rows + gaussian(variance, rng=rng)
        return max(-int(unit), min(int(unit), round(Fraction(told[0], max(1, told[1])))))

    def scores(
        self, design: Design, label: Scale, first: NDArray[np.object_], vector: NDArray[np.object_], centre: int
    ) -> list[int]:
        """|Σ z (w − centre)| of each feature, in units in which a row of w = 1 step counts at most `_FINE`."""
        moved = [abs(int(zw) - centre * int(z)) for z, zw in zip(first, vector, strict=True)]
        units = [each.steps * label.steps for each in design.features]
        return [int(each * _FINE / unit) for each, unit in zip(moved, units, strict=True)]

    def chooser(self, label: Scale, centre: int) -> TopK | ConcentratedTopK:
        """The choice of features. A row moves a score by |u (v − centre)| ≤ 1 + |centre|, and rounding down by one."""
        farthest = self.max_rows * _FINE * (1 + Fraction(abs(centre)) / label.steps)
        reach = -(-farthest.numerator // farthest.denominator) + 1
        price, many = self.stages, len(self.features)
        if not isinstance(self.neighbours, AddRemove):
            reach = 2 * reach
        if price.pure:
            return TopK(price.choice, many, self.keep, reach, neighbours=self.neighbours)
        return ConcentratedTopK(price.choice, many, self.keep, reach, neighbours=self.neighbours)

    def _design(self, known: Outline, *, intercept: bool | None = None) -> Design:
        wanted = self.fit_intercept if intercept is None else intercept
        design = Design.of(known, self.features, intercept=self.fit_intercept, norm=self.data_norm)
        return replace(design, intercept=wanted)

    def _label(self, known: Outline) -> Scale:
        return Scale.centred(grid_of(known, self.label), moved=self.fit_intercept)

    def _fit(self, names: tuple[str, ...]) -> LeastSquares:
        """The last stage, at what is left of the price."""
        rest = {"epsilon" if self.stages.pure else "rho": self.stages.fit}
        return LeastSquares(
            names, self.label, alpha=self.alpha, fit_intercept=self.fit_intercept, data_norm=self.data_norm,
            max_rows=self.max_rows, neighbours=self.neighbours, **rest,
        )  # fmt: skip
