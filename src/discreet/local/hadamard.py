"""Hadamard response: one randomized bit of a known transform. The shortest reports, and the fastest server."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.frequencies import Odds, Sizes
from discreet.local.frequency_oracle import Oracle
from discreet.local.local_mechanism import Reports, Tally, Whole, answer, client, narrowest, written_down
from discreet.mechanisms import RandomizedResponse
from discreet.noise import SECURE, Entropy
from discreet.privacy.divergence import Channel


@client("hadamard")
@dataclass(frozen=True)
class Hadamard(Oracle):
    """Draws a row of a Hadamard matrix, and reports it with a randomized response on its entry for the value.

    Row j has the entry (−1)^(number of bits set in both j and v + 1) for the value v, so that no value has the
    constant column.

    Guarantee: Pure(epsilon) for any two values of the person who reports, whoever reads the report.
    Proof: the row does not depend on the value; given it, the report is a `RandomizedResponse` on one bit
        (docs/proofs/hadamard.md).
    Source: Acharya, Sun & Zhang 2019; the form with one bit: Bassily & Smith 2015; Nguyên et al. 2016.
    """

    most: ClassVar[int] = (1 << 24) - 1

    @cached_property
    def mechanism(self) -> RandomizedResponse:
        """The law of the bit."""
        return RandomizedResponse(self.epsilon)

    @property
    def digits(self) -> int:
        """Of a row, in binary: there are 2^digits rows."""
        return self.choices.bit_length()

    @property
    def form(self) -> np.dtype[Any]:
        """2 · row + bit in the fewest of 1, 2 or 4 bytes, little end first."""
        return narrowest(2 << self.digits)

    @cached_property
    def odds(self) -> Odds:
        """A report supports all values whose entry in its row is the one that it tells: of those not held, half."""
        return Odds(self.mechanism.truth, Fraction(1, 2))

    @cached_property
    def sizes(self) -> Sizes:
        """Half of the values and the own one's half more. Rows are orthogonal, so their sums vary as coins do."""
        tells = 2 * self.mechanism.truth - 1
        mean = (self.choices + tells) / 2
        return Sizes(mean, (self.choices - tells**2) / 4, max(mean, self.choices - mean))

    def channel(self) -> Channel[int, int]:
        """All probabilities of all reports."""
        written_down(self.choices << self.digits + 1)
        rows, law = range(1 << self.digits), self.mechanism.channel
        return Channel({
            v: {2 * j + bit: p / (1 << self.digits) for j in rows for bit, p in law[_entry(j, v)].items()}
            for v in range(self.choices)
        })  # fmt: skip

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> int:
        """One person's report."""
        row = rng.bits(self.digits)
        return 2 * row + self.mechanism(_entry(row, answer(value, self.choices)), rng=rng)

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        form = self.form
        row = np.frombuffer(rng.raw(truths.size * form.itemsize), dtype=form) & form.type((1 << self.digits) - 1)
        bit = np.bitwise_count(row & (truths + 1).astype(form)) & np.uint8(1)
        said: Reports = (row << form.type(1)) | self.mechanism.each(bit, rng=rng).astype(form)
        return said

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray(reports >= 2 << self.digits)

    @property
    def _together(self) -> int:
        return max(1 << 15, 1 << self.digits)  # each time, there are so many sums to clear and to add

    @property
    def _nothing(self) -> Whole:
        return np.zeros(1 << self.digits, dtype=np.int64)

    def sums(self, reports: Reports) -> Whole:
        """For each row, how many more told the entry 1 than −1."""
        said = np.bincount(reports, minlength=2 << self.digits)
        return said[0::2] - said[1::2]

    def _supports(self, tally: Tally) -> Whole:
        """(people + Σ over rows of sum · entry) / 2."""
        return (tally.people + walsh(tally.counts)[1 : self.choices + 1]) // 2


def _entry(row: int, value: int) -> int:
    """1 where the matrix has −1."""
    return (row & (value + 1)).bit_count() & 1


def walsh(sums: Whole) -> Whole:
    """The fast Walsh–Hadamard transform, in whole numbers: n log n additions for a length n that is a power of two."""
    half, out = 1, sums
    while half < sums.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out
