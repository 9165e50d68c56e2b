"""Decision trees by private choices: splits by permute-and-flip, level by level, and leaves by noisy counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline
from discreet.errors import Refusal
from discreet.exact import count
from discreet.learn.binned_rows import MOST_CUTS, Axis, Cells, ClassTarget, Counts, NumberTarget, Target
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.row_price import RowPrice
from discreet.learn.tree_model import Split, Tree, TreeClassifier, TreeRegressor
from discreet.mechanisms import Column, Frame, Pair, Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours

DEEPEST = 12  # levels of a tree

_SIZE, _LEAVES = Fraction(1, 20), Fraction(3, 10)  # shares of the price; the rest is for splits
_FINE = 1 << 20  # of an impurity, for it to be a whole number
_SAFE = 1 << 20  # rows of which the squares, times that, fit into 64 bits


@dataclass(frozen=True)
class Candidates:
    """All splits that a node may get: each number at each of its cuts, each key against the others."""

    axes: tuple[Axis, ...]

    def splits(self) -> Iterator[Split]:
        """In the order in which they are scored."""
        for i, axis in enumerate(self.axes):
            if axis.keys:
                yield from (Split(i, float(place)) for place in range(len(axis)))
            else:
                yield from (Split(i, axis.cut(place)) for place in range(1, len(axis)))

    def second(self, cells: Cells, at: NDArray[np.int64], nodes: int) -> Counts:
        """Of each node, for each candidate, what goes to its second side."""
        told = [np.zeros((nodes, 0, cells.target.kinds), dtype=np.int64)]
        for axis, places in zip(self.axes, cells.places, strict=True):
            held = cells.sums(at * len(axis) + places, nodes * len(axis)).reshape(nodes, len(axis), -1)
            told.append(held if axis.keys else np.flip(np.cumsum(np.flip(held, 1), 1), 1)[:, 1:])
        return np.concatenate(told, axis=1)

    def goes(self, cells: Cells, at: NDArray[np.int64], chosen: list[int]) -> NDArray[np.bool_]:
        """Which rows go to the second side of the split that was chosen at their node."""
        where = [(i, place) for i, axis in enumerate(self.axes) for place in range(not axis.keys, len(axis))]
        second = np.zeros(len(cells), dtype=np.bool_)
        for node, which in enumerate(chosen):
            axis, place = where[which]
            here, places = at == node, cells.places[axis]
            second |= here & (places == place if self.axes[axis].keys else places >= place)
        return second


def impurity(sums: Counts, unit: int) -> NDArray[np.int64]:
    """⌊F (N² − Σ Hₖ²) / (unit N)⌋ of sums H of parts, N in all: F times rows times Gini's impurity, rounded down.

    One row more adds at most 2F and takes nothing away: docs/proofs/trees.md, "Scores of splits".
    """
    whole = sums.sum(axis=-1)
    kind = np.int64 if int(whole.max(initial=0)) < _SAFE else object
    parts, total = sums.astype(kind), whole.astype(kind)
    top = _FINE * (total * total - (parts * parts).sum(axis=-1))
    told: NDArray[np.int64] = (top // (unit * np.maximum(total, 1))).astype(np.int64)
    return told


class RowsAtBounds:
    """What mechanisms over cells name as their worst inputs."""

    features: tuple[str, ...]
    label: str
    max_rows: int
    neighbours: Any
    numeric: ClassVar[bool] = False  # whether the label is a number

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few rows at both bounds, and those of one unit more at one of them, or at the other."""
        rows = self.max_rows
        if isinstance(self.neighbours, AddRemove):
            why = "rows of a unit at a bound, or none"
            every = [(few, side) for few in (0, 4) for side in (1, -1)]
            return tuple(Pair(self._frame(few, ()), self._frame(few, (side,) * rows), why) for few, side in every)
        return (Pair(self._frame(4, (1,) * rows), self._frame(4, (-1,) * rows), "rows of a unit at either bound"),)

    def _frame(self, few: int, own: tuple[int, ...]) -> Frame:
        columns = [Column(name, bounds=(-1, 1), step=1) for name in self.features]
        others = [(-1) ** i for i in range(few)]
        held: dict[str, Any] = {name: [*others, *own] for name in self.features}
        held |= {self.label: [self._said(side) for side in (*others, *(-side for side in own))]}
        held |= {"of": [*range(few), *[few] * len(own)]}
        every = (*columns, self._told())
        return Frame.of(held, *every, unit="of", max_rows=self.max_rows, neighbours=self.neighbours)

    def _said(self, side: int) -> int | bool:
        return side if self.numeric else side > 0

    def _told(self) -> Column:
        return Column(self.label, bounds=(-1, 1), step=1) if self.numeric else Column(self.label, keys=(False, True))


