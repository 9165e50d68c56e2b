"""Sums over a partition of rows by public rules: what is bought of each cell is how many rows it has, and their sums.

Rows are whole numbers of steps of 2⁻²⁰, so few bits that products of them and of centres are exact in doubles, in
whatever order a library adds them: which cell a row is in depends on that row and on what was told before alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.interval_arithmetic import simpler_up, sqrt
from discreet.learn.design_matrix import Design
from discreet.mechanisms import Relation
from discreet.noise import SECURE, Entropy, gaussian, laplace
from discreet.privacy import AddRemove, Neighbours

BITS = 20
ONE = 1 << BITS
MOST = 1000  # features

_CHUNK = 1 << 13  # rows, so few that what is made of them stays near the processor

Reals = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Room:
    """Where rows lie: at most `reach` steps from a public middle in each feature, within a norm if there is one."""

    design: Design
    reach: tuple[int, ...]

    @classmethod
    def of(cls, design: Design) -> Room:
        """One unit for all features: the norm, or how far the widest feature reaches from its middle."""
        if design.norm is not None:
            return cls(design, (ONE,) * len(design.features))
        wide = [scale.steps * scale.grid.step for scale in design.features]
        return cls(design, tuple(-(-(each * ONE) // max(wide)) for each in wide))

    @property
    def unit(self) -> float:
        """How long a step is, in the units of the features."""
        if self.design.norm is not None:
            return float(self.design.norm) / ONE
        return float(max(scale.steps * scale.grid.step for scale in self.design.features)) / ONE

    @property
    def zero(self) -> Reals:
        """The middle."""
        return np.array([scale.zero for scale in self.design.features])

    def points(self, relation: Relation, rng: Entropy = SECURE) -> Reals:
        """Rows in steps, rounded toward the middle, as doubles that are whole numbers."""
        blocks, reach = [np.zeros((0, len(self.reach)))], np.array(self.reach, dtype=np.float64)
        for steps, _ in self.design.batches(relation, self.design.names[0], rng, number=True):
            parts = [scale.parts(steps[:, i]) for i, scale in enumerate(self.design.features)]
            blocks.append(np.trunc(np.column_stack(parts) * reach))
        return np.concatenate(blocks)

    def told(self, steps: Reals) -> Reals:
        """Places in the units of the features."""
        return self.zero + steps * self.unit

    def length(self, power: int) -> Fraction:
        """The largest Σ |vᵢ|^power of a row v = steps / 2²⁰, for a power of 1, 2 or 4, rounded up."""
        if self.design.norm is None:
            return sum((Fraction(each, ONE) ** power for each in self.reach), Fraction(0))
        return sqrt(len(self.reach)).up if power == 1 else Fraction(1)


@dataclass(frozen=True)
class CellNoise:
    """Noise on counts, on sums of v and on sums of v²: of one width, in which a row counts one.

    `width` is the scale of Laplace noise, or the variance of Gaussian.
    """

    width: Fraction
    gaussian: bool
    squares: bool

    @classmethod
    def at(  # noqa: PLR0913  # what it is for, and for how much
        cls, room: Room, price: Fraction, rows: int, neighbours: Neighbours, *, gaussian: bool, squares: bool
    ) -> CellNoise:
        """At so much of ρ, or of ε, for all cells of a partition together.

        Proof: docs/proofs/clusters.md, "A partition".
        """
        two = 1 if isinstance(neighbours, AddRemove) else 2
        if gaussian:
            length = 1 + two * room.length(2) + (room.length(4) if squares else 0)
            return cls(simpler_up(two * rows**2 * length / (2 * price)), gaussian, squares)
        length = 1 + room.length(1) + (room.length(2) if squares else 0)
        return cls(simpler_up(two * rows * length / price), gaussian, squares)

    @property
    def deviation(self) -> float:
        """The standard deviation of each number."""
        return float(self.width) ** 0.5 if self.gaussian else float(self.width) * 2**0.5

    def told(self, sums: NDArray[Any], rng: Entropy, unit: int = ONE) -> tuple[Reals, Reals, Reals]:
        """Of each cell the number of its rows, Σ v, and Σ v², with noise, of whole numbers of which `unit` is one."""
        width = self.width * (unit**2 if self.gaussian else unit)
        noisy = [[int(v) + self._drawn(width, rng) for v in own] for own in sums]
        told = np.array(noisy, dtype=np.float64).reshape(sums.shape) / unit
        size = (sums.shape[1] - 1) // (2 if self.squares else 1) + 1
        return told[:, 0], told[:, 1:size], told[:, size:]

    def _drawn(self, width: Fraction, rng: Entropy) -> int:
        return gaussian(width, rng=rng) if self.gaussian else laplace(width, rng=rng)


def cell_sums(points: Reals, places: Places, cells: int, *, squares: bool) -> Reals:
    """Of each cell, in steps: 2²⁰ times the number of rows, the sum of each feature, and of its squares over 2²⁰.

    Proof that they are exact: all are whole numbers, and sums of fewer than 2³² rows stay below 2⁵³. Squares are
    rounded down row by row.
    """
    inside = places >= 0
    if not inside.all():
        points, places = points[inside], places[inside]
    columns = [np.full(len(points), float(ONE)), *points.T]
    if squares:
        columns += [np.floor(column * column / ONE) for column in points.T]
    return np.column_stack([np.bincount(places, weights=column, minlength=cells) for column in columns])


def nearest_sums(points: Reals, centers: Reals) -> Reals:
    """The same without squares of the cells of rows that are nearest to each centre, to the first of several.

    Proof that it is exact: centres are whole steps, and |v − c|² is smallest where 2 v·c − |c|² is largest, a whole
    number below 2⁵³ for at most `MOST` features.
    """
    total, each = np.zeros((len(centers), points.shape[1] + 1)), np.arange(len(centers))[:, np.newaxis]
    far = (centers * centers).sum(axis=1)[:, np.newaxis]
    for start in range(0, len(points), _CHUNK):
        rows = points[start : start + _CHUNK]
        scores = 2 * centers @ rows.T - far
        best = scores == scores.max(axis=0)
        if np.count_nonzero(best) > len(rows):
            best = each == scores.argmax(axis=0)
        inside = best.astype(np.float64)
        total[:, 0] += inside.sum(axis=1) * ONE
        total[:, 1:] += inside @ rows
    return total
