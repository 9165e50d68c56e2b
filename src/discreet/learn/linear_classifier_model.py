"""Linear classifier as data: scores of the features, and the class that has the highest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from discreet.declared.group_key import Key
from discreet.errors import Refusal
from discreet.learn.design_matrix import FEATURE_BITS
from discreet.learn.effect_picture import coefficients_picture
from discreet.learn.fitted_model import numbers, weighed
from discreet.mechanisms.run_by_name import as_json
from discreet.pictures import Picture

_DRAWN = 12  # classes


def chosen_of(scores: NDArray[np.float64], classes: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """The class of each row: of one score the second where it is above 0, of more that with the highest."""
    places = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else np.argmax(scores, axis=1)
    told: NDArray[Any] = np.array(classes)[places]
    return told


def chances_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of each class, of log-odds or of a score for each."""
    if scores.shape[1] > 1:
        every: NDArray[np.float64] = softmax(scores, axis=1)
        return every
    return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])


@dataclass(frozen=True)
class LinearClassifier:
    """Scores intercept + Σ coefficients · features: one for two classes, the second where it is above 0, else one each.

    Of a classifier with `chances` they are log-odds, and `probabilities` follow.
    """

    features: tuple[str, ...]
    classes: tuple[Key, ...]
    coefficients: tuple[tuple[float, ...], ...]
    intercepts: tuple[float, ...]
    chances: bool = True

    def scores(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The scores of each row, a column each."""
        return weighed(numbers(rows, self.features), np.array(self.coefficients).T) + self.intercepts

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """The class of each row."""
        return chosen_of(self.scores(rows), self.classes)

    def probabilities(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The chance of each class, a column each."""
        if not self.chances:
            raise Refusal("this classifier has scores, and no probabilities")
        return chances_of(self.scores(rows))

    def table(self) -> pa.Table:
        """The intercept and the coefficient of each feature, a column for each score."""
        named = self.classes[1:] if len(self.intercepts) == 1 else self.classes
        columns = {
            f"score of {name}": [start, *own]
            for name, start, own in zip(named, self.intercepts, self.coefficients, strict=True)
        }
        return pa.table({"term": ["(intercept)", *self.features], **columns})

    def pictures(self) -> Sequence[Picture]:
        """Its coefficients, for each score."""
        named = self.classes[1:] if len(self.intercepts) == 1 else self.classes
        what = "added to the log-odds" if self.chances else "added to the score"
        return [
            coefficients_picture(f"Coefficients of {name}", what, self.features, own)
            for name, own in list(zip(named, self.coefficients, strict=True))[:_DRAWN]
        ]

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> LinearClassifier:
        """What `body` told of."""
        features, classes = tuple(map(str, body["features"])), tuple(body["classes"])
        coefficients = tuple(tuple(map(float, own)) for own in body["coefficients"])
        intercepts = tuple(map(float, body["intercepts"]))
        scores = 1 if len(classes) == 2 else len(classes)
        if len(intercepts) != scores or [len(own) for own in coefficients] != [len(features)] * scores:
            raise ValueError(features)
        if not all(isinstance(name, (str, int)) for name in classes):
            raise TypeError(classes)
        return cls(features, classes, coefficients, intercepts, bool(body["chances"]))


def lifted(rows: NDArray[np.float64], frequencies: NDArray[np.float64], *, constant: bool) -> NDArray[np.float64]:
    """cos(w·u) and sin(w·u) over the root of how many w there are, cut toward zero to multiples of 2⁻⁴⁰: length ≤ 1.

    Proof: the two squares add up to 1, but for a few units in the last place of 1, which 1 − 2⁻⁴⁵ makes up for. A row's
        image is its own: products are added up column by column, since the last digits of a matrix product depend on
        how many rows there are.
    """
    turned = weighed(rows, frequencies.T)
    waves = np.column_stack([np.cos(turned), np.sin(turned)]) / len(frequencies) ** 0.5 * (1 - 2.0**-45)
    cut = np.ldexp(np.trunc(np.ldexp(waves, FEATURE_BITS)), -FEATURE_BITS)
    return np.column_stack([np.ones(len(rows)), cut]) if constant else cut


@dataclass(frozen=True)
class KernelClassifier:
    """Score of random waves of the features, each divided by its scale; above 0 the second of two classes."""

    features: tuple[str, ...]
    classes: tuple[Key, ...]
    scales: tuple[float, ...]
    frequencies: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    intercept: float

    def scores(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The score of each row, as a column."""
        given = numbers(rows, self.features) / np.array(self.scales)
        waves = lifted(given, np.array(self.frequencies), constant=False)
        return weighed(waves, np.array(self.weights)[:, np.newaxis]) + self.intercept

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """The class of each row."""
        return chosen_of(self.scores(rows), self.classes)

    def table(self) -> pa.Table:
        """The two weights of each frequency."""
        half = len(self.frequencies)
        columns = {name: [each[i] for each in self.frequencies] for i, name in enumerate(self.features)}
        return pa.table({"cosine": self.weights[:half], "sine": self.weights[half:], **columns})

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> KernelClassifier:
        """What `body` told of."""
        features, classes = tuple(map(str, body["features"])), tuple(body["classes"])
        frequencies = tuple(tuple(map(float, own)) for own in body["frequencies"])
        scales, weights = (tuple(map(float, body[name])) for name in ("scales", "weights"))
        if len(classes) != 2 or len(weights) != 2 * len(frequencies) or len(scales) != len(features):
            raise ValueError(features)
        if any(len(own) != len(features) for own in frequencies):
            raise ValueError(frequencies)
        return cls(features, classes, scales, frequencies, weights, float(body["intercept"]))
