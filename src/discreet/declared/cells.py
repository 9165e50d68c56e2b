"""Cells of a column as the numbers that they are: exactly, each by itself, whatever stands beside it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Refusal

Integers: TypeAlias = Sequence[int] | NDArray[np.int64] | NDArray[np.object_]

LIMIT = (1 << 62) - 1  # two numbers of at most this size have a sum that 64 bits hold

_WIDEST = 20_000  # decimal exponents beyond this are as good as infinite, or zero: no bound or step has more than 9999


def whole(values: Integers, limit: int = LIMIT) -> NDArray[np.int64]:
    """The values as 64-bit integers, those beyond ±limit at ±limit.

    Clamping brings no two numbers further apart, so every sensitivity stays what it was. These are what a query has
    counted or summed, whole by the code that computed them; anything else among them is refused, for it has no
    sensitivity. Cells as people wrote them go through a `Grid` or `floors`, which refuse none.
    """
    given = np.asarray(values)
    if given.dtype.kind in "ib":
        return np.clip(given.astype(np.int64), -limit, limit)
    if given.dtype.kind == "u":
        return np.minimum(given.astype(np.uint64), np.uint64(limit)).astype(np.int64)
    if isinstance(values, np.ndarray) and given.dtype.kind != "O":
        raise Refusal(f"expected whole numbers, got {given.dtype}", hint="put reals on a Grid first")
    exactly = np.array(values, dtype=object)  # also numbers that no machine type holds together, as 2^63 and −1
    if not all(_is_whole(cell) for cell in exactly.flat):
        raise Refusal("expected whole numbers, got others among them", hint="put reals on a Grid first")
    clamped = [max(-limit, min(limit, int(cell))) for cell in exactly.flat]
    return np.array(clamped, dtype=np.int64).reshape(exactly.shape)


def _is_whole(cell: object) -> bool:
    """A duration of numpy's is not, though it is among its integers."""
    return isinstance(cell, (numbers.Integral, np.bool_)) and not isinstance(cell, np.timedelta64)


def floors(values: ArrayLike, low: int, high: int) -> NDArray[np.int64]:
    """The whole number at or below each cell, within 0 ≤ low ≤ high ≤ 2^53, and `low` where there is no number.

    Total, and the image of a cell depends on that cell alone.
    """
    given = cells(values)
    if given.dtype.kind == "u":
        given = np.minimum(given.astype(np.uint64), np.uint64(high))
    if given.dtype.kind in "iub":
        return np.clip(given.astype(np.int64), low, high)
    if given.dtype.kind == "f" and given.dtype.itemsize <= 8:
        reals = given.astype(np.float64)
        return np.where(np.isnan(reals), low, np.clip(np.floor(reals), low, high)).astype(np.int64)
    images = [_floor(cell, low, high) for cell in given.ravel().tolist()]
    return np.array(images, dtype=np.int64).reshape(given.shape)


def _floor(cell: object, low: int, high: int) -> int:
    number = real(cell)
    if isinstance(number, float):  # not finite
        return high if number > 0 else low
    return max(low, min(high, math.floor(number)))


def cells(values: ArrayLike | Iterable[object]) -> NDArray[np.generic]:
    """An array of the values in which no cell was changed to fit its neighbours.

    What brings a type of its own, an array or a buffer, is taken as it is. Everything else that has elements is read
    element by element: numpy would find one type for all of them, and one text would make texts of a million numbers.
    What has none, or is a text, is one cell.
    """
    if _has_type(values):
        return np.asarray(values)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return _objects([values]).reshape(())
    given = list(values)
    kinds = set(map(type, given))
    if kinds == {float}:
        return np.array(given, dtype=np.float64)
    array = _objects(given)
    whole = kinds == {int} and all(-(1 << 63) <= value < 1 << 63 for value in array)
    return array.astype(np.int64) if whole else array


def _has_type(values: object) -> bool:
    """Whether one type for all cells came with the values."""
    if hasattr(values, "__array__") or hasattr(values, "__array_interface__"):
        return True
    if isinstance(values, (list, tuple, bytes)):
        return False
    try:
        memoryview(values)  # type: ignore[arg-type]  # that is the question
    except TypeError:
        return False
    return True


def _objects(given: Sequence[object]) -> NDArray[np.generic]:
    array = np.empty(len(given), dtype=object)
    for i, value in enumerate(given):  # a list among the cells stays one
        array[i] = value
    return array


def real(cell: object) -> Fraction | float:
    """The number that a cell is, exactly; an infinity as it is; NaN for everything else."""
    if isinstance(cell, np.timedelta64):  # a duration, though numpy has it among its integers
        return math.nan
    if isinstance(cell, np.bool_):
        return Fraction(int(cell))
    if isinstance(cell, numbers.Rational):
        return Fraction(int(cell.numerator), int(cell.denominator))
    if isinstance(cell, (float, np.floating)):  # of every width, so not by way of a double
        return Fraction(*map(int, cell.as_integer_ratio())) if np.isfinite(cell) else float(cell)
    return _of_decimal(cell) if isinstance(cell, Decimal) else math.nan


def _of_decimal(cell: Decimal) -> Fraction | float:
    if cell.is_nan():
        return math.nan
    if cell.is_zero() or cell.adjusted() < -_WIDEST:
        return Fraction(0)
    if cell.is_infinite() or cell.adjusted() > _WIDEST:
        return -math.inf if cell.is_signed() else math.inf
    return Fraction(cell)
