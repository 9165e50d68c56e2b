"""Rows that are in no cell of some column: counted in one more cell, or left out of every table alike.

All tables of one release speak of the same rows. A row is outside a column if its value is missing, cannot be read, is
no declared key, or lies in none of the bins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.mechanisms import Axis, Relation
from discreet.release.tree_variances import Whole

IN_OTHER, LEFT_OUT = RULES = ("other", "leave out")

Names = tuple[str, ...]


class Other:
    """The cell of rows that are in no other: `OTHER` is how one asks for it. No declared key is equal to it."""

    def __repr__(self) -> str:
        return "OTHER"


OTHER = Other()


def read_rule(given: object) -> str:
    """What is to become of rows outside, as somebody wrote it."""
    if given == "leave-out":
        return LEFT_OUT
    if isinstance(given, str) and given in RULES:
        return given
    raise Refusal(
        f"rows that are in no cell go to 'other', or you 'leave out' them everywhere, got outside={shown(given)}"
    )


def tables(relation: Relation, axes: Mapping[str, Axis], rule: str) -> Callable[[Names], NDArray[np.int64]]:
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
