"""Randomized response: a person tells the truth with a stated probability, and so need trust nobody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import cells, real
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown, spoken
from discreet.interval_arithmetic import exp, log, simpler_up, sqrt
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, below, belows, flip, flips
from discreet.privacy import Neighbours, Pure, Replace
from discreet.privacy.divergence import Channel

_LARGEST = 1000  # of ε: a lie of probability e^−1000 promises nothing
_MOST_TOGETHER = 1 << 62  # choices of `each`: the sum of two values fits into 64 bits
_TIDY = 10**30  # ln 3 is rounded up to a multiple of 1 in so many


@dataclass(frozen=True)
class Share:
    """An estimated share of the people, and its standard error."""

    value: Fraction
    deviation: Fraction


@registered("randomized-response")
@dataclass(frozen=True)
class RandomizedResponse:
    """Tells one of the values 0, …, choices − 1: the true one, or each other with the probability of a `lie`.

    Guarantee: Pure(epsilon) for any two values of the person who answers, whoever reads the answer.
    Proof: every probability is `lie` or 1 − (choices − 1) · lie, rationals whose ratio is at most e^epsilon, because
        `lie` is at least 1/(e^epsilon + choices − 1) and at most 1/choices (docs/proofs/response.md).
    Source: Warner 1965; Kairouz, Oh & Viswanath 2014 for more than two values.
    """

    takes: ClassVar[Takes] = Takes.ANSWER

    epsilon: Fraction
    choices: int = 2
    neighbours: Neighbours = Replace()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            choices=count(self.choices, "choices", least=2),
            neighbours=self.neighbours,
        )
        if self.epsilon > _LARGEST:
            raise Refusal(
                f"expected epsilon <= {_LARGEST}, got epsilon={spoken(self.epsilon)}", hint="that promises nothing"
            )
        if not isinstance(self.neighbours, Replace):
            raise Refusal(f"one person's answer replaces another, got {self.neighbours}", hint="use Replace")

    @classmethod
    def warner(cls) -> RandomizedResponse:
        """The classroom's: on heads tell the truth; on tails flip again and let that coin answer. ε = ln 3, rounded up.

        The truth is told with probability 3/4 exactly.
        """
        return cls(Fraction(math.ceil(log(3).up * _TIDY), _TIDY))

    @property
    def privacy(self) -> Pure:
        """ε."""
        return Pure(self.epsilon)

    @cached_property
    def lie(self) -> Fraction:
        """The probability of each value that is not true: 1/(e^ε + choices − 1), rounded up by at most 2^−60 of itself.

        More digits where ε is small or there are many choices, so that the truth always stays the likeliest.
        """
        small = max(0, self.epsilon.denominator.bit_length() - self.epsilon.numerator.bit_length())
        bits = 64 + small + self.choices.bit_length()
        least = 1 / (exp(self.epsilon, 40 + bits // 3) + self.choices - 1)
        return min(Fraction(1, self.choices), simpler_up(least.up, bits))

    @property
    def truth(self) -> Fraction:
        """The probability of the true value."""
        return 1 - (self.choices - 1) * self.lie

    @property
    def channel(self) -> Channel[int, int]:
        """All probabilities of all answers."""
        values = range(self.choices)
        return Channel({true: {said: self.truth if said == true else self.lie for said in values} for true in values})

    def error(self, confidence: Number = USUAL, people: int = 1) -> Fraction:
        """An α such that a share estimated from so many people's answers is within α of the true one.

        √(ln(2/β) / (2 people)) / (truth − lie) with β = 1 − confidence (Hoeffding 1963, Theorem 2); for each value by
        itself.
        """
        rare, people = 1 - share(confidence, "confidence"), count(people, "people")
        return simpler_up((log(2 / rare) / (2 * people)).sqrt().up / (self.truth - self.lie))

    def pairs(self) -> tuple[Pair[int], ...]:
        """All pairs of values are equally far apart."""
        return (Pair(0, 1, "a person with one value, and with another"),)

    def __call__(self, value: int, /, *, rng: Entropy = SECURE) -> int:
        """One person's answer. What equals none of the values counts as 0."""
        true = self._among(value)
        if flip(self.truth, rng=rng):
            return true
        return (true + 1 + below(self.choices - 1, rng=rng)) % self.choices

    def each(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """Many people's answers, each with coins of their own, and each as if they had answered alone."""
        if self.choices > _MOST_TOGETHER:
            raise Refusal(f"expected at most 2^62 choices, got {shown(self.choices)}", hint="ask one by one")
        true = self._truths(cells(values))
        lies = ~flips(self.truth, true.size, rng=rng).reshape(true.shape)
        shift = np.zeros(true.shape, dtype=np.int64)
        shift[lies] = 1 + belows(self.choices - 1, int(lies.sum()), rng=rng)
        return (true + shift) % self.choices

    def _truths(self, given: NDArray[np.generic]) -> NDArray[np.int64]:
        if given.dtype.kind in "iub":
            whole = given.astype(np.uint64 if given.dtype.kind == "u" else np.int64)
            return np.where((whole >= 0) & (whole < self.choices), whole, 0).astype(np.int64)
        truths = [self._among(cell) for cell in given.ravel().tolist()]
        return np.array(truths, dtype=np.int64).reshape(given.shape)

    def _among(self, cell: object) -> int:
        """The value that a cell equals, 0 if it is none."""
        number = real(cell)
        known = isinstance(number, Fraction) and number.denominator == 1 and 0 <= number < self.choices
        return int(number) if known else 0

    def estimate(self, counts: Sequence[int]) -> tuple[Share, ...]:
        """The share of each value among the people, from how often each was answered.

        Unbiased; it may lie below 0 or above 1, and the shares sum to 1 exactly. docs/proofs/response.md.
        """
        answers = [count(number, "counts", least=0) for number in counts]
        people = sum(answers)
        if len(answers) != self.choices or people == 0:
            raise Refusal(f"expected {self.choices} counts that are not all 0, got {list(counts)}")
        gap = self.truth - self.lie
        return tuple(self._share((Fraction(said, people) - self.lie) / gap, people) for said in answers)

    def _share(self, value: Fraction, people: int) -> Share:
        """The variance of the answers is a mixture: truth (1 − truth) from those with the value, lie (1 − lie) else."""
        inside = min(Fraction(1), max(Fraction(0), value))
        spread = inside * self.truth * (1 - self.truth) + (1 - inside) * self.lie * (1 - self.lie)
        return Share(value, simpler_up(sqrt(spread / people).up / (self.truth - self.lie)))
