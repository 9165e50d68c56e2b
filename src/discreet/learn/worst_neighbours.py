"""Neighbouring inputs for an audit of what adds up rows: a few rows, and a unit's that are as long as may be."""

from __future__ import annotations

from typing import Any

from discreet.declared.table import Outline
from discreet.learn.design_matrix import Design
from discreet.mechanisms import Column, Frame, Pair
from discreet.privacy import AddRemove


class LongRows:
    """A mechanism over rows without a label, by bounds or within a norm."""

    features: tuple[str, ...]
    data_norm: Any
    max_rows: int
    neighbours: Any

    def refuse_unfit(self, known: Outline) -> None:
        """Where a column has no bounds and step, or none that the norm can measure."""
        Design.of(known, self.features, intercept=False, norm=self.data_norm)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few rows as long as may be, and those of one unit more, along them or across; or these for each other."""
        (along, across), rows = self._longest(), self.max_rows
        if isinstance(self.neighbours, AddRemove):
            every = [(few, own) for few in (0, 4) for own in (along, across) if any(own)]
            why = "a unit's rows as long as may be, or none"
            return tuple(Pair(self._frame(few, []), self._frame(few, [own] * rows), why) for few, own in every)
        ends = self._frame(4, [along] * rows), self._frame(4, [across] * rows)
        return (Pair(*ends, "a unit's rows along the others, or across them"),)

    def _longest(self) -> tuple[list[int], list[int]]:
        """Two long rows across each other, of one feature each where there is a norm, in units of the bound."""
        size = len(self.features)
        if size == 1:
            return [1], [0]
        if self.data_norm is None:
            return [1] * size, [(-1) ** i for i in range(size)]
        return [1] + [0] * (size - 1), [0] * (size - 1) + [1]

    def _frame(self, few: int, own: list[list[int]]) -> Frame:
        reach = 1 if self.data_norm is None else self.data_norm
        along, _ = self._longest()
        rows = [*([(-1) ** row * part for part in along] for row in range(few)), *own]
        held: dict[str, Any] = {name: [reach * row[i] for row in rows] for i, name in enumerate(self.features)}
        held["of"] = [*range(few), *[few] * len(own)]
        columns = [Column(name, bounds=(-reach, reach), step=reach) for name in self.features]
        return Frame.of(held, *columns, unit="of", max_rows=self.max_rows, neighbours=self.neighbours)