class _Trees(RowsAtBounds, Priced, OverRows):
    """What both kinds of trees say of themselves alike."""

    features: tuple[str, ...]
    label: str
    max_depth: int
    cuts: int
    neighbours: Any

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(self, max_depth=count(self.max_depth, "max_depth"), cuts=count(self.cuts, "cuts"))
        if self.max_depth > DEEPEST or self.cuts > MOST_CUTS:
            raise Refusal(
                f"expected max_depth <= {DEEPEST} and cuts <= {MOST_CUTS}, got max_depth={self.max_depth} "
                f"cuts={self.cuts}",
                hint="noise drowns deeper trees and finer cuts",
            )

    @property
    def numbers(self) -> int:
        """Which feature and where, for each split, and a number for each leaf: so many at most."""
        return 3 * (1 << self.max_depth) - 2

    @property
    def row_price(self) -> RowPrice:
        """What one row may lose."""
        return RowPrice.at(self.privacy, self.max_rows, self.neighbours)

    def axes(self, known: Outline) -> tuple[Axis, ...]:
        """How features are cut, by what is declared."""
        axes = tuple(Axis.of(known, name, self.cuts) for name in self.features)
        if all(len(axis) < 2 for axis in axes):
            raise Refusal(f"no feature can be split: each of {list(self.features)} has one value alone")
        return axes

    def refuse_unfit(self, known: Outline) -> None:
        """Where no feature can be split."""
        super().refuse_unfit(known)
        self.axes(known)

    def grown(self, relation: Relation, target: Target, rng: Entropy) -> tuple[tuple[Split, ...], Counts]:
        """The splits, and the sums of each leaf with noise. Spends `privacy`."""
        axes, price = self.axes(relation), self.row_price
        cells = Cells.read(relation, axes, target, rng)
        (size,) = price.part(_SIZE).noisy([len(cells)], 1, rng)
        depth = levels(size, price.epsilon, self.max_depth)
        candidates, splits = Candidates(axes), list[Split]()
        every, share = list(candidates.splits()), price.part((1 - _SIZE - _LEAVES) / depth)
        at = np.zeros(len(cells), dtype=np.int64)
        for level in range(depth):
            nodes, last = 2**level, level == depth - 1
            second = candidates.second(cells, at, nodes)
            scores, reach = scored(target, cells.sums(at, nodes), second, last=last)
            choice = share.choice(len(every), reach)
            chosen = [choice(each, rng=rng) for each in scores]
            splits += [every[which] for which in chosen]
            at = 2 * at + candidates.goes(cells, at, chosen)
        sums = cells.sums(at, 2**depth)
        noisy = price.part(_LEAVES).noisy(sums.ravel().tolist(), target.unit, rng)
        return tuple(splits), np.array(noisy, dtype=object).reshape(sums.shape)


def levels(size: int, epsilon: Fraction, most: int) -> int:
    """How deep a tree over so many rows, of which that is known with noise, is worth its price: 2.5 bits a level."""
    return max(1, min(most, round(math.log2(max(1.0, float(size * epsilon))) / 2.5 - 1)))


