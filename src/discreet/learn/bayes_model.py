"""Naive Bayes classifier as data: normal laws of the features in each class, and the class they make most likely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.declared.group_key import Key
from discreet.learn.fitted_model import numbers
from discreet.learn.linear_classifier_model import chances_of, chosen_of
from discreet.mechanisms.run_by_name import as_json


@dataclass(frozen=True)
class BayesClassifier:
    """Shares of the classes, and for each of them a mean and a variance of each feature."""

    features: tuple[str, ...]
    classes: tuple[Key, ...]
    shares: tuple[float, ...]
    means: tuple[tuple[float, ...], ...]
    variances: tuple[tuple[float, ...], ...]

    def joint(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """ln of the chance of each class times the density of the row in it."""
        given = numbers(rows, self.features)
        told = np.empty((len(given), len(self.classes)))
        for i, (share, mean, variance) in enumerate(zip(self.shares, self.means, self.variances, strict=True)):
            wide = np.array(variance)
            far = ((given - np.array(mean)) ** 2 / wide).sum(axis=1)
            told[:, i] = np.log(share) - (np.log(2 * np.pi * wide).sum() + far) / 2
        return told

    def scores(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """Log-odds of the second of two classes, as a column; of more a column for each."""
        joint = self.joint(rows)
        return joint[:, 1:] - joint[:, :1] if len(self.classes) == 2 else joint

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """The class of each row."""
        return chosen_of(self.scores(rows), self.classes)

    def probabilities(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The chance of each class, a column each."""
        return chances_of(self.scores(rows))

    def table(self) -> pa.Table:
        """Means and standard deviations, a row for each feature of each class."""
        rows = [
            {"class": str(name), "share": share, "feature": feature, "mean": mean, "deviation": variance**0.5}
            for name, share, own, wide in zip(self.classes, self.shares, self.means, self.variances, strict=True)
            for feature, mean, variance in zip(self.features, own, wide, strict=True)
        ]
        return pa.Table.from_pylist(rows)

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> BayesClassifier:
        """What `body` told of."""
        features, classes = tuple(map(str, body["features"])), tuple(body["classes"])
        shares = tuple(map(float, body["shares"]))
        means, variances = (tuple(tuple(map(float, own)) for own in body[name]) for name in ("means", "variances"))
        if not len(classes) == len(shares) == len(means) == len(variances) >= 2:
            raise ValueError(classes)
        if any(len(own) != len(features) for own in (*means, *variances)) or min(map(min, variances)) <= 0:
            raise ValueError(features)
        if not all(isinstance(name, (str, int)) for name in classes):
            raise TypeError(classes)
        return cls(features, classes, shares, means, variances)
