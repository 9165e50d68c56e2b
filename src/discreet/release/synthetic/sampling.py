"""Rows from a graphical model: one clique after the other, each given what the earlier ones have.

Within a group of rows that agree on the columns shared with earlier cliques, the rest is drawn by systematic sampling:
each cell gets its expected number of rows, rounded up or down at random without bias. Which row gets which is then a
uniform order, drawn anew in each group from the secure source. Without that order, columns that are independent given
what they share would come out sorted alike.
"""

from __future__ import annotations

import numpy as np

from discreet.noise import Entropy, belows, permutation
from discreet.release.interval_tree import Reals, Whole
from discreet.release.synthetic.model import GraphicalModel


def sampled(model: GraphicalModel, rows: int, rng: Entropy) -> Whole:
    """So many rows, one line each, of the place of each column's cell."""
    domain, tree = model.domain, model.tree
    drawn = np.zeros((rows, len(domain.columns)), dtype=np.int64)
    for place, (clique, shared) in enumerate(zip(tree.cliques, tree.separators, strict=True)):
        new = tuple(i for i in clique if i not in shared)
        table = model.beliefs[place].transpose([clique.index(i) for i in (*shared, *new)])
        table = table.reshape(domain.cells(shared), domain.cells(new))
        groups = np.zeros(rows, dtype=np.int64)
        for i in shared:
            groups = groups * domain.sizes[i] + drawn[:, i]
        cells = np.unravel_index(_drawn(table, groups, rng), domain.shape(new))
        for i, own in zip(new, cells, strict=True):
            drawn[:, i] = own
    return drawn[permutation(rows, rng=rng)]


def _drawn(table: Reals, groups: Whole, rng: Entropy) -> Whole:
    """A cell for each row, from the line of the table that its group names."""
    sizes = np.bincount(groups, minlength=len(table))
    order = permutation(groups.size, rng=rng)
    order = order[np.argsort(groups[order], kind="stable")]  # by group, and within each in a uniform order
    found = np.empty(groups.size, dtype=np.int64)
    begin = 0
    for group in np.flatnonzero(sizes):
        size = int(sizes[group])
        running = np.cumsum(table[group])
        if not running[-1] > 0:  # a group that the model takes to be empty
            running = np.arange(1.0, table.shape[1] + 1)
        marks = (np.arange(size) + uniform(1, rng)[0]) * (running[-1] / size)
        found[order[begin : begin + size]] = np.minimum(
            np.searchsorted(running, marks, side="right"), table.shape[1] - 1
        )
        begin += size
    return found


def uniform(size: int, rng: Entropy) -> Reals:
    """Numbers in [0, 1): what is sampled from a model is no secret of anybody's, so floats will do."""
    return belows(1 << 53, size, rng=rng).astype(np.float64) * 2.0**-53
