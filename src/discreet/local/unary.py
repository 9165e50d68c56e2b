"""Unary encoding: a bit for every value, each flipped on its own. Errors do not grow with the number of values."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.interval import exp
from discreet.local import bits
from discreet.local.client import answer, client
from discreet.local.coin import coins, rounded_up
from discreet.local.estimate import Odds
from discreet.local.honesty import Sizes, likely_sizes
from discreet.local.oracle import Oracle
from discreet.local.report_sums import Whole
from discreet.local.reporter import Reports
from discreet.noise import SECURE, Entropy, flip
from discreet.privacy.divergence import Channel

_CELLS = 1 << 18  # bits that are drawn at once


class Unary(Oracle):
    """Sets the bit of the true value with probability `holder`, and every other with probability `other`."""

    most: ClassVar[int] = 1 << 20

    @property
    @abstractmethod
    def odds(self) -> Odds:
        """Of every bit to be set."""

    @property
    def form(self) -> np.dtype[Any]:
        """A bit for each value, ⌈choices/8⌉ bytes: value v is bit v mod 8 of byte v div 8, and spare bits are 0."""
        return bits.form(self.choices)

    @property
    def _together(self) -> int:
        return max(1, _CELLS // self.choices)

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> bytes:
        """One person's report."""
        true, odds = answer(value, self.choices), self.odds
        said = [flip(odds.holder if v == true else odds.other, rng=rng) for v in range(self.choices)]
        return bits.packed(np.array([said])).tobytes()

    def channel(self) -> Channel[int, bytes]:
        """All probabilities of all reports, for few values."""
        sets = bits.every(self.choices)
        return Channel({v: {report: self._chance(v, i) for i, report in enumerate(sets)} for v in range(self.choices)})

    def _chance(self, true: int, said: int) -> Fraction:
        """Of the report that holds the values whose bit is set in `said`."""
        total = Fraction(1)
        for v in range(self.choices):
            one = self.odds.holder if v == true else self.odds.other
            total *= one if said >> v & 1 else 1 - one
        return total

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        said = coins(self.odds.other, truths.size * self.choices, rng).reshape(truths.size, self.choices)
        said[np.arange(truths.size), truths] = coins(self.odds.holder, truths.size, rng)
        return bits.packed(said)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return bits.padded(reports, self.choices)

    @cached_property
    def sizes(self) -> Sizes:
        """A coin for each value."""
        p, q, others = self.odds.holder, self.odds.other, self.choices - 1
        mean = p + others * q
        return Sizes(mean, p * (1 - p) + others * q * (1 - q), max(mean, self.choices - mean))

    @cached_property
    def likely(self) -> tuple[int, int]:
        """Between which numbers of bits a report sets, but for one in 2^39."""
        return likely_sizes(self.odds.holder, self.odds.other, self.choices, (1, 1))

    def unlikely(self, reports: Reports) -> NDArray[np.bool_]:
        """Those that set too many bits, or too few."""
        sizes, (low, high) = bits.sizes(reports), self.likely
        return np.asarray((sizes < low) | (sizes > high))

    def sums(self, reports: Reports) -> Whole:
        """What a tally keeps."""
        return bits.columns(reports, self.choices)


@client("symmetric-unary")
@dataclass(frozen=True)
class SymmetricUnary(Unary):
    """Flips every bit with one probability: what RAPPOR does once.

    Guarantee: Pure(epsilon) for any two values of the person who reports, whoever reads the report.
    Proof: two values differ in two bits, and each of the two changes its probability by a factor of at most
        (1 − other)/other ≤ e^(epsilon/2) (docs/proofs/unary.md).
    Source: Erlingsson, Pihur & Korolova 2014; Wang, Blocki, Li & Jha 2017, Section 4.2.
    """

    @cached_property
    def odds(self) -> Odds:
        """1/(e^{ε/2} + 1), rounded up to a multiple of 2^−64, and what it lacks to 1."""
        flipped = rounded_up(1 / (exp(self.epsilon / 2) + 1))
        return Odds(1 - flipped, flipped)


@client("optimized-unary")
@dataclass(frozen=True)
class OptimizedUnary(Unary):
    """Sets the true bit by a fair coin and others rarely: of unary encodings, the smallest error for rare values.

    Guarantee: Pure(epsilon) for any two values of the person who reports, whoever reads the report.
    Proof: two values differ in two bits. The fair coins cancel, and what is left is (1 − other)/other ≤ e^epsilon
        (docs/proofs/unary.md).
    Source: Wang, Blocki, Li & Jha 2017, Section 4.2.
    """

    @cached_property
    def odds(self) -> Odds:
        """1/2, and 1/(e^ε + 1) rounded up to a multiple of 2^−64."""
        return Odds(Fraction(1, 2), rounded_up(1 / (exp(self.epsilon) + 1)))
