"""Cells: rows as small whole numbers, by public cuts of numbers between their bounds, and places among declared keys.

What is summed over rows is how much of a row belongs to each of a few kinds. One of a class belongs to that class. One
with a number as its label, t of s steps above its lower bound, is t parts high and s − t parts low. Either way all
parts of a row add up to the same number, the unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.grid import Grid
from discreet.declared.group_key import Key
from discreet.declared.table import Outline, column_of, grid_of
from discreet.errors import Refusal
from discreet.learn.convex_risk import classes_of
from discreet.mechanisms import Relation
from discreet.noise import SECURE, Entropy

MOST_CUTS = 1 << 12  # of one column

_ROWS = 1 << 16  # that are on their way at once
_FINE = (1 << 16) - 1  # parts of a number that is a label
_SMALL = 1 << 8  # places that fit into one byte

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """One column, cut: a number by the cuts that it reaches, in steps, or else a key by its place."""

    name: str
    cuts: tuple[int, ...]
    keys: tuple[Key, ...]
    step: Fraction

    @classmethod
    def of(cls, known: Outline, name: str, cuts: int) -> Axis:
        """At so many cuts that lie evenly between the declared bounds, or as many as there are steps to part."""
        column = column_of(known, name)
        if column.grid is None and column.keys is not None:
            if len(column.keys) > MOST_CUTS:
                raise Refusal(f"column {name!r} has {len(column.keys)} keys, more than {MOST_CUTS}")
            return cls(name, (), column.keys, Fraction(1))
        grid = grid_of(known, name)
        parts = min(cuts + 1, grid.span + 1)
        each = tuple(grid.low + (grid.span + 1) * i // parts for i in range(1, parts))
        return cls(name, each, (), grid.step)

    def __len__(self) -> int:
        return len(self.keys) or len(self.cuts) + 1

    def cut(self, place: int) -> float:
        """The number from which on a value is in this place, or beyond it: what is nearer to a step counts as that."""
        return float(self.step * (self.cuts[place - 1] - Fraction(1, 2)))

    def places(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each cell, of steps or of places among keys."""
        if self.keys:
            return cells
        return np.searchsorted(np.array(self.cuts, dtype=np.int64), cells, side="right").astype(np.int64)


@dataclass(frozen=True)
class ClassTarget:
    """A class that is predicted: a column with declared keys, or with a few whole steps."""

    name: str
    classes: tuple[Key, ...]
    first: int  # the step of the first class, where there are no keys
    of_keys: tuple[int, ...]  # the class of each key, −1 for what is none

    unit = 1

    @classmethod
    def of(cls, known: Outline, name: str) -> ClassTarget:
        """By what is declared."""
        classes, keys = classes_of(known, name), column_of(known, name).keys
        if keys is None:
            return cls(name, classes, grid_of(known, name).low, ())
        return cls(name, classes, 0, tuple(-1 if key is None else classes.index(key) for key in keys))

    @property
    def kinds(self) -> int:
        """One for each class."""
        return len(self.classes)

    @property
    def numeric(self) -> bool:
        """It is read by its place among keys, if it has any."""
        return not self.of_keys

    def read(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The class of each cell, −1 for none."""
        if not self.of_keys:
            return cells - self.first
        return np.where(cells >= 0, np.array(self.of_keys)[np.maximum(cells, 0)], -1)

    def sums(self, told: NDArray[np.int64], at: NDArray[np.int64], size: int) -> Counts:
        """Rows of each class at each of so many places."""
        held = np.bincount(at * self.kinds + told, minlength=size * self.kinds)
        return held.astype(np.int64).reshape(size, self.kinds)


@dataclass(frozen=True)
class NumberTarget:
    """A number that is predicted, between its declared bounds: some parts high, and the others low."""

    name: str
    grid: Grid

    kinds = 2
    numeric = True

    @classmethod
    def of(cls, known: Outline, name: str) -> NumberTarget:
        """By what is declared."""
        return cls(name, grid_of(known, name))

    @property
    def unit(self) -> int:
        """The parts of a row: as many as there are steps, if those are not too many."""
        return min(max(1, self.grid.span), _FINE)

    def value(self, share: float) -> float:
        """The number of which this share of the parts is high."""
        span = max(1, self.grid.span)
        return float(self.grid.low * self.grid.step) + share * float(span * self.grid.step)

    def read(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many parts of each are high."""
        span = max(1, self.grid.span)
        above = np.clip(cells - self.grid.low, 0, span)
        return above if span <= _FINE else np.rint(above * (_FINE / span)).astype(np.int64)

    def sums(self, told: NDArray[np.int64], at: NDArray[np.int64], size: int) -> Counts:
        """Low and high parts at each of so many places, exactly: sums of 2^37 rows are below 2^53."""
        rows = np.bincount(at, minlength=size).astype(np.int64)
        high = np.bincount(at, weights=told, minlength=size).astype(np.int64)
        return np.column_stack([self.unit * rows - high, high])


Target = ClassTarget | NumberTarget


@dataclass(frozen=True, eq=False)
class Cells:
    """All rows that have a value in every column: a place in each, a row of `places` a column, and a target."""

    axes: tuple[Axis, ...]
    target: Target
    places: tuple[NDArray[np.unsignedinteger[Any]], ...]
    told: NDArray[np.int64]

    @classmethod
    def read(cls, relation: Relation, axes: tuple[Axis, ...], target: Target, rng: Entropy = SECURE) -> Cells:
        """Of a relation, a byte or two for each value."""
        kinds = [np.uint8 if len(axis) <= _SMALL else np.uint16 for axis in axes]
        held: list[list[NDArray[np.unsignedinteger[Any]]]] = [[np.zeros(0, dtype=kind)] for kind in kinds]
        labels = [np.zeros(0, dtype=np.int64)]
        numbers = [axis.name for axis in axes if not axis.keys] + [target.name] * target.numeric
        for batch in relation.batches(_ROWS, numbers, rng=rng):
            told, there = _cells(batch.column(target.name))
            told = target.read(told)
            whole, each = there & (told >= 0), []
            for axis in axes:
                cells, known = _cells(batch.column(axis.name))
                each.append(axis.places(cells))
                whole &= known & (each[-1] >= 0)
            labels.append(told[whole])
            for own, places, kind in zip(held, each, kinds, strict=True):
                own.append(places[whole].astype(kind))
        return cls(axes, target, tuple(np.concatenate(own) for own in held), np.concatenate(labels))

    def __len__(self) -> int:
        return len(self.told)

    def sums(self, at: NDArray[np.int64], size: int) -> Counts:
        """Parts of each kind, over the rows that are at each of so many places."""
        return self.target.sums(self.told, at, size)


def _cells(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Steps or places, and which cells have one."""
    there: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), there
