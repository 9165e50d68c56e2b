"""Additive models by cyclic boosting: noisy sums of residuals in public bins, feature by feature, round by round."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from scipy.special import expit

from discreet.declared.table import Outline, grid_of
from discreet.errors import Refusal
from discreet.exact import count
from discreet.learn.additive_model import Effect, EffectsClassifier, EffectsRegressor
from discreet.learn.binned_rows import MOST_CUTS, Axis, Cells, ClassTarget, NumberTarget, Target
from discreet.learn.fit_in_stages import SIZE, Stages
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.row_price import RowPrice
from discreet.learn.tree_learner import Candidates, RowsAtBounds, scored
from discreet.mechanisms import Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours

Reals = NDArray[np.float64]

MOST_ROUNDS = 1000

_COUNTS = Fraction(1, 10)  # share of the price of the fit
_ONE = 1 << 16  # a residual of one, as a whole number
_ODDS, _SHARE = 2.0, 0.5  # how far an effect is thought to move over all its bins: log-odds, or a share of the range
_MUCH, _SOME = 0.3, 0.2  # noise on the sum over a feature's bins, as a share of rows: of all rounds, and of one


@dataclass(frozen=True)
class Plan:
    """What is bought once the number of rows is known roughly: rounds over so many features, perhaps chosen first."""

    rounds: int
    kept: int
    choice: RowPrice | None
    fit: RowPrice

    @property
    def count(self) -> RowPrice:
        """For the rows in each bin of one feature."""
        return self.fit.part(_COUNTS / self.kept)

    @property
    def sum(self) -> RowPrice:
        """For the residuals in each bin of one feature, in one round."""
        return self.fit.part((1 - _COUNTS) / (self.kept * self.rounds))


class _Additive(RowsAtBounds, Priced, OverRows):
    """What both kinds of additive models say of themselves alike."""

    features: tuple[str, ...]
    label: str
    rounds: int
    cuts: int
    neighbours: Any

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(self, rounds=count(self.rounds, "rounds"), cuts=count(self.cuts, "cuts"))
        if self.rounds > MOST_ROUNDS or self.cuts > MOST_CUTS:
            raise Refusal(
                f"expected rounds <= {MOST_ROUNDS} and cuts <= {MOST_CUTS}, got rounds={self.rounds} cuts={self.cuts}",
                hint="each round has a share of the price",
            )

    @property
    def stages(self) -> Stages:
        """How its price is divided."""
        return Stages(self.privacy, self.max_rows, self.neighbours)

    @property
    def numbers(self) -> int:
        """An effect for each bin of each feature, and an intercept: so many at most, if no feature has keys."""
        return len(self.features) * (self.cuts + 1) + 1

    def axes(self, known: Outline) -> tuple[Axis, ...]:
        """How features are cut, by what is declared."""
        return tuple(Axis.of(known, name, self.cuts) for name in self.features)

    def planned(self, size: int) -> Plan:
        """What to buy over so many rows: all features, if noise leaves something of them, or else a few for one round.

        Whatever the size is, the parts of a plan lose no more than is left: docs/proofs/trees.md, "Additive models".
        """
        width, rest, rows = len(self.features), 1 - SIZE, max(1.0, size - self.stages.first.deviation(1))
        whole = self._least(Plan(self.rounds, width, None, self.stages.first), rest)
        if self._noise(whole) <= _MUCH * rows:
            return whole
        for kept in range(width, 0, -1):
            share = rest if kept == width else rest / 2
            choice = None if kept == width else self.stages.usual(share)
            plan = self._least(Plan(1, kept, choice, self.stages.first), share)
            if self._noise(plan) <= _SOME * rows:
                break
        return plan

    def _least(self, plan: Plan, share: Fraction) -> Plan:
        """The plan with the noise that is least of those that the price allows."""
        return replace(plan, fit=self.stages.least(share, lambda fit: self._noise(replace(plan, fit=fit))))

    def _noise(self, plan: Plan) -> float:
        """The deviation of a sum of residuals of one over all bins of a feature."""
        return plan.sum.deviation(_ONE) / _ONE * math.sqrt(self.cuts + 1) * (0.5 if plan.rounds == 1 else 1)

    def fitted(self, relation: Relation, target: Target, rng: Entropy) -> tuple[float, tuple[Effect, ...]]:
        """Intercept and effects, of log-odds or of shares of the label's range. Spends `privacy`."""
        axes = self.axes(relation)
        cells = Cells.read(relation, axes, target, rng)
        (size,) = self.stages.first.noisy([len(cells)], 1, rng)
        plan = self.planned(size)
        kept = range(len(axes)) if plan.choice is None else self._chosen(cells, plan.choice, plan.kept, rng)
        boosted = _Boosted(cells, plan, isinstance(target, ClassTarget))
        for place in kept:
            boosted.count(place, rng)
        for _ in range(plan.rounds):
            for place in kept:
                boosted.step(place, rng)
        return boosted.told(relation)

    def _chosen(self, cells: Cells, price: RowPrice, kept: int, rng: Entropy) -> list[int]:
        """The features of which one cut tells most, one after another; each score is the best of its cuts."""
        at, places, each = np.zeros(len(cells), dtype=np.int64), list(range(len(cells.axes))), list[int]()
        everything, best, reach = cells.sums(at, 1), [], 1
        for place in places:
            alone = Candidates((cells.axes[place],)).second(replace(cells, places=(cells.places[place],)), at, 1)
            with_none = np.concatenate([np.zeros_like(everything)[:, np.newaxis], alone], axis=1)
            scores, reach = scored(cells.target, everything, with_none, last=True)
            best.append(int(scores.max()))
        part = price.part(Fraction(1, kept))
        for _ in range(kept):
            which = part.choice(len(places), reach)([best[place] for place in places], rng=rng)
            each.append(places.pop(which))
        return sorted(each)


