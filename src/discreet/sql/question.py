"""A question, taken apart: what must be measured of private rows, and what is computed from the noisy results."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from discreet.sql.aggregate import Aggregate
from discreet.sql.plan import Measurement


@dataclass(frozen=True)
class Part:
    """One noisy table: its name above the noise, what is measured, and the columns made of that."""

    name: str
    measurement: Measurement
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True)
class Question:
    """Parts that cost, and SQL over them that is free. `direct` says which output columns are a part's own."""

    parts: tuple[Part, ...]
    above: exp.Query
    public: frozenset[str]
    columns: tuple[str, ...]
    direct: tuple[tuple[str, str] | None, ...]  # for each output column: (part, column of the noisy table), or None
