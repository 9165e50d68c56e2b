"""Mechanisms for means of numbers, their estimates, and the simplest: Duchi's, a randomized bound."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import Refusal
from discreet.exact import Number, count, exact, share, shown
from discreet.local.frequencies import TOO_SURE, reach
from discreet.local.local_mechanism import (
    TIMES,
    Reporter,
    Reports,
    Tally,
    Whole,
    brief,
    client,
    hoeffding,
    number,
    price,
    written_down,
)
from discreet.mechanisms import Pair, RandomizedResponse
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy, below, belows
from discreet.privacy.divergence import Channel

MOST_DIGITS = 20  # of the grid: 2^40 reports of so many digits, squared, are still added up without overflow
_WIDEST = 10**300  # of a bound: a float holds it
_NARROWEST = Fraction(1, 10**300)  # between the bounds: a float holds a 2^20th of it, to all its digits
_FAR = 1 << 40  # steps from zero to `lower`
_HALF = 1 << 63  # of what 64 bits hold


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of the people who reported, exact in what the reports say, and its standard error.

    The standard error covers the clients' coins, which is all of the error where everybody answers truly; that other
    people might differ is not in it. `jump` is the most by which one report is off, divided by the people.
    docs/proofs/means.md.
    """

    value: Fraction
    error: float
    jump: float = 0.0

    def scaled(self, lower: Fraction, step: Fraction) -> MeanEstimate:
        """The same, if it was in steps above `lower`."""
        return MeanEstimate(lower + step * self.value, float(step) * self.error, float(step) * self.jump)

    def interval(self, confidence: Number = USUAL) -> tuple[float, float]:
        """Two ends that cover the mean with about this probability.

        By the normal law, and further out by what reports are skewed at most (Cornish & Fisher 1938).
        """
        far = reach(confidence)
        off = far * self.error + max(0.0, far**2 - 1) / 6 * self.jump
        return float(self.value) - off, float(self.value) + off

    def shift(self, dishonest: int) -> float:
        """By how much at most the mean is moved if so many of the reports say whatever suits their senders."""
        return count(dishonest, "dishonest", least=0) * self.jump


@dataclass(frozen=True)
class BitMean(MeanEstimate):
    """A mean of which every report is one bit: `ends` are what a 0 and a 1 estimate, and so many said 1."""

    people: int = 2
    ones: int = 0
    ends: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))

    def interval(self, confidence: Number = USUAL) -> tuple[float, float]:
        """Two ends that cover the mean with at least this probability, from 1/2 on, whatever the people's numbers are.

        The probability of a 1 is known to lie between two numbers (Clopper & Pearson 1934), and the mean is a line in
        it. Where people differ, their ones vary less than those of equal people (Hoeffding 1956). docs/proofs/means.md.
        """
        rare = float((1 - share(confidence, "confidence")) / 2)
        if rare < sys.float_info.min:
            raise Refusal(f"{TOO_SURE}, got {shown(confidence)}")
        zeros = self.people - self.ones
        least = float(special.betaincinv(self.ones, zeros + 1, rare)) if self.ones else 0.0
        most = float(special.betainccinv(self.ones + 1, zeros, rare)) if zeros else 1.0
        low, high = (float(end) for end in self.ends)
        return low + (high - low) * least, low + (high - low) * most


Curve = tuple[Fraction, Fraction, Fraction]


def coins_variance(curve: Curve, mean: Fraction, square: Fraction, likely: Iterable[Fraction]) -> Fraction:
    """The variance of one report, averaged over people whose reports have this mean and this mean square.

    That of a person at x is c + b x + (a − 1) x². If a ≤ 1 it is at most that of people who are all at the mean, which
    is then taken; else at least that, and the squares tell how much more. `likely` is where the mean may be.
    docs/proofs/means.md.
    """
    constant, linear, bend = curve
    alike = max(constant + place * (linear + place * (bend - 1)) for place in likely)
    if bend <= 1:
        return alike
    return max(alike, (1 - 1 / bend) * square + (constant + linear * mean) / bend)


