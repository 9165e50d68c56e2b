"""A release: what was published, in people's units. Everything here is computed from it, and free."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, share, shown
from discreet.mechanisms.registry import Plain
from discreet.release import tables
from discreet.release.axis import NumberAxis, Side, read_side
from discreet.release.estimate import Curve, Estimate
from discreet.release.histogram import EXACT, FITTED, Histogram
from discreet.release.marginals import Marginals
from discreet.release.marginals.domain import maximal
from discreet.release.marginals.rounding import can_be_whole
from discreet.release.other_cell import OTHER
from discreet.release.tree_variances import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT, EARLIER = "discreet-release-2", "discreet-release-1"
FIT = 1  # which way counts are made whole: a folder says by which its whole counts were computed
CUT_OFF = "What caps and bounds cut off before the counting is not in them."
_EARLIER_EXACT = "The standard errors cover all of the error."  # as version 1 said of marginals
_IN_A_BIN = "; there is no error bar, because that is not known"


@dataclass(frozen=True)
class Release:
    """Published counts, with the facts about their publication and the columns they are counted by.

    `facts` is what `Publication.described` tells, `axes` are the keys and bins that were used, and `content` holds the
    counts: a `Histogram` over all axes, or `Marginals` with tables of some of them each.
    """

    facts: Mapping[str, Plain]
    axes: tuple[Side, ...]
    content: Histogram | Marginals

    def __hash__(self) -> int:
        return hash((self.axes, self.content))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of the axes."""
        return tuple(axis.column for axis in self.axes)

    @property
    def kind(self) -> str:
        """Histogram, ranges or marginals."""
        return str(self.facts["kind"])

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table that was published, but for those that are part of another."""
        named: Any = self.facts["tables"]
        return tuple(tuple(names) for names in named)

    @property
    def earlier(self) -> bool:
        """Whether it was made before releases said what became of rows that are in no cell."""
        return "outside" not in self.facts

    @property
    def bounding(self) -> str:
        """Which numbers have no error bar, and what error bars leave out; of an earlier release as it was certified."""
        content = self.content
        if isinstance(content, Histogram):
            own = content.bounding
        else:
            own = FITTED if content.fitted else _EARLIER_EXACT if self.earlier else EXACT
        return f"{own} {CUT_OFF}"

    @property
    def total(self) -> Estimate:
        """All records."""
        return self.range()

    def range(self, /, **where: object) -> Estimate:
        """The records with these values: for numbers `age=(18, 65)`, from 18 to before 65; for keys one or a list.

        None is an end of the axis. A column that is not named may have any value. `OTHER` asks for the records that are
        in no other cell of a column, where there is such a cell. Where an end lies within a bin, the records of the bin
        are taken to be spread evenly, and the note says so; then there is no error bar.
        """
        columns = self.columns if isinstance(self.content, Histogram) else tuple(where)
        for name in where:
            self.axis(name)
        asked = [axis.weights(where[axis.column]) for axis in map(self.axis, columns) if axis.column in where]
        given = iter(asked)
        sides = [next(given)[0] if name in where else np.ones(len(self.axis(name))) for name in columns]
        weights: Reals = reduce(np.multiply.outer, sides, np.ones(()))
        note = "; ".join(said for _, said in asked if said)
        content = self.content
        found = content.weighed(weights) if isinstance(content, Histogram) else content.query(columns, weights)
        return Estimate(found.value, None if note else found.error, note=note and note + _IN_A_BIN)

    def cell(self, /, **where: object) -> Estimate:
        """One cell: a key by its value, a bin by a number in it. In marginals, a cell of the table of these columns."""
        if isinstance(self.content, Histogram) and set(where) != set(self.columns):
            raise Refusal(f"a cell has a value of each of {list(self.columns)}, got {sorted(where)}")
        asked: dict[str, object] = {}
        for name, value in where.items():
            axis = self.axis(name)
            place = axis.place(value)
            if isinstance(axis, NumberAxis):
                edges = tuple(steps * axis.step for steps in axis.steps[place : place + 2])
                asked[name] = edges if place < axis.bins else OTHER
            else:
                asked[name] = [axis.values[place]]
        return self.range(**asked)

    def quantile(self, level: Number) -> Estimate:
        """The value below which this share of the records lies, straight within a bin.

        Its error bar goes from an edge of a bin to an edge: where between two edges records lie is not known.
        """
        axis, histogram = self._line()
        found = histogram.quantile(share(level, "level"))
        span = None if found.span is None else (axis.value(found.span[0]), axis.value(found.span[1]))
        return Estimate(axis.value(found.value), None, span)

    def cdf(self) -> Curve:
        """The share of all records up to the upper edge of each bin."""
        axis, histogram = self._line()
        return Curve(axis.edges[1:], *histogram.cdf())

    def nonnegative(self) -> Release:
        """The nearest counts of which none is negative: a fit of all cells together, never a clip."""
        return replace(self, content=self.content.nonnegative())

    def whole(self) -> Release:
        """Whole counts, none negative, that add up exactly; refused for marginals of which none need exist."""
        content = self.content
        return replace(
            self, content=content.nonnegative().whole() if isinstance(content, Histogram) else content.counts()
        )

    def counts(self, columns: Sequence[str] | None = None) -> NDArray[Any]:
        """The counts as an array with an axis for each column: of all columns, or of one table of marginals."""
        names = self._named(columns)
        if isinstance(self.content, Marginals):
            return self.content.table(names)
        return self.content.counts

    def errors(self, columns: Sequence[str] | None = None) -> Reals | None:
        """The standard error of each of these counts; not a number where there is none, None if nowhere is one."""
        names = self._named(columns)
        if isinstance(self.content, Marginals):
            std = self.content.std(names)
            return None if std is None else np.full([len(self.axis(name)) for name in names], std)
        return self.content.cell_errors()

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """One row a cell: its keys or edges, `count`, `standard_error` and, where there is one, `count_whole`.

        A column with a cell for other values has beside it `COLUMN_other`, true in that cell, whose key or edges are
        missing. `count` is as it was estimated: it may be negative or a fraction. `standard_error` is that of `count`,
        and missing where there is no error bar. `count_whole` is the whole count of the fit without negative ones, in
        which tables still agree; it has no error of its own.
        """
        whole = self._fitted()
        return self._sheet(self._named(columns), whole)

    def to_arrow(self) -> dict[str, pa.Table]:
        """Every table: of a histogram one, named cells; of marginals one for each table, named by its columns."""
        whole = self._fitted()
        if isinstance(self.content, Histogram):
            return {"cells": self._sheet(self.columns, whole)}
        found: dict[str, pa.Table] = {}
        for names in self.tables:
            found[tables.free(" by ".join(names), found)] = self._sheet(names, whole)
        return found

    def axis(self, column: str) -> Side:
        """The axis of a column."""
        for axis in self.axes:
            if axis.column == column:
                return axis
        raise Refusal(f"there is no column {shown(column)} in this release", hint=f"there are {list(self.columns)}")

    def to_json(self) -> str:
        """All of it as text that `from_json` reads back to the last bit."""
        head = {
            "format": EARLIER if self.earlier else FORMAT,
            "facts": dict(self.facts),
            "axes": [axis.plain for axis in self.axes],
        }
        held = "histogram" if isinstance(self.content, Histogram) else "marginals"
        return f'{json.dumps(head)[:-1]}, "{held}": {self.content.to_json()}}}'

    @classmethod
    def from_json(cls, text: str) -> Release:
        """What `to_json` wrote."""
        try:
            return cls._read(json.loads(text, parse_constant=_no_number))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, Refusal):
            raise Refusal(f"expected a release written by to_json, got {shown(text)}") from None

    @classmethod
    def _read(cls, read: Any) -> Release:  # noqa: ANN401  # whatever the text held
        axes = tuple(read_side(axis) for axis in read["axes"])
        if "histogram" in read:
            content: Histogram | Marginals = Histogram.read(read["histogram"])
        else:
            content = Marginals.from_json(json.dumps(read["marginals"]))
        shape = content.shape if isinstance(content, Histogram) else content.domain.sizes
        if not isinstance(read["facts"], dict) or shape != tuple(map(len, axes)):
            raise ValueError
        release = cls(read["facts"], axes, content)
        if read["format"] != (EARLIER if release.earlier else FORMAT):
            raise ValueError
        release._check()
        return release

    def _check(self) -> None:
        """Raise what nonsense raises, if the parts of a text do not fit each other."""
        if isinstance(self.content, Histogram) and self.content.part.size != self.content.counts.size:
            raise ValueError
        if not isinstance(self.facts["guarantee"], dict) or self.facts["columns"] != list(self.columns):
            raise TypeError
        for names in self.tables:
            self.counts(names)

    def plot(self, columns: Sequence[str] | None = None) -> Figure:
        """Bars with standard errors for one column, a heat map for two."""
        names = self._named(columns)
        return tables.plotted([self.axis(name) for name in names], self.counts(names), self.errors(names))

    def __str__(self) -> str:
        return tables.spelled(self.facts, [self._sheet(names, None) for names in self.tables], self.bounding)

    def _sheet(self, names: Sequence[str], whole: Release | None) -> pa.Table:
        known = None if whole is None else whole.counts(names)
        return tables.rows([self.axis(name) for name in names], self.counts(names), self.errors(names), known)

    def _fitted(self) -> Release | None:
        content = self.content
        if isinstance(content, Marginals) and not can_be_whole(maximal(content.sets)):
            return None
        return self.whole()

    def _named(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """The columns of a table: all of a histogram's, or the first table of marginals."""
        names = self.tables[0] if columns is None else tuple(columns)
        if isinstance(self.content, Histogram) and names != self.columns:
            raise Refusal(f"this release has one table, of {list(self.columns)}, got {shown(columns)}")
        return names

    def _line(self) -> tuple[NumberAxis, Histogram]:
        axis = self.axes[0]
        if isinstance(self.content, Histogram) and len(self.axes) == 1 and isinstance(axis, NumberAxis):
            return axis, self.content
        raise Refusal(
            f"shares and quantiles are along one column of numbers, and this has {list(self.columns)}",
            hint="publish the ranges of that column",
        )


def _no_number(text: str) -> float:
    raise ValueError(text)
