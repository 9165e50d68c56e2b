"""Scores: what makes one output speak for one input and another output for the other.

Nothing here has to be right. A score only orders outputs; the event that is cut from it is proven on outputs that it
has never seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.audit.features import Feature, Features
from discreet.audit.outputs import Outputs, keys, listed, raw

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]

ROUNDS, DEPTH = 30, 4
RATE = 0.3  # of a tree's step that is taken
RIDGE = 1.0  # added to every leaf's curvature
LEAST = 5.0  # curvature of a leaf: twenty outputs or more
_TAILS = (1e-4, 3e-4, 1e-3, 3e-3)
_LEVELS = np.array([*_TAILS, *np.linspace(0, 1, 65)[1:-1], *(1 - t for t in _TAILS)])
_ATOMS = 24  # values so frequent that each gets a bin of its own
BINS = _LEVELS.size + 2 * _ATOMS + 2  # the edges, what lies above them, and what is not a number

MOST_PATTERNS = 4096  # more are lumped together
FEW_PATTERNS = 64  # these are counted so well that nothing is left to learn
MOST_LEARNED = 24  # features that trees may ask for


@dataclass(frozen=True, eq=False)
class Tree:
    """A complete tree: node i sends codes above `bounds[i]` of feature `features[i]` to 2i + 2, others to 2i + 1."""

    features: Codes
    bounds: Codes
    leaves: Reals

    def score(self, codes: Codes) -> Reals:
        """The leaf of each row."""
        return self.leaves[self.leaf(codes)]

    def leaf(self, codes: Codes) -> Codes:
        """The number of each row's leaf, from left to right."""
        node, every = np.zeros(codes.shape[1], dtype=np.intp), np.arange(codes.shape[1])
        for _ in range(DEPTH):
            node = 2 * node + 1 + (codes[self.features[node], every] > self.bounds[node])
        return node - ((1 << DEPTH) - 1)


@dataclass(frozen=True, eq=False)
class Boosted:
    """A sum of trees: large where an output speaks for the first sample, small where it speaks for the second."""

    edges: tuple[Reals, ...]
    trees: tuple[Tree, ...]

    @classmethod
    def learned(cls, left: Reals, right: Reals) -> Boosted:
        """From two tables with one column a feature."""
        edges = tuple(_edges(np.concatenate([a, b])) for a, b in zip(left.T, right.T, strict=True))
        codes = np.hstack([_codes(left, edges), _codes(right, edges)])
        label = np.repeat([1.0, 0.0], [len(left), len(right)])
        score, trees = np.zeros(label.size), []
        for turn in range(ROUNDS):
            chance = 1 / (1 + np.exp(-score))
            half = slice(turn % 2, None, 2)  # every other row: quicker, and less greedy
            tree = _grown(codes[:, half], (label - chance)[half], (chance * (1 - chance))[half])
            score += tree.score(codes)
            trees.append(tree)
        return cls(edges, tuple(trees))

    def score(self, table: Reals) -> Reals:
        """The log-odds that each row came from the first sample, as far as was learned."""
        codes = _codes(table, self.edges)
        total = np.zeros(len(table))
        for tree in self.trees:
            total += tree.score(codes)
        return total

    def weights(self) -> NDArray[np.int64]:
        """How many nodes ask for each feature."""
        asked = np.concatenate([tree.features for tree in self.trees])
        return np.bincount(asked, minlength=len(self.edges))


def _edges(column: Reals) -> Reals:
    """Quantiles, but of what is left when the most frequent values have got bins of their own."""
    values, times = np.unique(column[~np.isnan(column)], return_counts=True)
    if values.size <= _LEVELS.size:
        return values
    heavy = np.argsort(-times, kind="stable")[:_ATOMS]
    heavy = heavy[times[heavy] * _LEVELS.size > times.sum()]
    ends = np.concatenate([heavy, np.maximum(heavy - 1, 0)])  # a bin is (edge before, edge]
    times[heavy] = 0
    share = np.cumsum(times) / max(1, times.sum())
    return np.unique(np.concatenate([values[ends], values[np.searchsorted(share, _LEVELS)]]))


