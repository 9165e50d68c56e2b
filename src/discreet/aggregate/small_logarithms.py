"""Table of small logarithms: how many times the generator a point is, if that number lies in a known range."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet import durable
from discreet.aggregate.curve_group import Point, added, multiple
from discreet.errors import Refusal
from discreet.exact import count

_KEY = 8  # bytes of the first coordinate that a table keeps; whatever it finds is computed again
_SMALLEST, _LARGEST = 1 << 8, 1 << 22


@dataclass(frozen=True)
class Logarithms:
    """The first coordinates of 1, …, `size` times the generator: baby steps. Giant steps are of 2 size + 1.

    A point and its opposite have the same first coordinate, so each step looks at 2 size + 1 numbers (Shanks 1971).
    """

    keys: NDArray[np.uint64]

    @classmethod
    def made(cls, size: int) -> Logarithms:
        """A table of so many, computed."""
        return cls(np.array(list(_coordinates(count(size, "size"))), dtype=np.uint64))

    @classmethod
    def kept(cls, folder: Path, size: int) -> Logarithms:
        """A table of so many from this folder, where it is made once."""
        path = folder / f"logarithms-{count(size, 'size')}.npy"
        if not path.exists():
            content = io.BytesIO()
            np.save(content, cls.made(size).keys, allow_pickle=False)
            durable.make_folder(folder)
            durable.keep(path, content.getvalue())
        keys = np.load(path, allow_pickle=False)
        if keys.shape != (size,) or keys.dtype != np.uint64:
            raise Refusal(f"{path.name} is no table of {size} logarithms", hint="remove it: it is made again")
        return cls(keys)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {key: place for place, key in enumerate(self.keys.tolist(), start=1)}

    def __call__(self, point: Point | None, least: int, most: int) -> int | None:
        """The number in [least, most] that many times the generator is this point; None if there is none.

        The point at infinity, which has no coordinates, is None, and zero times the generator.
        """
        stride, size = 2 * self.keys.size + 1, self.keys.size
        moved = _moved(point, -(least + size))  # so that the first look is at numbers from `least` on
        for start in range(least + size, most + size + 1, stride):
            found = self._near(moved)
            if found is not None and least <= start + found <= most and _is(point, start + found):
                return start + found
            moved = _moved(moved, -stride)
        return None

    def _near(self, point: Point | None) -> int | None:
        """A number in [−size, size] whose point this may be."""
        if point is None:
            return 0
        content = point.format()
        place = self._places.get(int.from_bytes(content[1 : 1 + _KEY], "big"))
        return place if place is None or content == multiple(place).format() else -place


def size_for(span: int) -> int:
    """How large a table makes baby steps and giant steps about as many, for a range of this length: a power of two."""
    wanted = 1 << math.isqrt(max(1, span) // 2).bit_length()
    return min(max(wanted, _SMALLEST), _LARGEST)


def _moved(point: Point | None, steps: int) -> Point | None:
    if steps == 0:
        return point
    return multiple(steps) if point is None else added([point, multiple(steps)])


def _is(point: Point | None, number: int) -> bool:
    if point is None or number == 0:
        return point is None and number == 0
    return point.format() == multiple(number).format()


def _coordinates(size: int) -> Iterator[int]:
    one = current = multiple(1)
    for number in range(1, size + 1):
        yield int.from_bytes(current.format()[1 : 1 + _KEY], "big")
        following = multiple(2) if number == 1 else added([current, one])
        assert following is not None  # noqa: S101  # the order of the group is far larger than any table
        current = following
