"""Clusters as data: a centre of each, how many rows it has, and which centre a row is nearest to."""

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


@dataclass(frozen=True)
class Clusters:
    """Centres, and how many rows are nearest to each, about."""

    outputs = ("cluster",)

    features: tuple[str, ...]
    centers: tuple[tuple[float, ...], ...]
    sizes: tuple[float, ...]

    def distances(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """How far each row is from each centre."""
        given = numbers(rows, self.features)
        told = [np.linalg.norm(given - np.array(center), axis=1) for center in self.centers]
        return np.column_stack(told)

    def predict(self, rows: ArrayLike, /) -> NDArray[np.int64]:
        """The cluster of each row, from 0."""
        told: NDArray[np.int64] = self.distances(rows).argmin(axis=1)
        return told

    def table(self) -> pa.Table:
        """A row for each cluster."""
        parts = {name: pa.array([own[i] for own in self.centers]) for i, name in enumerate(self.features)}
        return pa.table({"cluster": pa.array(range(len(self.sizes))), "rows": pa.array(self.sizes), **parts})

    def pictures(self) -> list[Picture]:
        """How many rows there are of each."""
        labels = tuple(f"cluster {i}" for i in range(len(self.sizes)))
        note = "How many rows are nearest to each centre. No error is known of these numbers."
        drawn = Series("Rows of each cluster", note, Ruler("cluster", labels=labels), self.sizes)
        return [Picture(drawn.title, drawn.note, bars(drawn, WIDE), bars(drawn, NARROW))]

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> Clusters:
        """What `body` told of."""
        features = tuple(map(str, body["features"]))
        centers = tuple(tuple(map(float, own)) for own in body["centers"])
        sizes = tuple(map(float, body["sizes"]))
        if not sizes or len(centers) != len(sizes) or any(len(own) != len(features) for own in centers):
            raise ValueError(features)
        return cls(features, centers, sizes)
