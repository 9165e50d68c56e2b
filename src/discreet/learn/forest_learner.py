"""Random forests: splits by coins that know nothing of the rows, and noisy counts at the leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline
from discreet.errors import Refusal
from discreet.exact import count
from discreet.learn.binned_rows import MOST_CUTS, Axis, Cells, ClassTarget, Counts, NumberTarget, Target
from discreet.learn.fit_in_stages import SIZE, Stages
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.forest_model import ForestClassifier, ForestRegressor
from discreet.learn.row_price import RowPrice
from discreet.learn.tree_learner import DEEPEST, RowsAtBounds
from discreet.learn.tree_model import Split, Tree
from discreet.mechanisms import Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy, below
from discreet.privacy import AddRemove, Neighbours

MOST_TREES = 1000

_WEIGHT = 1.5  # of what all trees say together: the mean of trees that each know little is too timid
_NUMBER = 1.25  # the same of numbers: found by measuring
_DOUBT = 0.3  # deviations of noise that count as rows of which nothing is known
_FEWEST, _ROWS_A_TREE = 3, 20  # rows, times ε, for which a further tree is worth its share


@dataclass(frozen=True)
class Shape:
    """One tree: at each split an axis and a place on it. Rows from there on, or of that key, go to the second side."""

    splits: tuple[tuple[int, int], ...]

    @classmethod
    def drawn(cls, axes: tuple[Axis, ...], depth: int, rng: Entropy) -> Shape:
        """A random one: at each node a column that can still be split there, and a random place among those left."""
        boxes: list[list[Sequence[int]]] = [[range(len(axis)) for axis in axes]]
        splits: list[tuple[int, int]] = []
        for node in range((1 << depth) - 1):
            box = boxes[node]
            able = [i for i, left in enumerate(box) if len(left) > 1]
            which = able[below(len(able), rng=rng)] if able else 0
            left = box[which]
            if axes[which].keys:
                place = left[below(len(left), rng=rng)]
                both: tuple[Sequence[int], ...] = [each for each in left if each != place], [place]
            else:
                first = 1 + below(len(left) - 1, rng=rng) if len(left) > 1 else 0
                place, both = left[first], (left[:first], left[first:])
            splits.append((which, place))
            boxes += [[*box[:which], side or left, *box[which + 1 :]] for side in both]
        return cls(tuple(splits))

    def leaves(self, cells: Cells, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The leaf of each row, of which `places` are all places, a row for each axis."""
        at, every = np.zeros(len(cells), dtype=np.int64), np.arange(len(cells))
        which, cut = np.array(self.splits, dtype=np.int64).T
        one = np.array([bool(axis.keys) for axis in cells.axes])
        for _ in range((len(self.splits) + 1).bit_length() - 1):
            here = which[at]
            value = places[here, every]
            at = 2 * at + 1 + np.where(one[here], value == cut[at], value >= cut[at])
        return at - len(self.splits)

    def tree(self, axes: tuple[Axis, ...], leaves: NDArray[np.float64]) -> Tree:
        """As data, with what its leaves say."""
        splits = tuple(
            Split(which, float(place) if axes[which].keys else _cut(axes[which], place)) for which, place in self.splits
        )
        return Tree(splits, tuple(tuple(map(float, own)) for own in leaves))


def _cut(axis: Axis, place: int) -> float:
    """From where on a number goes to the second side; before the first cut that is everywhere."""
    return axis.cut(place) if place else -math.inf


class _Forests(RowsAtBounds, Priced, OverRows):
    """What both kinds of forests say of themselves alike."""

    features: tuple[str, ...]
    label: str
    trees: int
    max_depth: int
    cuts: int
    neighbours: Any

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(self, **{name: count(getattr(self, name), name) for name in ("trees", "max_depth", "cuts")})
        if self.trees > MOST_TREES or self.max_depth > DEEPEST or self.cuts > MOST_CUTS:
            raise Refusal(
                f"expected trees <= {MOST_TREES}, max_depth <= {DEEPEST} and cuts <= {MOST_CUTS}, got "
                f"trees={self.trees} max_depth={self.max_depth} cuts={self.cuts}",
                hint="each tree has a share of the price",
            )

    @property
    def stages(self) -> Stages:
        """How its price is divided."""
        return Stages(self.privacy, self.max_rows, self.neighbours)

    @property
    def numbers(self) -> int:
        """Which feature and where, for each split, and a number for each leaf: so many at most."""
        return self.trees * (3 * (1 << self.max_depth) - 2)

    def axes(self, known: Outline) -> tuple[Axis, ...]:
        """How features are cut, by what is declared."""
        return tuple(Axis.of(known, name, self.cuts) for name in self.features)

    def planned(self, size: int) -> tuple[int, int, RowPrice]:
        """How many trees of how many levels over so many rows, and what a row may lose in each of them."""
        epsilon = self.stages.first.epsilon / SIZE if self.stages.first.pure else self.stages.usual(Fraction(1)).epsilon
        worth = max(1.0, float(max(1.0, size - self.stages.first.deviation(1)) * float(epsilon)))
        trees = min(self.trees, max(_FEWEST, round(worth / _ROWS_A_TREE)))
        depth = max(1, min(self.max_depth, round(math.log2(worth) / 2)))
        share = Fraction(1, trees)
        whole = self.stages.least(1 - SIZE, lambda price: price.part(share).deviation(1))
        return trees, depth, whole.part(share)

    def grown(
        self, relation: Relation, target: Target, rng: Entropy
    ) -> tuple[tuple[Axis, ...], list[Shape], list[Counts], RowPrice]:
        """Trees, the sums of their leaves with noise, and what a row may lose in each. Spends `privacy`."""
        axes = self.axes(relation)
        cells = Cells.read(relation, axes, target, rng)
        (size,) = self.stages.first.noisy([len(cells)], 1, rng)
        trees, depth, price = self.planned(size)
        shapes = [Shape.drawn(axes, depth, rng) for _ in range(trees)]
        places = np.array([own.astype(np.int64) for own in cells.places])
        told: list[Counts] = []
        for shape in shapes:
            sums = cells.sums(shape.leaves(cells, places), 1 << depth)
            noisy = price.noisy(sums.ravel().tolist(), target.unit, rng)
            told.append(np.array(noisy, dtype=np.int64).reshape(sums.shape))
        return axes, shapes, told, price


