"""Published synthetic rows: the model that they were drawn from, what is read off it, and more rows of it."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.mechanisms.registry import Plain
from discreet.noise import SECURE, Entropy, belows
from discreet.pictures import Picture
from discreet.pictures.svg import safe
from discreet.release import figures
from discreet.release.axis import KeyAxis, NumberAxis, Side, times
from discreet.release.counts_release import CountedRelease
from discreet.release.estimate import Estimate
from discreet.release.interval_tree import Reals, Whole
from discreet.release.release import Release, Sheet
from discreet.release.synthetic import Synthesis
from discreet.release.synthetic.array_json import packed, unpacked

_LINES = 12  # measured tables that are named one by one
_LEFT = (
    "Not in the rows are records beyond the most that one {unit} may have. A value that is missing, no listed key or "
    "in no bin is missing in the rows too; values beyond the declared bounds count as the nearer one, and numbers are "
    "drawn anew within their bins."
)
_BOUNDING = (
    "Synthetic rows are nobody's: they are drawn from a model that was fitted to noisy tables. What they say of "
    "columns that were not measured together may be far from the truth, and is told without an error bar. Counts that "
    "can be read off a measured table have one, for one number at a time."
)


def measured_table(content: Synthesis, place: int) -> dict[str, Plain]:
    """Which columns a table was of, and how exact it is."""
    table = content.tables[place]
    error = math.sqrt(float(table.variances.min()))
    return {"columns": list(content.domain.names(table.axes)), "cells": table.counts.size, "error": f"{error:.6g}"}


def steps_within(side: Side, places: Whole, rng: Entropy, asked: object = None) -> Whole:
    """How many steps from the lower edge of its bin each number is; 0 where there is no bin.

    Where a range was asked for, numbers are in it.
    """
    steps = np.zeros(places.size, dtype=np.int64)
    if isinstance(side, KeyAxis):
        return steps
    low, high = side.within(asked)
    for place in range(side.bins):
        own = np.flatnonzero(places == place)
        first, end = side.steps[place], side.steps[place + 1] + (side.closed and place == side.bins - 1)
        start = max(first, low)
        if own.size:
            steps[own] = start - first + belows(min(end, high) - start, own.size, rng=rng)
    return steps


@dataclass(frozen=True)
class SyntheticRelease(CountedRelease):
    """Published rows that nobody is, and the model that they were drawn from."""

    heading: ClassVar[str] = "What the rows look like"

    content: Synthesis
    steps: tuple[Whole, ...] = ()  # of the number in each row, from the lower edge of its bin

    @property
    def own_bounding(self) -> str:
        """Which numbers have no error bar."""
        return _BOUNDING

    # questions --------------------------------------------------------------------------------------------------------

    def weighed(self, columns: Sequence[str], weights: Reals) -> Estimate:
        """A weighted sum of the cells of the model's table of these columns."""
        return self.content.query(columns, weights)

    def counts(self, columns: Sequence[str] | None = None) -> NDArray[Any]:
        """About how many records there are of each combination, as the model has it."""
        return self.content.table(self.columns[:1] if columns is None else columns)

    def errors(self, columns: Sequence[str] | None = None) -> Reals | None:  # noqa: ARG002  # none of them has one
        """None: a count that has an error bar is asked for by itself."""
        return None

    def nonnegative(self) -> SyntheticRelease:
        """The same: a model has no negative counts."""
        return self

    def whole(self) -> SyntheticRelease:
        """Refused: whole counts are those of the rows."""
        raise Refusal("a model's counts are not whole", hint="count the rows")

    def fitted(self) -> None:
        """There are no whole counts."""

    # rows -------------------------------------------------------------------------------------------------------------

    def rows(self) -> pa.Table:
        """The synthetic rows: keys as declared, numbers within their bins, and nothing where there is no cell."""
        return self._told(self.content.rows, self.steps)

    def draw(self, rows: int, *, where: Mapping[str, object] = MappingProxyType({}), rng: Entropy = SECURE) -> pa.Table:
        """So many other rows of the same model, free: nothing more is told by them.

        `where` asks for rows with some values, as `range` does: `{"job": "baker", "age": (18, 65)}`. Refused if the
        model has none; fewer where hardly any of them keeps to what is impossible.
        """
        for name in where:
            self.side(name)
        asked = {i: where[side.column] for i, side in enumerate(self.axes) if side.column in where}
        weights = {i: self.axes[i].weights(value)[0] for i, value in asked.items()}
        drawn = self.content.drawn(rows, rng, weights)
        return self._told(
            drawn, [steps_within(side, drawn[:, i], rng, asked.get(i)) for i, side in enumerate(self.axes)]
        )

    def of_cells(self, places: Whole, rng: Entropy = SECURE) -> pa.Table:
        """Rows in these cells, one line each, numbers drawn within their bins."""
        return self._told(places, [steps_within(side, places[:, i], rng) for i, side in enumerate(self.axes)])

    def _told(self, places: Whole, steps: Sequence[Whole]) -> pa.Table:
        columns = {}
        for i, side in enumerate(self.axes):
            columns[side.column] = (
                _keys(side, places[:, i]) if isinstance(side, KeyAxis) else _numbers(side, places[:, i], steps[i])
            )
        return pa.table(columns)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows; or about how many records there are of each combination of some columns."""
        return self.rows() if columns is None else self._rows(tuple(columns), None)

    def to_arrow(self) -> dict[str, pa.Table]:
        """Its one table."""
        return {"rows": self.rows()}

    def printed(self) -> list[pa.Table]:
        """The rows."""
        return [self.rows()]

    def sheet(self, table: pa.Table, most: int) -> Sheet:
        """The first rows."""
        return Release.sheet(self, table, most)

    def more_files(self) -> Mapping[str, bytes]:
        """The rows as CSV."""
        written_to = io.BytesIO()
        pyarrow.csv.write_csv(_to_the_second(self.rows()), written_to)
        return {"rows.csv": written_to.getvalue()}

    def pictures(self) -> list[Picture]:
        """Each column alone, then pairs that were measured together, as the model has them."""
        pairs = [self.content.domain.names(table.axes) for table in self.content.tables if len(table.axes) == 2]
        return figures.of_model(self.axes, self.counts, list(dict.fromkeys(pairs)))

    # what a page and a certificate say --------------------------------------------------------------------------------

    def exactness(self, tables: Mapping[str, pa.Table]) -> str:
        """That rows are made up, and of what."""
        rows = next(iter(tables.values())).num_rows
        return (
            f"The {rows:,} rows are made up: none of them is a person's. They were drawn from a model that was fitted "
            "to noisy tables, so what many of them have in common is about what many people have in common."
        )

    def rules(self) -> list[str]:
        """What becomes of records in no cell, and what was measured."""
        measured: Any = self.facts["measured"]
        found: Any = self.facts.get("found", [])
        told = [f"{safe(' by '.join(each['columns']))} (± {each['error']})" for each in measured[:_LINES]]
        more = f", and {len(measured) - _LINES:,} more tables" if len(measured) > _LINES else ""
        return [
            "that a value that is missing, no key or in no bin is missing in the rows",
            *(
                [f"that no row breaks {kept:,} rules of what is impossible"]
                if (kept := len(self.content.never.rules))
                else []
            ),
            *(
                f"that keys of {safe(each['column'])} are those of about {each['threshold']:,} people or more"
                for each in found
            ),
            f"that rows follow from these noisy tables, each cell with this standard error: {', '.join(told)}{more}",
        ]

    @staticmethod
    def left_out(facts: Mapping[str, Plain], unit: str) -> tuple[str, ...]:  # noqa: ARG004  # of kinds that look
        """What is not in the rows."""
        return (_LEFT.format(unit=unit),)

    def unchecked(self) -> list[str]:
        """Nothing: rows are part of the release."""
        return []

    # as text ----------------------------------------------------------------------------------------------------------

    def body(self) -> dict[str, Any]:
        """Axes, what was measured, the model and the rows."""
        steps = [packed(each) for each in self.steps]
        return {"axes": [axis.plain for axis in self.axes], "synthesis": self.content.plain, "steps": steps}

    @classmethod
    def read(cls, facts: Mapping[str, Plain], body: Mapping[str, Any]) -> SyntheticRelease:
        """What `body` told of."""
        content = Synthesis.read(body["synthesis"])
        axes = cls.read_axes(facts, body, content.domain.sizes)
        many = (len(content.rows),)
        steps = tuple(unpacked(each, many, whole=True) for each in body["steps"])
        if len(steps) != len(axes):
            raise ValueError
        release = cls(facts, axes, content, steps)
        if facts["measured"] != [measured_table(content, place) for place in range(len(content.tables))]:
            raise ValueError
        release.rows()
        return release

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SyntheticRelease) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.axes, self.content))


def _to_the_second(rows: pa.Table) -> pa.Table:
    """The rows with moments that have no digits after the second: there are none."""
    fields = [pa.timestamp("s") if pa.types.is_timestamp(each.type) else each.type for each in rows.schema]
    return rows.cast(pa.schema(list(zip(rows.column_names, fields, strict=True))))


def _keys(side: KeyAxis, places: Whole) -> pa.Array:
    try:
        keys = pa.array([*side.keys, None])
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # keys of several types
        keys = pa.array([*(None if key is None else str(key) for key in side.keys), None], type=pa.string())
    return keys.take(pa.array(places))


def _numbers(side: NumberAxis, places: Whole, steps: Whole) -> pa.Array:
    """Numbers in their own unit, whole ones where the step is; days and moments as such."""
    low = np.array([*side.steps[:-1], 0], dtype=np.int64)[places] + steps
    none = places >= side.bins
    if side.time is not None:
        return times(low, none, side.time)
    if side.step.denominator == 1:
        return pa.array(low * int(side.step), mask=none)
    return pa.array(low * float(side.step.numerator) / float(side.step.denominator), mask=none)
