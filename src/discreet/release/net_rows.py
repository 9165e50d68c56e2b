"""Rows that a net mechanism chose: a small table each of whose rows stands for so many records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact import count
from discreet.mechanisms.registry import Plain
from discreet.release.estimate import Estimate
from discreet.release.interval_tree import Reals

EVERY = "Its error bar is one for all questions of the family together."
OTHER_QUESTION = "this is no question of the family that the rows were chosen for; how far off it is is not known"


@dataclass(frozen=True)
class NetRows:
    """How many rows lie in each cell, how many records they stand for, and what is known of their answers.

    All answers to `queries` are together within `reach` of the truth, and `records` is within `away` of it, each 19
    times in 20.
    """

    shape: tuple[int, ...]
    rows: tuple[int, ...]
    records: int
    queries: tuple[int, ...]
    reach: int
    away: int

    @property
    def counts(self) -> Reals:
        """How many records each cell stands for."""
        rows = np.array(self.rows, dtype=np.float64).reshape(self.shape)
        return rows * (self.records / sum(self.rows))

    @property
    def places(self) -> NDArray[np.int64]:
        """The cell of each row, in the order of the cells."""
        return np.repeat(np.arange(len(self.rows)), self.rows)

    def weighed(self, weights: Reals) -> Estimate:
        """A weighted sum of all cells; with an error bar if it is a question of the family, or about all cells."""
        value, flat = float((self.counts * weights).sum()), weights.ravel()
        if not set(flat.tolist()) <= {0.0, 1.0}:
            return Estimate(value, None, note=OTHER_QUESTION)
        asked = sum(1 << int(cell) for cell in np.flatnonzero(flat))
        if asked == 0:
            return Estimate(0.0, None, (0.0, 0.0))
        far = self.away if asked == (1 << flat.size) - 1 else self.reach if asked in self.queries else None
        if far is None:
            return Estimate(value, None, note=OTHER_QUESTION)
        return Estimate(value, None, (value - far, value + far))

    @property
    def plain(self) -> dict[str, Plain]:
        """As JSON can hold it."""
        return {
            "shape": list(self.shape),
            "rows": list(self.rows),
            "records": self.records,
            "queries": list(self.queries),
            "reach": self.reach,
            "away": self.away,
        }

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> NetRows:
        """What `plain` told; raises what nonsense raises."""
        shape = tuple(count(side, "shape") for side in given["shape"])
        rows = tuple(count(each, "rows", least=0) for each in given["rows"])
        queries = tuple(count(each, "queries") for each in given["queries"])
        if len(rows) != math.prod(shape) or not sum(rows):
            raise ValueError
        numbers = (count(given[name], name) for name in ("records", "reach", "away"))
        records, reach, away = numbers
        return cls(shape, rows, records, queries, reach, away)
