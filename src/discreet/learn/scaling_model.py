"""Scaling of columns as data: what is taken from each, and what it is divided by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.learn.fitted_model import numbers
from discreet.mechanisms.run_by_name import as_json


@dataclass(frozen=True)
class Scaling:
    """(x − mean) / scale of each column."""

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the new columns are called."""
        return tuple(f"{name} scaled" for name in self.features)

    def predict(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The new columns of each row."""
        told: NDArray[np.float64] = (numbers(rows, self.features) - np.array(self.means)) / np.array(self.scales)
        return told

    def table(self) -> pa.Table:
        """A mean and a scale for each column."""
        return pa.table({"column": [*self.features], "mean": [*self.means], "scale": [*self.scales]})

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> Scaling:
        """What `body` told of."""
        features = tuple(map(str, body["features"]))
        means, scales = (tuple(map(float, body[name])) for name in ("means", "scales"))
        if not len(features) == len(means) == len(scales) or min(scales, default=1) <= 0:
            raise ValueError(features)
        return cls(features, means, scales)
