"""One end of the interval of a quantile: a number that is beyond it with a stated probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.declared.grid import Grid
from discreet.declared.table import grid_of
from discreet.errors import Refusal
from discreet.exact import Number, count, exact, positive, share, shown, spoken
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.quantile import FINEST, Whole, gaps, rank_error, segment
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure

_SIDES = ("lower", "upper")
_CELLS = 512  # more than any grid is cut into
_FARTHEST = 1 << 61  # from the target to the ranks of a cell, in 64 bits with those of 2^40 rows: no table has as many


@registered("quantile-end")
@dataclass(frozen=True)
class QuantileEnd:
    """A number on a grid that the `level`-quantile of the rows is not below, or not above, with this confidence.

    It is one of some cells around a public number, which grow with their distance from it.

    Guarantee: Pure(epsilon), when the rows of one unit (at most `max_rows`) are added or removed.
    Proof: docs/proofs/intervals.md, "The ends of a quantile". It is the exponential mechanism; a row more or less moves
        a cell's score by at most max(level, 1 − level).
    Source: McSherry & Talwar 2007, Theorem 6, with the score of Smith 2011, its target moved by a constant.
    """

    takes: ClassVar[Takes] = Takes.OWNED_ROWS
    declared: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "max_rows")

    epsilon: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    around: Fraction
    level: Fraction = Fraction(1, 2)
    confidence: Fraction = USUAL
    side: str = "lower"
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        grid = Grid(self.lower, self.upper, self.step)
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            lower=grid.lower,
            upper=grid.upper,
            step=grid.step,
            around=exact(self.around, "around"),
            level=share(self.level, "level"),
            confidence=share(self.confidence, "confidence"),
            max_rows=count(self.max_rows, "max_rows"),
            neighbours=self.neighbours,
        )
        if self.level.denominator > FINEST:
            raise Refusal(f"expected a level with a denominator of at most 2^20, got {shown(self.level, str)}")
        if self.side not in _SIDES:
            raise Refusal(f"expected side as lower or upper, got side={self.side!r}")
        if not isinstance(self.neighbours, AddRemove):
            raise Refusal(
                f"expected AddRemove neighbours, got {self.neighbours}", hint="replacing is removing, then adding"
            )
        if (self._beyond(_CELLS) + 1) * self.level.denominator > _FARTHEST:
            raise Refusal(
                f"epsilon={spoken(self.epsilon)} is too small for an end of a quantile", hint="take a larger epsilon"
            )

    @cached_property
    def grid(self) -> Grid:
        """The values."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def privacy(self) -> Pure:
        """ε as asked for."""
        return Pure(self.epsilon)

    @cached_property
    def rate(self) -> Fraction:
        """What a row's distance from the target costs in the exponent: ε over twice the sensitivity of the score."""
        return self.epsilon / (2 * max(self.level, 1 - self.level) * self.max_rows)

    @cached_property
    def starts(self) -> Whole:
        """Where the cells begin, in steps: one, two, … eight steps around, and then growing by 2^(1/4) each."""
        low, high = self.grid.low, self.grid.high
        middle = min(max(math.floor(self.around / self.step), low), high)
        starts, distance = {low, middle}, 1
        while middle - distance > low or middle + distance <= high:
            starts.update(place for place in (middle - distance, middle + distance) if low < place <= high)
            distance = max(distance + 1, math.floor(distance * 2**0.25)) if distance >= 8 else distance + 1
        return np.array(sorted(starts), dtype=np.int64)

    @cached_property
    def shift(self) -> int:
        """How many rows the target is beyond level · n: what the choice may miss, and what interpolation may take."""
        return self._beyond(len(self.starts))

    def _beyond(self, cells: int) -> int:
        between = 1 + self.level if self.side == "lower" else 2 - self.level
        return math.ceil(self._missed(self.confidence, cells) + between)

    def _missed(self, confidence: Number, cells: int) -> Fraction:
        bottom = self.level.denominator
        return Fraction(rank_error(cells, self.rate / bottom, confidence), bottom)

    def error(self, confidence: Number = USUAL) -> Fraction:
        """The number of rows by which the rank of the cell may be from that of the quantile, with this probability."""
        return self.shift + self._missed(confidence, len(self.starts))

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """A row on the far side of a target that lies just beyond many equal rows."""
        low, high = self.grid.value(self.grid.low), self.grid.value(self.grid.high)
        inner, share_beyond = self.grid.value(int(self.starts[len(self.starts) // 2])), self.level
        far = high
        if self.side == "upper":
            share_beyond, far = 1 - self.level, low
        rows = (inner,) * math.ceil((self.shift + 1) / share_beyond)
        return (Pair(rows, rows + (far,) * self.max_rows, "rows beyond many equal ones move the target past them"),)

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Fraction:
        """The number. Values outside the bounds count as the nearer bound, and what is no number as the lower one."""
        return self.grid.value(self.chosen(np.sort(self.grid.steps(values)), rng=rng))

    def chosen(self, steps: Whole, *, rng: Entropy) -> int:
        """The same in steps, of values in steps and in order."""
        return self._among(np.searchsorted(steps, np.append(self.starts, self.grid.high + 1)).astype(np.int64), rng)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> Fraction:
        """The number for a column, of the rows that have a number there."""
        if grid_of(relation, column) != self.grid:
            raise Refusal(f"column {column!r} has another grid than this mechanism", hint="take the declared one")
        counts = relation.quantile_counts(column, self.starts.tolist())  # nobody is below the first of them
        return self.grid.value(self._among(np.cumsum(counts), rng))

    def _among(self, below: Whole, rng: Entropy) -> int:
        """The end in steps, where so many rows are below the beginning of each cell, and below the end of the last."""
        ahead, within = below[:-1], np.diff(below)
        return self._end(segment(self._gaps(ahead, within), np.ones_like(ahead), self._fine, rng=rng))

    @property
    def _fine(self) -> Fraction:
        return self.rate / self.level.denominator

    def _end(self, cell: int) -> int:
        if self.side == "lower":
            return int(self.starts[cell])
        return int(self.starts[cell + 1]) - 1 if cell + 1 < len(self.starts) else self.grid.high

    def _gaps(self, ahead: Whole, within: Whole) -> Whole:
        """How far the target is from the ranks in each cell. The outermost cell has all ranks beyond, too."""
        moved = -self.shift if self.side == "lower" else self.shift
        rows = int(within.sum())
        first, last = ahead.copy(), (ahead + within).copy()
        if self.side == "lower":
            first[0] = min(0, -self.shift - 1)
        else:
            last[-1] = rows + self.shift + 1
        return gaps(first - moved, last - first, rows, self.level)
