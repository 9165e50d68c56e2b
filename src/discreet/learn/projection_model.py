"""Projection as data: directions in which rows differ most, and where on each of them a row lies."""

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
class Projection:
    """Directions of length 1, across each other, and how much rows vary along them, where that was bought.

    `means` is the point that projections start from, `total` the variance of all features together.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    components: tuple[tuple[float, ...], ...]
    variances: tuple[float | None, ...]
    total: float | None

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the new columns are called."""
        return tuple(f"component {i + 1}" for i in range(len(self.components)))

    def predict(self, rows: ArrayLike, /) -> Reals:
        """Where each row lies along each direction."""
        told: Reals = (numbers(rows, self.features) - np.array(self.means)) @ np.array(self.components).T
        return told

    def restored(self, rows: ArrayLike, /) -> Reals:
        """The rows that lie there, and nowhere else."""
        told: Reals = numbers(rows, self.outputs) @ np.array(self.components) + np.array(self.means)
        return told

    def table(self) -> pa.Table:
        """The directions, a row for each feature of each, and the variance along each."""
        rows = [
            {"component": i + 1, "variance": variance, "feature": name, "weight": weight}
            for i, (own, variance) in enumerate(zip(self.components, self.variances, strict=True))
            for name, weight in zip(self.features, own, strict=True)
        ]
        kinds = {"component": pa.int64(), "variance": pa.float64(), "feature": pa.string(), "weight": pa.float64()}
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds.items()))

    def pictures(self) -> list[Picture]:
        """The weights of the first direction, as bars."""
        note = "What each feature weighs in the first component. No error is known of these numbers."
        drawn = Series("The first component", note, Ruler("feature", labels=self.features), self.components[0])
        return [Picture(drawn.title, drawn.note, bars(drawn, WIDE), bars(drawn, NARROW))]

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> Projection:
        """What `body` told of."""
        features = tuple(map(str, body["features"]))
        means = tuple(map(float, body["means"]))
        components = tuple(tuple(map(float, own)) for own in body["components"])
        variances = tuple(None if each is None else float(each) for each in body["variances"])
        total = None if body["total"] is None else float(body["total"])
        if not components or len(components) != len(variances):
            raise ValueError(variances)
        if any(len(own) != len(features) for own in (means, *components)):
            raise ValueError(features)
        return cls(features, means, components, variances, total)


def upright(vectors: Reals) -> Reals:
    """Rows so turned that the entry of each that is largest in size is positive: of ±v one is told."""
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.where(vectors[np.arange(len(vectors)), largest] < 0, -1.0, 1.0)
    return vectors * signs[:, np.newaxis]
