"""The hybrid of the two: a coin that knows nothing of the number decides how it is reported."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.interval import exp
from discreet.local.client import client, narrowest
from discreet.local.coin import coins, rounded_down
from discreet.local.estimate import Curve, Estimate
from discreet.local.mean import DuchiMean, Mean
from discreet.local.piecewise import PiecewiseMean
from discreet.local.report_sums import Tally, Whole
from discreet.local.reporter import Reports
from discreet.noise import SECURE, Entropy, flip
from discreet.privacy.divergence import Channel

_FROM = Fraction(61, 100)  # ε from which mixing pays


@client("hybrid-mean")
@dataclass(frozen=True)
class HybridMean(Mean):
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

    def estimate(self, tally: Tally) -> Estimate:
        """As `Mean` has it; where no report is piecewise, as `DuchiMean`."""
        if self.share:
            return super().estimate(tally)
        known = self.understood(tally, least=2)
        return self.duchi.of_bits(known.people, int(known.counts[4]))
