"""Measuring: noisy tables and noisy distances, each at its share of the price. Nothing else is ever read of the counts.

All that a synthesis tells is computed from what is returned here, and from coins that know nothing of the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.declared.grid import whole
from discreet.errors import Refusal
from discreet.exact import count
from discreet.interval_arithmetic import simpler_down, sqrt
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.sealed_stages import UNSEALED, Stages
from discreet.noise import Entropy, exponential, gaussians
from discreet.release.interval_tree import Reals, Whole
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.array_json import packed, unpacked
from discreet.release.synthetic.compression import Compression
from discreet.release.synthetic.fit import NoisyTable

MEASURED = 0.4  # of the work of a synthesis; the rest is fitting and drawing
_LARGEST = 1 << 58  # of a table's counts together: they, and two such sums beside noise, stay in 64 bits

Counts = Callable[[tuple[str, ...]], Whole]


@dataclass(frozen=True)
class Scores:
    """Exact distances of tables from what is expected of them, as private as the rows."""

    exact: Mapping[Axes, int] = field(repr=False)


@dataclass
class Measuring:
    """The counts of some records, read through noise alone, and how much of ρ is left for that.

    A unit has at most `most` records. One record is in one cell of each table, so a table moves by at most `most` in
    Euclidean norm, and a distance, Σ |table − expected|, by at most `most`, when a unit comes or goes.
    """

    domain: Domain
    counts: Counts
    most: int
    left: Fraction
    rng: Entropy
    stages: Stages = UNSEALED
    merging: Compression | None = None
    tables: list[NoisyTable] = field(default_factory=list)  # what was measured

    def __post_init__(self) -> None:
        self._whole, self._rest = self.left, self.left  # what there was, and what there really is but for forfeits
        self._earlier = deque(self.stages.earlier)

    def table(self, axes: Axes, rho: Fraction) -> NoisyTable:
        """A table with discrete Gaussian noise of variance most²/2ρ in each cell."""
        shape = self.domain.shape(axes) if self.merging is None else self.merging.domain.shape(axes)

        def drawn(price: Fraction) -> Callable[[], Plain]:
            counts = self._true(axes)
            return lambda: packed(counts + self._noise(price, 1, counts.size).reshape(shape))

        told, price = self._staged(rho, drawn)
        counts = unpacked(told, shape, whole=True)
        made = NoisyTable(axes, counts, np.full(shape, float(self._variance(price, 1))))
        self.tables.append(made)
        return made

    def distances(self, expected: Sequence[tuple[Axes, Reals]], rho: Fraction) -> Whole:
        """How far tables are from what is expected of them, in records: all at once, with noise of variance k most²/2ρ.

        Each of the k distances moves by at most `most`, so their squares add up to at most k most².
        """
        many = len(expected)

        def drawn(price: Fraction) -> Callable[[], Plain]:
            true = np.array([self._distance(axes, table) for axes, table in expected], dtype=np.int64)
            return lambda: packed(true + self._noise(price, many, many))

        return unpacked(self._staged(rho, drawn)[0], (many,), whole=True)

    def scores(self, expected: Mapping[Axes, Reals]) -> Scores:
        """How far each table is from what is expected of it. Not told: it only feeds `farthest`."""
        return Scores({axes: self._distance(axes, table) for axes, table in expected.items()})

    def farthest(self, scores: Scores, among: Sequence[Axes], rho: Fraction) -> Axes:
        """Which of some tables is about farthest: the exponential mechanism at ε²/8 ≤ ρ."""

        def drawn(price: Fraction) -> Callable[[], Plain]:
            epsilon = simpler_down(sqrt(8 * price).down, 48)
            own = [scores.exact[axes] for axes in among]
            return lambda: exponential(own, epsilon / (2 * self.most), rng=self.rng)

        return among[count(self._staged(rho, drawn)[0], "chosen", least=0)]

    def _variance(self, price: Fraction, many: int) -> Fraction:
        return Fraction(many * self.most**2) / (2 * price)

    def _noise(self, price: Fraction, many: int, size: int) -> Whole:
        return gaussians(self._variance(price, many), size, rng=self.rng)

    def _staged(self, rho: Fraction, drawn: Callable[[Fraction], Callable[[], Plain]]) -> tuple[Any, Fraction]:
        """What one stage tells, and its price: as it was sealed, or drawn now and sealed before anybody sees it.

        The counts are read before it is begun, so that hardly anything can come between that and the sealing.
        """
        price = self._paid(rho)
        while self._earlier:
            stage = self._earlier.popleft()
            if stage.price != price:
                raise AssertionError("a synthesis must go on as it began")
            if stage.told is not None:
                return stage.told, price
            self.left += rho  # that price is gone: once more, out of what is really left
            price = self._paid(rho)
        draw = drawn(price)
        self.stages.begin(price, self._rest)
        told = draw()
        self.stages.seal(told)
        self.stages.hear(MEASURED * float(1 - self.left / self._whole))
        return told, price

    def _distance(self, axes: Axes, expected: Reals) -> int:
        near = np.rint(np.clip(expected, 0, _LARGEST // expected.size)).astype(np.int64)
        return int(np.abs(self._true(axes) - near).sum())

    def _true(self, axes: Axes) -> Whole:
        names, shape = self.domain.names(axes), self.domain.shape(axes)
        given = whole(np.asarray(self.counts(names)), _LARGEST // self.domain.cells(axes))
        if given.shape != shape:  # public
            raise Refusal(f"expected counts for the table {names} of shape {shape}, got {given.shape}")
        return given if self.merging is None else self.merging.merged(given, axes)

    def _paid(self, rho: Fraction) -> Fraction:
        """This much, if it is left: what is spent follows from public numbers and from what was told before.

        Where stages were forfeited, so much less of everything, as what is really left is less.
        """
        if not 0 < rho <= self.left:
            raise AssertionError("a synthesis must not measure more than it pays for")
        price = rho * self._rest / self.left
        self.left -= rho
        self._rest -= price
        return price
