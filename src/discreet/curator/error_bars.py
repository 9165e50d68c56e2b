"""Error bars of an answer's cells, from the formulas of its columns and the noisy tables they read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from discreet.curator.answer_formulas import Side
from discreet.curator.formula import (
    ColumnTotal,
    Constant,
    Formula,
    Given,
    Leaf,
    Line,
    Linear,
    Noisy,
    Range,
    Ranked,
    changed,
    every,
    leaves,
)
from discreet.curator.intervals import Barred, Row
from discreet.curator.noisy_statistics import ends_of
from discreet.curator.price import RARE
from discreet.curator.purchase import BoughtTable
from discreet.errors import Fault
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.mechanisms.noise_sums import Additive

Span = tuple[float, float] | None
Cells = Sequence[object]


_MANY = 5_000  # rows of noisy tables from which on the intervals of ratios and curves are found quickly
_MOST_ADDED = 300  # rows of a total that stands beside other numbers: the work grows with their square


@dataclass(frozen=True)
class Spans:
    """Finds the error bars of an answer at one confidence."""

    sides: tuple[Side, ...]
    tables: Mapping[str, BoughtTable]
    rare: Fraction

    def of(self, rows: Sequence[Cells], hidden: Sequence[Cells]) -> tuple[tuple[Span, ...], ...]:
        """The error bars of rows, given their hidden cells; the last of these says the side if there are several."""
        if not any(formula is not None for side in self.sides for formula in side.formulas):
            return ((None,) * len(rows[0]),) * len(rows) if rows else ()  # one for all: there may be very many
        numbers = [_place(cells[-1]) if len(self.sides) > 1 else 0 for cells in hidden]
        told: list[list[Span]] = []
        for number in numbers:
            if number is None:
                raise Fault
            told.append([None] * len(self.sides[number].formulas))
        for number, side in enumerate(self.sides):
            own = [i for i, each in enumerate(numbers) if each == number]
            for column, formula in enumerate(side.formulas):
                if formula is not None:
                    cells = [(rows[i][column], hidden[i]) for i in own]
                    for i, span in zip(own, self._column(formula, side, cells), strict=True):
                        told[i][column] = span
        return tuple(map(tuple, told))

    def _column(self, formula: Formula, side: Side, cells: Sequence[tuple[object, Cells]]) -> list[Span]:
        """The error bars of one column: where the formula differs from row to row, each is put together for itself."""
        shown, rare = [_exact(cell) for cell, _ in cells], self._rare(formula, side)
        if rare is None:
            return [None] * len(cells)
        rows = [hidden for number, (_, hidden) in zip(shown, cells, strict=True) if number is not None]
        intervals: Iterator[Range | None]
        if _differs(formula):
            each = (self._grounded(formula, hidden) for hidden in rows)
            intervals = (None if one is None else self._at(one, rare, [None])[0] for one in each)
        else:
            intervals = iter(self._at(formula, rare, rows))
        return [None if number is None else _told(next(intervals), number) for number in shown]

    def _at(self, formula: Formula, rare: Fraction, rows: Sequence[Cells | None]) -> list[Range | None]:
        """The intervals of a formula whose places are hidden columns, or, without these, rows already."""
        barred = Barred(formula, self._law, rare, self._many)
        given = [self._given(barred, hidden) for hidden in rows]
        intervals = iter(barred.at([each for each in given if each is not None]))
        return [None if each is None else next(intervals) for each in given]

    def _given(self, barred: Barred, hidden: Cells | None) -> Row | None:
        """What the statistics of a formula are in one row; None if it has none of them."""
        numbers, bought = {}, {}
        for leaf in barred.leaves:
            row = leaf.place if hidden is None or leaf.place is None else _place(hidden[leaf.place])
            if row is None and leaf.place is not None:
                return None
            table = self.tables[leaf.part]
            numbers[leaf] = table.noisy.values[row or 0][leaf.statistic]
            ends = ends_of(table.price, table.noisy, row or 0, leaf.statistic)
            if ends is not None and barred.rare >= RARE:
                bought[leaf] = ends
        return numbers, bought

    def _rare(self, formula: Formula, side: Side) -> Fraction | None:
        """How rarely this formula's interval may fail: where noise chose the rows, in any row it could have chosen."""
        if not side.chosen:
            return self.rare
        if any(isinstance(part, Given) and part.public for part in every(formula)):
            return None
        sources = {(leaf.part, leaf.place) for leaf in leaves(formula) if leaf.place is not None}
        sources |= {part.row for part in every(formula) if isinstance(part, Given) and part.row is not None}
        rows = math.prod(len(self.tables[part].noisy.groups) for part, _ in sources)
        return self.rare / (max(1, rows) * len(self.sides))

    def _grounded(self, formula: Formula, hidden: Cells) -> Formula | None:
        """The formula of one row: places are rows, and what is given is a number."""
        try:
            return changed(formula, lambda part: self._ground(part, hidden))
        except _Missing:
            return None

    def _ground(self, part: Formula, hidden: Cells) -> Formula:
        match part:
            case Given(column):
                number = _exact(hidden[column])
                if number is None:
                    raise _Missing
                return Constant(number)
            case Noisy(Leaf(name, int(place), statistic)):
                return Noisy(Leaf(name, _row(hidden[place]), statistic))
            case Ranked(Leaf(name, int(place), statistic), step):
                return Ranked(Leaf(name, _row(hidden[place]), statistic), step)
            case ColumnTotal(name, statistic, step):
                rows = len(self.tables[name].noisy.groups)
                if rows > _MOST_ADDED:
                    raise _Missing
                keyed = bool(self.tables[name].price.part.measurement.keys)
                weights = {Leaf(name, row if keyed else None, statistic): step for row in range(rows)}
                return Line(Linear(Fraction(0), weights))
            case _:
                return part

    @cached_property
    def _many(self) -> bool:
        """Whether the noisy tables are so long that narrow intervals would take too long."""
        return sum(len(table.noisy.groups) for table in self.tables.values()) > _MANY

    def _law(self, leaf: Leaf) -> Additive:
        price = self.tables[leaf.part].price
        mechanism = price.charge(price.part.measurement.statistics[leaf.statistic]).mechanism
        if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
            raise Fault
        return mechanism


class _Missing(Exception):  # not an error: an answer
    """A number of this row is not there."""


def _differs(formula: Formula) -> bool:
    """Whether a formula is another one in each row: of given numbers, of totals, or of two rows of one table."""
    if any(isinstance(part, (Given, ColumnTotal)) for part in every(formula)):
        return True
    places = {(leaf.part, leaf.place) for leaf in leaves(formula)}
    return len({part for part, _ in places}) < len(places)


def _place(cell: object) -> int | None:
    return int(cell) if isinstance(cell, (int, float)) else None


def _row(cell: object) -> int:
    place = _place(cell)
    if place is None:
        raise _Missing
    return place


def _exact(cell: object) -> Fraction | None:
    """A cell's number; None if it is none."""
    if isinstance(cell, bool) or not isinstance(cell, (int, float, Decimal)):
        return None
    return Fraction(cell) if math.isfinite(cell) else None


def _told(interval: Range | None, shown: Fraction) -> Span:
    """The interval in doubles, rounded to the nearest as any true number would be, with what is shown in it."""
    if interval is None:
        return None
    try:
        return float(min(interval[0], shown)), float(max(interval[1], shown))
    except OverflowError:
        return None
