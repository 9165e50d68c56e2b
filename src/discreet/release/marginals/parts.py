"""What is measured of a table: its cells, its signs, or its centred cells, always whole numbers.

Along each column a part applies one of three integer matrices to the table's counts.

    cells      the identity: also says what the sub-tables are
    sign       (1, −1), for a column of two keys: one number, the character of Barak et al.
    centred    n·1 − J: n times the distance to the mean over the column

Columns of their Kronecker product all have the same norms, so the sensitivity is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.release.marginals.domain import Axes, Domain, subsets

CELLS, SIGN, CENTRED = "cells", "sign", "centred"


@dataclass(frozen=True)
class Part:
    """A table, and what is measured of it along each of its columns."""

    axes: Axes
    forms: tuple[str, ...]

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """Of the measured numbers."""
        return tuple(1 if form == SIGN else domain.sizes[i] for i, form in zip(self.axes, self.forms, strict=True))

    def l1(self, domain: Domain) -> int:
        """How far one record moves the numbers in all: the sum of the sizes of any column of the matrix."""
        return math.prod(2 * (domain.sizes[i] - 1) for i in self._with(CENTRED))

    def l2_squared(self, domain: Domain) -> int:
        """The sum of the squares of any column of the matrix: (n − 1)² + (n − 1) for a centred one."""
        return math.prod(domain.sizes[i] * (domain.sizes[i] - 1) for i in self._with(CENTRED))

    def informs(self) -> list[Axes]:
        """The residuals that can be read off: columns measured by cells may be summed over, the others not."""
        kept = set(self._with(SIGN)) | set(self._with(CENTRED))
        return [axes for axes in subsets(self.axes) if kept <= set(axes)]

    def gain(self, residual: Axes, domain: Domain) -> Fraction:
        """Noise of variance 1 on each number becomes a residual with covariance gain · ⊗(1 − J/n)."""
        gain = Fraction(1)
        for i, form in zip(self.axes, self.forms, strict=True):
            size = domain.sizes[i]
            if i not in residual:
                gain *= size  # so many independent draws are summed
            elif form == SIGN:
                gain /= 2
            elif form == CENTRED:
                gain /= size * size
        return gain

    def measure(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The whole numbers, modulo 2^64."""
        for axis, form in enumerate(self.forms):
            if form == SIGN:
                table = np.take(table, [0], axis) - np.take(table, [1], axis)
            elif form == CENTRED:
                table = table.shape[axis] * table - table.sum(axis, keepdims=True)
        return table

    def residual(self, numbers: NDArray[np.float64], residual: Axes) -> NDArray[np.float64]:
        """The residual's unbiased estimate from noisy numbers."""
        gone = tuple(axis for axis, i in enumerate(self.axes) if i not in residual)
        kept = [form for i, form in zip(self.axes, self.forms, strict=True) if i in residual]
        numbers = numbers.sum(gone)
        for axis, form in enumerate(kept):
            if form == SIGN:
                numbers = np.concatenate([numbers, -numbers], axis) / 2
            else:
                numbers = numbers - numbers.mean(axis, keepdims=True)
                numbers = numbers / numbers.shape[axis] if form == CENTRED else numbers
        return numbers

    def _with(self, form: str) -> Axes:
        return tuple(i for i, own in zip(self.axes, self.forms, strict=True) if own == form)
