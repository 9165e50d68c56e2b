"""Which report ids were seen: in memory as a few sorted arrays, 24 bytes an id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.local.batch import IDS, Ids

_Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class _Run:
    """Sorted ids, and beside each its first 8 bytes as a number: numbers are compared faster than texts."""

    ids: Ids
    keys: _Keys

    @classmethod
    def of(cls, ids: Ids) -> _Run:
        keys = _keys(ids)
        order = np.argsort(keys, kind="stable")
        if _distinct(keys[order]):
            return cls(ids[order], keys[order])
        ordered = np.sort(ids)  # somebody drew ids that begin alike
        return cls(ordered, _keys(ordered))

    def among(self, ids: Ids, keys: _Keys) -> NDArray[np.intp]:
        """Which of the ids are here, by their places."""
        near = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        alike = np.flatnonzero(self.keys[near] == keys)
        if alike.size:
            near = np.minimum(np.searchsorted(self.ids, ids[alike]), self.ids.size - 1)
            alike = alike[self.ids[near] == ids[alike]]
        return alike


class Seen:
    """A set of ids. Arrays are merged when one has grown as long as the one before: there are never more than a few."""

    def __init__(self, runs: Iterable[bytes] = ()) -> None:
        self._runs: list[_Run] = []
        self.add(np.frombuffer(b"".join(runs), dtype=IDS))

    def __len__(self) -> int:
        return sum(run.ids.size for run in self._runs)

    def fresh(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of these are new. Of one that stands twice, the first."""
        keys, new = _keys(ids), np.ones(ids.size, dtype=np.bool_)
        if not _distinct(np.sort(keys)):
            new[:] = False
            new[np.unique(ids, return_index=True)[1]] = True
        for run in self._runs:
            new[run.among(ids, keys)] = False
        return new

    def add(self, ids: Ids) -> None:
        """Take in ids that are new."""
        if ids.size:
            self._runs.append(_Run.of(ids))
        while len(self._runs) > 1 and self._runs[-2].ids.size <= self._runs[-1].ids.size:
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(_Run.of(np.concatenate([before.ids, last.ids])))


def _keys(ids: Ids) -> _Keys:
    """In the order of the texts."""
    return np.ascontiguousarray(ids).view(">u8")[::2].astype(np.uint64)


def _distinct(ordered: _Keys) -> bool:
    return not np.any(ordered[1:] == ordered[:-1])
