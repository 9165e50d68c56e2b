"""Records by the places of their cells, and the counts of any columns of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.release.interval_tree import Whole
from discreet.release.noisy_cells import Names


@dataclass(frozen=True)
class Records:
    """Records by the places of their cells: the counts of any columns of them."""

    columns: Names
    sizes: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...]

    def __call__(self, names: Names) -> Whole:
        """The table of some columns."""
        table = np.zeros([self.sizes[self.columns.index(name)] for name in names], dtype=np.int64)
        for record in self.cells:
            table[tuple(record[self.columns.index(name)] for name in names)] += 1
        return table
