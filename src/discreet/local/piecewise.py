"""Piecewise mechanism for means: a report lies near the person's number, or anywhere; and its hybrid with Duchi's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.interval_arithmetic import exp
from discreet.local.local_mechanism import Reports, Tally, Whole, client, narrowest, rounded_down, written_down
from discreet.local.mean import Curve, DuchiMean, MeanEstimate, MeanReporter
from discreet.noise import SECURE, Entropy, below, belows, coins, flip
from discreet.privacy.divergence import Channel

LIMB = 21  # binary digits of each half of a square


@client("piecewise-mean")
@dataclass(frozen=True)
class PiecewiseMean(MeanReporter):
    """Reports one of steps + `window` places: the `window` from the person's own on are likelier than the others.

    Guarantee: Pure(epsilon) for any two numbers of the person who reports, whoever reads the report.
    Proof: every place has the probability `near` or `far`, and near ≤ e^epsilon far (docs/proofs/means.md).
    Source: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu 2019, Algorithm 2, put on whole numbers.
    """

    @cached_property
    def window(self) -> int:
        """How many places are near: steps e^(−ε/2) to the nearest whole number, at least 1."""
        return max(1, math.floor(self.steps * exp(-self.epsilon / 2).down + Fraction(1, 2)))

    @cached_property
    def near(self) -> Fraction:
        """The probability of each place in the window, rounded down to a multiple of 2^−64."""
        return rounded_down(1 / (self.window + self.steps * exp(-self.epsilon)))

    @property
    def far(self) -> Fraction:
        """The probability of each other place: there are as many as steps, wherever the window is."""
        return (1 - self.window * self.near) / self.steps

    @property
    def places(self) -> int:
        """How many there are in all."""
        return self.steps + self.window

    @property
    def form(self) -> np.dtype[Any]:
        """The place in the fewest of 1, 2 or 4 bytes, little end first."""
        return narrowest(self.places)

    @cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        """The expected place is a line in the number of steps: where it begins, and its slope."""
        rise, width = self.near - self.far, self.window
        start = self.far * math.comb(self.places, 2) + rise * math.comb(width, 2)
        return start, rise * width

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        """Those of the first place and the last."""
        start, slope = self.line
        return -start / slope, (self.places - 1 - start) / slope

    def channel(self) -> Channel[int, int]:
        """All probabilities of all reports, by how many steps above `lower` a number lies."""
        written_down(self.places * (self.steps + 1))
        return Channel({
            place: {y: self.near if 0 <= y - place < self.window else self.far for y in range(self.places)}
            for place in range(self.steps + 1)
        })  # fmt: skip

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> int:
        """One person's report."""
        place = int(self.place([value])[0])
        if flip(self.window * self.near, rng=rng):
            return place + below(self.window, rng=rng)
        other = below(self.steps, rng=rng)
        return other if other < place else other + self.window

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        inside = coins(self.window * self.near, truths.size, rng)
        other = belows(self.steps, truths.size, rng=rng)
        outside = np.where(other < truths, other, other + self.window)
        return np.where(inside, truths + belows(self.window, truths.size, rng=rng), outside)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray(reports >= self.places)

    @cached_property
    def curve(self) -> Curve:
        """All places as the far ones, and those of the window once more: sums of squares of whole numbers."""
        rise, width, (start, slope) = self.near - self.far, self.window, self.line
        constant = self.far * _squares(self.places) + rise * _squares(width) - start**2
        linear = 2 * rise * math.comb(width, 2) - 2 * start * slope
        return constant / slope**2, linear / slope**2, rise * width / slope**2

    @property
    def _nothing(self) -> Whole:
        return np.zeros(3, dtype=np.int64)

    def sums(self, reports: Reports) -> Whole:
        """Of places, and of both halves of their squares."""
        places = reports.astype(np.int64)
        squares = places * places
        return np.array([places.sum(), (squares & ((1 << LIMB) - 1)).sum(), (squares >> LIMB).sum()])

    def moments(self, people: int, sums: Whole) -> tuple[Fraction, Fraction]:
        """A place estimates (place − start)/slope."""
        start, slope = self.line
        total, squares = int(sums[0]), int(sums[1]) + (int(sums[2]) << LIMB)
        return (total - people * start) / slope, (squares - 2 * start * total + people * start**2) / slope**2