def _codes(table: Reals, edges: tuple[Reals, ...]) -> Codes:
    """The bin of each cell, one row a feature: how many edges lie below it."""
    codes = np.empty((len(edges), len(table)), dtype=np.intp)
    for i, edge in enumerate(edges):
        column = table[:, i]
        codes[i] = np.where(np.isnan(column), BINS - 1, np.searchsorted(edge, column, side="left"))
    return codes


def _grown(codes: Codes, slope: Reals, curve: Reals) -> Tree:
    """The tree that fits the slopes best, level by level; a split is taken wherever it gains anything."""
    inner = (1 << DEPTH) - 1
    features, bounds = np.zeros(inner, dtype=np.intp), np.full(inner, BINS, dtype=np.intp)
    node, every = np.zeros(codes.shape[1], dtype=np.intp), np.arange(codes.shape[1])
    for level in range(DEPTH):
        first, width = (1 << level) - 1, 1 << level
        gains = np.stack([_gains((node - first) * BINS + row, slope, curve, width) for row in codes])
        best = gains.reshape(len(codes), width, BINS).transpose(1, 0, 2).reshape(width, -1)
        at = best.argmax(axis=1)
        split = best[np.arange(width), at] > 0
        features[first : first + width] = np.where(split, at // BINS, 0)
        bounds[first : first + width] = np.where(split, at % BINS, BINS)  # else everything goes to the left
        node = 2 * node + 1 + (codes[features[node], every] > bounds[node])
    leaf = node - inner
    steps = np.bincount(leaf, slope, 1 << DEPTH) / (np.bincount(leaf, curve, 1 << DEPTH) + RIDGE)
    return Tree(features, bounds, RATE * steps)


def _gains(cell: Codes, slope: Reals, curve: Reals, width: int) -> Reals:
    """What is won in each node by a split after each bin of one feature."""
    g = np.bincount(cell, slope, width * BINS).reshape(width, BINS).cumsum(axis=1)
    h = np.bincount(cell, curve, width * BINS).reshape(width, BINS).cumsum(axis=1)
    total, weight = g[:, -1:], h[:, -1:]
    won = g**2 / (h + RIDGE) + (total - g) ** 2 / (weight - h + RIDGE) - total**2 / (weight + RIDGE)
    return np.where((h < LEAST) | (weight - h < LEAST), -1.0, won)


@dataclass(frozen=True, eq=False)
class Sample:
    """Outputs on one input, with what can be read off them."""

    outputs: Outputs
    features: Features

    def __len__(self) -> int:
        return len(self.outputs)

    @cached_property
    def table(self) -> Reals:
        """Features, one row an output."""
        return self.features.table(self.outputs)

    @cached_property
    def keys(self) -> Sequence[Hashable]:
        """Whole outputs, to be counted."""
        return keys(self.outputs)


class Score(Protocol):
    """A number for each output. Events are its upper and lower tails."""

    def score(self, sample: Sample, /) -> Reals:
        """One number an output."""
        ...

    def words(self, threshold: float, /, *, above: bool) -> str:
        """The event that the score is at least, or at most, the threshold."""
        ...


@dataclass(frozen=True)
class Single:
    """One feature as it stands."""

    index: int
    feature: Feature

    def score(self, sample: Sample) -> Reals:
        """The feature; not a number is in neither tail."""
        return sample.table[:, self.index]

    def words(self, threshold: float, *, above: bool) -> str:
        """The feature's own words."""
        return self.feature.above(threshold) if above else self.feature.below(threshold)


@dataclass(frozen=True, eq=False)
class Patterns:
    """The likelihood ratio of whole outputs, by counting; rare ones count together."""

    scores: Mapping[Hashable, float]
    rest: float
    distinct: int
    shown: Mapping[Hashable, object]

    @classmethod
    def counted(cls, left: Sample, right: Sample, prior: float) -> Patterns:
        """ln((hits + prior) / (other hits + prior)): a larger prior trusts rare outputs less."""
        ours, theirs = Counter(left.keys), Counter(right.keys)
        common = (ours + theirs).most_common(MOST_PATTERNS)
        known = {key for key, times in common if times > 1}
        rest = [sum(times for key, times in side.items() if key not in known) for side in (ours, theirs)]
        scores = {key: float(np.log((ours[key] + prior) / (theirs[key] + prior))) for key in known}
        shown = {
            key: output
            for side in (left, right)
            for key, output in zip(side.keys, listed(side.outputs), strict=True)
            if key in known
        }
        return cls(scores, float(np.log((rest[0] + prior) / (rest[1] + prior))), len(ours | theirs), shown)

    def score(self, sample: Sample) -> Reals:
        """The score of each output's pattern."""
        return np.array([self.scores.get(key, self.rest) for key in sample.keys])

    def words(self, threshold: float, *, above: bool) -> str:
        """The patterns in the event, the most telling first."""
        sign = 1 if above else -1
        ordered = sorted(self.scores, key=lambda key: -sign * self.scores[key])
        inside = [key for key in ordered if sign * self.scores[key] >= sign * threshold]
        named = ", ".join(str(self.shown[key]) for key in inside[:3])
        others = ["any rare output"] if sign * self.rest >= sign * threshold else []
        others += [f"{len(inside) - 3} more"] if len(inside) > 3 else []
        return f"output is {named}" + "".join(f", or {other}" for other in others) if inside else "any rare output"


@dataclass(frozen=True, eq=False)
class Learned:
    """Boosted trees over all features."""

    boosted: Boosted
    columns: tuple[int, ...]
    asked: str

    @classmethod
    def trained(cls, left: Sample, right: Sample, columns: tuple[int, ...]) -> Learned:
        """On these columns."""
        boosted = Boosted.learned(left.table[:, columns], right.table[:, columns])
        weights = boosted.weights()
        most = [left.features.named[columns[i]].words for i in np.argsort(-weights, kind="stable")[:3] if weights[i]]
        return cls(boosted, columns, ", ".join(most))

    def score(self, sample: Sample) -> Reals:
        """The learned log-odds."""
        return self.boosted.score(sample.table[:, self.columns])

    def words(self, threshold: float, *, above: bool) -> str:
        """Its threshold, and what it asks for most."""
        return f"a learned score of {self.asked} is {'≥' if above else '≤'} {threshold:.4g}"


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The exact ratio, from a mechanism that knows its own law up to a constant that no input changes."""

    log_weight: Callable[[object, object], float]
    left: object
    right: object

    def score(self, sample: Sample) -> Reals:
        """Each distinct output is weighed once."""
        known: dict[Hashable, float] = {}
        for key, output in zip(sample.keys, listed(sample.outputs), strict=True):
            if key not in known:
                one = raw(output)
                known[key] = float(self.log_weight(self.left, one)) - float(self.log_weight(self.right, one))
        return np.array([known[key] for key in sample.keys])

    def words(self, threshold: float, *, above: bool) -> str:
        """The privacy loss itself."""
        return f"the logarithm of the likelihood ratio is {'≥' if above else '≤'} {threshold:.4g}"


def scores(left: Sample, right: Sample, likelihood: Score | None = None) -> Iterator[Score]:
    """Every score that is worth trying, trained on these samples: plain ones first."""
    if likelihood is not None:
        yield likelihood
    table = np.vstack([left.table, right.table])
    same = (table == table[0]) | (np.isnan(table) & np.isnan(table[0]))
    varying = tuple(map(int, np.flatnonzero(~same.all(axis=0))))
    singles = [Single(i, left.features.named[i]) for i in varying]
    yield from sorted(singles, key=lambda single: (not single.feature.flag, single.feature.words.startswith("type")))
    few = Patterns.counted(left, right, 0.5)
    yield few
    if few.distinct > FEW_PATTERNS:
        yield Patterns.counted(left, right, 8)
        yield Learned.trained(left, right, _telling(left, right, varying))


def _telling(left: Sample, right: Sample, columns: tuple[int, ...]) -> tuple[int, ...]:
    """The columns on which the samples differ most by themselves (Kolmogorov & Smirnov's distance), not too many."""
    if len(columns) <= MOST_LEARNED:
        return columns
    gaps = []
    for i in columns:
        a, b = np.sort(left.table[:, i]), np.sort(right.table[:, i])
        at = np.concatenate([a[:: max(1, a.size // 256)], b[:: max(1, b.size // 256)]])
        gaps.append(np.max(np.abs(np.searchsorted(a, at) / a.size - np.searchsorted(b, at) / b.size)))
    return tuple(sorted(columns[i] for i in np.argsort(gaps)[-MOST_LEARNED:]))
