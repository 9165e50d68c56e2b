"""Rule as data: if some features are above or below their cuts, one class, and else another."""

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


@dataclass(frozen=True)
class Literal:
    """One feature of a rule, by its place, is at least a cut, or below it. What is no number is neither."""

    feature: int
    cut: float
    above: bool


@dataclass(frozen=True)
class Rule:
    """Says `inside` of rows for which all its literals hold, and `outside` of others. Without literals: `inside`."""

    features: tuple[str, ...]
    literals: tuple[Literal, ...]
    inside: Key
    outside: Key

    def predict(self, rows: ArrayLike, /) -> NDArray[Any]:
        """The class of each row."""
        given = numbers(rows, self.features)
        holds = np.ones(len(given), dtype=np.bool_)
        for each in self.literals:
            column = given[:, each.feature]
            holds &= column >= each.cut if each.above else column < each.cut
        return np.array([self.outside, self.inside])[holds.astype(np.int64)]

    def __str__(self) -> str:
        told = [f"{self.features[each.feature]} {'≥' if each.above else '<'} {each.cut:g}" for each in self.literals]
        return f"{self.inside} if {' and '.join(told)}, else {self.outside}" if told else str(self.inside)

    def table(self) -> pa.Table:
        """Its literals, one a row."""
        return pa.table({
            "feature": pa.array([self.features[each.feature] for each in self.literals], pa.string()),
            "is": pa.array(["at least" if each.above else "below" for each in self.literals], pa.string()),
            "cut": pa.array([each.cut for each in self.literals], pa.float64()),
            "class where all hold": pa.array([str(self.inside)] * len(self.literals), pa.string()),
            "class elsewhere": pa.array([str(self.outside)] * len(self.literals), pa.string()),
        })  # fmt: skip

    def body(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        told: dict[str, Any] = as_json(self)
        return told

    @classmethod
    def read(cls, body: Mapping[str, Any], /) -> Rule:
        """What `body` told of."""
        features = tuple(map(str, body["features"]))
        literals = tuple(
            Literal(int(each["feature"]), float(each["cut"]), bool(each["above"])) for each in body["literals"]
        )
        inside, outside = body["inside"], body["outside"]
        if any(not 0 <= each.feature < len(features) for each in literals):
            raise ValueError(features)
        if not all(isinstance(name, (str, int)) for name in (inside, outside)):
            raise TypeError(inside)
        return cls(features, literals, inside, outside)
