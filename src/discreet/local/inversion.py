"""Which counts a number of supporting reports is compatible with, by the exact law of that number.

If t of n people hold a value, the supports are Bin(t, p) + Bin(n − t, q). They rise with t, so that the counts which
neither tail excludes are all between two ends. docs/proofs/unary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Reals = NDArray[np.float64]
Whole = NDArray[np.int64]

RAREST = 1e-9  # of a tail that is added up here
_UNSEEN = 1e-12  # more than what is outside the window of terms
_ROUNDED, _EACH = 1e-7, 1e-14  # more than rounding of logarithms of factorials, which grow with the people
_AT_ONCE = 256  # of numbers of supports: what they need fits into memory
_SPREADS, _MORE = 8, 40  # the window: so many deviations, and so many more


@dataclass(frozen=True)
class Supports:
    """How many of so many people's reports support a value, of holders and of others."""

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
