"""Compression of a domain: cells of a column that hold too little to be seen beside the noise are merged into one.

What is merged follows from noisy counts alone. A row drawn in the merged cell goes to one of its cells by what their
noisy counts say, those below zero taken as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.noise import Entropy
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.fit import NoisyTable
from discreet.release.synthetic.sampling import uniform
from discreet.release.tree import Reals, Whole

_SEEN = 3.0  # standard deviations of the noise


@dataclass(frozen=True, eq=False)
class Compression:
    """For each column the merged cell that each of its cells is in, and the share that it has of that one's rows."""

    domain: Domain  # after merging
    places: tuple[Whole, ...]
    shares: tuple[Reals, ...]

    @classmethod
    def of(cls, domain: Domain, singles: Sequence[NoisyTable]) -> Compression:
        """By a noisy table of each column, in the order of the columns."""
        places, shares, sizes = [], [], []
        for table in singles:
            rare = table.counts < _SEEN * np.sqrt(table.variances)
            if rare.sum() < 2:
                rare = np.zeros(rare.size, dtype=np.bool_)
            place = np.where(rare, 0, np.cumsum(~rare) - 1)
            size = int((~rare).sum())
            place[rare] = size  # the last one
            counts = np.maximum(table.counts.astype(np.float64), 0)
            size += bool(rare.any())
            counts = counts + 1e-9
            whole = np.bincount(place, weights=counts, minlength=size)
            places.append(place.astype(np.int64))
            shares.append(counts / whole[place])
            sizes.append(size)
        return cls(Domain(domain.columns, tuple(sizes)), tuple(places), tuple(shares))

    @classmethod
    def none(cls, domain: Domain) -> Compression:
        """Every cell by itself."""
        return cls(
            domain, tuple(np.arange(size) for size in domain.sizes), tuple(np.ones(size) for size in domain.sizes)
        )

    def merged(self, table: Whole, axes: Axes) -> Whole:
        """A table of these columns with cells added up."""
        for axis, i in enumerate(axes):
            size = self.domain.sizes[i]
            if size < table.shape[axis]:
                order = np.argsort(self.places[i], kind="stable")
                starts = np.searchsorted(self.places[i][order], np.arange(size))
                table = np.add.reduceat(table.take(order, axis), starts, axis)
        return table

    def merged_table(self, table: NoisyTable) -> NoisyTable:
        """A noisy table with cells added up: their noise is independent, so variances add up as well."""
        place = self.places[table.axes[0]]
        counts, variances = (np.bincount(place, weights=own) for own in (table.counts, table.variances))
        return NoisyTable(table.axes, counts.astype(np.int64), variances.astype(np.float64), decided=True)

    def expanded(self, rows: Whole, rng: Entropy) -> Whole:
        """Rows of merged cells, each in one of those that were merged."""
        drawn = rows.copy()
        for i, (places, shares) in enumerate(zip(self.places, self.shares, strict=True)):
            order = np.argsort(places, kind="stable")
            ends = np.cumsum(shares[order])  # each merged cell has 1 of it
            found = np.searchsorted(ends, rows[:, i] + uniform(len(rows), rng), side="right")
            drawn[:, i] = order[np.minimum(found, order.size - 1)]
        return drawn

    def expanded_table(self, table: Reals, axes: Axes) -> Reals:
        """A table of merged cells over those that were merged."""
        for axis, i in enumerate(axes):
            shape = [1] * len(axes)
            shape[axis] = -1
            table = table.take(self.places[i], axis) * self.shares[i].reshape(shape)
        return table
