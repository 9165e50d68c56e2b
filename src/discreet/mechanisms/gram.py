"""Gram matrix of whole numbers, exactly, at the speed of floating-point matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LIMB = 18  # bits: a product of two limbs is below 2^36, and a sum of 2^16 of those below 2^52, which a double counts
_CHUNK = 1 << 16
BLOCK = 1 << 12  # columns of doubles at once: a few dozen rows of them lie in a cache
_BITS = 18  # of a part of a double: sums of products of two are exact over 2^17 rows, and of fewer bits over more


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


class GramSum:
    """Σ xxᵀ of columns x of 1 and `width` whole numbers of at most `reach` < 2^53 in size, which come block by block.

    A block is a matrix of doubles with a row for each number and at most `BLOCK` columns. There are t parts of m bits:
    with x_{t-1} = x, and k from t - 1 down to 1, what is nearest to x_k among the multiples of 2^{mk} is part k, and
    the rest x_{k-1}; x_0 is part 0. A part is 2^{mk} times a whole number of at most 2^m in size.

    Proof: the last part is 2^{m(t-1)} times a number of at most 2^m, as reach < 2^{mt}. A rest is at most half of what
        was rounded to, 2^{mk-1}, so part k - 1 is at most 2^{m-1} times 2^{m(k-1)}. Scaling by powers of two, rounding
        to the nearest whole number and taking that away have results that doubles hold, so they are exact. The parts of
        a block are stacked as A, and AAᵀ and A1 are added to those before: all terms of one of their entries are whole
        multiples of one power of two, of at most 2^{2m} times that. Over 2^{53-2m} rows every sum of some of them, in
        any order, is at most 2^53 times that power: doubles hold it exactly, whatever a library does to multiply
        matrices. Before there are more rows, it becomes Python's integers, and starts again at zero. As m ≤ 18, a block
        is never more.
    """

    def __init__(self, width: int, reach: int) -> None:
        self._width, long = width, max(1, reach.bit_length())
        self._parts = -(-long // _BITS)
        self._bits = -(-long // self._parts)
        self._stack = np.empty((self._parts * width, BLOCK))
        self._told = np.zeros((width + 1, width + 1), dtype=object)
        self._begin()

    def _begin(self) -> None:
        self._rows, size = 0, len(self._stack)
        self._products, self._sums = np.zeros((size, size)), np.zeros(size)

    def add(self, block: NDArray[np.float64]) -> None:
        """Add a block, which is no longer what it was afterwards."""
        rows = block.shape[1]
        if self._rows + rows > 1 << (53 - 2 * self._bits):
            self._settle()
        stack = self._stack if rows == BLOCK else np.empty((len(self._stack), rows))
        parts = stack.reshape(self._parts, self._width, rows)
        for k in range(self._parts - 1, 0, -1):
            one = float(1 << (self._bits * k))
            np.multiply(block, 1 / one, out=parts[k])
            np.rint(parts[k], out=parts[k])
            np.multiply(parts[k], one, out=parts[k])
            np.subtract(block, parts[k], out=parts[0] if k == 1 else block)
        if self._parts == 1:
            parts[0] = block
        self._products += stack @ stack.T
        self._sums += stack.sum(axis=1)
        self._rows += rows

    def total(self) -> NDArray[np.object_]:
        """The sum, as Python's integers."""
        self._settle()
        return self._told

    def _settle(self) -> None:
        parts, width = self._parts, self._width
        self._told[0, 0] += self._rows
        sums = _whole(self._sums).reshape(parts, width).sum(axis=0)
        self._told[0, 1:] += sums
        self._told[1:, 0] += sums
        self._told[1:, 1:] += _whole(self._products).reshape(parts, width, parts, width).sum(axis=(0, 2))
        self._begin()


def _whole(values: NDArray[np.float64]) -> NDArray[np.object_]:
    """Whole numbers in doubles as Python's integers."""
    return np.array([int(each) for each in values.ravel().tolist()], dtype=object)
