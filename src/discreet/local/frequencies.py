"""Estimates of how many people hold each value: unbiased counts with standard errors and exact intervals."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import Refusal
from discreet.exact import Number, count, share, shown
from discreet.interval_arithmetic import simpler_up, sqrt
from discreet.local.local_mechanism import Whole
from discreet.mechanisms import Share
from discreet.mechanisms.mechanism import USUAL

Reals = NDArray[np.float64]

SUSPECT = 1e-3  # a sum of shares that is rarer than this looks made up
_SHORT = 128  # counts: intervals up to so long are exact
TOO_SURE = "expected confidence <= 1 - 1e-300: nothing is surer than that"
RAREST = 1e-9  # of a tail that is added up here
_UNSEEN = 1e-12  # more than what is outside the window of terms
_ROUNDED, _EACH = 1e-7, 1e-14  # more than rounding of logarithms of factorials, which grow with the people
_AT_ONCE = 256  # of numbers of supports: what they need fits into memory
_SPREADS, _MORE = 8, 40  # the window: so many deviations, and so many more


@dataclass(frozen=True)
class Odds:
    """How likely a report supports a value: `holder`, if it is the reporter's own, and `other`, if it is not."""

    holder: Fraction
    other: Fraction

    @property
    def gap(self) -> Fraction:
        """What a report tells."""
        return self.holder - self.other

    @property
    def furthest(self) -> Fraction:
        """How far off one report's estimate of its own support can be: it supports the value against the odds."""
        return max(1 - self.other, self.holder) / self.gap

    def variance(self, inside: Fraction) -> Fraction:
        """Of one report's estimate of one value's share, if so large a share holds it."""
        spread = inside * self.holder * (1 - self.holder) + (1 - inside) * self.other * (1 - self.other)
        return spread / self.gap**2


