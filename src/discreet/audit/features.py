"""What an auditor looks at: any output as a row of numbers, each with a name that a person can check.

Of a float it is not only the value: the exponents of its lowest set bit and of its binade tell on which grid it lies,
and by that floating-point noise betrays its input (Mironov 2012).
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sized
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.audit.outputs import Outputs, Raised, Thing, keys, listed, rows

Reals = NDArray[np.float64]

MOST_LEAVES = 256  # of one output are read
MOST_CELLS = 64  # of those that occur are looked at
MOST_TEXTS = 32  # of one cell: the most frequent ones become flags
MOST_PAIRED = 6  # cells, up to which their differences are looked at
MOST_COMMON = 4  # values of a vector whose number is looked at
ZERO_BIT = 1100.0  # zero is a multiple of every power of two that a float can be


@dataclass(frozen=True)
class Feature:
    """A number read off an output, in words; a flag is 0 or 1."""

    words: str
    flag: bool = False

    def above(self, threshold: float) -> str:
        """The event that it is at least so much."""
        return self.words if self.flag else f"{self.words} ≥ {threshold:.6g}"

    def below(self, threshold: float) -> str:
        """The event that it is at most so much."""
        return f"not: {self.words}" if self.flag else f"{self.words} ≤ {threshold:.6g}"


class Reader(Protocol):
    """From outputs to a table of cells, not-a-number where a cell is missing."""

    @property
    def cells(self) -> tuple[Feature, ...]:
        """The columns of the table."""
        ...

    def read(self, outputs: Outputs, /) -> Reals:
        """One row an output. Total: an output unlike those of the first sample is a row of missing cells."""
        ...


@dataclass(frozen=True)
class Numbers:
    """Reads arrays of numbers of one shape."""

    width: int
    scalar: bool

    @property
    def cells(self) -> tuple[Feature, ...]:
        """The output, or its coordinates."""
        return (Feature("output"),) if self.scalar else tuple(Feature(f"output[{i}]") for i in range(self.width))

    def read(self, outputs: Outputs) -> Reals:
        """The numbers."""
        if isinstance(outputs, np.ndarray) and rows(outputs).shape[1] >= self.width:
            return rows(outputs)[:, : self.width].astype(np.float64)
        return Objects(tuple(cell.words for cell in self.cells), ()).read(outputs)


@dataclass(frozen=True)
class Objects:
    """Reads anything: numbers by where they stand, texts and types as flags."""

    values: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]

    @classmethod
    def seen(cls, *samples: Outputs) -> Objects:
        """Of the cells that occur in some samples."""
        distinct = {key: output for sample in samples for key, output in zip(keys(sample), listed(sample), strict=True)}
        values: dict[str, None] = {}
        texts: Counter[tuple[str, str]] = Counter()
        for output in distinct.values():
            for name, cell in islice(_cells(output), MOST_LEAVES):
                if _number(cell) is None:
                    texts[name, _text(cell)] += 1
                else:
                    values[name] = None
        kept: Counter[str] = Counter()
        flags: list[tuple[str, str]] = []
        for (name, text), _ in texts.most_common():
            kept[name] += 1
            if kept[name] <= MOST_TEXTS and len(flags) < MOST_CELLS:
                flags.append((name, text))
        return cls(tuple(values)[:MOST_CELLS], tuple(flags))

    @property
    def cells(self) -> tuple[Feature, ...]:
        """Values first, then flags."""
        flags = (Feature(f"{name} is {text}", flag=True) for name, text in self.texts)
        return (*(Feature(name) for name in self.values), *flags)

    def read(self, outputs: Outputs) -> Reals:
        """Each distinct output is read once."""
        table: dict[Hashable, int] = {}
        place = np.empty(len(outputs), dtype=np.int64)
        read: list[list[float]] = []
        for i, (key, output) in enumerate(zip(keys(outputs), listed(outputs), strict=True)):
            if key not in table:
                table[key] = len(read)
                read.append(self._row(dict(islice(_cells(output), MOST_LEAVES))))
            place[i] = table[key]
        return np.array(read, dtype=np.float64).reshape(len(read), len(self.cells))[place]

    def _row(self, cells: Mapping[str, object]) -> list[float]:
        numbers_ = (_number(cells.get(name)) for name in self.values)
        flags = (float(name in cells and _text(cells[name]) == text) for name, text in self.texts)
        return [*(math.nan if number is None else number for number in numbers_), *flags]


def _cells(output: object, name: str = "output") -> Iterator[tuple[str, object]]:
    """The leaves of an output, each by its path, and how long its parts are."""
    if isinstance(output, np.ndarray):
        output = output.tolist()
    parts = _parts(output, name)
    if parts is None:
        yield name, output
    yield f"type of {name}", output.kind if isinstance(output, Thing) else type(output)
    if isinstance(output, Sized):
        yield f"length of {name}", len(output)
    for path, part in parts or ():
        yield from _cells(part, path)


def _parts(output: object, name: str) -> list[tuple[str, object]] | None:
    if isinstance(output, Raised):
        where = "" if name == "output" else f"{name}: "
        about = [(f"{where}its{part_name}", part) for part_name, part in output.parts]
        return [(f"{where}the exception", output.kind), (f"{where}its text", output.text), *about]
    if isinstance(output, Thing):
        return [(f"{name}{part_name}", part) for part_name, part in output.parts]
    if isinstance(output, Mapping):
        return [(f"{name}[{key!r}]", value) for key, value in output.items()]
    if isinstance(output, (set, frozenset)):
        return [(f"{member!r} in {name}", True) for member in output]
    if isinstance(output, (list, tuple)):
        return [(f"{name}[{i}]", part) for i, part in enumerate(output)]
    return None


def _number(cell: object) -> float | None:
    if isinstance(cell, (numbers.Real, np.bool_, Decimal)):
        try:
            return float(cell)
        except OverflowError:  # an integer beyond every float
            return math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    return None


def _text(cell: object) -> str:
    return cell.__name__ if isinstance(cell, type) else repr(cell)


def lowest_bit(values: Reals) -> Reals:
    """The k for which 2^k is the largest power of two that divides the float; `ZERO_BIT` for 0, −∞ for no number."""
    with np.errstate(invalid="ignore", over="ignore"):
        mantissa, exponent = np.frexp(values)
        whole = np.nan_to_num(np.abs(mantissa) * 2.0**53, posinf=0).astype(np.int64)
        lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    bit = (exponent - 53 + lowest).astype(np.float64)
    return np.where(values == 0, ZERO_BIT, np.where(np.isfinite(values), bit, -np.inf))


def binade(values: Reals) -> Reals:
    """⌊log₂ |value|⌋; −`ZERO_BIT` for 0."""
    exponent = np.frexp(values)[1].astype(np.float64) - 1
    return np.where(values == 0, -ZERO_BIT, np.where(np.isfinite(values), exponent, ZERO_BIT))


@dataclass(frozen=True)
class Features:
    """A plan, fixed on a first sample, by which every later output is read."""

    reader: Reader
    floats: tuple[int, ...]  # cells that hold fractions
    gaps: tuple[int, ...]  # cells that are missing or not a number now and then
    vector: tuple[int, ...]  # cells that are taken together, if there are several
    common: tuple[float, ...]  # values that occur often in them

    @classmethod
    def planned(cls, left: Outputs, right: Outputs) -> Features:
        """What is worth looking at in these two samples."""
        reader = _reader(left, right)
        table = np.vstack([reader.read(left), reader.read(right)])
        finite, values = np.isfinite(table), [i for i, cell in enumerate(reader.cells) if not cell.flag]
        whole = np.where(finite, table, 0) == np.rint(np.where(finite, table, 0))
        floats = tuple(i for i in values if not whole[:, i].all())
        gaps = tuple(i for i in values if np.isnan(table[:, i]).any())
        vector = tuple(values) if len(values) > 1 else ()
        kinds, times = np.unique(table[:, list(vector)][finite[:, list(vector)]], return_counts=True)
        common = kinds[np.argsort(-times, kind="stable")[:MOST_COMMON]] if kinds.size < table.shape[0] else ()
        return cls(reader, floats, gaps, vector, tuple(map(float, common)))

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(self.vector, 2)) if len(self.vector) <= MOST_PAIRED else []

    @property
    def named(self) -> tuple[Feature, ...]:
        """The columns of `table`."""
        cells = self.reader.cells
        words = [cell.words for cell in cells]
        return (
            *cells,
            *(Feature(f"exponent of the lowest set bit of {words[i]}") for i in self.floats),
            *(Feature(f"exponent of the binade of {words[i]}") for i in self.floats),
            *(Feature(f"{words[i]} is missing or not a number", flag=True) for i in self.gaps),
            *(Feature(f"{words[i]} − {words[j]}") for i, j in self._pairs),
            *(Feature(f"how many numbers of the output are {value:g}") for value in self.common),
            *(Feature(f"{name} of the output's numbers") for name in ("sum", "least", "largest") if self.vector),
        )

    def table(self, outputs: Outputs) -> Reals:
        """One row an output, one column a feature."""
        cells = self.reader.read(outputs)
        vector = cells[:, list(self.vector)]
        with np.errstate(invalid="ignore"):
            columns: list[NDArray[Any]] = [
                cells,
                *(lowest_bit(cells[:, i]) for i in self.floats),
                *(binade(cells[:, i]) for i in self.floats),
                *(np.isnan(cells[:, i]) for i in self.gaps),
                *(cells[:, i] - cells[:, j] for i, j in self._pairs),
                *(np.count_nonzero(vector == value, axis=1) for value in self.common),
                *([vector.sum(axis=1), vector.min(axis=1), vector.max(axis=1)] if self.vector else []),
            ]
        return np.column_stack(columns).astype(np.float64, copy=False)


def _reader(left: Outputs, right: Outputs) -> Reader:
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
    if arrays and (left.shape[1:], left.dtype) == (right.shape[1:], right.dtype):  # type: ignore[union-attr]
        return Numbers(min(rows(left).shape[1], MOST_CELLS), left.ndim == 1)  # type: ignore[arg-type, union-attr]
    return Objects.seen(left, right)
