"""How right a model is about rows: of each a share between none and one whole, added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline, column_of, grid_of
from discreet.learn.convex_risk import classes_of, places_of_classes
from discreet.learn.design import Design, Reals, Steps
from discreet.learn.model import LinearModel, Model
from discreet.mechanisms import Relation
from discreet.noise import SECURE, Entropy


@dataclass(frozen=True)
class RightRows:
    """How right a model is about a label: of a class wholly or not at all, of a number the nearer the more.

    A row counts `worth` in all, of which `right` is for what the model said well. Of a number that is how much nearer
    it is than the whole range between the label's bounds.
    """

    label: str
    numeric: bool
    worth: int

    @classmethod
    def of(cls, known: Outline, label: str, model: Model) -> RightRows:
        """By what is declared of the label."""
        without = column_of(known, label).keys is None and not hasattr(model, "classes")
        numeric = isinstance(model, LinearModel) or without
        return cls(label, numeric, max(1, grid_of(known, label).span) if numeric else 1)

    def counted(self, relation: Relation, model: Model, rng: Entropy = SECURE) -> tuple[int, int]:
        """How much is right of all rows, and how much is not: exactly. Rows that lack a column are in neither.

        A row adds `worth` to both together and nothing negative to either, whatever the row and the model.
        """
        right = wrong = 0
        for rows, labels in labelled(relation, model.features, self.label, rng, numeric=self.numeric):
            with np.errstate(all="ignore"):  # a warning would tell of somebody's row
                each = (self._near if self.numeric else self._same)(relation, model, rows, labels)
            right += int(each.sum())
            wrong += self.worth * len(each) - int(each.sum())
        return right, wrong

    def _same(self, known: Outline, model: Model, rows: Reals, places: Steps) -> Steps:
        return np.asarray(model.predict(rows) == np.array(classes_of(known, self.label))[places]).astype(np.int64)

    def _near(self, known: Outline, model: Model, rows: Reals, labels: Steps) -> Steps:
        grid = grid_of(known, self.label)
        told = np.nan_to_num(np.asarray(model.predict(rows), dtype=np.float64) / float(grid.step), nan=grid.low)
        off = np.abs(np.rint(np.clip(told, grid.low, grid.high)).astype(np.int64) - labels)
        near: Steps = self.worth - np.minimum(off, self.worth)
        return near


def labelled(
    relation: Relation, features: tuple[str, ...], label: str, rng: Entropy, *, numeric: bool
) -> Iterator[tuple[Reals, NDArray[Any]]]:
    """Rows as a model reads them, so many at once, with their labels: places among the classes, or steps."""
    design = Design.of(relation, features, intercept=True, norm=None)
    steps = np.array([float(scale.grid.step) for scale in design.features])
    for columns, target in design.batches(relation, label, rng, number=numeric):
        if numeric:
            yield columns * steps, target
        else:
            places, there = places_of_classes(relation, label, target)
            yield (columns * steps)[there], places[there]