@dataclass(frozen=True)
class Sizes:
    """The law of how many values an honest report supports, which is the same whatever its person holds.

    Its mean, its variance or a bound on that, and how far from the mean it can be.
    """

    mean: Fraction
    variance: Fraction
    furthest: Fraction

    def chance(self, people: int, supports: int) -> float:
        """At most how likely so many honest reports support a number of values in all that is so far from its mean.

        Bernstein's inequality: 2 exp(−t²/2(V + Mt/3)) for a sum of variance V of numbers within M of their means.
        """
        off = abs(supports - people * self.mean)
        spread = 2 * (people * self.variance + self.furthest * off / 3)
        return min(1.0, 2 * math.exp(-float(off**2 / spread))) if spread else float(off == 0)


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How many people hold each value, estimated from how many reports support it.

    Counts are unbiased: they may be negative, and need not sum to `people`. Standard errors cover the coins of the
    clients, which is all of the error where everybody answers truly. docs/proofs/unary.md.
    """

    people: int
    supports: NDArray[np.int64]
    odds: Odds
    sizes: Sizes | None = field(default=None, kw_only=True)

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
    def _coins_alone(self) -> bool:
        """Whether that is nothing, so that the law of the supports is known."""
        return True

    @property
    def _jump(self) -> float:
        """What the largest single thing that is left to chance adds to a count: one report."""
        return 1 / float(self.odds.gap)

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
        """Lower and upper ends that each cover their count with this probability; or all of them `together`.

        They hold every count which the exact law of the supports does not exclude, and the estimate; where that would
        be more than 128 counts, with about this probability: see `_nearly`. Together by the union bound (Bonferroni).
        docs/proofs/unary.md.
        """
        many = max(1, len(self)) if together else 1
        low, high = self._nearly(reach(confidence, many))
        short = np.minimum(high, self.people) - np.maximum(low, 0) <= _SHORT
        rare = float((1 - share(confidence, "confidence")) / (2 * many))
        if not self._coins_alone or rare < RAREST or not short.any():
            return low, high
        supports, first, places = np.unique(self.supports[short], return_index=True, return_inverse=True)
        law = Supports(self.people, float(self.odds.holder), float(self.odds.other))
        ends = law.ends(supports, rare, (low[short][first], high[short][first]))
        low[short] = np.minimum(ends[0][places], self.counts[short])
        high[short] = np.maximum(ends[1][places], self.counts[short])
        return low, high

    def _nearly(self, far: float) -> tuple[Reals, Reals]:
        """Every count of which the estimate is at most so many errors away, given the error at *that* count.

        Where few or nearly all hold a value, the error at the estimate knows too little (Wilson 1927). By the normal
        law, which sums of many coins are near to, and further out by what coins are skewed at most (Cornish & Fisher
        1938).
        """
        none, slope = self._variance
        skewed = (max(0.0, far**2 - 1) / 6 + 1 / 2) * self._jump  # supports are whole: half of one more

        def half(counts: Reals) -> Reals:
            return far * np.sqrt(np.maximum(0, none + slope * counts) + (far * slope / 2) ** 2)

        low, high = self.counts - skewed, self.counts + skewed
        return low + far**2 * slope / 2 - half(low), high + far**2 * slope / 2 + half(high)

    def shift(self, dishonest: int) -> Fraction:
        """By how much at most each share is moved if so many of the reports say whatever suits their senders."""
        return _part(dishonest, self.people) * self.odds.furthest

    @property
    def total(self) -> Fraction:
        """What the shares add up to. Where everybody holds one of the values and is honest, it is about 1."""
        missing = int(self.supports.sum()) - self.people * len(self) * self.odds.other
        return missing / self.odds.gap / self.people

    @property
    def chance(self) -> float | None:
        """At most how likely honest reports have a total that is so far from 1; None where it is always 1.

        Below a thousandth some reports look made up. Near 1 it says nothing: many made-up reports add up as well.
        """
        return None if self.sizes is None else self.sizes.chance(self.people, int(self.supports.sum()))

    def consistent(self) -> Reals:
        """Counts that are not negative and sum to `people`: the nearest such ones (Norm-Sub; Wang et al. 2020).

        They are biased, small counts upwards and large ones downwards, and have no standard errors. Free: nothing but
        the counts is used.
        """
        return simplex(self.counts, self.people)


def _part(dishonest: int, people: int) -> Fraction:
    """Of the reports, if there are so many."""
    if count(dishonest, "dishonest", least=0) > people:
        raise Refusal(f"expected at most {people} dishonest reports, as there are no more, got {dishonest}")
    return Fraction(dishonest, people)


def simplex(counts: Reals, total: float) -> Reals:
    """max(0, counts − c) with the c that makes them sum to the total (Held, Wolfe & Crowder 1974)."""
    falling = np.sort(counts)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > shifts)[-1]
    nearest: Reals = np.maximum(counts - shifts[kept], 0)
    return nearest


def reach(confidence: Number, many: int = 1) -> float:
    """How many standard errors to either side hold this much of the normal law, for each of so many."""
    rare = float((1 - share(confidence, "confidence")) / (2 * many))
    if rare < sys.float_info.min:
        raise Refusal(f"{TOO_SURE}, got {shown(confidence)}")
    return -NormalDist().inv_cdf(rare)


@dataclass(frozen=True)
class Supports:
    """How many of so many people's reports support a value, of holders and of others.

    If t of n people hold it, they are Bin(t, p) + Bin(n − t, q). They rise with t, so the counts which neither tail
    excludes are all between two ends. docs/proofs/unary.md.
    """

    people: int
    holder: float
    other: float

    def ends(self, supports: Whole, rare: float, likely: tuple[Reals, Reals]) -> tuple[Whole, Whole]:
        """For each number of supports the least and the largest count of which neither tail is as rare as this.

        `likely` is where the ends may be: it makes the search shorter, and nothing else.
        """
        if supports.size > _AT_ONCE:
            parts = [slice(start, start + _AT_ONCE) for start in range(0, supports.size, _AT_ONCE)]
            ends = [self.ends(supports[part], rare, (likely[0][part], likely[1][part])) for part in parts]
            return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])
        against = Supports(self.people, 1 - self.other, 1 - self.holder)  # those who do not hold it do not support it
        missing = against.least(self.people - supports, rare, self.people - likely[1])
        return self.least(supports, rare, likely[0]), self.people - missing

    def least(self, supports: Whole, rare: float, likely: Reals) -> Whole:
        """The least count with which so many supports or more are likelier than `rare`; all, if there is none."""
        low, high = np.full(supports.shape, -1), np.full(supports.shape, self.people)
        near = np.clip(np.floor(likely), 0, self.people).astype(np.int64)
        for middle in (near - 1, near + 4):
            low, high = self._halved(supports, rare, low, high, middle)
        while (high - low > 1).any():
            low, high = self._halved(supports, rare, low, high, (low + high) // 2)
        return high

    def _halved(self, supports: Whole, rare: float, low: Whole, high: Whole, middle: Whole) -> tuple[Whole, Whole]:
        """What is left between a count that is too few and one that is enough, after a look at one more."""
        inside = (low < middle) & (middle < high)
        enough = self._chance(np.clip(middle, 0, self.people), supports) > rare
        return np.where(inside & ~enough, middle, low), np.where(inside & enough, middle, high)

    @property
    def _sure(self) -> float:
        return 1 + _ROUNDED + _EACH * self.people

    def _chance(self, counts: Whole, supports: Whole) -> Reals:
        """Pr[Bin(count, holder) + Bin(people − count, other) ≥ supports], or a hair more."""
        sides = (counts, self.holder), (self.people - counts, self.other)
        one, two = sorted(sides, key=lambda side: float((side[0] * side[1] * (1 - side[1])).max(initial=0)))
        heads = _window(*one)  # of the side that varies less
        wanted = supports[:, np.newaxis] - heads  # of the other side
        inside = (wanted > 0) & (wanted <= two[0][:, np.newaxis])
        k, n = np.where(inside, wanted, 1), np.where(inside, two[0][:, np.newaxis], 1)
        tails = np.where(inside, special.betainc(k, n - k + 1, two[1]), wanted <= 0)
        return np.asarray((_masses(heads, one[0][:, np.newaxis], one[1]) * tails).sum(axis=1) * self._sure + _UNSEEN)


def _window(coins: Whole, chance: float) -> Whole:
    """For each number of coins the numbers of heads that are not negligible, as many for all."""
    mean, spread = coins * chance, np.sqrt(coins * chance * (1 - chance))
    first = np.maximum(0, np.floor(mean - _SPREADS * spread) - _MORE).astype(np.int64)
    last = np.minimum(coins, np.ceil(mean + _SPREADS * spread) + _MORE).astype(np.int64)
    return np.asarray(first[:, np.newaxis] + np.arange(int((last - first).max(initial=0)) + 1))


def _masses(heads: Whole, coins: Whole, chance: float) -> Reals:
    """Of a binomial law; nothing beyond the number of coins."""
    inside = heads <= coins
    k = np.where(inside, heads, 0)
    logs = special.gammaln(coins + 1) - special.gammaln(k + 1) - special.gammaln(coins - k + 1)
    logs = logs + special.xlogy(k, chance) + special.xlog1py(coins - k, -chance)
    return np.where(inside, np.exp(logs), 0.0)