class _Boosted:
    """Effects while they grow: what is told so far, and each row's score by it."""

    def __init__(self, cells: Cells, plan: Plan, odds: bool) -> None:  # noqa: FBT001
        self.cells, self.plan, self.odds = cells, plan, odds
        self.intercept = 0.0 if odds else 0.5
        self.effects = [np.zeros(len(axis)) for axis in cells.axes]
        self.rows = [np.ones(len(axis)) for axis in cells.axes]
        self.scores = np.full(len(cells), self.intercept)
        self.labels = cells.told / cells.target.unit

    def count(self, place: int, rng: Entropy) -> None:
        """Buy how many rows there are in each bin of a feature."""
        exact = np.bincount(self.cells.places[place], minlength=len(self.cells.axes[place]))
        self.rows[place] = np.maximum(self.plan.count.noisy(exact.tolist(), 1, rng), 0).astype(np.float64)

    def reach(self) -> int:
        """How large a residual can be, by what was told: of a row with the highest score, or the lowest."""
        low = self.intercept + sum(float(each.min()) for each in self.effects)
        high = self.intercept + sum(float(each.max()) for each in self.effects)
        low, high = (float(expit(low)), float(expit(high))) if self.odds else (max(low, 0.0), min(high, 1.0))
        return min(_ONE, math.floor(max(high, 1 - low) * _ONE) + 2)

    def residuals(self, reach: int) -> Reals:
        """Label less prediction of each row, as whole numbers no larger than that."""
        said = expit(self.scores) if self.odds else np.clip(self.scores, 0, 1)
        whole: Reals = np.clip(np.rint((self.labels - said) * _ONE), -reach, reach)
        return whole

    def step(self, place: int, rng: Entropy) -> None:
        """Buy the sum of residuals in each bin of a feature, and add what they say to its effect."""
        axis, places, reach = self.cells.axes[place], self.cells.places[place], self.reach()
        exact = np.bincount(places, weights=self.residuals(reach), minlength=len(axis)).astype(np.int64)
        noisy = np.array([float(each) / _ONE for each in self.plan.sum.noisy(exact.tolist(), reach, rng)])
        weight = self.rows[place] * (0.25 if self.odds else 1.0)
        rate, wide = 1.0 if self.plan.rounds == 1 else 0.5, _ODDS if self.odds else _SHARE
        moved = rate * smoothed(noisy, weight, self.plan.sum.deviation(reach) / _ONE, wide, bool(axis.keys))
        self.effects[place] = self.effects[place] + moved
        self.scores += moved[places]

    def told(self, known: Outline) -> tuple[float, tuple[Effect, ...]]:
        """Intercept and effects; each adds nothing on average, over the rows as they were counted."""
        told, intercept = [], self.intercept
        for axis, effect, rows in zip(self.cells.axes, self.effects, self.rows, strict=True):
            middle = float(np.average(effect, weights=rows + 1e-9))
            intercept += middle
            ends = (0.0, 0.0)
            if not axis.keys:
                grid = grid_of(known, axis.name)
                ends = float(grid.lower), float(grid.upper)
            cuts = tuple(axis.cut(place) for place in range(1, len(axis) * (not axis.keys)))
            told.append(Effect(axis.name, cuts, axis.keys, tuple(map(float, effect - middle)), *ends))
        return intercept, tuple(told)