def scored(target: Target, every: Counts, second: Counts, *, last: bool) -> tuple[NDArray[np.int64], int]:
    """The score of each candidate at each node, and how far one more row moves it: all of a node in one direction.

    By impurity; at the last level, where classes are told apart, by the rows that their side is right about. `every`
    are the sums of each node, and `second` those of each candidate's second side.
    """
    first = every[:, np.newaxis] - second
    if last and isinstance(target, ClassTarget):
        return first.max(axis=-1) + second.max(axis=-1), target.unit
    return -impurity(first, target.unit) - impurity(second, target.unit), 2 * _FINE


@registered("decision-tree-classifier")
@dataclass(frozen=True)
class ClassificationTree(_Trees):
    """Decision tree that tells declared classes apart, by public cuts that are chosen privately.

    A number is cut at `cuts` places that lie evenly between its bounds, a column with keys at each of them. A noisy
    number of rows says how many levels are worth their price, `max_depth` at most.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/trees.md.
    Source: Friedman & Schuster 2010 for choices by the exponential mechanism; McKenna & Sheldon 2020 for ours.
    """

    model: ClassVar[type[TreeClassifier]] = TreeClassifier

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    max_depth: int = 6
    cuts: int = 15
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def refuse_unfit(self, known: Outline) -> None:
        """Where no feature can be split, or the label is not declared as this needs it."""
        super().refuse_unfit(known)
        ClassTarget.of(known, self.label)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> TreeClassifier:
        """The model. Spends `privacy`."""
        target = ClassTarget.of(relation, self.label)
        splits, sums = self.grown(relation, target, rng)
        chances = chances_in(sums, self.row_price.part(_LEAVES).deviation(1))
        leaves = tuple(tuple(map(float, own)) for own in chances)
        keys = tuple(axis.keys for axis in self.axes(relation))
        return TreeClassifier(self.features, keys, target.classes, Tree(splits, leaves))


@registered("decision-tree-regressor")
@dataclass(frozen=True)
class RegressionTree(_Trees):
    """Decision tree that predicts a number between its declared bounds; else as `ClassificationTree`.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/trees.md.
    Source: Friedman & Schuster 2010 for choices by the exponential mechanism; the leaves are those of `Mean`.
    """

    model: ClassVar[type[TreeRegressor]] = TreeRegressor

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    max_depth: int = 6
    cuts: int = 15
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()
    numeric: ClassVar[bool] = True

    def refuse_unfit(self, known: Outline) -> None:
        """Where no feature can be split, or the label is not declared as this needs it."""
        super().refuse_unfit(known)
        NumberTarget.of(known, self.label)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> TreeRegressor:
        """The model. Spends `privacy`."""
        target = NumberTarget.of(relation, self.label)
        splits, sums = self.grown(relation, target, rng)
        shares = shares_in(sums, self.row_price.part(_LEAVES).deviation(target.unit))
        leaves = tuple((target.value(float(each)),) for each in shares)
        keys = tuple(axis.keys for axis in self.axes(relation))
        return TreeRegressor(self.features, keys, Tree(splits, leaves))


def chances_in(sums: Counts, deviation: float) -> NDArray[np.float64]:
    """The chance of each class at each leaf, of counts with noise: nearer to that everywhere, the more it is noise."""
    counts = np.maximum(sums.astype(np.float64), 0)
    everywhere = np.maximum(sums.sum(axis=0).astype(np.float64), 0) + 1
    base = everywhere / everywhere.sum()
    told: NDArray[np.float64] = (counts + deviation * base) / (counts.sum(axis=1, keepdims=True) + deviation)
    return told


def shares_in(sums: Counts, deviation: float) -> NDArray[np.float64]:
    """Which share of the parts at each leaf is high: that everywhere, where there is little but noise."""
    parts = sums.astype(np.float64)
    low, high = np.maximum(parts.sum(axis=0), 0)
    base = high / (low + high) if low + high > 0 else 0.5
    whole = parts.sum(axis=1)
    known = whole > deviation
    held = (parts[:, 1] + deviation * base) / (np.where(known, whole, 1) + deviation)
    told: NDArray[np.float64] = np.where(known, np.clip(held, 0, 1), base)
    return told
