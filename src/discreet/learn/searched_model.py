"""Best of several models as data: what was tried for it, how right it was about rows it had not seen, and itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.declared.group_key import Key
from discreet.learn.fitted_model import Model
from discreet.mechanisms.registry import known
from discreet.mechanisms.run_by_name import as_json

Setting: TypeAlias = tuple[tuple[str, int | str | bool | None], ...]  # parameters of one candidate


@dataclass(frozen=True)
class SearchedModel:
    """A model that came out best, of which estimator, and with which setting: its place among the candidates.

    `score` is the noisy share of the rows kept aside that it was right about: the best of several, so a bit too high.
    """

    features: tuple[str, ...]
    estimator: str
    place: int
    setting: Setting
    score: float
    model: Model

    @property
    def outputs(self) -> tuple[str, ...]:
        """Those of the model."""
        return tuple(getattr(self.model, "outputs", ("prediction",)))

    @property
    def keys(self) -> tuple[tuple[Key, ...], ...]:
        """Those of the features that the model reads as keys."""
        return tuple(getattr(self.model, "keys", ()))

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """What the model says of each row."""
        return self.model.predict(rows)

    def scores(self, rows: ArrayLike, /) -> NDArray[np.float64]:
        """Those of the model, if it has any."""
        told: NDArray[np.float64] = self.model.scores(rows)  # type: ignore[attr-defined]  # a classifier's
        return told

    def table(self) -> pa.Table:
        """The model's numbers."""
        return self.model.table()

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return {**told, "model": self.model.body()}

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> SearchedModel:
        """What `body` told of."""
        features, estimator, place = tuple(map(str, body["features"])), str(body["estimator"]), int(body["place"])
        setting = tuple((str(name), value) for name, value in body["setting"])
        if place < 0 or not all(value is None or isinstance(value, (int, str, bool)) for _, value in setting):
            raise ValueError(setting)
        model: Model = getattr(known(estimator), "model").read(body["model"])  # noqa: B009  # of whatever class
        if model.features != features:
            raise ValueError(features)
        return cls(features, estimator, place, setting, float(body["score"]), model)
