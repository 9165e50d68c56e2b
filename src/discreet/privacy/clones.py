"""The numbers behind `shuffle`: how far two laws of clones are apart, from above.

There are C ~ Binomial(n − 1, p) clones, half of them of either kind on average, and one more of the first kind with
probability q = e^ε₀/(1 + e^ε₀) under the one law, 1 − q under the other. Proof: docs/proofs/shuffle.md.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from discreet.privacy.finite import finite

Floats: TypeAlias = NDArray[np.float64]

_DEVIATIONS = 10  # counts further from their mean are not looked at; their probability is added to δ
_COUNTS, _LOOKED_AT = 1 << 17, 1 << 12  # of clones: how many are told apart, and for how many δ is worked out
_ROUNDING = 1e-9  # relative error granted to every binomial probability, tail and product below
_FAINTEST = 1e-300  # no δ is below it, where a float would vanish


class Clones:
    """The clones among `reports` honest reports of ε₀-private randomizers."""

    def __init__(self, epsilon: float, reports: int, probability: float) -> None:
        self._price = epsilon
        others, mean = reports - 1, (reports - 1) * probability
        reach = _DEVIATIONS * math.sqrt(mean * (1 - probability)) + 2 * _DEVIATIONS**2
        low, high = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
        if high - low >= _COUNTS:  # then all these counts are nearly the same; fewer clones hide less
            high = others
            self._counts, self._chances = np.array([float(low)]), np.ones(1)
        else:
            counts = np.arange(low, high + 1, dtype=np.float64)
            starts = np.arange(0, len(counts), -(-len(counts) // _LOOKED_AT))  # each stands for those up to the next
            self._counts = counts[starts]
            self._chances = np.add.reduceat(_binomial(counts, others, probability), starts)
        self._unseen = _chernoff(low - 1, others, probability) + _chernoff(high + 1, others, probability)

    def delta_at(self, epsilon: float) -> float:
        """An upper bound on the hockey-stick divergence of the two laws, 0 ≤ epsilon < ε₀.

        Given C = c, an outcome is more than e^ε times likelier under the first law where more than (c + 1) t are of the
        first kind. From the least such number a on, the two laws differ by (q − e^ε (1−q)) Pr[A = a − 1] −
        (e^ε − 1) Pr[A ≥ a], A ~ Binomial(c, ½).
        """
        if epsilon >= self._price:
            return 0.0
        q = 1 / (1 + math.exp(-self._price))
        edge = -q * math.expm1(epsilon - self._price)  # q − e^ε (1 − q)
        t = 0.5 * (1 + math.tanh(epsilon / 2) / math.tanh(self._price / 2))
        c = self._counts
        a = np.minimum(np.floor(t * (c + 1)) + 1, c + 1)
        gain = edge * _fair(a - 1, c)
        cost = math.expm1(epsilon) * np.where(a <= c, special.betainc(a, np.maximum(c - a + 1, 0.5), 0.5), 0.0)
        seen = float(self._chances @ (np.maximum(0.0, gain - cost) + _ROUNDING * (gain + cost)))
        return min(1.0, finite(seen * (1 + _ROUNDING) + self._unseen + _FAINTEST, "the δ of shuffled reports"))

    def epsilon_at(self, delta: float) -> float:
        """An ε with `delta_at(ε)` at most δ, as small as floats find one; at most ε₀, which always is enough."""
        if self.delta_at(0.0) <= delta:
            return 0.0
        below = self._price * (1 - 1e-12)
        if self._unseen >= delta or self.delta_at(below) >= delta:
            return self._price
        least = 1e-12 * self._price  # not 0, of which no part is a step; brentq's usual xtol would be coarser than ε₀
        root = optimize.brentq(lambda e: math.log(self.delta_at(e) / delta), 0.0, below, xtol=least, rtol=1e-10)
        found, step = max(float(root), least), 1e-10
        while self.delta_at(found) > delta:
            found, step = found * (1 + step), 2 * step
        return min(found, self._price)


def _binomial(counts: Floats, trials: int, probability: float) -> Floats:
    """The probabilities of consecutive counts, from the ratios of neighbours, scaled to sum to 1: none is too small."""
    if len(counts) == 1:
        return np.ones(1)
    steps = np.log(trials - counts[:-1]) - np.log(counts[1:]) + math.log(probability) - math.log1p(-probability)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _chernoff(beyond: int, trials: int, probability: float) -> float:
    """At least the probability of a count this far out or further: e^{−n KL(beyond/n ‖ p)} (Chernoff 1952)."""
    if not 0 <= beyond <= trials or trials == 0:
        return 0.0
    share = beyond / trials
    divergence = special.rel_entr(share, probability) + special.rel_entr(1 - share, 1 - probability)
    return math.exp(-trials * max(0.0, float(divergence) * (1 - 1e-12) - 1e-15))  # its two terms may cancel


def _fair(heads: Floats, tosses: Floats) -> Floats:
    """Pr[Binomial(tosses, ½) = heads] by Loader's (2000) expansion: no large logarithms are subtracted."""
    tails = tosses - heads
    inner = (heads > 0) & (tails > 0)
    h, r, n = np.where(inner, heads, 1.0), np.where(inner, tails, 1.0), np.where(inner, tosses, 2.0)
    off = (h - r) / n  # heads are (1 + off) n/2, tails (1 − off) n/2
    steep = (1 + off) * np.log1p(off) + (1 - off) * np.log1p(-off)
    flat = np.log1p(-off * off) + 2 * off * np.arctanh(off)  # the same; near the middle no large terms cancel in it
    bent = n / 2 * np.where(np.abs(off) < 0.1, flat, steep)
    logs = _stirling(n) - _stirling(h) - _stirling(r) - bent + 0.5 * np.log(n / (2 * math.pi * h * r))
    return np.where(inner, np.exp(logs), np.exp2(-tosses))


def _stirling(n: Floats) -> Floats:
    """ln n! less Stirling's formula."""
    exact = special.gammaln(n + 1) - (n + 0.5) * np.log(n) + n - 0.5 * math.log(2 * math.pi)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / n**2) / n**2) / n**2) / n
    return np.where(n < 32, exact, series)
