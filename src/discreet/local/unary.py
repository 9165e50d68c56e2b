"""Reports that are sets of bits: unary encoding, a bit for every value flipped on its own; and subset selection."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.interval_arithmetic import exp
from discreet.local.frequencies import Odds, Sizes
from discreet.local.frequency_oracle import Oracle
from discreet.local.local_mechanism import Reports, Whole, answer, client, rounded_down, rounded_up, written_down
from discreet.noise import SECURE, Entropy, below, coins, flip
from discreet.privacy.divergence import Channel

RARE = 2.0**-40  # each side's: of 2^24 honest reports one is refused with a probability below 2^-15
_BLOCK = 255  # bits whose sum fits into a byte


def packed(bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Rows of bits as rows of bytes: value v is bit v mod 8 of byte v div 8; what is left of the last byte is 0."""
    return np.packbits(bits, axis=1, bitorder="little")


def form_of(choices: int) -> np.dtype[Any]:
    """A set of values in ⌈choices/8⌉ bytes."""
    return np.dtype((np.uint8, (-(-choices // 8),)))


def padded(reports: NDArray[np.uint8], choices: int) -> NDArray[np.bool_]:
    """Which reports have a bit set that belongs to no value."""
    spare = 0xFF & ~((1 << (choices - 1) % 8 + 1) - 1)
    return np.asarray(reports[..., -1] & np.uint8(spare) != 0)


def sizes_of(reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many values are in each set."""
    total: NDArray[np.int64] = np.bitwise_count(reports).sum(axis=-1, dtype=np.int64)
    return total


def beyond(reports: NDArray[np.uint8], likely: tuple[int, int]) -> NDArray[np.bool_]:
    """Which sets have fewer or more values than lie between these ends."""
    sizes, (low, high) = sizes_of(reports), likely
    return np.asarray((sizes < low) | (sizes > high))


def columns(reports: NDArray[np.uint8], choices: int) -> NDArray[np.int64]:
    """In how many sets each value is. Rows are added up in bytes, so many that none overflows."""
    bits = np.unpackbits(reports, axis=1, bitorder="little", count=choices)
    whole = len(bits) // _BLOCK * _BLOCK
    blocks = bits[:whole].reshape(-1, _BLOCK, choices).sum(axis=1, dtype=np.uint8)
    total: NDArray[np.int64] = blocks.sum(axis=0, dtype=np.int64) + bits[whole:].sum(axis=0, dtype=np.int64)
    return total


def every(choices: int) -> list[bytes]:
    """All sets of values, each as a report: the i-th holds the values whose bit is set in i."""
    written_down(choices << choices)
    return [i.to_bytes(-(-choices // 8), "little") for i in range(1 << choices)]


_CELLS = 1 << 18  # bits that are drawn at once


def likely_sizes(holder: Fraction, other: Fraction, size: int, held: tuple[int, int]) -> tuple[int, int]:
    """Between which numbers of bits an honest report of so many sets: beyond either end is rarer than `RARE`.

    Bits are set independently, with probability `holder` if a person's value sets them and else `other`; a value sets
    at least and at most the numbers of them that are `held`. More are set the more of them it sets, so that the worst
    cases are these two.
    """
    odds, (fewest, most) = (float(holder), float(other)), held
    low = _first(lambda bits: _below(odds, size, fewest, bits) >= RARE, size)
    high = size - _first(lambda bits: _above(odds, size, most, size - bits) >= RARE, size)
    return low, high


def _first(holds: Callable[[int], bool], size: int) -> int:
    """The smallest number up to `size` that holds, where all above it do."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _below(odds: tuple[float, float], size: int, held: int, bits: int) -> float:
    """How likely at most so many bits are set."""
    return sum(p * _most(bits - own, size - held, odds[1]) for own, p in _own(odds[0], held))


def _above(odds: tuple[float, float], size: int, held: int, bits: int) -> float:
    """How likely at least so many bits are set."""
    return sum(p * _least(bits - own, size - held, odds[1]) for own, p in _own(odds[0], held))


def _own(chance: float, held: int) -> list[tuple[int, float]]:
    """How many of the bits are set that a value sets, and how likely."""
    return [(own, math.comb(held, own) * chance**own * (1 - chance) ** (held - own)) for own in range(held + 1)]


def _most(bits: int, size: int, chance: float) -> float:
    """How likely at most so many of independent coins fall on heads."""
    return 0.0 if bits < 0 else 1.0 if bits >= size else float(special.bdtr(bits, size, chance))


def _least(bits: int, size: int, chance: float) -> float:
    """How likely at least so many do."""
    return 1.0 if bits <= 0 else 0.0 if bits > size else float(special.bdtrc(bits - 1, size, chance))


def together(choices: int) -> int:
    """How many sets are drawn or added up at once."""
    return max(1, _CELLS // choices)


class Unary:
    """Unary encoding: sets the bit of the true value with probability `holder`, and every other with `other`."""

    choices: int
    most: ClassVar[int] = 1 << 20

    @property
    @abstractmethod
    def odds(self) -> Odds:
        """Of every bit to be set."""

    @property
    def form(self) -> np.dtype[Any]:
        """A bit for each value, ⌈choices/8⌉ bytes: value v is bit v mod 8 of byte v div 8, and spare bits are 0."""
        return form_of(self.choices)

    @property
    def _together(self) -> int:
        return together(self.choices)

    def sums(self, reports: Reports) -> Whole:
        """In how many sets each value is."""
        return columns(reports, self.choices)

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> bytes:
        """One person's report."""
        true, odds = answer(value, self.choices), self.odds
        said = [flip(odds.holder if v == true else odds.other, rng=rng) for v in range(self.choices)]
        return packed(np.array([said])).tobytes()

    def channel(self) -> Channel[int, bytes]:
        """All probabilities of all reports, for few values."""
        sets = every(self.choices)
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
        return packed(said)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return padded(reports, self.choices)

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
        return beyond(reports, self.likely)


@client("symmetric-unary")
@dataclass(frozen=True)
class SymmetricUnary(Unary, Oracle):
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
class OptimizedUnary(Unary, Oracle):
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


@client("subset-selection")
@dataclass(frozen=True)
class SubsetSelection(Oracle):
    """Reports a random set of `size` values, the true one among them with a stated probability.

    Guarantee: Pure(epsilon) for any two values of the person who reports, whoever reads the report.
    Proof: given whether it holds the true value, every set is equally likely, and a set is at most e^epsilon times
        likelier for a value in it than for one that is not (docs/proofs/subset.md).
    Source: Ye & Barg 2018; Wang, Huang, Wang, Nie, Xu, Yang, Li & Qiao 2016.
    """

    most: ClassVar[int] = 1 << 16

    @property
    def form(self) -> np.dtype[Any]:
        """A bit for each value, as unary encodings have it."""
        return form_of(self.choices)

    @property
    def _together(self) -> int:
        return together(self.choices)

    def sums(self, reports: Reports) -> Whole:
        """In how many sets each value is."""
        return columns(reports, self.choices)

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
