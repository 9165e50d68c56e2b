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
from discreet.audit.outputs import Outputs, keys, listed
from discreet.audit.trees import Boosted
from discreet.audit.visible_parts import raw

Reals = NDArray[np.float64]

MOST_PATTERNS = 4096  # more are lumped together
FEW_PATTERNS = 64  # these are counted so well that nothing is left to learn
MOST_LEARNED = 24  # features that trees may ask for


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
