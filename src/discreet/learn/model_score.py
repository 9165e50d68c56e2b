"""How good a fitted model is about rows that are private: counted where they live, and bought like an answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.declared.table import Outline, grid_of
from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.learn.convex_risk import classes_of
from discreet.learn.design_matrix import Reals, Steps
from discreet.learn.fit_parameters import OverRows, Priced, settle_price
from discreet.learn.fitted_model import Model
from discreet.learn.moments import Width
from discreet.learn.score_report import ClassifierScore, NumberScore
from discreet.learn.share_of_right_rows import RightRows, labelled, readers
from discreet.mechanisms import Column, Frame, Pair, Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import known
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours

_LONGEST = 10**7  # letters of a model


@registered("model-score")
@dataclass(frozen=True)
class ModelScore(Priced, OverRows):
    """How good a model is about a label of rows that it may not have seen: all from one noisy table.

    Of a class that is how many rows of each class get each score, in `bins` of the chance that the model gives to the
    second of two, or by the class that it says: accuracy, the area under the curve and calibration follow. Of a number
    they are the sums of squares of what it is and of what the model is off, at most by the range between its bounds.
    `fitted` is the model with the name of its estimator, as JSON: {"estimator": …, "model": …}.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/moments.md, "How good a model is".
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1, on the table.
    """

    fitted: str
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    bins: int = 20
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_price(self)
        settle(
            self,
            bins=count(self.bins, "bins"),
            max_rows=count(self.max_rows, "max_rows"),
            neighbours=self.neighbours,
        )
        if self.bins % 2:
            raise Refusal(
                f"expected an even number of bins, got bins={self.bins}", hint="half of them say either class"
            )
        if self.label in self.judged.features:
            raise Refusal(
                f"the label {shown(self.label)} is a feature of the model", hint="name the column it predicts"
            )

    @cached_property
    def judged(self) -> Model:
        """The model, read from what was given. It is public."""
        try:
            told = json.loads(self.fitted) if len(self.fitted) <= _LONGEST else {}
            model: Model = getattr(known(told["estimator"]), "model").read(told["model"])  # noqa: B009  # of its class
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise Refusal(
                "expected fitted as JSON of an estimator's name and its model", hint="discreet score"
            ) from None
        return getattr(model, "model", model)

    def refuse_unfit(self, known: Outline) -> None:
        """Where the label is not declared as the model says it, or a feature not as it reads it."""
        if RightRows.of(known, self.label, self.judged).numeric:
            grid_of(known, self.label)
        else:
            classes_of(known, self.label)
        readers(known, self.judged)

    def width(self, columns: int) -> Width:
        """How much noise there is on each number, by public facts alone."""
        return Width.at(self.privacy, columns, self.max_rows, self.neighbours)

    def table(self, relation: Relation, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """Rows by class and by what the model says of them, exactly: a row is in one cell, or in none."""
        classes = len(classes_of(relation, self.label))
        total = np.zeros((classes, self._width_of(classes)), dtype=np.int64)
        for rows, places in labelled(relation, self.judged, self.label, rng, numeric=False):
            with np.errstate(all="ignore"):
                said = self._said(rows, classes_of(relation, self.label))
            np.add.at(total, (places, said), 1)
        return total

    def sums(self, relation: Relation, rng: Entropy = SECURE) -> NDArray[np.object_]:
        """Shares of the square of the label, and of that of the error: a row adds s² to each three, s its range."""
        grid = grid_of(relation, self.label)
        how, total = RightRows.of(relation, self.label, self.judged), np.zeros((2, 3), dtype=object)
        for rows, labels in labelled(relation, self.judged, self.label, rng, numeric=True):
            with np.errstate(all="ignore"):
                near = how.near(relation, self.judged, rows, labels)
            for i, part in enumerate((labels - grid.low, how.worth - near)):
                own = part.astype(object)
                rest = how.worth - own
                three = int((rest * rest).sum()), int((2 * own * rest).sum()), int((own * own).sum())
                total[i] += np.array(three, dtype=object)
        return total

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few rows of either class or at either bound, and those of one unit more, or otherwise."""
        rows, alone = self.max_rows, isinstance(self.neighbours, AddRemove)
        few = (0, 4) if alone else (4,)
        why = "rows of others, and those of one unit in one cell"
        return tuple(Pair(self._frame(n, 0 if alone else -rows), self._frame(n, rows), why) for n in few)

    def _frame(self, few: int, own: int) -> Frame:
        model, size = self.judged, few + abs(own)
        keys = getattr(model, "keys", ()) or ((),) * len(model.features)
        sides = [i % 2 for i in range(few)] + [int(own > 0)] * abs(own)
        columns, held = [], {"of": [*range(few), *[few] * abs(own)]}
        for name, each in zip(model.features, keys, strict=True):
            columns.append(Column(name, keys=each) if each else Column(name, bounds=(-1, 1), step=1))
            held[name] = [each[0] if each else 1] * size
        classes = _named(model)
        columns.append(Column(self.label, keys=classes) if classes else Column(self.label, bounds=(0, 1), step=1))
        held[self.label] = [classes[side] if classes else side for side in sides]
        return Frame.of(held, *columns, unit="of", max_rows=self.max_rows, neighbours=self.neighbours)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> ClassifierScore | NumberScore:
        """How good it is. Spends `privacy`."""
        if RightRows.of(relation, self.label, self.judged).numeric:
            exact, grid, width = self.sums(relation, rng), grid_of(relation, self.label), self.width(2)
            most = max(1, grid.span)
            told = np.array([[width.added(value, most**2, rng) for value in row] for row in exact])
            return NumberScore.of(told, float(most * grid.step))
        counts, width = self.table(relation, rng), self.width(1)
        noisy = np.array([[width.added(int(value), 1, rng) for value in row] for row in counts])
        return ClassifierScore.of(classes_of(relation, self.label), noisy, width, calibrated=self._chances)

    @property
    def _scored(self) -> bool:
        return hasattr(self.judged, "scores")

    @property
    def _chances(self) -> bool:
        return hasattr(self.judged, "probabilities") and getattr(self.judged, "chances", True)

    def _width_of(self, classes: int) -> int:
        """Into how many cells what a model says is divided."""
        return self.bins if classes == 2 and self._scored else classes

    def _said(self, rows: Reals, classes: tuple[Any, ...]) -> Steps:
        """The cell of what it says of each row; a class that is none of the label's counts as the first."""
        told = self.judged.predict(rows)
        names = np.array(classes)
        place: Steps = np.argmax(np.asarray(told)[:, np.newaxis] == names, axis=1)
        if self._width_of(len(classes)) == len(classes) and not (self._scored and len(classes) == 2):
            return place
        chance = self.judged.probabilities(rows)[:, 1] if self._chances else expit(self.judged.scores(rows)[:, 0])  # type: ignore[attr-defined]
        fine = np.clip(np.nan_to_num(chance) * self.bins, 0, self.bins - 1).astype(np.int64)
        half = self.bins // 2
        cell: Steps = np.where(place == 1, np.maximum(fine, half), np.minimum(fine, half - 1))
        return cell


def _named(model: Any) -> tuple[Any, ...]:  # noqa: ANN401  # of some class
    """The classes that a model says, if it says any."""
    if hasattr(model, "inside"):
        return tuple(dict.fromkeys((model.inside, model.outside)))
    return tuple(getattr(model, "classes", ()))
