"""The rows of one step of a stream: whose each is, under which key it counts, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy
from discreet.noise.secure_random import permutation

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pushed:
    """Rows with an owner and a declared key; rows without either are not among them. In which order means nothing."""

    owners: tuple[str, ...]  # the names that occur, once each
    owner: Whole  # of each row, as a place in `owners`
    key: Whole  # of each row, as a place among the keys
    amount: Whole  # of each row: 1 where rows are counted

    @classmethod
    def of(cls, rows: Iterable[tuple[str, int, int]]) -> Pushed:
        """Rows that are written out: owner, place of the key, amount."""
        listed = list(rows)
        owners = tuple(dict.fromkeys(owner for owner, _, _ in listed))
        places = {owner: place for place, owner in enumerate(owners)}
        columns = ([places[owner] for owner, _, _ in listed], [key for _, key, _ in listed], [a for _, _, a in listed])
        return cls(owners, *(np.array(column, dtype=np.int64) for column in columns))

    def within(self, most: int, before: Whole, rng: Entropy) -> NDArray[np.bool_]:
        """Which rows count, if an owner has so many in all and had so many `before`: drawn among its own."""
        order = permutation(self.owner.size, rng=rng)
        order = order[np.argsort(self.owner[order], kind="stable")]
        theirs = self.owner[order]
        first = np.searchsorted(theirs, np.arange(len(self.owners)))
        kept = np.empty(self.owner.size, dtype=bool)
        kept[order] = np.arange(theirs.size) - first[theirs] + before[theirs] < most
        return kept

    def totals(self, kept: NDArray[np.bool_], keys: int, most: int) -> list[int]:
        """What the rows that are kept add to each key, each as `most` in size at most."""
        added = np.zeros(keys, dtype=np.int64)
        np.add.at(added, self.key[kept], np.clip(self.amount[kept], -most, most))
        return [int(each) for each in added]

    def rows_of(self) -> Mapping[str, int]:
        """How many rows each owner has."""
        return dict(zip(self.owners, np.bincount(self.owner, minlength=len(self.owners)).tolist(), strict=True))
