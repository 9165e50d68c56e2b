"""Random forests as data: trees whose splits know nothing of the rows, and what their leaves say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.declared.group_key import Key
from discreet.learn.additive_model import known_fields
from discreet.learn.fitted_model import numbers
from discreet.learn.linear_classifier_model import chances_of, chosen_of
from discreet.learn.prediction_rows import Keys
from discreet.learn.tree_model import Tree, read_classes, read_keys
from discreet.mechanisms.run_by_name import as_json


@dataclass(frozen=True)
class ForestClassifier:
    """Score of each class: how frequent it is, by its logarithm, and what the leaves of a row say beyond that.

    A leaf says for each class the logarithm of how much more frequent it is there than everywhere; the mean over all
    trees counts `weight` times.
    """

    features: tuple[str, ...]
    keys: Keys
    classes: tuple[Key, ...]
    frequencies: tuple[float, ...]
    weight: float
    trees: tuple[Tree, ...]

    def scores(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """Log-odds of the second of two classes, as a column; of more a score for each."""
        given = numbers(rows, self.features)
        said = np.zeros((len(given), len(self.classes)))
        for tree in self.trees:
            said += tree.values(given, self.keys)
        told: NDArray[np.float64] = np.log(self.frequencies) + self.weight * said / len(self.trees)
        return told[:, 1:] - told[:, :1] if len(self.classes) == 2 else told

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """The class of each row."""
        return chosen_of(self.scores(rows), self.classes)

    def probabilities(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The chance of each class, a column each."""
        return chances_of(self.scores(rows))

    def table(self) -> pa.Table:
        """What each leaf of each tree says."""
        leaves = [(i, j, own) for i, tree in enumerate(self.trees) for j, own in enumerate(tree.leaves)]
        columns = {f"of {name}": [own[k] for *_, own in leaves] for k, name in enumerate(self.classes)}
        return pa.table({"tree": [i + 1 for i, *_ in leaves], "leaf": [j + 1 for _, j, _ in leaves], **columns})

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> ForestClassifier:
        """What `body` told of."""
        known_fields(body, cls)
        features, classes = tuple(map(str, body["features"])), read_classes(body)
        frequencies = tuple(map(float, body["frequencies"]))
        trees = tuple(Tree.read(each, len(features), len(classes)) for each in body["trees"])
        if len(frequencies) != len(classes) or min(frequencies) <= 0 or not trees:
            raise ValueError(frequencies)
        return cls(features, read_keys(body, features), classes, frequencies, float(body["weight"]), trees)


@dataclass(frozen=True)
class ForestRegressor:
    """A number between two ends: which share of the way, of all rows that share a leaf with a row in some tree.

    A leaf says how much of the way its rows are in all, and how many they are; `doubt` is how many rows that are as
    all are on average, `share`, stand beside those of the leaves. What is off that average counts `weight` times.
    """

    features: tuple[str, ...]
    keys: Keys
    ends: tuple[float, float]
    share: float
    doubt: float
    weight: float
    trees: tuple[Tree, ...]

    def predict(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The number of each row."""
        given = numbers(rows, self.features)
        said = np.zeros((len(given), 2))
        for tree in self.trees:
            said += tree.values(given, self.keys)
        whole = np.maximum(said[:, 1], 0) + self.doubt
        beyond = (said[:, 0] + self.doubt * self.share) / whole - self.share
        told: NDArray[np.float64] = np.clip(self.share + self.weight * beyond, 0, 1)
        return self.ends[0] + told * (self.ends[1] - self.ends[0])

    def table(self) -> pa.Table:
        """What each leaf of each tree says."""
        leaves = [(i, j, *own) for i, tree in enumerate(self.trees) for j, own in enumerate(tree.leaves)]
        trees, places, way, size = zip(*leaves, strict=True)
        columns = {"tree": [i + 1 for i in trees], "leaf": [j + 1 for j in places], "of the way": way, "rows": size}
        return pa.table(columns)

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> ForestRegressor:
        """What `body` told of."""
        known_fields(body, cls)
        features = tuple(map(str, body["features"]))
        low, high = map(float, body["ends"])
        trees = tuple(Tree.read(each, len(features), 2) for each in body["trees"])
        share, doubt, weight = (float(body[name]) for name in ("share", "doubt", "weight"))
        if not trees or not low <= high or not 0 <= share <= 1 or not doubt > 0:
            raise ValueError(body)
        return cls(features, read_keys(body, features), (low, high), share, doubt, weight, trees)
