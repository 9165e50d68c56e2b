"""Multiplicative weights: ask what the estimate answers worst, and move the estimate towards the answer."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from discreet.declared.grid import Integers
from discreet.exact import Number, count, share
from discreet.mechanisms import Exponential
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy.calibrate import laplace_error
from discreet.release.histogram import NONE, Histogram
from discreet.release.interval_tree import Reals, Whole, fixed
from discreet.release.noisy_cells import Counts, noisy, released

_QUESTIONS = 1024  # rectangles, or prefixes, to choose from
_OFTEN, _STEPS = 100, 2000  # replays of all answers in a round, and steps of one answer at most
# Rounds for ε · records of at least 0, 30, 300, …: few where noise is large (after the table of Hay et al. 2016)
_PRODUCTS = (30, 300, 3_000, 30_000, 300_000)
_ROUNDS = (2, 4, 8, 12, 30, 60)


@released("multiplicative-weights")
@dataclass(frozen=True)
class MultiplicativeWeights(Counts):
    """Starts from an even histogram and corrects it, `rounds` times, where it is most wrong about a range.

    The total is bought with `ratio` of ε. `rounds` 0 takes a number of rounds that suits ε times the total. There are
    no standard errors: what is wrong with ranges that were not asked for is not known.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/mwem.md. The total loses ratio · ε, and each round twice an equal share of the rest: once for the
        exponential mechanism, whose scores move by at most distance, once for the noise of the answer.
    Source: Hardt, Ligett & McSherry 2012; rounds by ε times the total: Hay, Machanavajjhala, Miklau, Chen & Zhang 2016.
    """

    rounds: int = 0
    ratio: Fraction = Fraction(1, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, rounds=count(self.rounds, "rounds", least=0), ratio=share(self.ratio, "ratio"))
        self.payable((self.ratio,), "a ratio")
        self.payable((self._each(self.rounds or _ROUNDS[-1]),), "so many rounds")

    def _each(self, rounds: int) -> Fraction:
        """The share of ε of each of the two halves of a round."""
        return (1 - self.ratio) / (2 * rounds)

    def error(self, confidence: Number = USUAL) -> int:
        """An α that the total misses by at most, with this probability; for ranges there is no useful bound.

        The smallest for its noise, but at least 1: no records at all are told as one.
        """
        return max(1, laplace_error(self.distance / (self.ratio * self.epsilon), confidence))

    @cached_property
    def questions(self) -> tuple[Whole, ...]:
        """The ranges to choose from, as the first cell and the one after the last of each side."""
        return _questions(self.shape)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The corrected histogram."""
        values = self.counted(counts)
        bought = noisy(values.sum(keepdims=True).ravel(), self.distance / (self.ratio * self.epsilon), rng)
        total = max(1.0, float(bought[0]))
        rounds = self.rounds or _suited(total * float(self.epsilon / self.distance))
        each = self._each(rounds) * self.epsilon
        truth = _whole_answers(values, self.questions)
        weights, asked, told = np.full(self.shape, total / self.cells), np.zeros(0, dtype=np.int64), np.zeros(0)
        for _ in range(min(rounds, truth.size)):
            scores = np.abs(truth - np.rint(_answers(weights, self.questions)).astype(np.int64))
            left = np.setdiff1d(np.arange(truth.size), asked)
            chosen = left[Exponential(each, left.size, self.distance)(scores[left], rng=rng)]
            answer = noisy(truth[chosen : chosen + 1], self.distance / each, rng)
            asked, told = np.append(asked, chosen), np.append(told, answer)
            weights = _corrected(weights, total, [question[asked] for question in self.questions], told)
        return Histogram(weights, np.arange(self.cells), None, NONE)


def _suited(product: float) -> int:
    return _ROUNDS[bisect_left(_PRODUCTS, product)]


@lru_cache(maxsize=16)
def _questions(shape: tuple[int, ...]) -> tuple[Whole, ...]:
    """On a line all prefixes, or some spread evenly; on a plane rectangles of all sizes and places: always the same."""
    if len(shape) == 1:
        ends = np.unique(np.linspace(1, shape[0], min(shape[0], _QUESTIONS)).astype(np.int64))
        prefixes: tuple[Whole, ...] = (np.zeros_like(ends), ends)
        fixed(*prefixes)
        return prefixes
    steps, sides = np.arange(1, _QUESTIONS + 1), []
    for cells, one, two in ((shape[0], 2, 3), (shape[1], 5, 7)):  # square roots of primes: spread evenly together
        length = 1 + np.floor(np.mod(steps * math.sqrt(one), 1) * cells).astype(np.int64)
        low = np.floor(np.mod(steps * math.sqrt(two), 1) * (cells - length + 1)).astype(np.int64)
        sides += [low, low + length]
    fixed(*sides)
    return tuple(sides)


def _whole_answers(values: Whole, questions: tuple[Whole, ...]) -> Whole:
    """Exact sums over the ranges."""
    if values.ndim == 1:
        before = np.concatenate([[0], np.cumsum(values)])
        return np.asarray(before[questions[1]] - before[questions[0]])
    corner = np.zeros((values.shape[0] + 1, values.shape[1] + 1), dtype=values.dtype)
    corner[1:, 1:] = values.cumsum(0).cumsum(1)
    top, bottom, left, right = questions
    return np.asarray(corner[bottom, right] - corner[top, right] - corner[bottom, left] + corner[top, left])


def _answers(weights: Reals, questions: tuple[Whole, ...]) -> Reals:
    return np.asarray(_whole_answers(weights, questions))  # type: ignore[arg-type]


def _corrected(weights: Reals, total: float, asked: list[Whole], told: Reals) -> Reals:
    """All answers so far, again and again: each moves its range by a factor e^{(answer − estimate)/(2 total)}."""
    moved = weights.copy()
    for _ in range(min(_OFTEN, max(1, _STEPS // told.size))):
        for i, answer in enumerate(told.tolist()):
            inside = tuple(slice(int(lo[i]), int(hi[i])) for lo, hi in zip(asked[::2], asked[1::2], strict=True))
            held = float(moved[inside].sum())
            factor = math.exp(max(-2.0, min(2.0, (answer - held) / (2 * total))))
            moved[inside] *= factor
            moved *= total / float(moved.sum())
    return moved
