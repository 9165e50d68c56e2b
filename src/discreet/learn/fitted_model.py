"""Fitted models: plain numbers that predict without whoever fitted them. Safe to publish: noise is in them already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Refusal
from discreet.learn.effect_picture import coefficients_picture
from discreet.mechanisms.run_by_name import as_json
from discreet.pictures import Picture


class Model(Protocol):
    """What a fit tells. A frozen dataclass of numbers and texts: from its fields it is written, and read again.

    One that has `pictures`, as a release has them, is drawn wherever releases are.
    """

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that it predicts from, in order."""
        ...

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """One prediction for each row of an array with a column for each feature; or several, a column each.

        A model of which a prediction is several numbers says by `outputs` what they are called.
        """
        ...

    def table(self) -> pa.Table:
        """Its numbers for people, one a row."""
        ...

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        ...

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> Self:
        """What `body` told of; raises what nonsense raises."""
        ...


def numbers(rows: ArrayLike, features: tuple[str, ...]) -> NDArray[np.float64]:
    """Rows as doubles, a column for each feature."""
    given = np.asarray(rows, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != len(features):
        raise Refusal(f"expected rows of {len(features)} numbers ({', '.join(features)}), got shape {given.shape}")
    return given


def weighed(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each row the sum of its numbers times each column of weights.

    Proof that what is said of a row depends on that row alone: products are added up column by column, each row's by
        itself. The last digits of a matrix product depend on how many rows there are, and where among them one stands.
    """
    told = np.zeros((len(rows), weights.shape[1]))
    for column, own in zip(rows.T, weights, strict=True):
        told += column[:, np.newaxis] * own
    return told


@dataclass(frozen=True)
class LinearModel:
    """A linear function of the features: intercept + Σ coefficients · features."""

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def predict(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """Its value for each row."""
        weights = np.array(self.coefficients)[:, np.newaxis]
        return weighed(numbers(rows, self.features), weights)[:, 0] + self.intercept

    def table(self) -> pa.Table:
        """The intercept, and the coefficient of each feature."""
        return pa.table({"term": ["(intercept)", *self.features], "value": [self.intercept, *self.coefficients]})

    def pictures(self) -> Sequence[Picture]:
        """Its coefficients."""
        return [coefficients_picture("Coefficients", "added to the prediction", self.features, self.coefficients)]

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> LinearModel:
        """What `body` told of."""
        features, coefficients = tuple(map(str, body["features"])), tuple(map(float, body["coefficients"]))
        if len(features) != len(coefficients):
            raise ValueError(features)
        return cls(features, coefficients, float(body["intercept"]))


def outputs(model: Model) -> tuple[str, ...]:
    """What the columns of its predictions are called."""
    return tuple(getattr(model, "outputs", ("prediction",)))
