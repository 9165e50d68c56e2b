"""Arrays as JSON holds them: bytes from the least significant on, compressed, in base 64."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WHOLE = ("<i1", "<i2", "<i4", "<i8")
_REAL = "<f8"


def packed(values: NDArray[Any]) -> dict[str, Any]:
    """An array, whole numbers in as few bytes each as they need."""
    flat = np.ascontiguousarray(values).ravel()
    kind = _REAL if flat.dtype.kind == "f" else _least(flat)
    content = base64.b64encode(zlib.compress(flat.astype(kind).tobytes())).decode()
    return {"size": int(flat.size), "type": kind, "bytes": content}


def _least(values: NDArray[Any]) -> str:
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return next(kind for kind in _WHOLE if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def unpacked(told: Mapping[str, Any], shape: tuple[int, ...], *, whole: bool = False) -> NDArray[Any]:
    """The array that `packed` told of, if it has this shape and is finite; raises what nonsense raises."""
    kind = told["type"]
    if kind not in (_WHOLE if whole else (_REAL,)) or told["size"] != math.prod(shape):
        raise ValueError
    size = math.prod(shape) * np.dtype(kind).itemsize
    reader = zlib.decompressobj()
    content = reader.decompress(base64.b64decode(told["bytes"], validate=True), size + 1)  # and no bomb
    if len(content) != size:
        raise ValueError
    values = np.frombuffer(content, dtype=kind).astype(np.int64 if whole else np.float64)
    if not np.all(np.isfinite(values)):
        raise ValueError
    return values.reshape(shape)
