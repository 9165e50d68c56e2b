"""Convex risk of linear scores, by objective or output perturbation: logistic, of support vectors, of robust lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.group_key import Key
from discreet.declared.table import Outline, column_of, grid_of
from discreet.errors import Refusal
from discreet.exact import nonnegative, positive, probability, shown, spoken
from discreet.learn.convex_losses import Huber, Logistic, Loss, SmoothHinge, Softmax
from discreet.learn.design_matrix import Design, Reals, Scale, Steps
from discreet.learn.fit_parameters import OverRows, settle_columns
from discreet.learn.fitted_model import LinearModel
from discreet.learn.gaussian_noise import exponential_vector, normals
from discreet.learn.linear_classifier_model import LinearClassifier
from discreet.learn.newton_solver import Objective, minimised
from discreet.learn.perturbation import COUNT_SHARE, METHODS, Perturbation, planned, usual_ridge
from discreet.mechanisms import Column, Frame, Pair, Relation, registered
from discreet.mechanisms.mechanism import settle, yes_or_no
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Approximate, Neighbours

_MOST_CLASSES = 1000
NARROWEST, WIDEST = Fraction(1, 100), 1000  # of what is rounded of a loss; beyond doubles find few minima
MOST_WEIGHT = 10**9
_ZERO = 24  # times the scale of the noise on the grid: beyond it is less often than once in e²⁴
_CERTIFIED = 0.875  # of what a solver may be off: the rest is for adding noise to what it found, in doubles


@dataclass(frozen=True)
class Risk(OverRows):
    """Σ ℓ(Θᵀu) + (Λ/2)‖Θ‖² of features u between −1 and 1, made small with noise."""

    numeric: ClassVar[bool] = False  # whether the label is a number, and not a class

    features: tuple[str, ...]
    label: str
    epsilon: Fraction
    delta: Fraction
    alpha: Fraction | None = None
    l1: Fraction = Fraction(0)
    method: str = "automatic"
    fit_intercept: bool = True
    data_norm: Fraction | None = None
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        if self.method not in METHODS:
            raise Refusal(f"there is no method {shown(self.method)}", hint=f"take one of {', '.join(METHODS)}")
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=probability(self.delta, "delta"),
            alpha=None if self.alpha is None else nonnegative(self.alpha, "alpha"),
            l1=nonnegative(self.l1, "l1"),
            fit_intercept=yes_or_no(self.fit_intercept, "fit_intercept"),
            data_norm=None if self.data_norm is None else positive(self.data_norm, "data_norm"),
        )
        least_and_most(self.alpha or Fraction(0), "alpha", Fraction(0), MOST_WEIGHT)
        least_and_most(self.l1, "l1", Fraction(0), MOST_WEIGHT)
        if not self.delta:
            raise Refusal(
                "this fit needs a delta, if a tiny one: its solver computes in doubles", hint="say delta=1e-12"
            )
        if self.method == "output" and self.alpha == 0:
            raise Refusal("output perturbation needs a ridge", hint="say alpha=1, for one")

    @cached_property
    def privacy(self) -> Approximate:
        """As asked for."""
        return Approximate(self.epsilon, self.delta)

    @property
    def numbers(self) -> int:
        """A coefficient for each feature, and an intercept; so many for each class, where there are more than two."""
        return len(self.features) + self.fit_intercept

    def refuse_unfit(self, known: Outline) -> None:
        """Where the label or a feature is not declared as this needs it, or the price buys no noise."""
        self.noise(known)

    def design(self, known: Outline) -> Design:
        """How rows become numbers."""
        return Design.of(known, self.features, intercept=self.fit_intercept, norm=self.data_norm)

    @property
    def counting(self) -> Fraction:
        """Of ε what buys the number of rows, from which a ridge follows that nobody named."""
        return self.epsilon * COUNT_SHARE if self.alpha is None else Fraction(0)

    def noise(self, known: Outline, counted: int = 0) -> Perturbation:
        """How much noise there is on what is fitted to rows of which this is declared, by public facts alone.

        And by about how many rows were `counted`, where nobody named a ridge.
        """
        size, length = self.shape(self.design(known))
        price = Approximate(self.epsilon - self.counting, self.delta)
        terms = (self.loss(known), size, length, price, self.max_rows, self.neighbours)
        alpha = usual_ridge(*terms, counted, self.method) if self.alpha is None else self.alpha
        return planned(*terms, alpha, self.method)

    def counted(self, relation: Relation, rng: Entropy) -> int:
        """About how many rows there are, at the price of `counting`; or 0, if that is nothing."""
        if not self.counting:
            return 0
        return int(relation.counts([])) + laplace(self.max_rows / self.counting, rng=rng)

    def shape(self, design: Design) -> tuple[int, Fraction]:
        """How many numbers a row is in the end, and the largest square of their length."""
        return design.size, design.length_squared

    def loss(self, known: Outline) -> Loss:
        """The loss of a row, by its label's declarations."""
        raise NotImplementedError

    def read(self, known: Outline, labels: Steps) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Labels as the loss takes them, and which are any: places among the classes, or numbers from −1 to 1."""
        if not self.numeric:
            return places_of_classes(known, self.label, labels)
        return self._unit(known).parts(labels), np.ones(labels.size, dtype=np.bool_)

    def _unit(self, known: Outline) -> Scale:
        return Scale.centred(grid_of(known, self.label), moved=self.fit_intercept)

    def classifier(self, relation: Relation, rng: Entropy, *, chances: bool) -> LinearClassifier:
        """The model of a label that is a class. Spends `privacy`."""
        slopes, starts = self.design(relation).unscaled(self.parameters(relation, rng))
        return LinearClassifier(self.features, classes_of(relation, self.label), slopes, starts, chances)

    def line(self, relation: Relation, rng: Entropy) -> LinearModel:
        """The model of a label that is a number. Spends `privacy`."""
        [slopes], [start] = self.design(relation).unscaled(self.parameters(relation, rng))
        unit = self._unit(relation)
        return LinearModel(self.features, tuple(unit.one * each for each in slopes), unit.zero + unit.one * start)

    def parameters(self, relation: Relation, rng: Entropy, lift: Callable[[Reals], Reals] | None = None) -> Reals:
        """Θ with noise, on a public grid. Spends `privacy`; docs/proofs/convex.md."""
        design, loss = self.design(relation), self.loss(relation)
        noise = self.noise(relation, self.counted(relation, rng))
        size, length = self.shape(design)
        shape, reach = (size, loss.scores), math.sqrt(length) * (1 + 2.0**-50)
        draw = exponential_vector if noise.exponential else normals
        vector = float(noise.scale) * draw(shape[0] * shape[1], rng=rng).reshape(shape)
        blocks = []
        for rows, told in design.rows(relation, self.label, rng, number=self.numeric):
            labels, there = self.read(relation, told)
            own = rows if there.all() else rows[there]
            blocks.append((own if lift is None else lift(own), labels[there]))
        inside = noise.where == "objective"
        tilt = vector if inside else np.zeros(shape)
        corner = np.full(shape, float(self.l1))
        corner[: self.fit_intercept] = 0
        objective = Objective(loss, tuple(blocks), float(noise.ridge), tilt, reach, corner)
        found = minimised(objective, float(noise.tolerance - noise.drawn_off) * _CERTIFIED)
        return _on_grid(found if inside else found + vector, noise, rng, zeros=bool(self.l1) and inside)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """Rows of a unit in a corner, with either label, beside a few others and alone."""
        return (
            tuple(
                Pair(
                    self._frame(few, ()),
                    self._frame(few, (side,) * self.max_rows),
                    "a unit's rows in a corner, or none",
                )
                for few in (0, 3)
                for side in (1, -1)
            )
            if isinstance(self.neighbours, AddRemove)
            else (
                Pair(
                    self._frame(3, (1,) * self.max_rows), self._frame(3, (-1,) * self.max_rows), "a unit in two corners"
                ),
            )
        )

    def _frame(self, few: int, own: tuple[int, ...]) -> Frame:
        columns = [Column(name, bounds=(-1, 1), step=1) for name in self.features]
        sides = [*((-1) ** i for i in range(few)), *own]
        held: dict[str, Any] = {name: [1] * few + [1] * len(own) for name in self.features}
        held |= {self.label: [self._said(side) for side in sides], "of": [*range(few), *[few] * len(own)]}
        return Frame.of(held, *columns, self._told(), unit="of", max_rows=self.max_rows, neighbours=self.neighbours)

    def _said(self, side: int) -> Key:
        return side if self.numeric else side > 0

    def _told(self) -> Column:
        return Column(self.label, bounds=(-1, 1), step=1) if self.numeric else Column(self.label, keys=(False, True))


def _on_grid(found: NDArray[np.float64], noise: Perturbation, rng: Entropy, *, zeros: bool) -> NDArray[np.float64]:
    """Parameters as whole steps of the public grid, with discrete Laplace noise on each.

    Where some may be `zeros`, what is within the reach of that noise is told as zero: post-processing.
    """
    steps = [round(Fraction(value) / noise.step) for value in found.ravel().tolist()]
    noisy = [each + laplace(noise.grid_scale, rng=rng) for each in steps]
    least = _ZERO * noise.grid_scale if zeros else 0
    told = [float(each * noise.step) if abs(each) > least else 0.0 for each in noisy]
    return np.array(told, dtype=np.float64).reshape(found.shape)


def places_of_classes(known: Outline, label: str, labels: Steps) -> tuple[Steps, NDArray[np.bool_]]:
    """The place of each label among the classes, of places among keys or of steps; and which are any."""
    column = column_of(known, label)
    if column.keys is None:
        return labels - grid_of(known, label).low, np.ones(labels.size, dtype=np.bool_)
    classes = classes_of(known, label)
    places = np.array([-1 if key is None else classes.index(key) for key in column.keys])[labels]
    return places, places >= 0


def classes_of(known: Outline, label: str) -> tuple[Key, ...]:
    """The classes of a label: its declared keys, or the whole steps between its bounds where these are few."""
    column = column_of(known, label)
    if column.keys is None and column.grid is not None and column.grid.span < _MOST_CLASSES and column.grid.step == 1:
        return tuple(range(column.grid.low, column.grid.high + 1))
    classes = tuple(key for key in column.keys or () if key is not None)
    if len(classes) < 2 or len(classes) > _MOST_CLASSES:
        raise Refusal(
            f"column {label!r} has {len(classes)} declared classes, and a classifier needs two or more",
            hint=f"declare --keys {label}=a,b: which classes there are never comes from data",
        )
    return classes


def least_and_most(value: Fraction, name: str, low: Fraction, high: int) -> None:
    """Refuse what makes sums that doubles do not hold, or minima that they do not find."""
    if not low <= value <= high:
        raise Refusal(f"expected {name} from {spoken(low)} to {high}, got {name}={spoken(value)}")


@registered("logistic-regression")
@dataclass(frozen=True)
class LogisticRisk(Risk):
    """Logistic regression of a column with declared classes, of more than two by softmax.

    `alpha` is a ridge on the weights of features that are scaled to between −1 and 1, or to a length of `data_norm`;
    the intercept is one of them. Where nobody names it, it follows from the noise and a noisy count of rows. `method`
    is objective perturbation (with noise of density ∝ exp(−β‖b‖), or `gaussian`), output perturbation, or whichever of
    the first two has less noise.

    Guarantee: Approximate(epsilon, delta) when all rows of one unit, of which there are at most `max_rows`, are added
        or removed, or replaced if those are its neighbours; conditional on the end of the solver.
    Proof: docs/proofs/convex.md.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Theorems 6 and 9; Kifer, Smith & Thakurta 2012, Theorem 2, for normal
        noise; Iyengar et al. 2019, Algorithm 1, for solvers that are not exact.
    """

    model: ClassVar[type[LinearClassifier]] = LinearClassifier

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LinearClassifier:
        """The model. Spends `privacy`."""
        return self.classifier(relation, rng, chances=True)

    def loss(self, known: Outline) -> Loss:
        """Logistic, or softmax."""
        classes = len(classes_of(known, self.label))
        return Logistic() if classes == 2 else Softmax(classes)


@registered("linear-svc")
@dataclass(frozen=True)
class HingeRisk(Risk):
    """Linear support vector classifier of a column with two declared classes; its hinge is smooth over ±`width`.

    Guarantee: Approximate(epsilon, delta) when all rows of one unit, of which there are at most `max_rows`, are added
        or removed, or replaced if those are its neighbours; conditional on the end of the solver.
    Proof: docs/proofs/convex.md.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9 and Section 3.4.2, with a hinge that has two derivatives.
    """

    model: ClassVar[type[LinearClassifier]] = LinearClassifier

    width: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, width=positive(self.width, "width"))
        least_and_most(self.width, "width", NARROWEST, WIDEST)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LinearClassifier:
        """The model. Spends `privacy`."""
        return self.classifier(relation, rng, chances=False)

    def loss(self, known: Outline) -> Loss:
        """The smooth hinge."""
        return hinge(known, self.label, self.width)


def hinge(known: Outline, label: str, width: Fraction) -> SmoothHinge:
    """The smooth hinge of a label with two classes."""
    if len(classes_of(known, label)) != 2:
        raise Refusal(f"support vectors tell two classes apart, and {label!r} has more", hint="logistic-regression")
    return SmoothHinge(width)


@registered("huber-regression")
@dataclass(frozen=True)
class HuberRisk(Risk):
    """Linear regression that far-off labels pull no harder than near ones: the loss √(h² + r²) of the distance r.

    h is `width`, as a share of half the label's declared range.

    Guarantee: Approximate(epsilon, delta) when all rows of one unit, of which there are at most `max_rows`, are added
        or removed, or replaced if those are its neighbours; conditional on the end of the solver.
    Proof: docs/proofs/convex.md.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9; the loss is that of Charbonnier et al. 1997.
    """

    model: ClassVar[type[LinearModel]] = LinearModel
    numeric: ClassVar[bool] = True

    width: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, width=positive(self.width, "width"))
        least_and_most(self.width, "width", NARROWEST, WIDEST)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LinearModel:
        """The model. Spends `privacy`."""
        return self.line(relation, rng)

    def loss(self, known: Outline) -> Loss:
        """Of the distance from a number."""
        grid_of(known, self.label)  # refused without one
        return Huber(self.width)


@dataclass(frozen=True)
class ConvexRisk(Risk):
    """Linear scores under any convex loss of a number that its class bounds; for the custodian's own process.

    Guarantee: Approximate(epsilon, delta), as `HuberRisk`, if what `of` says of itself is true: see `losses.Loss`.
    Proof: docs/proofs/convex.md.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Theorems 6 and 9.
    """

    model: ClassVar[type[LinearModel]] = LinearModel
    numeric: ClassVar[bool] = True

    of: Loss = field(default=Huber())  # it is frozen

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LinearModel:
        """The model. Spends `privacy`."""
        return self.line(relation, rng)

    def loss(self, known: Outline) -> Loss:
        """As given."""
        grid_of(known, self.label)  # refused without one
        return self.of
