"""Additive models as data: for each feature a number at each of its places, and the sum of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.declared.group_key import Key
from discreet.learn.effect_picture import effect_picture
from discreet.learn.fitted_model import numbers
from discreet.learn.linear_classifier_model import chances_of, chosen_of
from discreet.learn.tree_model import read_classes
from discreet.mechanisms.run_by_name import as_json
from discreet.pictures import Picture


@dataclass(frozen=True)
class Effect:
    """What one feature adds: a number for each interval between rising cuts, or for each of its keys.

    `low` and `high` are its declared bounds, where it is drawn.
    """

    name: str
    cuts: tuple[float, ...]
    keys: tuple[Key, ...]
    values: tuple[float, ...]
    low: float = 0.0
    high: float = 0.0

    def of(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """What it adds to each row. What is no number, or no key, adds nothing."""
        if self.keys:
            there = np.isin(column, np.arange(len(self.keys)))
            place = np.where(there, column, 0).astype(np.int64)
        else:
            there = ~np.isnan(column)
            place = np.searchsorted(np.array(self.cuts), column, side="right")
        return np.where(there, np.array(self.values)[np.where(there, place, 0)], 0.0)

    def says(self, place: int) -> str:
        """One of its places, in words."""
        if self.keys:
            return f"is {self.keys[place]}"
        if not self.cuts:
            return "any number"
        if place == 0:
            return f"< {self.cuts[0]:g}"
        return (
            f"≥ {self.cuts[-1]:g}" if place == len(self.cuts) else f"{self.cuts[place - 1]:g} to {self.cuts[place]:g}"
        )

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Effect:
        """What JSON holds of one."""
        cuts, values = (tuple(map(float, body[name])) for name in ("cuts", "values"))
        keys = tuple(body["keys"])
        if len(values) != (len(keys) or len(cuts) + 1) or sorted(cuts) != list(cuts):
            raise ValueError(values)
        if not all(key is None or isinstance(key, (str, int)) for key in keys):
            raise TypeError(keys)
        return cls(str(body["name"]), cuts, keys, values, float(body["low"]), float(body["high"]))


def known_fields(body: Mapping[str, Any], kind: type[Any]) -> None:
    """Raise what nonsense raises if these are not the fields of that kind of value."""
    if {*body} != {each.name for each in fields(kind)}:
        raise KeyError(sorted(body))


class _Sum:
    """What both kinds of additive models say of themselves alike."""

    intercept: float
    effects: tuple[Effect, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """What its effects are of."""
        return tuple(each.name for each in self.effects)

    @property
    def keys(self) -> tuple[tuple[Key, ...], ...]:
        """The keys of each feature, none for one that is a number."""
        return tuple(each.keys for each in self.effects)

    def added(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """Intercept and effects of each row."""
        given = numbers(rows, self.features)
        told = np.full(len(given), self.intercept)
        for each, column in zip(self.effects, given.T, strict=True):
            told += each.of(column)
        return told

    def table(self) -> pa.Table:
        """The intercept, and each effect at each of its places."""
        rows = [{"feature": "(intercept)", "where": "everywhere", "effect": self.intercept}]
        rows += [
            {"feature": each.name, "where": each.says(place), "effect": value}
            for each in self.effects
            for place, value in enumerate(each.values)
        ]
        return pa.Table.from_pylist(rows)

    def pictures(self) -> Sequence[Picture]:
        """Each effect as a line of steps, or as bars for keys: all on one scale, those that add most first."""
        wide = max((abs(value) for each in self.effects for value in each.values), default=1.0) or 1.0
        order = sorted(self.effects, key=lambda each: -float(np.ptp(each.values)))
        return [effect_picture(each, self.adds, wide) for each in order]

    adds = ""

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told


@dataclass(frozen=True)
class EffectsClassifier(_Sum):
    """Log-odds of the second of two classes, as a sum of effects."""

    classes: tuple[Key, ...]
    intercept: float
    effects: tuple[Effect, ...]

    adds = "added to the log-odds"

    def scores(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The log-odds of each row, as a column."""
        return self.added(rows)[:, np.newaxis]

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """The class of each row."""
        return chosen_of(self.scores(rows), self.classes)

    def probabilities(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The chance of each class, a column each."""
        return chances_of(self.scores(rows))

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> EffectsClassifier:
        """What `body` told of."""
        known_fields(body, cls)
        classes = read_classes(body)
        if len(classes) != 2:
            raise ValueError(classes)
        return cls(classes, float(body["intercept"]), tuple(map(Effect.read, body["effects"])))


@dataclass(frozen=True)
class EffectsRegressor(_Sum):
    """A number, as a sum of effects, held between its declared bounds."""

    intercept: float
    effects: tuple[Effect, ...]
    low: float
    high: float

    adds = "added to the prediction"

    def predict(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The number of each row."""
        return np.clip(self.added(rows), self.low, self.high)

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> EffectsRegressor:
        """What `body` told of."""
        known_fields(body, cls)
        effects = tuple(map(Effect.read, body["effects"]))
        return cls(float(body["intercept"]), effects, float(body["low"]), float(body["high"]))
