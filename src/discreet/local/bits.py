"""Reports that are a set of values: one bit each, eight in a byte."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.client import written_down

_BLOCK = 255  # bits whose sum fits into a byte


def packed(bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Rows of bits as rows of bytes: value v is bit v mod 8 of byte v div 8; what is left of the last byte is 0."""
    return np.packbits(bits, axis=1, bitorder="little")


def form(choices: int) -> np.dtype[Any]:
    """A set of values in ⌈choices/8⌉ bytes."""
    return np.dtype((np.uint8, (-(-choices // 8),)))


def padded(reports: NDArray[np.uint8], choices: int) -> NDArray[np.bool_]:
    """Which reports have a bit set that belongs to no value."""
    spare = 0xFF & ~((1 << (choices - 1) % 8 + 1) - 1)
    return np.asarray(reports[..., -1] & np.uint8(spare) != 0)


def sizes(reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many values are in each set."""
    total: NDArray[np.int64] = np.bitwise_count(reports).sum(axis=-1, dtype=np.int64)
    return total


def columns(reports: NDArray[np.uint8], choices: int) -> NDArray[np.int64]:
    """In how many sets each value is. Rows are added up in bytes, so many that none overflows."""
    bits = np.unpackbits(reports, axis=1, bitorder="little", count=choices)
    whole = len(bits) // _BLOCK * _BLOCK
    blocks = bits[:whole].reshape(-1, _BLOCK, choices).sum(axis=1, dtype=np.uint8)
    total: NDArray[np.int64] = blocks.sum(axis=0, dtype=np.int64) + bits[whole:].sum(axis=0, dtype=np.int64)
    return total


def every(choices: int) -> list[bytes]:
    """All sets of values, each as a report: the i-th holds the values whose bit is set in i."""
    written_down(choices << choices)
    return [i.to_bytes(-(-choices // 8), "little") for i in range(1 << choices)]
