"""A frequency oracle: people report one of several values at random, and a server learns how many hold each."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, shown
from discreet.local.client import answers, hoeffding, price
from discreet.local.estimate import Frequencies, Odds
from discreet.local.honesty import Sizes
from discreet.local.report_sums import Tally, Whole
from discreet.local.reporter import Reporter
from discreet.mechanisms import Pair
from discreet.mechanisms.mechanism import USUAL, settle

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
