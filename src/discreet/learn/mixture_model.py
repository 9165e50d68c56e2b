"""Gaussian mixture as data: normal laws, how often each is drawn from, and which a row most likely came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.learn.fitted_model import numbers
from discreet.mechanisms.run_by_name import as_json
from discreet.pictures import Picture, Ruler, Series
from discreet.pictures.charts import NARROW, WIDE, bars

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Mixture:
    """Weights of the components, and a mean and a variance of each feature in each; features are independent in one."""

    outputs = ("component",)

    features: tuple[str, ...]
    weights: tuple[float, ...]
    means: tuple[tuple[float, ...], ...]
    variances: tuple[tuple[float, ...], ...]

    def joint(self, rows: ArrayLike, /) -> Reals:
        """ln of the weight of each component times the density of the row in it."""
        given, told = numbers(rows, self.features), []
        for weight, mean, variance in zip(self.weights, self.means, self.variances, strict=True):
            wide = np.array(variance)
            far = ((given - np.array(mean)) ** 2 / wide).sum(axis=1)
            told.append(np.log(weight) - (np.log(2 * np.pi * wide).sum() + far) / 2)
        return np.column_stack(told)

    def densities(self, rows: ArrayLike, /) -> Reals:
        """ln of the density of each row."""
        told: Reals = np.logaddexp.reduce(self.joint(rows), axis=1)
        return told

    def probabilities(self, rows: ArrayLike, /) -> Reals:
        """The chance that each row came from each component."""
        joint = self.joint(rows)
        told: Reals = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, np.newaxis])
        return told

    def predict(self, rows: ArrayLike, /) -> NDArray[np.int64]:
        """The component that each row most likely came from, from 0."""
        told: NDArray[np.int64] = self.joint(rows).argmax(axis=1)
        return told

    def table(self) -> pa.Table:
        """Means and standard deviations, a row for each feature of each component."""
        rows = [
            {"component": i, "weight": weight, "feature": name, "mean": mean, "deviation": variance**0.5}
            for i, (weight, own, wide) in enumerate(zip(self.weights, self.means, self.variances, strict=True))
            for name, mean, variance in zip(self.features, own, wide, strict=True)
        ]
        return pa.Table.from_pylist(rows)

    def pictures(self) -> list[Picture]:
        """How often each component is drawn from."""
        labels = tuple(f"component {i}" for i in range(len(self.weights)))
        note = "The share of rows of each component. No error is known of these numbers."
        drawn = Series("Weights of the components", note, Ruler("component", labels=labels), self.weights)
        return [Picture(drawn.title, drawn.note, bars(drawn, WIDE), bars(drawn, NARROW))]

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> Mixture:
        """What `body` told of."""
        features, weights = tuple(map(str, body["features"])), tuple(map(float, body["weights"]))
        means, variances = (tuple(tuple(map(float, own)) for own in body[name]) for name in ("means", "variances"))
        if not weights or not len(weights) == len(means) == len(variances) or min(weights) <= 0:
            raise ValueError(weights)
        if any(len(own) != len(features) for own in (*means, *variances)) or min(map(min, variances)) <= 0:
            raise ValueError(features)
        return cls(features, weights, means, variances)
