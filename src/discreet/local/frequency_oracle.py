"""Frequency oracle: abstract client for one of several values; and randomized response, the simplest one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, shown
from discreet.local.frequencies import Frequencies, Odds, Sizes
from discreet.local.local_mechanism import (
    Reporter,
    Reports,
    Tally,
    Whole,
    answer,
    answers,
    client,
    hoeffding,
    narrowest,
    price,
    written_down,
)
from discreet.mechanisms import Pair, RandomizedResponse, Share
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy.divergence import Channel

_MOST_COUNTED = 1 << 24


@dataclass(frozen=True)
class Oracle(Reporter):
    """The public parameters of a client: what one report loses, and of how many values 0, 1, … a person has one.

    A report *supports* some of the values: its own holder's with one probability, any other with a smaller one. Counts
    of support make unbiased estimates (Wang, Blocki, Li & Jha 2017, Section 3). What equals none of the values is
    refused, and nothing is reported.
    """

    epsilon: Fraction
    choices: int

    most: ClassVar[int] = (1 << 31) - 1  # choices

    def __post_init__(self) -> None:
        settle(self, epsilon=price(self.epsilon), choices=count(self.choices, "choices", least=2))
        if self.choices > self.most:
            raise Refusal(f"expected at most {self.most} choices, got {shown(self.choices)}", hint="take LocalHashing")

    @property
    @abstractmethod
    def odds(self) -> Odds:
        """How likely a report supports a value, exactly."""

    @property
    def sizes(self) -> Sizes | None:
        """How many values an honest report supports; None where it is always the same number."""
        return None

    def _supports(self, tally: Tally) -> Whole:
        """How many reports support each value."""
        return tally.counts

    def estimate(self, tally: Tally) -> Frequencies:
        """How many people hold each value: unbiased, with standard errors."""
        known = self.understood(tally)
        return Frequencies(known.people, self._supports(known), self.odds, sizes=self.sizes)

    def pairs(self) -> tuple[Pair[int], ...]:
        """Any two values are equally far apart."""
        return (Pair(0, 1, "a person with one value, and with another"),)

    def error(self, confidence: Number = USUAL, people: int = 1) -> Fraction:
        """An α such that the share of a given value, from so many people, is within α of the true one."""
        return hoeffding(count(people, "people"), confidence) / self.odds.gap

    def _truths(self, given: NDArray[np.generic]) -> Whole:
        return answers(given, self.choices)

    @property
    def _nothing(self) -> Whole:
        if self.choices > _MOST_COUNTED:
            raise Refusal(f"a tally counts at most 2^24 values, got {self.choices} choices")
        return np.zeros(self.choices, dtype=np.int64)


@client("response")
@dataclass(frozen=True)
class Response(Oracle):
    """Reports the true value, or each other with the probability of a lie.

    Where choices < 3e^ε + 2 it varies less than `OptimizedUnary` (Wang, Blocki, Li & Jha 2017); `SubsetSelection` may
    vary less still.

    Guarantee: Pure(epsilon) for any two values of the person who reports, whoever reads the report.
    Proof: it is `RandomizedResponse`, whose probabilities are rationals of ratio at most e^epsilon
        (docs/proofs/response.md).
    Source: Warner 1965; Kairouz, Oh & Viswanath 2014 for more than two values.
    """

    @cached_property
    def mechanism(self) -> RandomizedResponse:
        """The law of a report."""
        return RandomizedResponse(self.epsilon, self.choices)

    @property
    def form(self) -> np.dtype[Any]:
        """The value said, in the fewest of 1, 2 or 4 bytes, little end first."""
        return narrowest(self.choices)

    @property
    def odds(self) -> Odds:
        """A report supports the value that it says."""
        return Odds(self.mechanism.truth, self.mechanism.lie)

    def channel(self) -> Channel[int, int]:
        """All probabilities of all reports."""
        written_down(self.choices**2)
        return self.mechanism.channel

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> int:
        """One person's report."""
        return self.mechanism(answer(value, self.choices), rng=rng)

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        return self.mechanism.each(truths, rng=rng)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray(reports >= self.choices)

    @property
    def _together(self) -> int:
        return max(1 << 15, min(self.choices, 1 << 24))  # each time, there are so many sums to clear and to add

    def sums(self, reports: Reports) -> Whole:
        """What a tally keeps."""
        return np.bincount(reports, minlength=self.choices)


def classroom(yes: int, people: int) -> Share:
    """The share of those whose truth is yes, if so many of the people said yes: 2 (yes/people − 1/4).

    Everybody flipped a coin: on heads they told the truth; on tails a second coin answered. ε = ln 3.

    >>> classroom(60, 100).value
    Fraction(7, 10)
    """
    said, asked = count(yes, "yes", least=0), count(people, "people")
    if said > asked:
        raise Refusal(f"expected yes <= people, got yes={yes} people={people}")
    return RandomizedResponse.warner().estimate([asked - said, said])[1]
