"""How right a model is about rows: of each a share between none and one whole, added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.group_key import Key
from discreet.declared.table import Outline, grid_of, keys_of
from discreet.learn.convex_risk import classes_of, places_of_classes
from discreet.learn.design_matrix import Reals, Steps
from discreet.learn.fitted_model import Model
from discreet.learn.rule_model import Rule
from discreet.mechanisms import Relation
from discreet.noise import SECURE, Entropy

_ROWS = 1 << 16  # that are held at once


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
        numeric = not hasattr(model, "classes") and not isinstance(model, Rule)
        return cls(label, numeric, max(1, grid_of(known, label).span) if numeric else 1)

    def counted(self, relation: Relation, model: Model, rng: Entropy = SECURE) -> tuple[int, int]:
        """How much is right of all rows, and how much is not: exactly. Rows that lack a column are in neither.

        A row adds `worth` to both together and nothing negative to either, whatever the row and the model.
        """
        right = wrong = 0
        for rows, labels in labelled(relation, model, self.label, rng, numeric=self.numeric):
            with np.errstate(all="ignore"):  # a warning would tell of somebody's row
                each = (self.near if self.numeric else self._same)(relation, model, rows, labels)
            whole = int(each.sum(dtype=object))  # 64 bits do not hold that of many steps
            right += whole
            wrong += self.worth * len(each) - whole
        return right, wrong

    def _same(self, known: Outline, model: Model, rows: Reals, places: Steps) -> Steps:
        return np.asarray(model.predict(rows) == np.array(classes_of(known, self.label))[places]).astype(np.int64)

    def near(self, known: Outline, model: Model, rows: Reals, labels: Steps) -> Steps:
        """Of each row how much is right."""
        grid = grid_of(known, self.label)
        told = np.nan_to_num(np.asarray(model.predict(rows), dtype=np.float64) / float(grid.step), nan=grid.low)
        off = np.abs(np.rint(np.clip(told, grid.low, grid.high)).astype(np.int64) - labels)
        near: Steps = self.worth - np.minimum(off, self.worth)
        return near


def labelled(
    relation: Relation, model: Model, label: str, rng: Entropy, *, numeric: bool
) -> Iterator[tuple[Reals, NDArray[Any]]]:
    """Rows as a model reads them, so many at once, with their labels: places among the classes, or steps."""
    plain = [name for name, own in zip(model.features, _keys(model), strict=True) if not own]
    each = readers(relation, model)
    for batch in relation.batches(_ROWS, [*plain, *[label] * numeric], rng=rng):
        target, columns = batch.column(label), [batch.column(name) for name in model.features]
        rows = np.column_stack([read(column) for read, column in zip(each, columns, strict=True)])
        labels = target.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        there = target.is_valid().to_numpy(zero_copy_only=False) & ~np.isnan(rows).any(axis=1)
        if pa.types.is_int32(target.type):
            there &= labels >= 0
        rows, labels = rows[there], labels[there]
        if not numeric:
            labels, known = places_of_classes(relation, label, labels)
            rows, labels = rows[known], labels[known]
        yield rows, labels


def readers(known: Outline, model: Model) -> list[Callable[[pa.Array], Reals]]:
    """How each feature becomes what a model reads; refused where it is not declared so."""
    return [_reader(known, name, own) for name, own in zip(model.features, _keys(model), strict=True)]


def _keys(model: Model) -> tuple[tuple[Key, ...], ...]:
    return getattr(model, "keys", ()) or ((),) * len(model.features)


def _reader(known: Outline, name: str, keys: tuple[Key, ...]) -> Callable[[pa.Array], Reals]:
    """How a column becomes what a model reads, not a number where there is nothing: of keys their places."""
    if not keys:
        step = float(grid_of(known, name).step)
        return lambda steps: np.asarray(steps.cast(pa.float64()).to_numpy(zero_copy_only=False) * step)
    named = {str(key): float(place) for place, key in enumerate(keys)}
    places = np.array([*(named.get(str(key), np.nan) for key in keys_of(known, name)), np.nan])  # the last of none
    return lambda codes: places[codes.to_numpy(zero_copy_only=False)]
