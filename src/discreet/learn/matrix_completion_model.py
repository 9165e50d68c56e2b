"""Matrix of low rank as data: what an entry is about, by the keys of its row and of its column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.declared.group_key import Key
from discreet.learn.fitted_model import numbers
from discreet.mechanisms.run_by_name import as_json

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LowRankMatrix:
    """Σ valuesᵢ leftᵢ rightᵢᵀ: `left` has a row for each key of the first feature, `right` one for each factor."""

    features: tuple[str, ...]
    keys: tuple[tuple[Key, ...], tuple[Key, ...]]
    left: Rows
    values: tuple[float, ...]
    right: Rows

    @property
    def matrix(self) -> NDArray[np.float64]:
        """All of it."""
        told: NDArray[np.float64] = (np.array(self.left) * np.array(self.values)) @ np.array(self.right)
        return told

    def predict(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """The entry at each pair of keys that are numbers; NaN where there is no such key."""
        given, whole = numbers(rows, self.features), self.matrix
        places = [{key: i for i, key in enumerate(own)} for own in self.keys]
        at = [(places[0].get(one, -1), places[1].get(two, -1)) for one, two in given.tolist()]
        return np.array([whole[i, j] if i >= 0 and j >= 0 else np.nan for i, j in at], dtype=np.float64)

    def table(self) -> pa.Table:
        """The weights of both sides, a row for each key and factor."""
        sides = zip(self.features, self.keys, (self.left, tuple(zip(*self.right, strict=True))), strict=True)
        rows = [
            {"side": name, "key": str(key), "factor": i + 1, "value": value, "weight": weight}
            for name, keys, weights in sides
            for key, own in zip(keys, weights, strict=True)
            for i, (value, weight) in enumerate(zip(self.values, own, strict=True))
        ]
        return pa.Table.from_pylist(rows)

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> LowRankMatrix:
        """What `body` told of."""
        features, values = tuple(map(str, body["features"])), tuple(map(float, body["values"]))
        first, second = (tuple(own) for own in body["keys"])
        left, right = (tuple(tuple(map(float, own)) for own in body[name]) for name in ("left", "right"))
        if len(features) != 2 or (len(left), len(right)) != (len(first), len(values)):
            raise ValueError(features)
        if any(len(own) != len(values) for own in left) or any(len(own) != len(second) for own in right):
            raise ValueError(features)
        return cls(features, (first, second), left, values, right)
