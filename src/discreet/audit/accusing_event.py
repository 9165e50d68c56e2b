"""Which event to accuse a mechanism with: the tail of a score that looks worst on a first sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.features import Features
from discreet.audit.likelihood_score import Likelihood, Sample, Score, scores
from discreet.audit.outputs import Form, Outputs, Raised, all_raised, draw, form, parted, together
from discreet.audit.probability_bounds import Counts, HitCounts
from discreet.errors import Refusal
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy

Reals = NDArray[np.float64]
Gain = Callable[[HitCounts, HitCounts, int], Reals]  # of events with so many hits on either side, of so many

PLAINER = 0.03  # that much is given up for an event that is easier to say
ENOUGH = 0.2  # of the most that any event can gain: then nothing is left to look for
_LONGEST = 200  # letters of an exception's text
TAIL = 1e-4  # the least share of outputs that an event may have
_SHARES = np.concatenate([np.geomspace(TAIL, 0.01, 16), np.linspace(0.01, 0.5, 50)[1:]])
_LEVELS = np.concatenate([_SHARES, 1 - _SHARES])


@dataclass(frozen=True, eq=False)
class Event:
    """A tail of a score, and on which of two inputs it is said to be likelier. It holds or fails for every output.

    `form` is that of the outputs by which it was chosen, if all of them were numbers alike.
    """

    features: Features
    score: Score
    threshold: float
    above: bool
    left_is_likelier: bool
    form: Form | None = None

    def hits(self, outputs: Outputs) -> int:
        """How many outputs lie in it; each is judged by itself, whatever the others are."""
        return sum(self._hits(part) for part in parted(outputs, self.form) if len(part))

    def _hits(self, part: Outputs) -> int:
        score = self.score.score(Sample(part, self.features))
        return int(np.count_nonzero(score >= self.threshold if self.above else score <= self.threshold))

    def __str__(self) -> str:
        return self.score.words(self.threshold, above=self.above)


@dataclass(frozen=True, eq=False)
class Accusation:
    """An event, what it promises to gain, how often it will be seen on either side `of` so many, and if all raised."""

    event: Event
    gain: float
    likely: float
    unlikely: float
    of: int
    raised: Raised | None = None


def accuse(  # noqa: PLR0913  # what is accused, of what, and how much there is to look at and to prove with
    mechanism: Callable[..., object], pair: Pair[Any], size: int, gain: Gain, *, proof: int = 0, rng: Entropy = SECURE
) -> Accusation:
    """The event that gains most, from `size` outputs on each input: half of them train scores, the others choose.

    `proof` outputs on each input will show what it is worth: an event that is seen too seldom here to prove anything
    may well prove it there. Without them it is worth what it gained here.
    """
    left, right = together(*(draw(mechanism, data, size, rng=rng) for data in (pair.left, pair.right)))
    features = Features.planned(left, right)
    train, choose = slice(size // 2), slice(size // 2, None)
    weigh = getattr(mechanism, "log_weight", None)
    exact = Likelihood(weigh, pair.left, pair.right) if callable(weigh) else None
    candidates = scores(Sample(left[train], features), Sample(right[train], features), exact)
    accusation = worst(candidates, Sample(left[choose], features), Sample(right[choose], features), gain, proof)
    return replace(accusation, raised=all_raised(left) if all_raised(right) else None)


def heard(accusation: Accusation) -> None:
    """Refuse to go on where no run did anything but raise, on both inputs."""
    if accusation.raised is not None:
        raise Refusal(
            f"every run raised {accusation.raised.kind}: {accusation.raised.text[:_LONGEST]}; nothing could be judged",
            hint="call it once by hand; pass inputs that it takes, as pairs=[(left, right)] or --pair",
        )


def worst(candidates: Iterable[Score], left: Sample, right: Sample, gain: Gain, proof: int) -> Accusation:
    """The event of largest gain on samples that trained no score, or a plainer one that gains about as much.

    With `proof` it is what the event would gain in so many outputs, if it were seen in them about as often.
    """
    expected = Expected(len(left), proof)
    most = float(gain(*expected.hits(np.array([len(left)]), np.array([0])), expected.size)[0])
    best: Accusation | None = None
    for score in candidates:
        for accusation in _tails(score, left, right, gain, expected):
            if best is None or accusation.gain > best.gain + (0 if type(score) is type(best.event.score) else PLAINER):
                best = accusation
        if best is not None and best.gain > most - ENOUGH:
            break
    if best is None:
        raise ValueError("there was no score to choose from")
    return best


@dataclass(frozen=True)
class Expected:
    """How often an event will be seen in a proof, cautiously: of many events, the one that looks worst had some luck.

    One standard deviation is taken from the hits on the likelier side and added on the other. Without a proof to come
    hits are what they are.
    """

    chosen: int
    proof: int

    @property
    def size(self) -> int:
        """Out of so many outputs."""
        return self.proof or self.chosen

    def hits(self, likely: Counts, unlikely: Counts) -> tuple[Reals, Reals]:
        """On the likelier side, and on the other."""
        more, fewer = likely.astype(np.float64), unlikely.astype(np.float64)
        if not self.proof:
            return more, fewer
        scale = self.proof / self.chosen
        return scale * (more - np.sqrt(more)), np.minimum(scale * (fewer + np.sqrt(fewer + 1)), self.proof)


def _tails(score: Score, left: Sample, right: Sample, gain: Gain, expected: Expected) -> Iterator[Accusation]:
    """The best upper and the best lower tail of one score, in either direction."""
    a, b = np.sort(score.score(left)), np.sort(score.score(right))
    thresholds = _thresholds(np.concatenate([a, b]))
    if not thresholds.size:
        return
    for above in (True, False):
        hits = [_in_tail(side, thresholds, above=above) for side in (a, b)]
        for first in (0, 1):
            likely, unlikely = expected.hits(hits[first], hits[1 - first])
            gains = gain(likely, unlikely, expected.size)
            at = int(np.argmax(np.nan_to_num(gains, nan=-np.inf)))
            event = Event(left.features, score, float(thresholds[at]), above, first == 0, form(left.outputs))
            yield Accusation(event, float(gains[at]), float(likely[at]), float(unlikely[at]), expected.size)


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