def smoothed(sums: Reals, weight: Reals, deviation: float, wide: float, apart: bool) -> Reals:  # noqa: FBT001
    """The likeliest u for sums = weight · u + noise of that deviation, if u is a random walk from bin to bin.

    Over all bins it moves about as far as `wide`, and begins within half of that. Bins of keys (`apart`) are no
    neighbours of each other.
    """
    size = len(sums)
    deviation = max(deviation, 1e-3)
    band = np.zeros((2, size))
    band[1] = (weight / deviation) ** 2 + (1 / wide**2 if apart else 4 / (wide**2 * size))
    if size > 1 and not apart:
        stiff = size / wide**2
        band[0, 1:] = -stiff
        band[1, :-1] += stiff
        band[1, 1:] += stiff
    told: Reals = solveh_banded(band, weight * sums / deviation**2)
    return told


@registered("additive-classifier")
@dataclass(frozen=True)
class AdditiveClassification(_Additive):
    """Log-odds of the second of two declared classes as a sum of an effect for each feature, by noisy boosting.

    A number is cut into `cuts` + 1 bins of equal width between its bounds, a column with keys has a bin for each.
    In each of `rounds` rounds the residuals in each bin of each feature are summed with noise. Where a noisy number of
    rows says that this would be noise alone, there is one round, over features that are chosen first.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/trees.md, "Additive models".
    Source: Nori, Caruana, Bu, Shen & Kulkarni 2021 for boosting by noisy sums in bins.
    """

    model: ClassVar[type[EffectsClassifier]] = EffectsClassifier

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    rounds: int = 4
    cuts: int = 15
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> EffectsClassifier:
        """The model. Spends `privacy`."""
        target = ClassTarget.of(relation, self.label)
        if target.kinds != 2:
            raise Refusal(f"an additive classifier tells two classes apart, and {self.label!r} has {target.kinds}")
        return EffectsClassifier(target.classes, *self.fitted(relation, target, rng))


@registered("additive-regressor")
@dataclass(frozen=True)
class AdditiveRegression(_Additive):
    """A number between its declared bounds as a sum of an effect for each feature; else as `AdditiveClassification`.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/trees.md, "Additive models".
    Source: Nori, Caruana, Bu, Shen & Kulkarni 2021 for boosting by noisy sums in bins.
    """

    model: ClassVar[type[EffectsRegressor]] = EffectsRegressor

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    rounds: int = 4
    cuts: int = 15
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()
    numeric: ClassVar[bool] = True

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> EffectsRegressor:
        """The model. Spends `privacy`."""
        target = NumberTarget.of(relation, self.label)
        intercept, effects = self.fitted(relation, target, rng)
        low, high = target.value(0), target.value(1)
        scaled = tuple(replace(each, values=tuple(value * (high - low) for value in each.values)) for each in effects)
        return EffectsRegressor(low + intercept * (high - low), scaled, low, high)
