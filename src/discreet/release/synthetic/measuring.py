"""Measuring: noisy tables and noisy distances, each at its share of the price. Nothing else is ever read of the counts.

All that a synthesis tells is computed from what is returned here, and from coins that know nothing of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.declared.grid import whole
from discreet.errors import Refusal
from discreet.interval import simpler_down, sqrt
from discreet.noise import Entropy, exponential, gaussians
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.compression import Compression
from discreet.release.synthetic.fit import NoisyTable
from discreet.release.tree import Reals, Whole

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
    merging: Compression | None = None
    tables: list[NoisyTable] = field(default_factory=list)  # what was measured

    def table(self, axes: Axes, rho: Fraction) -> NoisyTable:
        """A table with discrete Gaussian noise of variance most²/2ρ in each cell."""
        counts = self._true(axes)
        variance = Fraction(self.most**2) / (2 * self._paid(rho))
        noise = gaussians(variance, counts.size, rng=self.rng).reshape(counts.shape)
        made = NoisyTable(axes, counts + noise, np.full(counts.shape, float(variance)))
        self.tables.append(made)
        return made

    def distances(self, expected: Sequence[tuple[Axes, Reals]], rho: Fraction) -> Whole:
        """How far tables are from what is expected of them, in records: all at once, with noise of variance k most²/2ρ.

        Each of the k distances moves by at most `most`, so their squares add up to at most k most².
        """
        true = np.array([self._distance(axes, table) for axes, table in expected], dtype=np.int64)
        variance = Fraction(len(expected) * self.most**2) / (2 * self._paid(rho))
        return true + gaussians(variance, true.size, rng=self.rng)

    def scores(self, expected: Mapping[Axes, Reals]) -> Scores:
        """How far each table is from what is expected of it. Not told: it only feeds `farthest`."""
        return Scores({axes: self._distance(axes, table) for axes, table in expected.items()})

    def farthest(self, scores: Scores, among: Sequence[Axes], rho: Fraction) -> Axes:
        """Which of some tables is about farthest: the exponential mechanism at ε²/8 ≤ ρ."""
        epsilon = simpler_down(sqrt(8 * self._paid(rho)).down, 48)
        chosen = exponential([scores.exact[axes] for axes in among], epsilon / (2 * self.most), rng=self.rng)
        return among[chosen]

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
        """This much, if it is left: what is spent follows from public numbers and from what was told before."""
        if not 0 < rho <= self.left:
            raise AssertionError("a synthesis must not measure more than it pays for")
        self.left -= rho
        return rho
