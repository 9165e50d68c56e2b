"""Tables from residuals, and tables from corner sums: how all of them come to agree to the last digit.

Residuals are real. Rounding the cells of each table by itself would make two tables disagree on what they share. So
what is rounded are *corner sums*: for each set B of columns the sums of its table over all cells up to a corner, where
no column is at its last key. A column at its last key is summed whole, which is a corner sum of fewer columns. Every
cell of every table is then a sum of corner sums with signs, and two tables that share columns share those sums: they
agree in whole numbers, whatever the rounding was. A cell of a k-way table has 2^k corners, each wrong by half a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from discreet.declared.grid import LIMIT
from discreet.release.marginals.domain import Axes, Domain, subsets
from discreet.release.marginals.plan import Integers, Reals

T = TypeVar("T", Reals, Integers)


def table(domain: Domain, residuals: Mapping[Axes, Reals], axes: Axes) -> Reals:
    """μ_A = Σ_B r_B · N_B/N_A over all B ⊆ A, for columns in which something can vary."""
    total, cells = np.zeros(domain.shape(axes)), domain.cells(axes)
    for part in subsets(axes):
        spread = tuple(domain.sizes[i] if i in part else 1 for i in axes)
        total += residuals[part].reshape(spread) * (domain.cells(part) / cells)
    return total


def residual(domain: Domain, given: Reals, axes: Axes, part: Axes) -> Reals:
    """The residual of B that a table on A ⊇ B has: summed over the other columns, centred along its own."""
    rest = given.sum(tuple(axis for axis, i in enumerate(axes) if i not in part))
    for axis in range(len(part)):
        rest = rest - rest.mean(axis, keepdims=True)
    shaped: Reals = rest.reshape(domain.shape(part))
    return shaped


def corners(given: Reals, bits: int) -> Integers:
    """The corner sums of a table, rounded to multiples of 2^−bits and counted in them."""
    sums = _summed(given)
    return np.clip(np.rint(sums * 2.0**bits), -LIMIT, LIMIT).astype(np.int64)


def whole_corners(given: Integers) -> Integers:
    """The corner sums of a table in whole steps, as they are."""
    return _summed(given)


def _summed(given: T) -> T:
    for axis in range(given.ndim):
        given = given.cumsum(axis)
        given = given.take(range(given.shape[axis] - 1), axis)
    return given


def cells(domain: Domain, sums: Mapping[Axes, Integers], axes: Axes) -> Integers:
    """The table of some columns from the corner sums of all its sub-tables."""
    given = np.zeros(domain.shape(axes), dtype=np.int64)
    for part in subsets(axes):
        given[tuple(slice(-1) if i in part else -1 for i in axes)] = sums[part]
    for axis in range(given.ndim):
        given = np.diff(given, axis=axis, prepend=np.int64(0))
    return given