@dataclass(frozen=True)
class MeanReporter(Reporter):
    """The public parameters: what one report loses, between which bounds numbers lie, and how fine the grid is.

    The bounds are divided into 2^digits equal steps. A number counts as the nearest of their ends; what is outside, as
    the nearer bound. What is no number is refused. Each report is an unbiased estimate of its person's grid point.
    """

    epsilon: Fraction
    lower: Fraction = Fraction(-1)
    upper: Fraction = Fraction(1)
    digits: int = 16

    def __post_init__(self) -> None:
        lower, upper = brief(exact(self.lower, "lower"), "lower"), brief(exact(self.upper, "upper"), "upper")
        settle(self, epsilon=price(self.epsilon), lower=lower, upper=upper, digits=count(self.digits, "digits"))
        got = f"lower={shown(lower, str)} upper={shown(upper, str)}"
        if not lower < upper or max(abs(lower), abs(upper)) > _WIDEST:
            raise Refusal(f"expected lower < upper, both within 1e300, got {got}")
        if upper - lower < _NARROWEST:
            raise Refusal(f"expected lower and upper at least 1e-300 apart, got {got}", hint="take another unit")
        if self.digits > MOST_DIGITS:
            raise Refusal(f"expected digits <= {MOST_DIGITS}, got digits={shown(self.digits)}")

    @property
    def steps(self) -> int:
        """Between the bounds."""
        return 1 << self.digits

    @property
    def step(self) -> Fraction:
        """How long one is."""
        return (self.upper - self.lower) / self.steps

    def place(self, values: object) -> Whole:
        """How many steps above `lower` each number lies, in an array."""
        return self._truths(self._people(values))  # type: ignore[arg-type]  # anything that has cells

    def _truths(self, given: NDArray[np.generic]) -> Whole:
        kind = given.dtype.kind
        if kind == "f" and given.dtype.itemsize <= 8:  # one that is longer than a double is not rounded to one first
            return self._of_floats(given.astype(np.float64))
        if kind in "iub":
            return self._of_integers(given)
        if kind in TIMES and given.size:
            raise no_number()
        return self._one_by_one(given)

    def _of_floats(self, reals: NDArray[np.float64]) -> Whole:
        """In doubles, and again in rationals where their error could move a number over the middle of a step.

        Proof: `lower` and `step` are rounded to doubles, and so are a difference and a quotient: `scaled` is within
            2^−52 |lower|/step + 2^−51 |scaled| + 2^−52 of (number − lower)/step, at most half of `unsure`.
        """
        if abs(self.lower) > _FAR * self.step:  # many could be moved
            return self._one_by_one(reals)
        with np.errstate(all="ignore"):
            scaled = (reals - float(self.lower)) / float(self.step)
            image = np.floor(scaled + 0.5)
            unsure = (float(abs(self.lower) / self.step) + np.abs(scaled) + 1) * 2.0**-50
            near = np.abs(scaled - np.floor(scaled) - 0.5) <= unsure  # never at infinities, whose part is NaN
        near &= (scaled > -1) & (scaled < self.steps + 1)  # what is further off is clamped, however it is rounded
        middle, places = np.unique(reals[near], return_inverse=True)
        image[near] = self._one_by_one(middle)[places]
        if np.isnan(reals).any():
            raise no_number()
        return np.clip(image, 0, self.steps).astype(np.int64)

    def _of_integers(self, given: NDArray[np.generic]) -> Whole:
        """⌊(slope · (v − low) + start)/bottom⌋ in 64 bits, if the bounds leave room for it."""
        low, high = math.floor(self.lower), math.ceil(self.upper)
        first = (low - self.lower) / self.step + Fraction(1, 2)
        bottom = math.lcm(self.step.numerator, first.denominator)
        slope, start = int(bottom / self.step), int(bottom * first)
        if low < -_HALF or high >= _HALF or (high - low) * slope + abs(start) >= _HALF:
            return self._one_by_one(given)
        if given.dtype.kind == "u":
            given = np.minimum(given.astype(np.uint64), np.uint64(max(high, 0)))
        inside = np.clip(given.astype(np.int64), low, high) - low
        return np.clip((slope * inside + start) // bottom, 0, self.steps)

    def _one_by_one(self, given: NDArray[np.generic]) -> Whole:
        return np.array([self._place(cell) for cell in given.ravel().tolist()], dtype=np.int64)

    def _place(self, cell: object) -> int:
        known = number(cell)
        if isinstance(known, float):  # not finite, or no number
            if math.isnan(known):
                raise no_number()
            return self.steps if known > 0 else 0
        return max(0, min(self.steps, math.floor((known - self.lower) / self.step + Fraction(1, 2))))

    @abstractmethod
    def moments(self, people: int, sums: Whole) -> tuple[Fraction, Fraction]:
        """The sum of all reports' estimates, in steps, and that of their squares."""

    @property
    @abstractmethod
    def reach(self) -> tuple[Fraction, Fraction]:
        """The least and the largest estimate that a report can be, in steps."""

    @property
    @abstractmethod
    def curve(self) -> Curve:
        """The mean square of the estimate of a person at x steps is c + b x + a x²: the numbers c, b and a."""

    def square(self, place: Fraction) -> Fraction:
        """The mean square of the estimate of a person at this place, both in steps."""
        constant, linear, bend = self.curve
        return constant + place * (linear + place * bend)

    def variance(self, place: Fraction) -> Fraction:
        """Of the estimate of a person at this place, both in steps."""
        return self.square(place) - place**2

    def likely(self, people: int, mean: Fraction) -> tuple[Fraction, Fraction]:
        """Places where a mean may be that was estimated here: itself, and as if four more people, two at each bound.

        The second (Agresti & Coull 1998) is inside where the first is at a bound, and a bit would seem to vary no more.
        """
        inside = min(Fraction(self.steps), max(Fraction(0), mean))
        return inside, (people * inside + 2 * self.steps) / (people + 4)

    @property
    def furthest(self) -> Fraction:
        """How far a report's estimate can be from its person's own place, in steps."""
        low, high = self.reach
        return max(high, self.steps - low)

    def estimate(self, tally: Tally) -> MeanEstimate:
        """The mean of the grid points of the people who reported: unbiased, with a standard error."""
        known = self.understood(tally, least=2)
        people, (total, squares) = known.people, self.moments(known.people, known.counts)
        mean = total / people
        spread = coins_variance(self.curve, mean, squares / people, self.likely(people, mean))
        alone = MeanEstimate(mean, math.sqrt(spread / people), float(self.furthest / people))
        return alone.scaled(self.lower, self.step)

    def pairs(self) -> tuple[Pair[Any], ...]:
        """The two bounds are as far apart as any."""
        return (Pair(self.lower, self.upper, "a person at the lower bound, and at the upper"),)

    def error(self, confidence: Number = USUAL, people: int = 1) -> Fraction:
        """An α such that the mean, from so many people, is within α of that of their grid points."""
        low, high = self.reach
        return hoeffding(count(people, "people"), confidence) * (high - low) * self.step


def no_number() -> Refusal:
    """Said of what is no number: the same whatever it is."""
    return Refusal("this answer is no number", hint="nothing was sent or counted")


@client("duchi-mean")
@dataclass(frozen=True)
class DuchiMean(MeanReporter):
    """Rounds the number to one of the two bounds at random, then reports which by a randomized response.

    Guarantee: Pure(epsilon) for any two numbers of the person who reports, whoever reads the report.
    Proof: it is a `RandomizedResponse` on a bit, whichever bit the number was rounded to (docs/proofs/means.md).
    Source: Duchi, Jordan & Wainwright 2018, in one dimension.
    """

    @cached_property
    def mechanism(self) -> RandomizedResponse:
        """The law of the bit."""
        return RandomizedResponse(self.epsilon)

    @property
    def form(self) -> np.dtype[Any]:
        """0 or 1 in a byte."""
        return np.dtype("u1")

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        """Those of 0 and 1."""
        lie, gap = self.mechanism.lie, self.mechanism.truth - self.mechanism.lie
        return -lie * self.steps / gap, (1 - lie) * self.steps / gap

    def channel(self) -> Channel[int, int]:
        """All probabilities of all reports, by how many steps above `lower` a number lies."""
        written_down(2 * (self.steps + 1))
        lie, gap = self.mechanism.lie, self.mechanism.truth - self.mechanism.lie
        ones = {place: lie + gap * Fraction(place, self.steps) for place in range(self.steps + 1)}
        return Channel({place: {0: 1 - one, 1: one} for place, one in ones.items()})

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> int:
        """One person's report."""
        up = below(self.steps, rng=rng) < int(self.place([value])[0])
        return self.mechanism(up, rng=rng)

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        return self.mechanism.each(belows(self.steps, truths.size, rng=rng) < truths, rng=rng)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray(reports > 1)

    @cached_property
    def curve(self) -> Curve:
        """A 1 is said with a probability that is a line in x."""
        (low, high), lie = self.reach, self.mechanism.lie
        more = high**2 - low**2
        return low**2 + lie * more, (self.mechanism.truth - lie) * more / self.steps, Fraction(0)

    @property
    def _nothing(self) -> Whole:
        return np.zeros(1, dtype=np.int64)

    def sums(self, reports: Reports) -> Whole:
        """What a tally keeps."""
        return np.array([np.count_nonzero(reports)])

    def moments(self, people: int, sums: Whole) -> tuple[Fraction, Fraction]:
        """Each 1 and each 0 estimates an end of `reach`."""
        low, high = self.reach
        ones = int(sums[0])
        return ones * high + (people - ones) * low, ones * high**2 + (people - ones) * low**2

    def estimate(self, tally: Tally) -> BitMean:
        """The mean of the grid points of the people who reported: unbiased, with a standard error."""
        known = self.understood(tally, least=2)
        return self.of_bits(known.people, int(known.counts[0]))

    def of_bits(self, people: int, ones: int) -> BitMean:
        """The same, if so many people said 1."""
        low, high = (self.lower + self.step * end for end in self.reach)
        mean = low + (high - low) * Fraction(ones, people)
        spread = max(self.variance(place) for place in self.likely(people, (mean - self.lower) / self.step))
        error, jump = math.sqrt(spread / people) * float(self.step), float(self.furthest * self.step / people)
        return BitMean(mean, error, jump, people, ones, (low, high))
