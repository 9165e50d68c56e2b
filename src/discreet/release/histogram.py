"""Histogram: released counts of cells, and from them any range, share or quantile, with errors that cover."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, share, shown
from discreet.release import interval_tree
from discreet.release.estimate import MORE, TIMES, Estimate, weighted
from discreet.release.interval_tree import Reals, Splits, Whole, leaf_variances, starts

NONE = "There are no error bars: how far this estimate is off is not known."
EXACT = "The error bars cover all of the error."
PARTS = (
    "Cells of one part were counted together, and each is shown with an equal share. A number that takes some cells of "
    "a part and leaves others has no error bar: how its cells differ is not known."
)
CHOSEN = f"{PARTS} The noise had a say in which cells were counted together, and the error bars are wider for it."
SEARCHED = f"{PARTS} The noise had a say in which cells were counted together."
FITTED = "There are no error bars: the counts were moved, so that none is negative or all are whole."

WIDER = 1.18  # standard errors where counts were moved: docs/proofs/partition.md
WIDER_GRID = 1.12  # and where what chose parts is used again: docs/proofs/grids.md
_MOVED = "The standard errors are those of the noise, before"  # as version 0.1 said of counts that it had moved
_CERTAIN = 8  # standard errors of a total that shares are taken of, at least: then a ratio is as good as linear


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of cells on a line or a plane. Everything here is computed from what was released, and free.

    `part` says to which part each cell belongs, in row order: the leaf of the tree that was measured. A part's count is
    divided evenly among its cells. `splits` knows the variances of parts, or is None where nobody does. A number that
    cuts through a part of several cells has no error, and none has one once the counts were `fitted`. `bounding` says
    so. `shift` is what was taken from each part to make its count plausible: errors are larger by it.
    """

    counts: NDArray[Any]
    part: Whole
    splits: Splits | None
    bounding: str = EXACT
    fitted: bool = False
    shift: Reals | None = None

    @classmethod
    def of(cls, leaves: Reals, splits: Splits, shape: tuple[int, ...], part: Whole | None = None) -> Histogram:
        """From the leaves of a tree, each divided evenly among its cells."""
        where = np.arange(math.prod(shape)) if part is None else part
        sizes = np.bincount(where, minlength=leaves.size)
        counts = (leaves / sizes)[where].reshape(shape)
        return cls(counts, where, splits, EXACT if sizes.max() == 1 else PARTS)

    def searched(self) -> Histogram:
        """The same where noise chose the parts, by counts that are not used where they tipped the scales."""
        return self if self.splits is None else replace(self, bounding=SEARCHED)

    def chosen(self, times: float = WIDER) -> Histogram:
        """The same where what chose the parts is used again, or counts were moved: with wider errors."""
        if self.splits is None:
            return self
        known, square = self.splits, times**2
        wider = Splits(known.total * square, known.children, tuple(spread * square for spread in known.spread))
        return replace(self, splits=wider, bounding=CHOSEN)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells each way."""
        return self.counts.shape

    @property
    def total(self) -> Estimate:
        """Of all cells."""
        return self.weighed(np.ones(self.shape))

    def cell(self, *place: int) -> Estimate:
        """One cell."""
        if len(place) != len(self.shape):
            raise Refusal(f"a cell of this histogram has {len(self.shape)} coordinates, got {shown(place)}")
        return self.range(*((at, at + 1) for at in place)) if len(place) == 2 else self.range(place[0], place[0] + 1)

    def range(self, *bounds: int | tuple[int, int]) -> Estimate:
        """The cells from `lo` to before `hi`; on a plane two such pairs, of rows and of columns."""
        if len(self.shape) == 1:
            ((lo, hi),) = _within((bounds,), self.shape)
            values, errors = self.ranges(np.array([lo]), np.array([hi]))
            return Estimate(float(values[0]), stated(errors, 0))
        weights = np.zeros(self.shape)
        weights[tuple(slice(lo, hi) for lo, hi in _within(bounds, self.shape))] = 1
        return self.weighed(weights)

    def ranges(self, lo: Whole, hi: Whole) -> tuple[Reals, Reals | None]:
        """Many ranges of a line at once: their sums, and their standard errors; not a number where there is none."""
        low, high = np.asarray(lo, dtype=np.int64), np.asarray(hi, dtype=np.int64)
        if len(self.shape) != 1 or np.any(low < 0) or np.any(low > high) or np.any(high > self.shape[0]):
            raise Refusal(f"expected ranges 0 <= lo <= hi <= cells on a line, of shape {self.shape}")
        sums = np.concatenate([[0], np.cumsum(self.counts)])
        return sums[high] - sums[low], self._range_errors(low, high)

    def prefix(self, hi: int) -> Estimate:
        """The cells before `hi`."""
        return self.range(0, hi)

    def cdf(self, ends: Whole | None = None) -> tuple[Reals, Reals | None]:
        """The share of all records in the cells up to each, or before each of these `ends`, and its standard error.

        Shares are made to rise, and errors are larger by how far that moved them. The error of a ratio by its linear
        part: that of prefix − share · total, over the total. There is none where the total is not much larger than its
        own error.
        """
        line = self._line()
        before = np.arange(1, line.size + 1) if ends is None else ends
        sums = np.cumsum(line)
        total = float(sums[-1])
        if total <= 0:  # fewer records than noise: nothing is known
            return before / line.size, None
        shares = np.clip(sums / total, 0, 1)
        rising, errors = np.maximum.accumulate(shares), self._share_errors(shares[before - 1], total, before)
        return rising[before - 1], None if errors is None else _wider(errors, (rising - shares)[before - 1])

    def quantile(self, level: Number) -> Estimate:
        """The place on the line, in cells, below which this share of the records lies, straight within a cell.

        Its error bar goes from the last end of a cell before which all are surely below, itself too, to the first from
        which on all are surely above (after Woodruff 1952): by prefix − level · total, whose error is that of a sum,
        beside zero. The true one rises, so only the ends of the cell that it crosses in can be judged wrongly.
        """
        at = float(share(level, "level"))
        place = _crossing(self.cdf()[0], at)
        ends = np.arange(1, self.part.size)
        errors = self._contrast_errors(np.full(ends.size, at), ends)
        if errors is None:
            return Estimate(place, None)
        known, sums = ~np.isnan(errors), np.cumsum(self._line())  # nothing is surer than what is not known
        lead, far = (sums[:-1] - at * sums[-1])[known], TIMES * errors[known] + MORE
        edges = np.concatenate([[0], ends[known], [self.part.size]])
        low = edges[np.argmin(np.append(lead + far < 0, False))]
        high = edges[-1 - np.argmin(np.append(lead[::-1] - far[::-1] > 0, False))]
        return Estimate(place, None, (float(low), float(high)))

    def nonnegative(self) -> Histogram:
        """The nearest counts without a negative one, if every node of a binary tree over the parts counts alike.

        In that metric, where long ranges count as much as cells, the fit is no further from the truth. Single counts,
        and the total, may be shifted by more than their errors, so they have none any more.
        """
        if self.splits is None:  # multiplicative weights are positive
            return self
        leaves = np.asarray(self._leaves(), dtype=np.float64)
        counts = self._divided(interval_tree.nonnegative(leaves, interval_tree.alike(leaves.size)))
        return replace(self, counts=counts, bounding=FITTED, fitted=True)

    def whole(self) -> Histogram:
        """Whole counts: each node of the tree rounded down or up, and exactly the sum of its children."""
        splits = self.splits or Splits(1.0, (np.array([self.part.size]),), (np.ones(self.part.size),))
        leaves = interval_tree.rounded(
            self._leaves() if self.splits else np.ravel(self.counts).astype(np.float64), splits
        )
        if self.splits is None:
            return replace(self, counts=leaves.reshape(self.shape))
        order, first = self._by_part
        place = np.empty_like(order)
        place[order] = np.arange(order.size) - np.repeat(first[:-1], np.diff(first))
        size = np.diff(first)[self.part]
        each, rest = np.divmod(leaves[self.part], size)  # place · count may be more than 64 bits hold, place · rest not
        cells = each + (place + 1) * rest // size - place * rest // size
        return replace(self, counts=cells.reshape(self.shape), bounding=FITTED, fitted=True)

    def nodes(self) -> list[NDArray[Any]]:
        """The sums below every node of the tree, root first."""
        levels = [self._leaves()]
        for children in reversed(self.splits.children if self.splits else ()):
            levels.append(np.add.reduceat(levels[-1], starts(children)[:-1]))
        return levels[::-1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def plain(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        tree: dict[str, object] | None = None
        if self.splits is not None:
            tree = {
                "total": self.splits.total,
                "children": [_packed(level) for level in self.splits.children],
                "spread": [_packed(level) for level in self.splits.spread],
            }
        flat = self.counts.ravel().tolist()
        fields = {"shape": list(self.shape), "counts": flat, "part": _packed(self.part)}
        moved: dict[str, object] = {"fitted": True} if self.fitted else {}
        moved |= {} if self.shift is None else {"shift": self.shift.tolist()}
        return {**fields, "tree": tree, "bounding": self.bounding, **moved}

    def to_json(self) -> str:
        """All of it as text that `from_json` reads back to the last bit."""
        return json.dumps(self.plain, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Histogram:
        """What `to_json` wrote."""
        return cls.read(json.loads(text))

    @classmethod
    def read(cls, read: Mapping[str, Any]) -> Histogram:
        """The same, once it was read as JSON."""
        tree, kind = read["tree"], np.int64 if all(type(one) is int for one in read["counts"]) else np.float64
        splits = None
        if tree is not None:
            children = tuple(_unpacked(level).astype(np.int64) for level in tree["children"])
            spread = tuple(_unpacked(level).astype(np.float64) for level in tree["spread"])
            splits = Splits(float(tree["total"]), children, spread)
        counts = np.array(read["counts"], dtype=kind).reshape(read["shape"])
        part, fitted = _unpacked(read["part"]).astype(np.int64), read.get("fitted", False) is True
        shift = np.array(read["shift"], dtype=np.float64) if "shift" in read else None
        if shift is not None and (splits is None or shift.shape != (splits.leaves,) or not np.isfinite(shift).all()):
            raise ValueError
        return cls(counts, part, splits, read["bounding"], fitted, shift)

    @property
    def known(self) -> Splits | None:
        """The variances, where counts still have them. Earlier versions moved counts and did not say how far."""
        return None if self.fitted or self.bounding.startswith(_MOVED) else self.splits

    def cell_errors(self) -> Reals | None:
        """The standard error of every cell; not a number where it was counted with others."""
        if self.known is None:
            return None
        sizes = np.bincount(self.part)
        errors = _wider(np.sqrt(leaf_variances(self.known)), self._shift)
        errors = np.where(sizes == 1, errors, np.nan)
        return np.asarray(errors[self.part].reshape(self.shape))

    def weighed(self, weights: Reals) -> Estimate:
        """A weighted sum of the cells. It has an error if it takes as much of every cell of a part."""
        value, given = float(np.sum(weights * self.counts)), weights.ravel()
        if self.known is None:
            return Estimate(value, None)
        sizes = np.bincount(self.part)
        shares = np.bincount(self.part, given) / sizes
        if not np.allclose(shares[self.part], given, rtol=0, atol=1e-12):
            return Estimate(value, None)
        error = _wider(np.sqrt([self.known.variance(shares)]), np.array([np.sum(shares * self._shift)]))
        # a draw of one node moves the leaves below it one way and all others the other way, by no more than itself
        return weighted(value, float(error[0]), given, max(0.0, given.max()) - min(0.0, given.min()))

    @property
    def _shift(self) -> Reals:
        return np.zeros(self.known.leaves if self.known else 1) if self.shift is None else self.shift

    @cached_property
    def _by_part(self) -> tuple[Whole, Whole]:
        """Cells in the order of their parts, and where each part begins."""
        return np.argsort(self.part, kind="stable"), starts(np.bincount(self.part))

    @cached_property
    def _moved(self) -> Reals:
        """What was taken from all parts before each."""
        return np.concatenate([[0.0], np.cumsum(self._shift)])

    def _leaves(self) -> NDArray[Any]:
        order, first = self._by_part
        return np.asarray(np.add.reduceat(self.counts.ravel()[order], first[:-1]))

    def _divided(self, leaves: Reals) -> Reals:
        return (leaves / np.bincount(self.part))[self.part].reshape(self.shape)

    def _range_errors(self, low: Whole, high: Whole) -> Reals | None:
        return None if self.known is None else _wider(*self._off(self.known, low, high))

    def _off(self, known: Splits, low: Whole, high: Whole) -> tuple[Reals, Reals]:
        """The errors of ranges before they were moved, and how far they were; not a number where none is known."""
        _, first = self._by_part
        last = np.maximum(high - 1, 0)
        a, c = self.part[np.minimum(low, self.part.size - 1)], self.part[last]
        whole = (first[a] == low) & (first[c + 1] == high)
        errors = np.where(whole, np.sqrt(known.ranges(a, np.ones(a.shape), c, np.ones(c.shape))), np.nan)
        return np.where(high > low, errors, 0.0), np.where(high > low, self._moved[c + 1] - self._moved[a], 0.0)

    def _share_errors(self, shares: Reals, total: float, ends: Whole) -> Reals | None:
        errors = self._contrast_errors(shares, ends)
        if errors is None or self.known is None or total < _CERTAIN * math.sqrt(self.known.total):
            return None
        return errors / total

    def _contrast_errors(self, shares: Reals, ends: Whole) -> Reals | None:
        """Of P − F T, by polarisation: Var = (1 − F) Var P + F Var(T − P) − F (1 − F) Var T."""
        if self.known is None:
            return None
        before, left = self._off(self.known, np.zeros_like(ends), ends)
        after, right = self._off(self.known, ends, np.full_like(ends, self.part.size))
        variance = (1 - shares) * before**2 + shares * after**2 - shares * (1 - shares) * self.known.total
        return _wider(np.sqrt(np.maximum(variance, 0.0)), (1 - shares) * left - shares * right)

    def _line(self) -> Reals:
        if len(self.shape) != 1:
            raise Refusal(f"shares and quantiles are along a line, and this has the shape {self.shape}")
        return np.asarray(self.counts, dtype=np.float64)


def stated(errors: Reals | None, place: int) -> float | None:
    """One of some standard errors, if it is known."""
    return None if errors is None or math.isnan(errors[place]) else float(errors[place])


def _wider(errors: Reals, moved: Reals) -> Reals:
    """The errors of numbers that were moved by so much, both of which are known.

    Whatever is within TIMES errors of a number is within that and how far it was moved of where it is now. Squares add
    up to no more than the square, unless numbers were moved away from the truth.
    """
    far = np.abs(moved)
    return np.asarray(np.maximum(errors + far / TIMES, np.hypot(errors, far)))


def _within(bounds: object, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """The bounds of a range, one pair a side, if they lie inside the histogram."""
    pairs = list(bounds) if isinstance(bounds, tuple) else []
    if len(pairs) != len(shape) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise Refusal(f"expected lo and hi for each of {len(shape)} sides, got {shown(bounds)}")
    for (lo, hi), side in zip(pairs, shape, strict=True):
        if not 0 <= count(lo, "lo", least=0) <= count(hi, "hi", least=0) <= side:
            raise Refusal(f"expected 0 <= lo <= hi <= {side}, got lo={lo}, hi={hi}")
    return [(int(lo), int(hi)) for lo, hi in pairs]


def _crossing(shares: Reals, level: float) -> float:
    """Where rising shares reach the level, in cells."""
    at = min(int(np.searchsorted(shares, level)), shares.size - 1)
    before = float(shares[at - 1]) if at else 0.0
    rise = float(shares[at]) - before
    return at + min(1.0, max(0.0, (level - before) / rise)) if rise > 0 else float(at)


def _packed(values: NDArray[Any]) -> list[list[Any]]:
    """Runs as [length, first, step]: trees are full of equal numbers, and parts of numbers that follow each other."""
    if values.size == 0:
        return []
    same = values[1:] == values[:-1]
    cuts = np.concatenate([[0], np.flatnonzero(~same) + 1, [values.size]])
    if cuts.size - 1 == values.size and values.dtype.kind == "i" and np.all(np.diff(values) == 1):
        return [[int(values.size), int(values[0]), 1]]
    return [[end - start, values[start].item()] for start, end in pairwise(cuts.tolist())]


def _unpacked(runs: list[list[Any]]) -> NDArray[Any]:
    parts = [run[1] + np.arange(run[0]) if len(run) == 3 else np.full(run[0], run[1]) for run in runs]
    return np.concatenate(parts) if parts else np.empty(0)
