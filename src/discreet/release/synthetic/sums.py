"""Sums of a table over some of its axes, many at once: each is computed from the smallest that has been.

Numpy sums slowly over axes of few cells that lie innermost; there, whole slices are added instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.release.interval_tree import Reals
from discreet.release.marginals.domain import Axes, Domain

_LONG, _MANY = 32, 16  # numbers side by side, and cells of an axis, from which on numpy's own way is quicker


def summed(table: Reals, axes: Iterable[int]) -> Reals:
    """The sum over these axes, which stay with one cell each. The outermost goes first: what is left is smaller."""
    for axis in sorted(axes):
        table = _folded(table, axis, np.add)
    return table


def greatest(table: Reals, axes: Iterable[int]) -> Reals:
    """The largest over these axes, which stay with one cell each."""
    for axis in sorted(axes):
        table = _folded(table, axis, np.maximum)
    return table


def _folded(table: Reals, axis: int, by: np.ufunc) -> Reals:
    before, many, after = _around(table.shape, axis)
    lines = table.reshape(before, many, after)
    if after >= _LONG or many > _MANY or many == 1:
        folded: Reals = by.reduce(lines, axis=1)
    else:
        folded = lines[:, 0].copy()
        for place in range(1, many):
            by(folded, lines[:, place], out=folded)
    return folded.reshape(*table.shape[:axis], 1, *table.shape[axis + 1 :])


def add_along(table: Reals, axis: int, narrow: Reals) -> None:
    """Add to each slice of a table along an axis the same, in place."""
    before, many, after = _around(table.shape, axis)
    lines, each = table.reshape(before, many, after), narrow.reshape(before, after)
    if after >= _LONG or many > _MANY:
        lines += each[:, None]
    else:
        for place in range(many):
            lines[:, place] += each


def _around(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    before, after = 1, 1
    for size in shape[:axis]:
        before *= size
    for size in shape[axis + 1 :]:
        after *= size
    return before, shape[axis], after


@dataclass(frozen=True)
class _Part:
    """A table that is another one's sum over one axis."""

    axes: Axes
    parent: int
    axis: int  # of the parent
    shape: tuple[int, ...]


class SumPlan:
    """Which sums of a clique's table come from which, so that those of many sets of its columns cost few passes."""

    def __init__(self, domain: Domain, clique: Axes, wanted: Iterable[Axes]) -> None:
        self._domain, self._parts = domain, [_Part(clique, 0, 0, domain.shape(clique))]
        self.places: dict[Axes, int] = {}
        self._divide(0, sorted(set(wanted)))

    def _divide(self, place: int, wanted: list[Axes]) -> None:
        """Without one column after the other, that of the most cells first, all sets that lack it are found."""
        here = self._parts[place].axes
        if here in wanted:
            self.places[here] = place
        left = [axes for axes in wanted if axes != here]
        for column in sorted(here, key=lambda i: (-self._domain.sizes[i], i)):
            lacking = [axes for axes in left if column not in axes]
            if not lacking:
                continue
            left = [axes for axes in left if column in axes]
            fewer = tuple(i for i in here if i != column)
            self._parts.append(_Part(fewer, place, here.index(column), self._domain.shape(fewer)))
            self._divide(len(self._parts) - 1, lacking)

    def sums(self, table: Reals) -> dict[Axes, Reals]:
        """The sums of a clique's table for all sets."""
        found = [table]
        for part in self._parts[1:]:
            found.append(_folded(found[part.parent], part.axis, np.add).reshape(part.shape))
        return {axes: found[place] for axes, place in self.places.items()}

    def spread(self, tables: Mapping[Axes, Reals]) -> Reals:
        """The table of the clique in which each cell is the sum of its cells in all of these: the other way round."""
        known: list[Reals | None] = [None] * len(self._parts)
        for axes, place in self.places.items():
            known[place] = tables[axes].copy()
        for place in range(len(self._parts) - 1, 0, -1):
            part, own = self._parts[place], known[place]
            if own is None:
                continue
            above = known[part.parent]
            if above is None:
                above = known[part.parent] = np.zeros(self._parts[part.parent].shape)
            add_along(above, part.axis, own)
        whole = known[0]
        return np.zeros(self._parts[0].shape) if whole is None else whole
