"""Randomized response for a crowd: the true value or another, straight to the server, and the classroom's estimate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count
from discreet.local.client import answer, client, narrowest, written_down
from discreet.local.estimate import Odds
from discreet.local.oracle import Oracle
from discreet.local.report_sums import Whole
from discreet.local.reporter import Reports
from discreet.mechanisms import RandomizedResponse, Share
from discreet.noise import SECURE, Entropy
from discreet.privacy.divergence import Channel


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
