"""Selection of one of several candidates: exponential mechanism, permute-and-flip, report noisy max."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers, whole
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.interval_arithmetic import Interval, exp, log
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, one_way, settle
from discreet.mechanisms.registry import registered
from discreet.noise import (
    SECURE,
    Entropy,
    below,
    exponential,
    geometric,
    geometrics,
    laplace,
    laplaces,
    permute_and_flip,
)
from discreet.noise.vector import LARGEST, SMALLEST
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure

NOISES = ("geometric", "laplace")  # of report noisy max
FARTHEST = (1 << 60) - 1  # of a score from zero: the samplers compare differences in 64 bits


@dataclass(frozen=True)
class Selection:
    """The public parameters of a choice. Scores are whole numbers, one for each candidate; the largest is the best.

    `sensitivity` bounds how far neighbours move any one score. `monotone` says that, between two neighbours, no score
    rises while another falls, as with counts when a row is added or removed; it halves the noise. When a row is
    replaced one count falls and another rises, so with `Replace` it is refused.
    """

    takes: ClassVar[Takes] = Takes.SCORES

    epsilon: Fraction
    candidates: int
    sensitivity: int = 1
    monotone: bool = False
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            candidates=count(self.candidates, "candidates"),
            sensitivity=count(self.sensitivity, "sensitivity"),
            monotone=one_way(self.monotone, self.neighbours),
            neighbours=self.neighbours,
        )

    @property
    def privacy(self) -> Pure:
        """ε, whatever the scores."""
        return Pure(self.epsilon)

    @property
    def rate(self) -> Fraction:
        """What a unit of score is worth: ε/(2 sensitivity), or ε/sensitivity for monotone scores."""
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """Neighbouring scores that make a choice as telling as it gets: at a tie, and for a candidate far behind."""
        step, others = self.sensitivity, self.candidates - 1
        fall, behind = (0 if self.monotone else step), math.ceil(3 / self.rate)
        return (
            Pair((0,) * (others + 1), (step, *(-fall,) * others), "one of equal candidates gets ahead"),
            Pair((0,) * (others + 1), (-fall, *(step,) * others), "one of equal candidates falls behind"),
            Pair((0, *(behind,) * others), (-fall, *(behind + step,) * others), "one far behind falls back further"),
        )

    def scored(self, scores: Integers) -> NDArray[np.int64]:
        """The scores, one for each candidate, those beyond ±(2^60 − 1) there: neighbours move no further apart."""
        values = whole(scores, FARTHEST)
        if values.shape != (self.candidates,):  # how many candidates there are is public
            raise Refusal(f"expected {self.candidates} scores, got {values.shape}")
        return values


def first(holds: Callable[[int], bool]) -> int:
    """The smallest n ≥ 0 for which it holds, if from some number on it does not stop holding.

    What is returned was seen to hold, so a bound stays a bound even where `holds` is not monotone.
    """
    high = 0
    while not holds(high):
        high = 2 * high + 1
    low = (high - 1) // 2  # was seen not to hold, or is −1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@registered("exponential")
@dataclass(frozen=True)
class Exponential(Selection):
    """Chooses candidate r with probability proportional to exp(rate · score(r)).

    Guarantee: |score(x, r) − score(x', r)| ≤ sensitivity for neighbours x, x' and every r implies Pure(epsilon), and
        ε-bounded range, hence also Concentrated(epsilon² / 8).
    Proof: docs/proofs/selection.md, "The exponential mechanism".
    Source: McSherry & Talwar 2007, Theorem 6; bounded range: Durfee & Rogers 2019, Cesar & Rogers 2021.
    """

    @property
    def concentrated(self) -> Concentrated:
        """The same promise for a budget that counts ρ: a quarter of what ε costs in general, ε²/2."""
        return Concentrated(self.epsilon**2 / 8)

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α such that, whatever the scores, the choice is at most α below the best, so confidently.

        Never above (ln candidates + t)/rate with e^−t = 1 − confidence, the utility theorem of the textbooks.
        """
        sure = share(confidence, "confidence")
        odds = (self.candidates - 1) * sure / (1 - sure)  # (m−1) e^{−rate (α+1)} must not exceed (1 − sure)/sure
        return max(0, math.ceil(log(odds).up / self.rate) - 1) if odds > 1 else 0

    def law(self, scores: Integers) -> tuple[Interval, ...]:
        """The probability of each candidate. As private as the scores: for proofs and audits, not for release."""
        weights = _chances(self.scored(scores).tolist(), self.rate)
        total = sum(weights, Interval.of(0))
        return tuple(weight / total for weight in weights)

    def __call__(self, scores: Integers, /, *, rng: Entropy = SECURE) -> int:
        """The index of the chosen candidate."""
        return exponential(self.scored(scores), self.rate, rng=rng)


@registered("permute-and-flip")
@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """Tosses for candidates in random order, each a coin of chance exp(−rate · (best − score)), until one lands heads.

    Guarantee: |score(x, r) − score(x', r)| ≤ sensitivity for neighbours x, x' and every r implies Pure(epsilon).
        The choice is never stochastically worse than the exponential mechanism's.
    Proof: docs/proofs/selection.md, "Permute-and-flip".
    Source: McKenna & Sheldon 2020; Ding, Kifer, Saghaian, Steinke, Wang, Xiao & Zhang 2021.
    """

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α such that, whatever the scores, the choice is at most α below the best, so confidently."""
        rare = 1 - share(confidence, "confidence")
        return first(lambda a: _misses(exp(-(a + 1) * self.rate), self.candidates, rare))

    def law(self, scores: Integers) -> tuple[Interval, ...]:
        """The probability of each candidate. As private as the scores: for proofs and audits, not for release."""
        values = self.scored(scores).tolist()
        chances, known = _chances(values, self.rate), dict[int, Interval]()
        for i, value in enumerate(values):
            if value not in known:
                known[value] = chances[i] * _first_of_heads([*chances[:i], *chances[i + 1 :]])
        return tuple(known[value] for value in values)

    def __call__(self, scores: Integers, /, *, rng: Entropy = SECURE) -> int:
        """The index of the chosen candidate."""
        return permute_and_flip(self.scored(scores), self.rate, rng=rng)


def _chances(scores: Sequence[int], rate: Fraction) -> list[Interval]:
    best = max(scores)
    return [exp(-(best - score) * rate) for score in scores]


def _misses(chance: Interval, candidates: int, rare: Fraction) -> bool:
    """Whether permute-and-flip misses the best with probability at most `rare`, if all other coins have this chance.

    The probability is 1 − (1 − (1−p)^m)/(mp), which is at most (m−1)p/2.
    """
    if ((candidates - 1) * chance).high <= 2 * rare:
        return True
    tails = 1 - chance
    if tails.low <= 0:
        return False
    return (1 - (candidates * tails.log()).exp()).low >= (candidates * (1 - rare) * chance).high


def _first_of_heads(others: Sequence[Interval]) -> Interval:
    """E[1/(1 + heads)] for these coins: the chance to be the first in random order among those that land heads."""
    law = [Interval.of(1)]
    for chance in others:
        law = [
            (law[k] * (1 - chance) if k < len(law) else Interval.of(0)) + (law[k - 1] * chance if k else Interval.of(0))
            for k in range(len(law) + 1)
        ]
    return sum((mass / (k + 1) for k, mass in enumerate(law)), Interval.of(0))


@registered("report-noisy-max")
@dataclass(frozen=True)
class ReportNoisyMax(Selection):
    """Adds noise to each score and names the candidate with the largest sum, one of them at random if several have it.

    With `noise` "geometric" (on n ≥ 0, the integers' exponential noise) the choice has exactly the law of
    `PermuteAndFlip`; with "laplace" it is the textbook's mechanism, and worse.

    Guarantee: |score(x, r) − score(x', r)| ≤ sensitivity for neighbours x, x' and every r implies Pure(epsilon).
        Ties cost nothing, because scores and noise are whole numbers.
    Proof: docs/proofs/selection.md, "Report noisy max".
    Source: Dwork & Roth 2014, Section 3.3; Ding, Kifer, Saghaian, Steinke, Wang, Xiao & Zhang 2021.
    """

    noise: str = "geometric"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in NOISES:
            raise Refusal(f"expected noise as one of {NOISES}, got noise={shown(self.noise)}")

    def error(self, confidence: Number = USUAL) -> int:
        """An α such that, whatever the scores, the choice is at most α below the best, so confidently.

        The smallest for geometric noise; a union bound over the candidates for Laplace noise.
        """
        rare = 1 - share(confidence, "confidence")
        if self.noise == "geometric":
            return self._twin.error(confidence)
        return first(lambda a: ((self.candidates - 1) * _overtakes(a + 1, self.rate)).high <= rare)

    @property
    def _twin(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.epsilon, self.candidates, self.sensitivity, self.monotone, self.neighbours)

    def __call__(self, scores: Integers, /, *, rng: Entropy = SECURE) -> int:
        """The index of the chosen candidate."""
        values = self.scored(scores)
        if SMALLEST <= 1 / self.rate <= LARGEST:
            sums = values + self._vector(rng)
        else:
            sums = np.array([value + self._single(rng) for value in values.tolist()], dtype=object)
        best = np.flatnonzero(sums == sums.max())
        return int(best[below(best.size, rng=rng)])

    def _vector(self, rng: Entropy) -> NDArray[np.int64]:
        if self.noise == "laplace":
            return laplaces(1 / self.rate, self.candidates, rng=rng)
        return geometrics(self.rate, self.candidates, rng=rng)

    def _single(self, rng: Entropy) -> int:
        return laplace(1 / self.rate, rng=rng) if self.noise == "laplace" else geometric(self.rate, rng=rng)


def _overtakes(distance: int, rate: Fraction) -> Interval:
    """Pr[the difference of two independent discrete Laplace noises of ratio b = e^−rate is at least `distance` ≥ 0].

    Σ_{d ≥ s} c² ((d+1) b^d + 2 b^{d+2}/(1 − b²)) with c = (1−b)/(1+b), summed (docs/proofs/selection.md).
    """
    b = exp(-rate)
    inner = (distance + 1) * (1 - b) + b + 2 * b * b / (1 + b)
    return exp(-distance * rate) * inner / ((1 + b) * (1 + b))