@registered("random-forest-classifier")
@dataclass(frozen=True)
class RandomForest(_Forests):
    """Forest of up to `trees` random trees that tells declared classes apart by noisy counts at their leaves.

    A noisy number of rows says how many trees, and of how many levels, are worth their price. All rows are in all
    trees, which share the price.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/trees.md, "Random forests".
    Source: Jagannathan, Pillaipakkamnatt & Wright 2009 for random trees with noisy counts.
    """

    model: ClassVar[type[ForestClassifier]] = ForestClassifier

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    trees: int = 20
    max_depth: int = 9
    cuts: int = 15
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def refuse_unfit(self, known: Outline) -> None:
        """Where the features or the label are not declared as this needs it."""
        super().refuse_unfit(known)
        ClassTarget.of(known, self.label)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> ForestClassifier:
        """The model. Spends `privacy`."""
        target = ClassTarget.of(relation, self.label)
        axes, shapes, told, price = self.grown(relation, target, rng)
        everywhere = np.maximum(sum(each.sum(axis=0) for each in told) / len(told), 0) + 1
        frequencies = np.clip(everywhere / everywhere.sum(), 0.05 / target.kinds, 1)
        frequencies /= frequencies.sum()
        doubt = max(_DOUBT * price.deviation(1), 1e-6)
        said = [surprise(each, frequencies, doubt) for each in told]
        kept = tuple(shape.tree(axes, each) for shape, each in zip(shapes, said, strict=True))
        keys, known = tuple(axis.keys for axis in axes), tuple(map(float, frequencies))
        return ForestClassifier(self.features, keys, target.classes, known, _WEIGHT, kept)


@registered("random-forest-regressor")
@dataclass(frozen=True)
class RegressionForest(_Forests):
    """Forest of random trees that predicts a number between its declared bounds; else as `RandomForest`.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/trees.md, "Random forests".
    Source: Jagannathan, Pillaipakkamnatt & Wright 2009 for random trees; their leaves are those of `RegressionTree`.
    """

    model: ClassVar[type[ForestRegressor]] = ForestRegressor

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    trees: int = 20
    max_depth: int = 9
    cuts: int = 15
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()
    numeric: ClassVar[bool] = True

    def refuse_unfit(self, known: Outline) -> None:
        """Where the features or the label are not declared as this needs it."""
        super().refuse_unfit(known)
        NumberTarget.of(known, self.label)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> ForestRegressor:
        """The model. Spends `privacy`."""
        target = NumberTarget.of(relation, self.label)
        axes, shapes, told, price = self.grown(relation, target, rng)
        low, high = (max(0.0, float(sum(each[:, side].sum() for each in told))) for side in (0, 1))
        share = high / (low + high) if low + high > 0 else 0.5
        leaves = [np.column_stack([each[:, 1], each.sum(axis=1)]) / target.unit for each in told]
        kept = tuple(shape.tree(axes, each) for shape, each in zip(shapes, leaves, strict=True))
        doubt = max(_DOUBT * price.deviation(1) * math.sqrt(len(told)), 1e-6)
        ends = target.value(0.0), target.value(1.0)
        keys = tuple(axis.keys for axis in axes)
        return ForestRegressor(self.features, keys, ends, share, doubt, _NUMBER, kept)


def surprise(sums: Counts, frequencies: NDArray[np.float64], doubt: float) -> NDArray[np.float64]:
    """ln of how much more frequent each class is at a leaf than everywhere, as if so many rows were as everywhere."""
    counts = np.maximum(sums, 0).astype(np.float64)
    here = (counts + doubt * frequencies) / (counts.sum(axis=1, keepdims=True) + doubt)
    told: NDArray[np.float64] = np.log(here / frequencies)
    return told
