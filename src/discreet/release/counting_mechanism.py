"""Publication: mechanism that counts the rows of a relation by keys and bins, and releases the counts.

All tables of one release speak of the same rows. A row is outside a column if its value is missing, cannot be read, is
no declared key, or lies in none of the bins; it is counted in one more cell, or left out of every table alike.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Grid, cells
from discreet.declared.group_key import Type
from discreet.declared.group_key import written as time_written
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.ledger.entry_kinds import write_loss, write_neighbours
from discreet.mechanisms import Axis, Bins, Caps, Column, Frame, Pair, Relation, described
from discreet.mechanisms.mechanism import USUAL, Takes
from discreet.mechanisms.registry import Plain
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure
from discreet.release.axis import IN_OTHER, LEFT_OUT, NumberAxis, Side, sided
from discreet.release.bins import written
from discreet.release.counts_release import FIT, CountedRelease
from discreet.release.interval_tree import Whole
from discreet.release.noisy_cells import Measured, Names
from discreet.release.release_kind import Preview, named

_CROWDED = 8  # cells that hold other units' rows
_EACH = 3  # rows in each of them
_TIMES = {Type.DATE: "day", Type.TIMESTAMP: "second"}
_LATER = "any count"  # where it depends on the data how exact it will be
_ROWS = {
    IN_OTHER: "whose value is missing, no declared key or in no bin are counted as (other), in every table",
    LEFT_OUT: "whose value is missing, no declared key or in no bin in any of the columns are left out of everything",
}

_Measure = Callable[[Callable[[Names], Whole], Names, Entropy], Measured]
Place = tuple[int, ...] | None  # a cell by its place along every axis, or nowhere


class CellMechanism(Protocol):
    """A mechanism over counts of cells, as a publication uses it."""

    @property
    def privacy(self) -> Pure | Concentrated:
        """What it loses."""
        ...

    @property
    def about(self) -> str:
        """Of what `error` speaks."""
        ...

    @property
    def numbers(self) -> int:
        """How many it tells at most."""
        ...

    def error(self, confidence: Number = ..., /) -> Fraction | int | None:
        """How far off one of these may be; None where that is known after paying."""
        ...

    def tables(self, columns: Names, /) -> tuple[Names, ...]:
        """The columns of each table that it tells, but for those that are part of another."""
        ...

    def bins_at(self, place: int, /) -> int:
        """How many bins it chooses itself for the column at this place; 0 where it takes those that are given."""
        ...

    def measure(self, counts: Callable[[Names], Whole], columns: Names, rng: Entropy, /) -> Measured:
        """What it tells of these columns, any of which `counts` counts together."""
        ...


def facts_of(kind: str, columns: Sequence[str], mechanism: Any, over: Any) -> dict[str, Plain]:  # noqa: ANN401
    """What every release says of itself: by which registered mechanism, over what, at which promise."""
    return {
        "kind": kind,
        "columns": list(columns),
        "mechanism": dict(described(mechanism)),
        "guarantee": write_loss(over.privacy),
        "neighbours": write_neighbours(over.neighbours),
        "caps": {"max_rows": over.caps.rows},
        "source": heading_of(mechanism, "Source"),
        "proof": heading_of(mechanism, "Proof"),
    }


@dataclass(frozen=True)
class Publication:
    """Counts the rows of a relation by keys and bins, and releases the counts through one mechanism.

    `columns` are what is declared, `axes` what is counted; private bins are chosen on a fine public grid. A relation
    must have the same declarations, units of at most `caps.max_rows` rows, and the same neighbours. `outside` says what
    becomes of rows that are in no cell of some column: of several tables they are counted in cells of their own, or
    left out of all tables alike; one table leaves them out.

    Guarantee: `privacy`, for all rows of one unit that has at most `caps.max_rows` of them: added or removed, or, where
        the neighbours are Replace, put in place of another unit's.
    Proof: the relation's counts are all that is read. A row is in at most one cell of a table of counts, also where
        tables have cells for rows outside. Adding or removing a unit adds or removes at most m = max_rows records; a
        mechanism with `most` = m promises its loss for that. Replacing one removes at most m records and adds at most
        m. Counts move by at most 2m in L1 then, which is what `Counts.distance` has for Replace. Marginals have `most`
        = 2m there: their loss is bounded by the L1 or L2 norm of the change of what they measure, each record changes
        it by at most the same s, to either side, so 2m of them change it by at most 2m · s (triangle inequality), as
        2m added ones may.
    Source: that of the mechanism; neighbours by group: Dwork, McSherry, Nissim & Smith 2006.
    """

    takes: ClassVar[Takes] = Takes.RELATION

    kind: str
    columns: tuple[Column, ...]
    axes: tuple[Axis, ...]
    mechanism: CellMechanism
    caps: Caps
    neighbours: Neighbours
    delta: Fraction | None = None  # what the loss is to be read at, if it was asked for as (ε, δ)
    outside: str = LEFT_OUT

    @property
    def privacy(self) -> Pure | Concentrated:
        """What one run loses."""
        return self.mechanism.privacy

    @property
    def cells(self) -> int:
        """How many numbers are published: of private bins the most that there can be."""
        return self.mechanism.numbers

    @property
    def tables(self) -> tuple[Names, ...]:
        """The columns of each table that is published, but for those that are part of another."""
        return self.mechanism.tables(self._names)

    @property
    def preview(self) -> Preview:
        """What is public about it before it is paid."""
        both = zip(self.columns, self.axes, strict=True)
        steps = {col.name: _stepped(col, col.line) for col, axis in both if isinstance(axis, Bins) and col.line}
        rounded = ", ".join(f"{name} to {_words(step)}" for name, step in steps.items())
        bins = f"bins take numbers that are held within the declared bounds and rounded: {rounded}"
        lines = (f"rows {_ROWS[self.outside]}", *([bins] if steps else []))
        about = _LATER if self.error() is None else self.mechanism.about
        facts: dict[str, Plain] = {"outside": self.outside, "steps": dict(steps)}
        return Preview(self.cells, about, self.tables, facts, lines, str(described(self.mechanism)["name"]))

    def error(self, confidence: Number = USUAL) -> Fraction | int | None:
        """As its mechanism measures it: a cell, a prefix or the total; None where that is known after paying."""
        return self.mechanism.error(confidence)

    def described(self) -> dict[str, Plain]:
        """All that is public about it, as JSON can hold it."""
        return {**self._facts(), "axes": [self._axis(place) for place in range(len(self.axes))]}

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """Tables that differ by one unit, where that shows most."""
        return neighbouring(self.columns, self.axes, self.caps, self.neighbours)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> CountedRelease:
        """The release. Spends `privacy`."""
        return self._released(relation, self.mechanism.measure, rng)

    def _released(self, relation: Relation, measure: _Measure, rng: Entropy) -> CountedRelease:
        """What is measured of the relation's counts, as a release."""
        self._refuse_other(relation)
        axes = dict(zip(self._names, self.axes, strict=True))
        measured = measure(counter(relation, axes, self.outside), self._names, rng)
        release: Any = named(self.kind).release
        made: CountedRelease = release(self._facts(), self._sides(measured.cuts), measured.content)
        return made

    @property
    def _names(self) -> Names:
        return tuple(column.name for column in self.columns)

    def _facts(self) -> dict[str, Plain]:
        own: dict[str, Plain] = {
            "tables": [list(names) for names in self.tables],
            "outside": self.outside,
            "fit": FIT,
        }
        delta: dict[str, Plain] = {} if self.delta is None else {"delta": written(self.delta)}
        return {**facts_of(self.kind, self._names, self.mechanism, self), **own, **delta}

    def _axis(self, place: int) -> dict[str, Plain]:
        own = self.axes[place]
        side = sided(self.columns[place], own if isinstance(own, Bins) else None, other=self.outside == IN_OTHER)
        if bins := self.mechanism.bins_at(place):
            ends: list[Plain] = []
            if isinstance(side, NumberAxis):
                ends = [side.spelled(side.steps[0]), side.spelled(side.steps[-1])]
            return {"column": side.column, "private": bins, "among": len(side), "bounds": ends}
        return side.plain

    def _sides(self, cuts: Sequence[Sequence[int]] | None) -> tuple[Side, ...]:
        """The axes as readers see them; of private bins those that were chosen."""
        sides = []
        for place, (column, axis) in enumerate(zip(self.columns, self.axes, strict=True)):
            bins = axis if isinstance(axis, Bins) else None
            if bins is not None and cuts is not None:
                bins = Bins(bins.column, tuple(bins.edges[cut] for cut in cuts[place]))
            sides.append(sided(column, bins, other=self.outside == IN_OTHER))
        return tuple(sides)

    def _refuse_other(self, relation: Relation) -> None:
        """All of this is public, and comes before anything is read."""
        for column in self.columns:
            known = relation.schema.get(column.name)
            if known is None or (known.keys, known.line) != (column.keys, column.line):
                raise Refusal(f"column {column.name!r} is not declared as this publication has it")
        if relation.neighbours != self.neighbours:
            raise Refusal(f"this promises for {self.neighbours}, and the table's neighbours are {relation.neighbours}")
        if relation.caps.rows > self.caps.rows:
            raise Refusal(
                f"this promises for units of {self.caps.rows} rows, and these have up to {relation.caps.rows}",
                hint="bound the rows of a unit, or ask with a larger max_rows",
            )


