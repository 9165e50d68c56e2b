"""Thumbnail of a table of numbers: bars, or fields, without a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.pictures.svg import rect, svg

_SIZE = (240.0, 72.0)
_BARS, _FIELDS = 48, (12, 40)  # that one can still tell apart


def thumbnail(numbers: NDArray[np.float64]) -> str:
    """Bars along one side, fields on two; of more sides the sums over the others."""
    if numbers.ndim == 1:
        return _drawn(_bars(_joined(numbers, 0, _BARS)))
    plane = numbers.sum(axis=tuple(range(2, numbers.ndim)))
    return _drawn(_fields(_joined(_joined(plane, 0, _FIELDS[0]), 1, _FIELDS[1])))


def _drawn(marks: list[str]) -> str:
    return svg("", "", _SIZE, marks).replace('role="img"', 'aria-hidden="true" preserveAspectRatio="none"')


def _joined(numbers: NDArray[np.float64], axis: int, most: int) -> NDArray[np.float64]:
    """Sums of neighbours, such that no more than so many are left."""
    return np.add.reduceat(numbers, np.arange(0, numbers.shape[axis], -(-numbers.shape[axis] // most)), axis=axis)


def _bars(numbers: NDArray[np.float64]) -> list[str]:
    width, height = _SIZE
    most, step = max(float(numbers.max()), 1e-9), width / numbers.size
    tall = [max(1.0, height * max(0.0, float(number)) / most) for number in numbers]
    return [rect((place * step, height - each, step * 0.88, each), 0.6) for place, each in enumerate(tall)]


def _fields(numbers: NDArray[np.float64]) -> list[str]:
    most, (rows, columns) = max(float(numbers.max()), 1e-9), numbers.shape
    width, height = _SIZE[0] / columns, _SIZE[1] / rows
    return [
        rect((column * width, row * height, width * 0.94, height * 0.9), max(0.04, float(numbers[row, column]) / most))
        for row in range(rows)
        for column in range(columns)
    ]
