"""What many randomized reports say: unbiased counts, each with a standard error; and what is opt-in beyond that."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, share
from discreet.interval import simpler_up, sqrt
from discreet.mechanisms import Share
from discreet.mechanisms.mechanism import USUAL

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Odds:
    """How likely a report supports a value: `holder`, if it is the reporter's own, and `other`, if it is not."""

    holder: Fraction
    other: Fraction

    @property
    def gap(self) -> Fraction:
        """What a report tells."""
        return self.holder - self.other

    def variance(self, inside: Fraction) -> Fraction:
        """Of one report's estimate of one value's share, if so large a share holds it."""
        spread = inside * self.holder * (1 - self.holder) + (1 - inside) * self.other * (1 - self.other)
        return spread / self.gap**2


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How many people hold each value, estimated from how many reports support it.

    Counts are unbiased: they may be negative, and need not sum to `people`. Standard errors cover the coins of the
    clients, which is all of the error where everybody answers truly. docs/proofs/unary.md.
    """

    people: int
    supports: NDArray[np.int64]
    odds: Odds

    @cached_property
    def counts(self) -> Reals:
        """(supports − people · other) / (holder − other)."""
        counts: Reals = (self.supports - np.float64(self.people * self.odds.other)) / np.float64(self.odds.gap)
        return counts

    @cached_property
    def errors(self) -> Reals:
        """The standard error of each count, at the estimated share; where that is near 0 or 1, `interval` says more."""
        none, slope = self._variance
        errors: Reals = np.sqrt(none + slope * np.clip(self.counts, 0, self.people))
        return errors

    @property
    def _variance(self) -> tuple[float, float]:
        """The variance of a count is a line in the true one: where it begins, and its slope."""
        none, all_ = float(self.odds.variance(Fraction(0))), float(self.odds.variance(Fraction(1)))
        return self.people * none + self._beyond, all_ - none

    @property
    def _beyond(self) -> float:
        """What is added to the variance of a count beside the clients' coins."""
        return 0.0

    @property
    def shares(self) -> Reals:
        """Counts as parts of 1."""
        return self.counts / self.people

    def __len__(self) -> int:
        return self.supports.size

    def __getitem__(self, value: int) -> Share:
        """The share of one value and its standard error, in exact numbers."""
        if not 0 <= count(value, "value", least=0) < len(self):
            raise Refusal(f"expected a value below {len(self)}, got {value}")
        part = (Fraction(int(self.supports[value]), self.people) - self.odds.other) / self.odds.gap
        inside = min(Fraction(1), max(Fraction(0), part))
        return Share(part, simpler_up(sqrt(self.odds.variance(inside) / self.people).up))

    def interval(self, confidence: Number = USUAL, *, together: bool = False) -> tuple[Reals, Reals]:
        """Lower and upper ends that each cover their count with about this probability; or all of them `together`.

        They hold every count of which the estimate is likely enough, given the error at *that* count (Wilson 1927):
        where few or nearly all hold a value, the error at the estimate knows too little. By the normal law, which sums
        of many coins are near to, and further out by what coins are skewed at most (Cornish & Fisher 1938); together by
        the union bound (Bonferroni). docs/proofs/unary.md.
        """
        none, slope = self._variance
        far = _reach(confidence, max(1, len(self)) if together else 1)
        skewed = ((far**2 - 1) / 6 + 1 / 2) / float(self.odds.gap)  # of supports, which are whole: half of one more

        def half(counts: Reals) -> Reals:
            return far * np.sqrt(np.maximum(0, none + slope * counts) + (far * slope / 2) ** 2)

        low, high = self.counts - skewed, self.counts + skewed
        return low + far**2 * slope / 2 - half(low), high + far**2 * slope / 2 + half(high)

    def consistent(self) -> Reals:
        """Counts that are not negative and sum to `people`: the nearest such ones (Norm-Sub; Wang et al. 2020).

        They are biased, small counts upwards and large ones downwards, and have no standard errors. Free: nothing but
        the counts is used.
        """
        return simplex(self.counts, self.people)


def simplex(counts: Reals, total: float) -> Reals:
    """max(0, counts − c) with the c that makes them sum to the total (Held, Wolfe & Crowder 1974)."""
    falling = np.sort(counts)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > shifts)[-1]
    nearest: Reals = np.maximum(counts - shifts[kept], 0)
    return nearest


def _reach(confidence: Number, many: int = 1) -> float:
    """How many standard errors to either side hold this much of the normal law, for each of so many."""
    rare = float((1 - share(confidence, "confidence")) / (2 * many))
    if rare < sys.float_info.min:
        raise Refusal("expected confidence <= 1 - 1e-300: nothing is surer than that")
    return -NormalDist().inv_cdf(rare)


@dataclass(frozen=True)
class Estimate:
    """A mean, exact in what the reports say, and its standard error.

    The standard error covers the clients' coins, and the drawing of these people from a larger crowd. It is never below
    what the coins alone make of people who are all at the mean. docs/proofs/means.md.
    """

    value: Fraction
    error: float

    @classmethod
    def of(cls, people: int, total: Fraction, squares: Fraction, least: Fraction) -> Estimate:
        """From the sum of independent estimates, and of their squares; of two people or more.

        `least` is the variance that one of them surely has: most of it may lie in reports so rare that none came.
        """
        spread = max(least, (squares - total**2 / people) / (people - 1))
        return cls(total / people, math.sqrt(spread / people))

    def scaled(self, lower: Fraction, step: Fraction) -> Estimate:
        """The same, if it was in steps above `lower`."""
        return Estimate(lower + step * self.value, float(step) * self.error)

    def interval(self, confidence: Number = USUAL) -> tuple[float, float]:
        """Two ends that cover the mean with about this probability, by the normal law."""
        reach = _reach(confidence) * self.error
        return float(self.value) - reach, float(self.value) + reach
