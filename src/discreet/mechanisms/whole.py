"""Whole numbers as machine integers: every list of them has an image, and neighbours stay as near as they were."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal

Integers: TypeAlias = Sequence[int] | NDArray[np.int64]

LIMIT = (1 << 62) - 1  # two numbers of at most this size have a sum that 64 bits hold


def whole(values: Integers, limit: int = LIMIT) -> NDArray[np.int64]:
    """The values as 64-bit integers, those beyond ±limit at ±limit.

    Clamping brings no two numbers further apart, so every sensitivity stays what it was.
    """
    given = np.asarray(values)
    if given.dtype.kind in "ib":
        return np.clip(given.astype(np.int64), -limit, limit)
    if given.dtype.kind == "u":
        return np.minimum(given.astype(np.uint64), np.uint64(limit)).astype(np.int64)
    if isinstance(values, np.ndarray) and given.dtype.kind != "O":
        raise Refusal(f"expected whole numbers, got {given.dtype}", hint="put reals on a Grid first")
    cells = np.array(values, dtype=object)  # also of numbers that no machine type holds together, as 2^63 and −1
    if not all(isinstance(cell, numbers.Integral) for cell in cells.flat):
        raise Refusal("expected whole numbers, got others among them", hint="put reals on a Grid first")
    clamped = [max(-limit, min(limit, int(cell))) for cell in cells.flat]
    return np.array(clamped, dtype=np.int64).reshape(cells.shape)
