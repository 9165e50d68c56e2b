"""Decision trees as data: public cuts that were chosen, and what each leaf predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.declared.group_key import Key
from discreet.learn.fitted_model import numbers
from discreet.learn.linear_classifier_model import chosen_of
from discreet.learn.prediction_rows import Keys
from discreet.learn.tree_picture import Line, tree_picture
from discreet.mechanisms.run_by_name import as_json
from discreet.pictures import Picture


@dataclass(frozen=True)
class Split:
    """A feature by its place, and the least number, or else the place of the one key, that goes to the second side."""

    feature: int
    at: float


@dataclass(frozen=True)
class Tree:
    """A complete binary tree: splits level by level, each from left to right, and a row of numbers for each leaf."""

    splits: tuple[Split, ...]
    leaves: tuple[tuple[float, ...], ...]

    def leaf(self, rows: NDArray[np.float64], keys: Keys) -> NDArray[np.int64]:
        """The place of the leaf of each row. What is no number goes to the first side."""
        at = np.zeros(len(rows), dtype=np.int64)
        features = np.array([each.feature for each in self.splits], dtype=np.int64)
        cuts = np.array([each.at for each in self.splits])
        one_key = np.array([bool(own) for own in keys])
        while self.splits and at.size and at[0] < len(self.splits):
            here = features[at]
            value = rows[np.arange(len(rows)), here]
            second = np.where(one_key[here], value == cuts[at], value >= cuts[at])
            at = 2 * at + 1 + second
        return at - len(self.splits)

    def values(self, rows: NDArray[np.float64], keys: Keys) -> NDArray[np.float64]:
        """What the leaf of each row says."""
        told: NDArray[np.float64] = np.array(self.leaves)[self.leaf(rows, keys)]
        return told

    def lines(self, features: Sequence[str], keys: Keys, place: int = 0, depth: int = 0) -> Iterator[Line]:
        """The tree as an outline: for each side of a split what leads there, and what a leaf says.

        A split of which all leaves say the same is left out.
        """
        if place >= len(self.splits):
            return
        split = self.splits[place]
        for second, told in enumerate(sides(split, features, keys)):
            child = 2 * place + 1 + second
            below = self.under(child)
            alike = len(set(below)) == 1
            yield Line(depth, told, below[0] if alike else None)
            if not alike:
                yield from self.lines(features, keys, child, depth + 1)

    def under(self, place: int) -> tuple[tuple[float, ...], ...]:
        """All leaves under a split, or the leaf that is at this place."""
        first = last = place
        while first < len(self.splits):
            first, last = 2 * first + 1, 2 * last + 2
        return self.leaves[first - len(self.splits) : last - len(self.splits) + 1]

    @classmethod
    def read(cls, body: Mapping[str, Any], features: int, width: int) -> Tree:
        """What JSON holds of one."""
        splits = tuple(Split(int(each["feature"]), float(each["at"])) for each in body["splits"])
        leaves = tuple(tuple(map(float, each)) for each in body["leaves"])
        if len(leaves) != len(splits) + 1 or len(leaves) & len(splits) or {*map(len, leaves)} != {width}:
            raise ValueError(leaves)
        if not all(0 <= each.feature < features for each in splits):
            raise ValueError(splits)
        return cls(splits, leaves)


def sides(split: Split, features: Sequence[str], keys: Keys) -> tuple[str, str]:
    """Both sides of a split, in words."""
    name, own = features[split.feature], keys[split.feature]
    if own:
        return f"{name} is not {own[int(split.at)]}", f"{name} is {own[int(split.at)]}"
    return f"{name} < {split.at:g}", f"{name} ≥ {split.at:g}"


def read_keys(body: Mapping[str, Any], features: Sequence[str]) -> Keys:
    """The keys of features that JSON holds."""
    keys = tuple(tuple(own) for own in body["keys"])
    if len(keys) != len(features):
        raise ValueError(keys)
    if not all(key is None or isinstance(key, (str, int)) for own in keys for key in own):
        raise TypeError(keys)
    return keys


def read_classes(body: Mapping[str, Any]) -> tuple[Key, ...]:
    """The classes that JSON holds."""
    classes = tuple(body["classes"])
    if len(classes) < 2:
        raise ValueError(classes)
    if not all(isinstance(name, (str, int)) for name in classes):
        raise TypeError(classes)
    return classes


@dataclass(frozen=True)
class TreeClassifier:
    """A decision tree of which each leaf says how likely each class is. Of a feature with keys a value is its place."""

    features: tuple[str, ...]
    keys: Keys
    classes: tuple[Key, ...]
    tree: Tree

    def probabilities(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The chance of each class, a column each."""
        return self.tree.values(numbers(rows, self.features), self.keys)

    def scores(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """Log-odds of the second of two classes, as a column; of more, the logarithm of the chance of each."""
        told = np.log(self.probabilities(rows))
        return told[:, 1:] - told[:, :1] if len(self.classes) == 2 else told

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """The class of each row."""
        return chosen_of(self.scores(rows), self.classes)

    def table(self) -> pa.Table:
        """The tree as an outline, a side of a split a row; at a leaf, or where all leaves agree, the chances."""
        return _outline(self.tree, self.features, self.keys, [f"chance of {name}" for name in self.classes])

    def pictures(self) -> Sequence[Picture]:
        """The outline, with a bar at each leaf."""
        lines = list(self.tree.lines(self.features, self.keys))
        said = [self._said(each.values) for each in lines]
        return [tree_picture("The tree", "Each leaf with its likeliest class. " + _NO_BAR, lines, said)]

    def _said(self, values: tuple[float, ...] | None) -> tuple[str, float]:
        if values is None:
            return "", 0.0
        best = max(range(len(values)), key=lambda i: values[i])
        return f"{self.classes[best]}, {100 * values[best]:.0f} %", values[best]

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> TreeClassifier:
        """What `body` told of."""
        features, classes = tuple(map(str, body["features"])), read_classes(body)
        tree = Tree.read(body["tree"], len(features), len(classes))
        if not all(chance > 0 for leaf in tree.leaves for chance in leaf):
            raise ValueError(tree)
        return cls(features, read_keys(body, features), classes, tree)


@dataclass(frozen=True)
class TreeRegressor:
    """A decision tree of which each leaf says a number. Of a feature with keys a value is its place among them."""

    features: tuple[str, ...]
    keys: Keys
    tree: Tree

    def predict(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The number of each row."""
        return self.tree.values(numbers(rows, self.features), self.keys)[:, 0]

    def table(self) -> pa.Table:
        """The tree as an outline, a side of a split a row; at a leaf, or where all leaves agree, the number."""
        return _outline(self.tree, self.features, self.keys, ["value"])

    def pictures(self) -> Sequence[Picture]:
        """The outline, with a bar at each leaf."""
        lines = list(self.tree.lines(self.features, self.keys))
        held = [value for (value,) in self.tree.leaves]
        low, wide = min(held), max(held) - min(held) or 1.0
        said = [
            ("", 0.0) if each.values is None else (f"{each.values[0]:.4g}", 0.1 + 0.9 * (each.values[0] - low) / wide)
            for each in lines
        ]
        return [tree_picture("The tree", "Each leaf with what it predicts. " + _NO_BAR, lines, said)]

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> TreeRegressor:
        """What `body` told of."""
        features = tuple(map(str, body["features"]))
        return cls(features, read_keys(body, features), Tree.read(body["tree"], len(features), 1))


_NO_BAR = "Noise is in it; how far off it may be is not known. Splits whose leaves agree are left out."


def _outline(tree: Tree, features: Sequence[str], keys: Keys, named: Sequence[str]) -> pa.Table:
    lines = list(tree.lines(features, keys))
    if not lines or len({*tree.leaves}) == 1:  # one leaf, or all alike
        columns = {name: [value] for name, value in zip(named, tree.leaves[0], strict=True)}
        return pa.table({"level": [0], "where": ["everywhere"], **columns})
    columns = {
        name: pa.array([None if each.values is None else each.values[i] for each in lines], pa.float64())
        for i, name in enumerate(named)
    }
    told = {"level": [each.depth + 1 for each in lines], "where": [each.told for each in lines]}
    return pa.table({**told, **columns})
