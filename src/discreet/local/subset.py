"""Subset selection: a client whose report is a set of values that may hold the true one.

For rare values it has about the smallest error of all clients here. Reports grow with the number of values, so it is
for few of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.interval import exp
from discreet.local.client import Reports, Whole, answer, client, rounded_down
from discreet.local.frequencies import Odds
from discreet.local.unary import SetOracle, every, packed, padded, sizes_of
from discreet.noise import SECURE, Entropy, below, coins, flip
from discreet.privacy.divergence import Channel


@client("subset-selection")
@dataclass(frozen=True)
class SubsetSelection(SetOracle):
    """Reports a random set of `size` values, the true one among them with a stated probability.

    Guarantee: Pure(epsilon) for any two values of the person who reports, whoever reads the report.
    Proof: given whether it holds the true value, every set is equally likely, and a set is at most e^epsilon times
        likelier for a value in it than for one that is not (docs/proofs/subset.md).
    Source: Ye & Barg 2018; Wang, Huang, Wang, Nie, Xu, Yang, Li & Qiao 2016.
    """

    most: ClassVar[int] = 1 << 16

    @cached_property
    def size(self) -> int:
        """Of a set: choices/(e^ε + 1) to the nearest whole number, at least 1."""
        return max(1, math.floor((self.choices / (exp(self.epsilon) + 1)).down + Fraction(1, 2)))

    @cached_property
    def truth(self) -> Fraction:
        """How likely the true value is in the set: e^ε size/(e^ε size + choices − size), rounded down to 64 digits."""
        return rounded_down(1 / (1 + (self.choices - self.size) / (exp(self.epsilon) * self.size)))

    @cached_property
    def odds(self) -> Odds:
        """A report supports the values in its set."""
        others = self.truth * (self.size - 1) + (1 - self.truth) * self.size  # how many other values it holds, on mean
        return Odds(self.truth, others / (self.choices - 1))

    def channel(self) -> Channel[int, bytes]:
        """All probabilities of all reports, for few values."""
        sets = [(i, report) for i, report in enumerate(every(self.choices)) if i.bit_count() == self.size]
        within = self.truth / math.comb(self.choices - 1, self.size - 1)
        without = (1 - self.truth) / math.comb(self.choices - 1, self.size)
        values = range(self.choices)
        return Channel({v: {report: within if i >> v & 1 else without for i, report in sets} for v in values})

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> bytes:
        """One person's report: the others are drawn one by one from those not yet in the set."""
        true = answer(value, self.choices)
        said = {true} if flip(self.truth, rng=rng) else set()
        left = [v for v in range(self.choices) if v != true]
        while len(said) < self.size:
            said.add(left.pop(below(len(left), rng=rng)))
        return packed(np.isin(np.arange(self.choices), list(said))[None]).tobytes()

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        said = self._sets(truths, coins(self.truth, truths.size, rng), rng)
        return packed(said)

    def _sets(self, truths: Whole, held: NDArray[np.bool_], rng: Entropy) -> NDArray[np.bool_]:
        """For each person the values with the smallest of random keys, among which the true one's is first or last.

        Keys that are equal where the set ends would make it too large: all of that person's are drawn again. Whether
        they are does not depend on which other value has which key, so those are chosen evenly.
        """
        people = truths.size
        drawn = rng.raw(4 * people * self.choices)
        keys = np.frombuffer(drawn, dtype=np.uint32).reshape(people, self.choices).copy()
        keys[np.arange(people), truths] = np.where(held, np.uint32(0), np.uint32(0xFFFFFFFF))
        last = np.partition(keys, self.size - 1, axis=1)[:, self.size - 1]
        said: NDArray[np.bool_] = keys <= last[:, None]
        wrong = np.flatnonzero(said.sum(axis=1) != self.size)
        if wrong.size:
            said[wrong] = self._sets(truths[wrong], held[wrong], rng)
        return said

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray(padded(reports, self.choices) | (sizes_of(reports) != self.size))
