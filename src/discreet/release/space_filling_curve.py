"""Orders of the cells of a plane in which neighbours on the line are neighbours on the plane."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from discreet.release.tree_variances import Whole, fixed


@lru_cache(maxsize=16)
def hilbert(rows: int, columns: int) -> Whole:
    """The cells of a plane, as row · columns + column, in the order of Hilbert's curve.

    The curve fills the square of the next power of two; cells outside the plane are left out.
    """
    side = 1 << max(rows - 1, columns - 1, 1).bit_length()
    step = np.arange(side * side, dtype=np.int64)
    row, column = np.zeros_like(step), np.zeros_like(step)
    size = 1
    while size < side:  # Hilbert 1891, from the smallest square to the largest
        right, up = 1 & (step >> 1), 1 & (step ^ (step >> 1))
        turned, flipped = up == 0, (up == 0) & (right == 1)
        row, column = np.where(flipped, size - 1 - row, row), np.where(flipped, size - 1 - column, column)
        row, column = np.where(turned, column, row), np.where(turned, row, column)
        row, column = row + size * right, column + size * up
        step, size = step >> 2, size << 1
    inside = (row < rows) & (column < columns)
    order = np.asarray(row[inside] * columns + column[inside])
    fixed(order)
    return order
