"""What the mechanisms for contingency tables share: their neighbours, and the worst of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from discreet.errors import Refusal
from discreet.mechanisms.mechanism import Pair
from discreet.privacy import Neighbours, Replace
from discreet.release.marginals.domain import Axes, Domain, maximal
from discreet.release.marginals.released import BITS

Tables: TypeAlias = dict[tuple[str, ...], Any]


def added_or_removed(neighbours: Neighbours) -> Neighbours:
    """The neighbours, if a unit is added or removed."""
    if isinstance(neighbours, Replace):
        raise Refusal(
            f"expected AddRemove neighbours, got {neighbours}: a record replaced leaves one cell and enters another",
            hint="take AddRemove: replacing is removing, then adding",
        )
    return neighbours


def neighbours_of(domain: Domain, tables: Sequence[Axes], most: int) -> tuple[Pair[Tables], ...]:
    """One unit's records where there are none, and beside others in another cell."""
    needed = maximal(tables)

    def filled(first: int, last: int) -> Tables:
        found: Tables = {}
        for axes in needed:
            counts = np.zeros(domain.shape(axes), dtype=np.int64)
            counts[(0,) * len(axes)] += first
            counts[(-1,) * len(axes)] += last
            found[domain.names(axes)] = counts.tolist()
        return found

    return (
        Pair(filled(0, 0), filled(most, 0), "no records at all, or all records of one unit in the first cell"),
        Pair(filled(9, 0), filled(9, most), "some records in the first cell, or one unit's more in the last"),
    )


def slack(tables: Sequence[Axes]) -> Fraction:
    """How far rounding may move a cell: half a step for each of its 2^k corners."""
    return Fraction(2 ** max(map(len, tables)), 2 ** (BITS + 1))