def _stepped(column: Column, line: Grid) -> str:
    """What values of a column are rounded to."""
    if column.type.dated:
        return _TIMES[column.type]
    return written(line.step)


def _words(step: str) -> str:
    return f"whole {step}s" if step in _TIMES.values() else f"steps of {step}"


def heading_of(mechanism: object, name: str) -> str:
    """What the docstring of a mechanism says under a heading, on one line."""
    text = inspect.cleandoc(type(mechanism).__doc__ or "")
    part = re.search(rf"(?ms)^{name}: (.*?)(?=^\S|\Z)", text)
    return " ".join(part[1].split()) if part else ""


# counting -------------------------------------------------------------------------------------------------------------


def counter(relation: Relation, axes: Mapping[str, Axis], rule: str) -> Callable[[Names], NDArray[np.int64]]:
    """The counts of any of these columns, in which every row is in one cell, or every row that is inside in all."""
    if rule == LEFT_OUT:

        def counted(names: Names) -> Whole:
            rest = [axis for name, axis in axes.items() if name not in names]
            return relation.counts([axes[name] for name in names], within=rest)

        return counted
    known: dict[Names, Whole] = {}

    def inside(names: Names) -> Whole:
        if names not in known:
            known[names] = relation.counts([axes[name] for name in names])
        return known[names]

    return lambda names: completed(names, inside)


