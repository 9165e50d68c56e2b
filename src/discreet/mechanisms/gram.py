"""Gram matrix of whole numbers, exactly, at the speed of floating-point matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LIMB = 18  # bits: a product of two limbs is below 2^36, and a sum of 2^16 of those below 2^52, which a double counts
_CHUNK = 1 << 16


def gram(columns: NDArray[np.int64], /) -> NDArray[np.object_]:
    """XᵀX as Python's integers of any size, of an array X of whole numbers of 64 bits.

    Proof: every number is Σ 2^{18 k} x_k with limbs |x_k| ≤ 2^18, of which the last has the sign. Each chunk of rows
        adds for a pair of limbs a matrix whose entries, and all partial sums of them in any order, are whole numbers of
        at most 2^52 in size: doubles hold them exactly, whatever a library does to multiply matrices. They are put
        together in integers.
    """
    rows, width = columns.shape
    total = np.zeros((width, width), dtype=object)
    for start in range(0, rows, _CHUNK):
        limbs = _limbs(columns[start : start + _CHUNK])
        for i, one in enumerate(limbs):
            for j, two in enumerate(limbs[i:], start=i):
                product = (one.T @ two).astype(np.int64).astype(object) << (_LIMB * (i + j))
                total += product if i == j else product + product.T
    return total


def product(left: NDArray[np.int64], right: NDArray[np.int64], /) -> NDArray[np.object_]:
    """XᵀY as Python's integers of any size, of arrays X and Y of as many rows of whole numbers. Proof: as of `gram`."""
    total = np.zeros((left.shape[1], right.shape[1]), dtype=object)
    for start in range(0, len(left), _CHUNK):
        other = _limbs(right[start : start + _CHUNK])
        for i, one in enumerate(_limbs(left[start : start + _CHUNK])):
            for j, two in enumerate(other):
                total += (one.T @ two).astype(np.int64).astype(object) << (_LIMB * (i + j))
    return total


def _limbs(columns: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """The limbs of each number, the lowest first, as doubles: the rest by a shift rounds down, and has the sign."""
    rest, limbs = columns, []
    while rest.size and (rest.max() >> _LIMB > 0 or rest.min() >> _LIMB < -1):
        limbs.append((rest & ((1 << _LIMB) - 1)).astype(np.float64))
        rest = rest >> _LIMB
    return [*limbs, rest.astype(np.float64)]
