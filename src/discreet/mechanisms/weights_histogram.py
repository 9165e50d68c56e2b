"""Hypothesis of multiplicative weights: a histogram of made-up records that fits the counts which were released."""

from __future__ import annotations

import math
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import LIMIT
from discreet.errors import Refusal
from discreet.exact import shown

Domain: TypeAlias = tuple[tuple[str, ...], ...]

LARGEST = 1 << 16  # cells: each question adds up the hypothesis over them
LONGEST = 4096  # characters of a choice of cells that a state holds: of 24,000 cells any choice has fewer
_STEPS, _OFTEN = 1500, 60  # of one fit: steps in all, and how often each number is met at most
_FARTHEST = 50.0  # logarithm of the factor by which one step moves cells
_DOMAIN = 'as [["region", "north", "south"], ["smokes", "false", "true"]]'


def listed(domain: Iterable[Sequence[str]]) -> Domain:
    """A domain as the fields of a mechanism hold it."""
    return tuple(tuple(axis) for axis in domain)


def declared(domain: object) -> Domain:
    """The domain, if it names columns with values, none twice, and has few enough cells."""
    axes = domain if isinstance(domain, tuple) else ()
    texts = all(isinstance(axis, tuple) and all(isinstance(part, str) for part in axis) for axis in axes)
    if not axes or not texts or any(len(axis) < 2 for axis in axes):  # a name and a value
        raise Refusal(f"expected domain as columns with their values, got {shown(domain)}", hint=_DOMAIN)
    names = [axis[0] for axis in axes]
    if len(set(names)) < len(names) or any(len(set(axis[1:])) < len(axis) - 1 for axis in axes):
        raise Refusal(f"the domain names a column or a value twice: {shown(domain)}")
    if (size := math.prod(len(axis) - 1 for axis in axes)) > LARGEST:
        raise Refusal(f"the domain has {size} cells, more than {LARGEST}", hint="fewer columns, or fewer values")
    try:
        "".join(part for axis in axes for part in axis).encode()
    except UnicodeEncodeError:
        raise Refusal(f"the domain has half a character in it: {shown(domain)}") from None
    return listed(axes)


def chosen(cells: int, size: int) -> NDArray[np.bool_]:
    """Bits as a choice of cells."""
    packed = np.frombuffer(cells.to_bytes(-(-size // 8), "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").astype(np.bool_)


@lru_cache(maxsize=1024)
def written(cells: int, size: int) -> str:
    """A choice of cells as text."""
    return b64encode(zlib.compress(cells.to_bytes(-(-size // 8), "little"), 9)).decode()


def written_at_most(size: int) -> int:
    """Characters of `written`: what does not shrink is stored as it is, with 16 bytes around each 16 kilobytes."""
    packed = -(-size // 8)
    return 4 * (-(-(packed + 16 * (1 + packed // 16_000)) // 3))


@lru_cache(maxsize=1024)
def cells_of(text: str) -> int:
    """The choice that was written."""
    return int.from_bytes(zlib.decompress(b64decode(text)), "little")


@lru_cache(maxsize=8)
def fitted(size: int, records: int, learned: tuple[tuple[int, int], ...]) -> NDArray[np.float64]:
    """The histogram nearest to an even one that has all these numbers, as far as so many steps lead there.

    Each step moves cells by a factor, the others by another one, so that one number is met and the total is kept. A
    number about all cells is the total.
    """
    whole = (1 << size) - 1
    total = _real(max(1, next((number for cells, number in reversed(learned) if cells == whole), records)))
    weights = np.full(size, total / size)
    known = [(chosen(cells, size), number) for cells, number in learned if 0 < cells < whole]
    for _ in range(min(_OFTEN, -(-_STEPS // len(known))) if known else 0):
        for inside, number in known:
            held, rest = float(weights[inside].sum()), float(weights[~inside].sum())
            meant = min(max(_real(number), 0.5), max(total - 0.5, 0.5))
            if held > 0 and rest > 0 and total > meant:
                weights *= np.where(inside, _factor(meant, held), _factor(total - meant, rest))
    weights.setflags(write=False)
    return weights


def _real(number: int) -> float:
    """Noise knows no end, and floats do."""
    return float(min(max(number, -LIMIT), LIMIT))


def _factor(meant: float, held: float) -> float:
    return math.exp(min(max(math.log(meant) - math.log(held), -_FARTHEST), _FARTHEST))
