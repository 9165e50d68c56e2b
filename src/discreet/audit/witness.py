"""Which event to accuse a mechanism with: the tail of a score that looks worst on a first sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.bounds import Counts
from discreet.audit.features import Features
from discreet.audit.outputs import Outputs, draw
from discreet.audit.score import Likelihood, Sample, Score, scores
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy

Reals = NDArray[np.float64]
Gain = Callable[[Counts, Counts, int], Reals]  # of events with so many hits on either side, out of so many outputs

PLAINER = 0.03  # that much is given up for an event that is easier to say
ENOUGH = 0.2  # of the most that any event can gain: then nothing is left to look for
TAIL = 1e-4  # the least share of outputs that an event may have
_SHARES = np.concatenate([np.geomspace(TAIL, 0.01, 16), np.linspace(0.01, 0.5, 50)[1:]])
_LEVELS = np.concatenate([_SHARES, 1 - _SHARES])


@dataclass(frozen=True, eq=False)
class Event:
    """A tail of a score, and on which of two inputs it is said to be likelier. It holds or fails for every output."""

    features: Features
    score: Score
    threshold: float
    above: bool
    left_is_likelier: bool

    def hits(self, outputs: Outputs) -> int:
        """How many outputs lie in it."""
        score = self.score.score(Sample(outputs, self.features))
        return int(np.count_nonzero(score >= self.threshold if self.above else score <= self.threshold))

    def __str__(self) -> str:
        return self.score.words(self.threshold, above=self.above)


@dataclass(frozen=True, eq=False)
class Accusation:
    """An event and what it promises to gain."""

    event: Event
    gain: float


def accuse(
    mechanism: Callable[..., object], pair: Pair[Any], size: int, gain: Gain, *, rng: Entropy = SECURE
) -> Accusation:
    """The event that gains most, from `size` outputs on each input: half of them train scores, the others choose."""
    left, right = (draw(mechanism, data, size, rng=rng) for data in (pair.left, pair.right))
    features = Features.planned(left, right)
    train, choose = slice(size // 2), slice(size // 2, None)
    weigh = getattr(mechanism, "log_weight", None)
    exact = Likelihood(weigh, pair.left, pair.right) if callable(weigh) else None
    candidates = scores(Sample(left[train], features), Sample(right[train], features), exact)
    return worst(candidates, Sample(left[choose], features), Sample(right[choose], features), gain)


def worst(candidates: Iterable[Score], left: Sample, right: Sample, gain: Gain) -> Accusation:
    """The event of largest gain on samples that trained no score, or a plainer one that gains about as much."""
    everything, nothing = np.array([len(left)]), np.array([0])
    most = float(gain(everything, nothing, len(left))[0])
    best: Accusation | None = None
    for score in candidates:
        for found in _tails(score, left, right, gain):
            if best is None or found.gain > best.gain + (0 if type(score) is type(best.event.score) else PLAINER):
                best = found
        if best is not None and best.gain > most - ENOUGH:
            break
    if best is None:
        raise ValueError("there was no score to choose from")
    return best


def _tails(score: Score, left: Sample, right: Sample, gain: Gain) -> Iterator[Accusation]:
    """The best upper and the best lower tail of one score, in either direction."""
    a, b = np.sort(score.score(left)), np.sort(score.score(right))
    thresholds = _thresholds(np.concatenate([a, b]))
    if not thresholds.size:
        return
    for above in (True, False):
        hits = [_in_tail(side, thresholds, above=above) for side in (a, b)]
        for first in (0, 1):
            gains = gain(hits[first], hits[1 - first], len(left))
            at = int(np.argmax(np.nan_to_num(gains, nan=-np.inf)))
            event = Event(left.features, score, float(thresholds[at]), above, first == 0)
            yield Accusation(event, float(gains[at]))


def _in_tail(ordered: Reals, thresholds: Reals, *, above: bool) -> Counts:
    known = ordered.size - int(np.count_nonzero(np.isnan(ordered)))  # these sort to the end
    if above:
        return (known - np.searchsorted(ordered[:known], thresholds, side="left")).astype(np.int64)
    return np.searchsorted(ordered[:known], thresholds, side="right").astype(np.int64)


def _thresholds(values: Reals) -> Reals:
    known = values[~np.isnan(values)]
    if not known.size:
        return known
    few = np.unique(known)
    return few if few.size <= _LEVELS.size else np.unique(np.quantile(known, _LEVELS, method="nearest"))
