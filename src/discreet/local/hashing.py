"""Local hashing: a random hash function and a randomized cell of it. Short reports for many values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.interval_arithmetic import exp
from discreet.local.frequencies import Odds, Sizes
from discreet.local.frequency_oracle import Oracle
from discreet.local.local_mechanism import Reports, Whole, answer, client, narrowest, written_down
from discreet.mechanisms import RandomizedResponse
from discreet.noise import SECURE, Entropy, below
from discreet.privacy.divergence import Channel

PRIME = (1 << 31) - 1
_MOST_CELLS = 1 << 16


class Hashed(NamedTuple):
    """A report: which hash function was drawn, and a cell that it may have given."""

    slope: int
    shift: int
    cell: int


@dataclass(frozen=True)
class Family:
    """Hash functions v ↦ ⌊cells · ((slope · v + shift) mod prime) / prime⌋ with 0 < slope < prime, 0 ≤ shift < prime.

    For two values below the prime, (slope · v + shift) mod prime runs over all ordered pairs of different residues,
    each as often as the others (Carter & Wegman 1979): two values share a cell with one known probability.
    """

    cells: int
    prime: int = PRIME

    @cached_property
    def starts(self) -> NDArray[np.uint32]:
        """The first residue of each cell, and the prime."""
        return np.array([-(-cell * self.prime // self.cells) for cell in range(self.cells + 1)], dtype=np.uint32)

    @cached_property
    def collision(self) -> Fraction:
        """How likely two different values share a cell."""
        sizes = [int(size) for size in np.diff(self.starts.astype(np.int64))]
        return Fraction(sum(size * (size - 1) for size in sizes), self.prime * (self.prime - 1))

    def cell(self, value: int, slope: int, shift: int) -> int:
        """Of one value under one function."""
        return (slope * value + shift) % self.prime * self.cells // self.prime


@client("local-hashing")
@dataclass(frozen=True)
class LocalHashing(Oracle):
    """Draws a hash function into about e^ε + 1 cells, and reports it with a randomized response on the value's cell.

    Guarantee: Pure(epsilon) for any two values of the person who reports, whoever reads the report.
    Proof: the function does not depend on the value; given it, the report is a `RandomizedResponse` on a cell
        (docs/proofs/hashing.md).
    Source: Bassily & Smith 2015; Wang, Blocki, Li & Jha 2017, Section 4.3, for the number of cells.
    """

    @cached_property
    def family(self) -> Family:
        """The hash functions: as many cells as make the error smallest."""
        return Family(min(_MOST_CELLS, math.floor(exp(self.epsilon).down + Fraction(1, 2)) + 1))

    @cached_property
    def mechanism(self) -> RandomizedResponse:
        """The law of the cell that is told."""
        return RandomizedResponse(self.epsilon, self.family.cells)

    @property
    def form(self) -> np.dtype[Any]:
        """`slope` and `shift` in 4 bytes each, `cell` in 1 or 2, little end first."""
        cell = narrowest(self.family.cells)
        return np.dtype([("slope", "<u4"), ("shift", "<u4"), ("cell", cell)])

    @cached_property
    def odds(self) -> Odds:
        """A report supports all values whose cell it tells."""
        truth, lie, both = self.mechanism.truth, self.mechanism.lie, self.family.collision
        return Odds(truth, truth * both + lie * (1 - both))

    @cached_property
    def sizes(self) -> Sizes:
        """Of three values nobody knows how likely they share a cell, so the variance is a bound, and a loose one."""
        mean = self.odds.holder + (self.choices - 1) * self.odds.other
        square = self.mechanism.truth * self.choices * (1 + (self.choices - 1) * self.family.collision)
        return Sizes(mean, square - mean**2, max(mean, self.choices - mean))

    def channel(self, slope: int, shift: int) -> Channel[int, Hashed]:
        """All probabilities of all reports, given the hash function, which is drawn without a look at the value."""
        written_down(self.choices * self.family.cells + self.family.cells**2)
        cells = {v: self.family.cell(v, slope, shift) for v in range(self.choices)}
        law = self.mechanism.channel
        return Channel({v: {Hashed(slope, shift, y): p for y, p in law[cell].items()} for v, cell in cells.items()})

    def log_weight(self, value: object, report: Any) -> float:  # noqa: ANN401  # as an audit lists it
        """The logarithm of how likely a report is, up to what no value changes: for an audit."""
        slope, shift, said = report
        true = self.family.cell(answer(value, self.choices), slope, shift)
        return self._logs[said == true]

    @cached_property
    def _logs(self) -> tuple[float, float]:
        return math.log(self.mechanism.lie), math.log(self.mechanism.truth)

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> Hashed:
        """One person's report."""
        slope, shift = 1 + below(PRIME - 1, rng=rng), below(PRIME, rng=rng)
        true = self.family.cell(answer(value, self.choices), slope, shift)
        return Hashed(slope, shift, self.mechanism(true, rng=rng))

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        out = np.empty(truths.size, dtype=self.form)
        slope, shift = residues(truths.size, 1, rng), residues(truths.size, 0, rng)
        cells = modulo(truths.astype(np.uint64) * slope + shift) * np.uint64(self.family.cells) // np.uint64(PRIME)
        out["slope"], out["shift"] = slope, shift
        out["cell"] = self.mechanism.each(cells, rng=rng)
        return out

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        slope, shift, cell = reports["slope"], reports["shift"], reports["cell"]
        return np.asarray((slope == 0) | (slope >= PRIME) | (shift >= PRIME) | (cell >= self.family.cells))

    def sums(self, reports: Reports) -> Whole:
        """How many reports tell the cell of each value.

        The residue of v + 1 is that of v plus the slope. Less the first residue of the cell told, and again modulo the
        prime, it is below the cell's size exactly if v lies in that cell.
        """
        slope, start = reports["slope"].astype(np.uint32), self.family.starts[reports["cell"]]
        size = self.family.starts[reports["cell"].astype(np.int64) + 1] - start
        ahead = reports["shift"] - start  # in 32 bits: below zero it wraps around to more than the prime
        ahead = np.minimum(ahead, ahead + np.uint32(PRIME))
        wrapped, inside = np.empty_like(ahead), np.empty(ahead.shape, dtype=np.bool_)
        counts = np.empty(self.choices, dtype=np.int64)
        for value in range(self.choices):
            np.less(ahead, size, out=inside)
            counts[value] = np.count_nonzero(inside)
            np.add(ahead, slope, out=ahead)
            np.subtract(ahead, np.uint32(PRIME), out=wrapped)
            np.minimum(ahead, wrapped, out=ahead)
        return counts


def residues(size: int, least: int, rng: Entropy) -> NDArray[np.uint64]:
    """Independent draws, uniform on {least, …, prime − 1}: 31 bits each, drawn again where they are none of these."""

    def drawn(count: int) -> NDArray[np.uint64]:
        return (np.frombuffer(rng.raw(4 * count), dtype=np.uint32) >> np.uint32(1)).astype(np.uint64)

    return redrawn(drawn, size, lambda some: (some < least) | (some == PRIME))


def redrawn(
    drawn: Callable[[int], NDArray[np.uint64]],
    size: int,
    refused: Callable[[NDArray[np.uint64]], NDArray[np.bool_]],
) -> NDArray[np.uint64]:
    """So many draws, each repeated until it is not refused."""
    out = drawn(size)
    while (bad := np.flatnonzero(refused(out))).size:
        out[bad] = drawn(bad.size)
    return out


def modulo(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Of values up to prime², modulo the prime 2^31 − 1: 2^31 counts as 1, and both halves sum to less than 2 prime."""
    once = (values & np.uint64(PRIME)) + (values >> np.uint64(31))
    return np.minimum(once, once - np.uint64(PRIME))  # below zero it wraps around
