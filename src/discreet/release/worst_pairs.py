"""Neighbouring tables on which a publication of counts shows most who is there: what an audit runs it on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.declared.grid import cells
from discreet.mechanisms import Axis, Bins, Caps, Column, Frame, Pair
from discreet.privacy import AddRemove, Neighbours

_CROWDED = 8  # cells that hold other units' rows
_EACH = 3  # rows in each of them

Place = tuple[int, ...] | None  # a cell by its place along every axis, or nowhere


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
        if isinstance(axis, Bins) and column.grid is not None:
            grid = column.grid
            found: list[object] = [None if at is None else grid.value(axis.edges[at[side]]) for at in places]
        else:
            found = [Nowhere() if at is None else (column.keys or ())[at[side]] for at in places]
        values.append(cells(found))
    return Frame(tuple(columns), tuple(values), caps, neighbours)
