"""Synthetic rows as a kind of release: what may be asked for, how it is made, and what is published."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from discreet.declared.table import column_of
from discreet.errors import Refusal, about
from discreet.exact import Number, count, share, shown
from discreet.mechanisms import Bins, Caps, Outline, Relation
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.stages import UNSEALED, Stages
from discreet.noise import SECURE, Entropy, belows
from discreet.pictures import Picture
from discreet.pictures.svg import safe
from discreet.privacy import AddRemove
from discreet.release import figures
from discreet.release.axis import IN_OTHER, KeyAxis, NumberAxis, Side, sided
from discreet.release.bins import Private
from discreet.release.counting_mechanism import CellMechanism, Publication
from discreet.release.counts_release import CountedRelease
from discreet.release.estimate import Estimate
from discreet.release.histogram_kinds import CountsWish, axes_of, fits, side_of
from discreet.release.kind import Kind, Option, Preview, part, register
from discreet.release.marginals_kind import concentrated
from discreet.release.never import read_follows, read_never, rules
from discreet.release.release import Release, Sheet
from discreet.release.synthetic import (
    CliqueTreeSynthesis,
    DirectSynthesis,
    IndependentSynthesis,
    SpanningTreeSynthesis,
    Synthesis,
)
from discreet.release.synthetic.packing import packed, unpacked
from discreet.release.synthetic.synthesised import MOST_ROWS
from discreet.release.tree import Reals, Whole

AUTO = "auto"
METHODS: Mapping[str, type[Any]] = {
    "clique-tree": CliqueTreeSynthesis,
    "mst": SpanningTreeSynthesis,
    "independent": IndependentSynthesis,
    "direct": DirectSynthesis,
}
_FEW = 256  # cells of all columns together, of which the one table is measured by itself
_LINES = 12  # measured tables that are named one by one
_DELTA = Option(label="delta, for Gaussian noise", usual="none")
_NEVER = Option(
    "What no row may be: 'sex=m & pregnant=yes; age=0:15 & status=married'.",
    "RULES",
    label="Never together",
    usual="nothing",
    tip="Values that no record can have together, as everybody knows: sex=m & pregnant=yes; age=0:15 & status=married",
)
_FOLLOWS = Option(
    "What follows from another column: 'county=zip: 10115>Berlin, 20095>Hamburg'.", "COL=COL:A>B", many=True
)
_ROWS = Option("Rows to draw; else about as many as there are.", "N", int, label="Rows", usual="about as many")
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


@dataclass(frozen=True)
class SyntheticWish(CountsWish):
    """Synthetic rows that somebody asks for: of which columns, by which method, and how many."""

    every: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = (AUTO, *METHODS)
    line: ClassVar[int] = 64  # noisy counts merge neighbours
    plane: ClassVar[int] = 64

    delta: Number | None = part(_DELTA)  # noqa: RUF009  # a field
    rows: int | None = part(_ROWS)
    never: object = field(default=(), hash=False, metadata={"option": _NEVER})
    follows: Mapping[str, object] = part(_FOLLOWS, {})

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, never=read_never(self.never, self.columns), follows=read_follows(self.follows, self.columns))
        if self.rho is None and self.delta is None:
            raise Refusal(
                "synthetic rows have Gaussian noise, which needs a delta beside epsilon",
                hint="say delta='1e-9', or rho instead of epsilon",
                field="delta",
            )
        with about("rows"):
            settle(self, rows=None if self.rows is None else count(self.rows, "rows"))
            if self.rows is not None and self.rows > MOST_ROWS:
                raise Refusal(f"at most {MOST_ROWS} rows are written out, got rows={shown(self.rows)}")

    def respelled(self, spelling: Mapping[str, str]) -> dict[str, Any]:
        """Bins and what no row may be, by columns so spelled."""
        told: Any = self.never
        never = [{spelling[name]: text for name, text in rule.items()} for rule in told]
        follows = {spelling[name]: [spelling[parent], values] for name, (parent, values) in self.followed.items()}
        return {**super().respelled(spelling), "never": never, "follows": follows}

    @property
    def followed(self) -> Mapping[str, Any]:
        """For each column that follows the one it follows from, and which value from which."""
        return self.follows

    @property
    def takes_delta(self) -> bool:
        """At a price in ε."""
        return self.rho is None

    def refuse_outside(self) -> None:
        """A row in no cell of a column has nothing in that column, whatever is said."""
        if self.outside not in (None, IN_OTHER):
            raise Refusal("rows in no cell of a column stay, with nothing in that column", hint="leave outside out")


@dataclass(frozen=True)
class SyntheticPublication(Publication):
    """Counts the rows of a relation by keys and bins, fits a model to noisy tables of them, and draws rows.

    Guarantee: `privacy`, for all rows of one unit that has at most `caps.max_rows` of them, as any publication.
    Proof: that of `Publication`; numbers are drawn within their bins by coins that know nothing of the rows.
    Source: that of the mechanism.
    """

    staged: ClassVar[bool] = True

    @property
    def preview(self) -> Preview:
        """What is public about it before it is paid."""
        known = super().preview
        lines = (
            "rows whose value is missing, no declared key or in no bin have nothing in that column",
            *known.lines[1:],
        )
        return replace(known, lines=lines)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE, stages: Stages = UNSEALED) -> SyntheticRelease:
        """The release. Spends `privacy`; each measurement is one of the `stages`."""
        mechanism: Any = self.mechanism  # a synthesiser: only those are planned
        made: Any = self._released(relation, partial(mechanism.measure, stages=stages), rng)
        drawn = [_within(side, made.content.rows[:, i], rng) for i, side in enumerate(made.sides)]
        measured: list[Plain] = [_told(made.content, place) for place in range(len(made.content.tables))]
        facts: dict[str, Plain] = {**made.facts, "measured": measured}
        return SyntheticRelease(facts, made.axes, made.content, tuple(drawn))


def _told(content: Synthesis, place: int) -> dict[str, Plain]:
    """Which columns a table was of, and how exact it is."""
    table = content.tables[place]
    error = math.sqrt(float(table.variances.min()))
    return {"columns": list(content.domain.names(table.axes)), "cells": table.counts.size, "error": f"{error:.6g}"}


def _within(side: Side, places: Whole, rng: Entropy, asked: object = None) -> Whole:
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
        return self._told(drawn, [_within(side, drawn[:, i], rng, asked.get(i)) for i, side in enumerate(self.axes)])

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
        pyarrow.csv.write_csv(self.rows(), written_to)
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
        told = [f"{safe(' by '.join(each['columns']))} (± {each['error']})" for each in measured[:_LINES]]
        more = f", and {len(measured) - _LINES:,} more tables" if len(measured) > _LINES else ""
        return [
            "that a value that is missing, no key or in no bin is missing in the rows",
            *(
                [f"that no row breaks {kept:,} rules of what is impossible"]
                if (kept := len(self.content.never.rules))
                else []
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
        if facts["measured"] != [_told(content, place) for place in range(len(content.tables))]:
            raise ValueError
        release.rows()
        return release

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SyntheticRelease) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.axes, self.content))


def _keys(side: KeyAxis, places: Whole) -> pa.Array:
    try:
        keys = pa.array([*side.keys, None])
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # keys of several types
        keys = pa.array([*(None if key is None else str(key) for key in side.keys), None], type=pa.string())
    return keys.take(pa.array(places))


def _numbers(side: NumberAxis, places: Whole, steps: Whole) -> pa.Array:
    """Numbers in their own unit, whole ones where the step is."""
    low = np.array([*side.steps[:-1], 0], dtype=np.int64)[places] + steps
    none = places >= side.bins
    if side.step.denominator == 1:
        return pa.array(low * int(side.step), mask=none)
    return pa.array(low * float(side.step.numerator) / float(side.step.denominator), mask=none)


def _planned(outline: Outline, wish: SyntheticWish) -> SyntheticPublication:
    """The mechanism of a wish, for rows of which only what is declared is known."""
    columns = tuple(column_of(outline, name) for name in wish.columns)
    if private := [name for name, cut in wish.cuts.items() if isinstance(cut, Private)]:
        raise Refusal(
            f"synthetic rows take declared bins, and those of {private[0]!r} were to be chosen privately",
            hint=f"publish a histogram of {private[0]!r} with private bins, and give its edges here",
            field=private[0],
        )
    axes, delta = axes_of(wish, columns), None if wish.delta is None else share(wish.delta, "delta")
    caps = outline.caps if wish.max_rows is None else Caps(wish.max_rows)
    sizes = tuple(side_of(outline, axis) + 1 for axis in axes)  # and one cell for what is in none of them
    adding = isinstance(outline.neighbours, AddRemove)
    most, added = caps.rows if adding else 2 * caps.rows, AddRemove(outline.neighbours.unit)
    along = tuple(len(axis) if isinstance(axis, Bins) else 0 for axis in axes)
    method = wish.method or AUTO
    if method == AUTO:
        method = "direct" if math.prod(sizes) <= _FEW else "clique-tree"
    both = zip(columns, axes, strict=True)
    cells = [sided(column, axis if isinstance(axis, Bins) else None, other=True) for column, axis in both]
    told: Any = wish.never
    with about("never"):
        never = rules(told, wish.followed, cells)
        mechanism: CellMechanism = METHODS[method](
            wish.columns, sizes, concentrated(wish), most, added, wish.rows or 0, along, never
        )
    return SyntheticPublication(wish.kind, columns, axes, mechanism, caps, outline.neighbours, delta, IN_OTHER)


SYNTHETIC = register(
    Kind(
        "synthetic",
        "Synthetic rows",
        "Rows that look like yours and are nobody's, to be used like a table. Any number of columns.",
        SyntheticWish,
        _planned,
        SyntheticRelease,
        phrase="Synthetic rows",
        help="Publish made-up rows that follow noisy tables; without columns, of all that have keys or bounds.",
        fits=fits,
    )
)