def completed(names: Names, inside: Callable[[Names], Whole]) -> Whole:
    """A table with one more cell along each column, the last, for the rows that are in none of its others.

    `inside` counts, for some of the columns, the rows that are inside in those, wherever they are in the rest. First
    the last cell along a column is that: all rows. Then what its other cells hold is taken from it, column by column.
    """
    shape = inside(names).shape
    table = np.zeros(tuple(side + 1 for side in shape), dtype=np.int64)
    for size in range(len(names) + 1):
        for some in combinations(range(len(names)), size):
            place = tuple(slice(-1) if axis in some else -1 for axis in range(len(names)))
            table[place] = inside(tuple(names[axis] for axis in some))
    for axis in range(len(names)):
        last = tuple(-1 if side == axis else slice(None) for side in range(len(names)))
        rest = tuple(slice(-1) if side == axis else slice(None) for side in range(len(names)))
        table[last] -= table[rest].sum(axis, dtype=np.int64)
    return table


# what an audit runs it on ---------------------------------------------------------------------------------------------


class Nowhere:
    """A value that is no key."""

    def __repr__(self) -> str:
        return "nowhere"


def neighbouring(
    columns: Sequence[Column], axes: Sequence[Axis], caps: Caps, neighbours: Neighbours
) -> tuple[Pair[Frame], ...]:
    """A unit with all its rows in one cell, where there are no others and where there are; and spread over cells.

    Where units are replaced, the rows go from the first cell to the last, or to where they are not counted.
    """
    shape = tuple(
        len(axis) if isinstance(axis, Bins) else len(column.keys or ())
        for column, axis in zip(columns, axes, strict=True)
    )
    size, most = math.prod(shape), caps.rows
    some: list[Place] = [_place(i, shape) for i in range(min(_CROWDED, size))]
    crowd = [place for place in some for _ in range(_EACH)]
    first, last, gone = [some[0]] * most, [_place(size - 1, shape)] * most, [None] * most
    spread = [some[i % len(some)] for i in range(most)]

    def pair(left: Sequence[Place], right: Sequence[Place], why: str) -> Pair[Frame]:
        here, there = (_frame(columns, axes, rows, caps, neighbours) for rows in (left, right))
        return Pair(here, there, why)

    if isinstance(neighbours, AddRemove):
        return (
            pair([], first, "no rows at all, or one unit's in the first cell"),
            pair([], last, "no rows at all, or one unit's in the last cell"),
            pair(crowd, [*crowd, *spread], "some rows, and one unit's spread over them"),
        )
    return (
        pair(first, gone, "one unit's rows in the first cell, or in none"),
        pair([*crowd, *first], [*crowd, *(last if size > 1 else gone)], "one unit's rows beside others, or far off"),
    )


def _place(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(part) for part in np.unravel_index(number, shape))


def _frame(
    columns: Sequence[Column], axes: Sequence[Axis], places: Sequence[Place], caps: Caps, neighbours: Neighbours
) -> Frame:
    """A relation with one row in each of these cells."""
    values = []
    for side, (column, axis) in enumerate(zip(columns, axes, strict=True)):
        if isinstance(axis, Bins) and column.line is not None:
            grid, kind = column.line, column.type
            every = [None if at is None else grid.value(axis.edges[at[side]]) for at in places]
            given: list[object] = [at if at is None or not kind.dated else time_written(at, kind) for at in every]
        else:
            given = [Nowhere() if at is None else (column.keys or ())[at[side]] for at in places]
        values.append(cells(given))
    return Frame(tuple(columns), tuple(values), caps, neighbours)
