"""Whole numbers as machine integers: every list of them has an image, and neighbours stay as near as they were."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Refusal
from discreet.mechanisms.grid import cells, real

Integers: TypeAlias = Sequence[int] | NDArray[np.int64]

LIMIT = (1 << 62) - 1  # two numbers of at most this size have a sum that 64 bits hold


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