def _squares(many: int) -> int:
    """0² + 1² + … of so many."""
    return (many - 1) * many * (2 * many - 1) // 6


_FROM = Fraction(61, 100)  # ε from which mixing pays


@client("hybrid-mean")
@dataclass(frozen=True)
class HybridMean(MeanReporter):
    """Reports as `PiecewiseMean` with a stated probability, else as `DuchiMean`, and says which.

    Guarantee: Pure(epsilon) for any two numbers of the person who reports, whoever reads the report.
    Proof: the coin does not depend on the number, and whichever way it falls, what follows is Pure(epsilon)
        (docs/proofs/means.md).
    Source: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu 2019, Section III-C.
    """

    @cached_property
    def piecewise(self) -> PiecewiseMean:
        """One way."""
        return PiecewiseMean(self.epsilon, self.lower, self.upper, self.digits)

    @cached_property
    def duchi(self) -> DuchiMean:
        """The other."""
        return DuchiMean(self.epsilon, self.lower, self.upper, self.digits)

    @cached_property
    def share(self) -> Fraction:
        """How likely the first way is: 1 − e^(−ε/2), and never where ε is at most 0.61."""
        return rounded_down(1 - exp(-self.epsilon / 2)) if self.epsilon > _FROM else Fraction(0)

    @property
    def form(self) -> np.dtype[Any]:
        """A place, or `places` and then one bit, in the fewest of 1, 2 or 4 bytes, little end first."""
        return narrowest(self.piecewise.places + 2)

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        """The furthest of both."""
        one, other = self.duchi.reach, self.piecewise.reach
        return (min(one[0], other[0]), max(one[1], other[1])) if self.share else one

    def channel(self) -> Channel[int, int]:
        """All probabilities of all reports, by how many steps above `lower` a number lies."""
        near, far, first = self.piecewise.channel(), self.duchi.channel(), self.piecewise.places
        return Channel({
            place: {
                **{y: self.share * p for y, p in near[place].items()},
                **{first + bit: (1 - self.share) * p for bit, p in far[place].items()},
            }
            for place in range(self.steps + 1)
        })  # fmt: skip

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> int:
        """One person's report."""
        if flip(self.share, rng=rng):
            return self.piecewise(value, rng=rng)
        return self.piecewise.places + self.duchi(value, rng=rng)

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        out, first = np.empty(truths.size, dtype=np.int64), coins(self.share, truths.size, rng)
        out[first] = self.piecewise.randomize(truths[first], rng)
        out[~first] = self.piecewise.places + self.duchi.randomize(truths[~first], rng)
        return out

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        first = 0 if self.share else self.piecewise.places
        return np.asarray((reports < first) | (reports >= self.piecewise.places + 2))

    @cached_property
    def curve(self) -> Curve:
        """Of both together."""
        one, other = self.piecewise.curve, self.duchi.curve
        c, b, a = (self.share * near + (1 - self.share) * far for near, far in zip(one, other, strict=True))
        return c, b, a

    @property
    def _nothing(self) -> Whole:
        return np.zeros(5, dtype=np.int64)

    def sums(self, reports: Reports) -> Whole:
        """How many came the first way, their sums, and those of the others."""
        first = reports < self.piecewise.places
        near, far = reports[first], reports[~first] - self.piecewise.places
        return np.concatenate([[near.size], self.piecewise.sums(near), self.duchi.sums(far)])

    def moments(self, people: int, sums: Whole) -> tuple[Fraction, Fraction]:
        """Of both together."""
        first = int(sums[0])
        near, far = self.piecewise.moments(first, sums[1:4]), self.duchi.moments(people - first, sums[4:])
        return near[0] + far[0], near[1] + far[1]

    def estimate(self, tally: Tally) -> MeanEstimate:
        """As `MeanReporter` has it; where no report is piecewise, as `DuchiMean`."""
        if self.share:
            return super().estimate(tally)
        known = self.understood(tally, least=2)
        return self.duchi.of_bits(known.people, int(known.counts[4]))
