"""Scores: how near made-up rows are to records, table by table, column by column, and to whom learns from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.release.axis import KeyAxis, Side
from discreet.release.interval_tree import Reals, Whole

MOST_TABLES = 400  # of triples that are compared: of more, so many spread evenly over all
MOST_LEARNED = 60_000  # rows that a model learns from: more change no digit that is shown
_LARGEST = 1 << 24  # cells of a table that is compared
_PARTS = 8  # of a column of numbers, where two columns are asked how much one tells of the other
_FULL = 1000  # of the k-marginal score


@dataclass(frozen=True)
class Sample:
    """Rows as the places of their cells, and how many cells each column has."""

    rows: Whole
    sizes: tuple[int, ...]

    def shares(self, axes: Sequence[int]) -> Reals:
        """The share of the rows in each cell of a table."""
        code = np.zeros(len(self.rows), dtype=np.int64)
        for i in axes:
            code = code * self.sizes[i] + self.rows[:, i]
        counts = np.bincount(code, minlength=math.prod(self.sizes[i] for i in axes))
        shares: Reals = counts / max(1, len(self.rows))
        return shares

    def some(self, order: Whole) -> Sample:
        """Those at these places."""
        return Sample(self.rows[order], self.sizes)


def distance(one: Sample, two: Sample, axes: Sequence[int]) -> float:
    """The total variation between two tables: the share of rows that would have to move."""
    return float(np.abs(one.shares(axes) - two.shares(axes)).sum()) / 2


def distances(one: Sample, two: Sample, ways: int) -> dict[tuple[int, ...], float]:
    """That of every table of so many columns that is not too large; of very many, of some of them."""
    every = [
        axes for axes in combinations(range(len(one.sizes)), ways) if math.prod(one.sizes[i] for i in axes) <= _LARGEST
    ]
    kept = every if len(every) <= MOST_TABLES else [every[i * len(every) // MOST_TABLES] for i in range(MOST_TABLES)]
    return {axes: distance(one, two, axes) for axes in kept}


def marginal_score(one: Sample, two: Sample, ways: int = 3) -> float:
    """From 0, nothing alike, to 1000, no difference: 1000 (1 − mean total variation), as the NIST challenges score."""
    far = distances(one, two, min(ways, len(one.sizes)))
    return _FULL * (1 - float(np.mean(list(far.values())))) if far else math.nan


# how much columns tell of each other ----------------------------------------------------------------------------------


def associations(sample: Sample, parts: Sequence[Whole]) -> Reals:
    """How much every two columns tell of each other, each by its `parts`; of two numbers in a bell, their correlation.

    That is √(1 − exp(−2 I)) for the mutual information I (Linfoot 1957), less what chance alone makes of I (Miller
    1955).
    """
    many = len(parts)
    table = np.eye(many)
    coarse = np.stack([part[sample.rows[:, i]] for i, part in enumerate(parts)], axis=1)
    sizes = tuple(int(part.max()) + 1 for part in parts)
    coarser = Sample(coarse, sizes)
    for i, j in combinations(range(many), 2):
        known = _information(coarser.shares((i, j)).reshape(sizes[i], sizes[j]), len(coarse))
        table[i, j] = table[j, i] = math.sqrt(1 - math.exp(-2 * known))
    return table


def _information(shares: Reals, rows: int) -> float:
    """The mutual information of both sides of a table."""
    alone = np.outer(shares.sum(1), shares.sum(0))
    there = shares > 0
    cells, sides = int(there.sum()), [int((shares.sum(side) > 0).sum()) for side in (0, 1)]
    chance = (cells - sum(sides) + 1) / (2 * rows)
    return max(0.0, float((shares[there] * np.log(shares[there] / alone[there])).sum()) - chance)


def parts_of(sides: Sequence[Side], records: Sample) -> list[Whole]:
    """For each column which part each of its cells is in: keys are parts, of numbers there are a few of equal size."""
    parts = []
    for i, side in enumerate(sides):
        size = records.sizes[i]
        if isinstance(side, KeyAxis) or size <= _PARTS:
            parts.append(np.arange(size))
            continue
        shares = records.shares((i,))[: size - 1]
        middles = (np.cumsum(shares) - shares / 2) / max(float(shares.sum()), 1e-12)
        place = np.unique(np.floor(middles * _PARTS), return_inverse=True)[1].astype(np.int64)
        parts.append(np.append(place, place.max() + 1))
    return parts


# who learns from them -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learned:
    """How well trees that learned from some rows tell a column of others."""

    right: float  # the share that they get right
    area: float  # under the curve, where there are two values; else not a number


def learned(rows: Sample, others: Sample, target: int) -> Learned:
    """Of boosted trees that predict one column from all the others."""
    inputs = [i for i in range(len(rows.sizes)) if i != target]
    model, known = _boosted(rows.rows[:MOST_LEARNED, inputs], rows.rows[:MOST_LEARNED, target])
    truth = others.rows[:, target]
    if model is None:
        return Learned(float((truth == known[0]).mean()), math.nan)
    chances = model.predict_proba(others.rows[:, inputs])
    right = float((known[chances.argmax(1)] == truth).mean())
    two = np.unique(truth)
    if two.size != 2 or two[1] not in known:
        return Learned(right, math.nan)
    return Learned(right, _area(chances[:, int(np.searchsorted(known, two[1]))], truth == two[1]))


def told_apart(rows: Sample, records: Sample, order: Whole) -> float:
    """How well boosted trees tell made-up rows from records: the area under the curve, on rows that they never saw.

    One half is not at all, 1 is always. `order` says which of all rows they learn from: its first half.
    """
    many = min(len(rows.rows), len(records.rows), MOST_LEARNED)
    both = np.concatenate([rows.rows[:many], records.rows[:many]])
    made = np.repeat([1, 0], many)
    order = order[order < 2 * many]
    first, rest = order[:many], order[many:]
    model, _ = _boosted(both[first], made[first])
    if model is None:
        return 0.5
    return _area(model.predict_proba(both[rest])[:, 1], made[rest] == 1)


def _boosted(inputs: Whole, values: Whole) -> tuple[Any, NDArray[np.int64]]:
    """A model, unless there is one value only; and the values in its order."""
    known = np.unique(values)
    if known.size < 2:
        return None, known
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415  # half a second, for who wants a report

    model = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0)
    return model.fit(inputs, values), known


def _area(chances: Reals, truth: NDArray[np.bool_]) -> float:
    """The area under the curve: how often one that is gets more than one that is not (Mann & Whitney 1947)."""
    order = np.argsort(chances, kind="stable")
    ranked = chances[order]
    ends = np.concatenate([np.flatnonzero(np.diff(ranked)) + 1, [ranked.size]])
    starts = np.concatenate([[0], ends[:-1]])
    ranks = np.empty(chances.size)
    ranks[order] = np.repeat((starts + ends + 1) / 2, ends - starts)  # those that are alike share one
    positive = int(truth.sum())
    negative = truth.size - positive
    if not positive or not negative:
        return math.nan
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * negative))
