"""Functional mechanism for logistic regression: a quadratic in place of the loss, whose coefficients get the noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline, keys_of
from discreet.errors import Refusal
from discreet.exact import nonnegative, positive
from discreet.learn.convex_risk import classes_of
from discreet.learn.design_matrix import Design
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.least_squares import Spread, noisy, solved, spread_of
from discreet.learn.linear_classifier_model import LinearClassifier
from discreet.mechanisms import Column, Frame, Pair, Relation, registered
from discreet.mechanisms.gram import gram
from discreet.mechanisms.mechanism import settle, yes_or_no
from discreet.mechanisms.private_rows import squares
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours

_ONE = Fraction(1)


@registered("functional-logistic")
@dataclass(frozen=True)
class FunctionalLogistic(Priced, OverRows):
    """Logistic regression of two classes by the quadratic that its loss is near a score of zero.

    ln(1 + e^(−ys)) is ln 2 − ys/2 + s²/8 and a rest; of that Σ uuᵀ and Σ yu are the coefficients, which the engine sums
    where the rows live. No solver looks at rows, so the promise is unconditional, and may be pure. Scores that are far
    from zero are told too small. `alpha` is a ridge on the weights of features that are scaled to between −1 and 1.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/least_squares.md, "Logistic regression by a quadratic".
    Source: Zhang, Zhang, Xiao, Yang & Winslett 2012, Section 5, with the noise of `LeastSquares`.
    """

    model: ClassVar[type[LinearClassifier]] = LinearClassifier

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

    def design(self, known: Outline) -> Design:
        """How rows become numbers."""
        return Design.of(known, self.features, intercept=self.fit_intercept, norm=self.data_norm)

    def refuse_unfit(self, known: Outline) -> None:
        """Where the label has not two declared keys, or a feature no bounds and step."""
        _places(known, self.label)
        self.spread(self.design(known))
        if self.data_norm is None:
            squares(known, [self.label], self.features)

    def spread(self, design: Design) -> Spread:
        """How much noise there is on the sums of rows of this design, by public facts alone."""
        return spread_of(design, self.privacy, self.max_rows, self.neighbours)

    def sums(self, relation: Relation, rng: Entropy = SECURE) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """Σ zzᵀ and Σ yz exactly: z of features in steps from the middle, y the class as −1 or 1."""
        design, (first, second) = self.design(relation), _places(relation, self.label)
        if design.norm is None:
            each = relation.products([self.label], design.names)
            plain, signed = each[first] + each[second], each[second] - each[first]
        else:
            shape = (len(design.names) + 1,) * 2
            plain, signed = np.zeros(shape, dtype=object), np.zeros(shape, dtype=object)
            for features, place in design.batches(relation, self.label, rng, number=False):
                whole = np.column_stack([np.ones(len(place), dtype=np.int64), features])
                one, other = gram(whole[place == first]), gram(whole[place == second])
                plain, signed = plain + one + other, signed + other - one
        return design.centred(plain), design.centred(signed)[0] if design.intercept else _slopes(design, signed)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few rows of both classes in corners, and those of one unit more, or of the other class."""
        rows, alone = self.max_rows, isinstance(self.neighbours, AddRemove)
        why = "rows of others, and those of one unit in a corner"
        few = tuple(Pair(self._frame(few, 0), self._frame(few, rows), f"{few} {why}") for few in (0, 4))
        return (
            few if alone else (Pair(self._frame(4, rows), self._frame(4, rows, told=False), "a unit of either class"),)
        )

    def _frame(self, few: int, own: int, *, told: bool = True) -> Frame:
        columns = [Column(name, bounds=(-1, 1), step=1) for name in self.features]
        held: dict[str, Any] = {name: [(-1) ** i for i in range(few)] + [1] * own for name in self.features}
        held |= {self.label: [i % 2 == 0 for i in range(few)] + [told] * own, "of": [*range(few), *[few] * own]}
        every = (*columns, Column(self.label, keys=(False, True)))
        return Frame.of(held, *every, unit="of", max_rows=self.max_rows, neighbours=self.neighbours)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LinearClassifier:
        """The model. Spends `privacy`."""
        design = self.design(relation)
        spread = self.spread(design)
        matrix, vector = noisy(design, _ONE, spread, self.sums(relation, rng), rng)
        # least is θᵀAθ/8 − b·θ/2 + α‖θ‖²/2 where (A + 4α)θ = 2b
        ridge = np.full(design.size, float(min(4 * self.alpha, Fraction(1 << 500))))
        slopes, starts = design.unscaled(2 * solved(ridge, spread, matrix, vector)[:, np.newaxis])
        return LinearClassifier(self.features, classes_of(relation, self.label), slopes, starts)


def _places(known: Outline, label: str) -> tuple[int, int]:
    """Where the two classes stand among the declared keys."""
    classes, keys = classes_of(known, label), keys_of(known, label)
    if len(classes) != 2:
        raise Refusal(f"{label!r} has {len(classes)} classes, and this fit tells two apart", hint="logistic-regression")
    return keys.index(classes[0]), keys.index(classes[1])


def _slopes(design: Design, signed: NDArray[np.object_]) -> NDArray[np.object_]:
    """Σ yz where there is no intercept, and so no middle."""
    middles = np.array([each.middle for each in design.features], dtype=object)
    told: NDArray[np.object_] = signed[0, 1:] - middles * signed[0, 0]
    return told
