"""Compression of a domain: cells of a column that hold too little to be seen beside the noise are merged into one.

Neighbours along a line are merged where they are many. What is merged follows from noisy counts alone. A row drawn in
a merged cell goes to one of its cells by what their noisy counts say, those below zero taken as zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.noise import Entropy
from discreet.release.interval_tree import Reals, Whole
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.fit import NoisyTable
from discreet.release.synthetic.sampling import uniform

_SEEN = 3.0  # standard deviations of the noise
_LEAST = 1e-9  # of a count, so that no merged cell is empty


@dataclass(frozen=True, eq=False)
class Compression:
    """For each column the merged cell that each of its cells is in, and the share that it has of that one's rows."""

    domain: Domain  # after merging
    places: tuple[Whole, ...]
    shares: tuple[Reals, ...]

    @classmethod
    def of(
        cls,
        domain: Domain,
        singles: Sequence[NoisyTable],
        along: Sequence[int] = (),
        groups: int = 1 << 30,
        quantiles: Sequence[int] = (),
    ) -> Compression:
        """By a noisy table of each column, in the order of the columns.

        `along` says for each column how many of its cells, the first ones, lie along a line, as bins of numbers do;
        of these at most `groups` are left. Where `quantiles` has a number, so many are left, or fewer, that hold about
        as many records each.
        """
        none = [0] * len(singles)
        each = zip(singles, along or none, quantiles or none, strict=True)
        found = [_places(table, line, groups, parts) for table, line, parts in each]
        sizes = tuple(int(place.max()) + 1 for place in found)
        shares = []
        for table, place, size in zip(singles, found, sizes, strict=True):
            counts = np.maximum(table.counts, 0) + _LEAST
            shares.append(counts / np.bincount(place, weights=counts, minlength=size)[place])
        return cls(Domain(domain.columns, sizes), tuple(found), tuple(shares))

    @classmethod
    def none(cls, domain: Domain) -> Compression:
        """Every cell by itself."""
        return cls(
            domain, tuple(np.arange(size) for size in domain.sizes), tuple(np.ones(size) for size in domain.sizes)
        )

    @property
    def original(self) -> Domain:
        """Before merging."""
        return Domain(self.domain.columns, tuple(place.size for place in self.places))

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

    def given(self, weights: Mapping[int, Reals]) -> tuple[Compression, dict[int, Reals]]:
        """The same for rows whose cells of some columns have these weights; and the weights of the merged cells."""
        shares, merged = list(self.shares), {}
        for i, own in weights.items():
            place, size = self.places[i], self.domain.sizes[i]
            weighed = self.shares[i] * own
            sums = np.bincount(place, weights=weighed, minlength=size).astype(np.float64)
            merged[i] = sums
            shares[i] = np.where(sums[place] > 0, weighed, self.shares[i]) / np.where(sums > 0, sums, 1.0)[place]
        return Compression(self.domain, self.places, tuple(shares)), merged

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


def _places(table: NoisyTable, line: int, groups: int, parts: int) -> Whole:
    """The merged cell of each cell of a column.

    Cells along a line that are many are merged with their neighbours, others with all that hold too little.
    """
    seen = table.counts >= _SEEN * np.sqrt(table.variances)
    if parts and line:
        place = _parted(table.counts[:line].astype(np.float64), min(parts, groups))
        return np.concatenate([place, place.max() + 1 + np.arange(seen.size - line)]).astype(np.int64)
    if int(seen[:line].sum()) > groups:
        place = _grouped(np.maximum(table.counts[:line], 0).astype(np.float64), groups)
        return np.concatenate([place, place.max() + 1 + np.arange(seen.size - line)]).astype(np.int64)
    if int((~seen).sum()) < 2:
        return np.arange(seen.size, dtype=np.int64)
    return np.where(seen, np.cumsum(seen) - 1, int(seen.sum())).astype(np.int64)


def _parted(counts: Reals, parts: int) -> Whole:
    """At most so many groups of neighbours of about equal counts: they end where running sums pass the quantiles.

    The sums are of noisy counts as they are, also those below zero: without these there would be records everywhere.
    """
    sums = np.maximum.accumulate(np.cumsum(counts))
    top = max(float(sums[-1]), 1.0)
    before = np.concatenate([[0.0], np.maximum(sums[:-1], 0.0)])
    return np.unique(np.minimum(np.floor(before / top * parts), parts - 1), return_inverse=True)[1].astype(np.int64)


def _grouped(counts: Reals, groups: int) -> Whole:
    """At most so many groups of neighbours, each with about as much of the roots of all counts.

    By roots, because the error that is left in a cell grows like that: large cells get groups of their own, and small
    ones are not lost in one.
    """
    roots = np.sqrt(counts)
    middles = (np.cumsum(roots) - roots / 2) / roots.sum()
    return np.unique(np.floor(middles * groups), return_inverse=True)[1].astype(np.int64)
