"""How likely an event is at least, or at most, after so many hits: Clopper–Pearson limits that are proven.

A float guesses the limit; the binomial tail at that guess is then enclosed in intervals, and only a guess whose tail is
certainly small enough is returned. Proofs: docs/proofs/audit.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import Refusal
from discreet.exact import Number, count, share
from discreet.interval_arithmetic import Interval, log, pi

ZERO, ONE = Fraction(0), Fraction(1)
_DIGITS = 30
_STEP = Fraction(1, 1 << 30)  # a guess that cannot be proven gives way by this much, then by twice as much, …

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]
HitCounts = NDArray[np.int64] | NDArray[np.float64]  # counted, or expected


def at_least(hits: int, trials: int, alpha: Number) -> Fraction:
    """A lower limit on a probability: it exceeds the truth in at most a share `alpha` of all samples.

    Clopper & Pearson 1934, one-sided: a p for which so many hits or more have probability at most `alpha`.
    """
    risk = _checked(hits, trials, alpha)
    if hits == 0:
        return ZERO
    guess, give = Fraction(float(special.betaincinv(hits, trials - hits + 1, float(risk)))), _STEP
    while guess > 0:
        limit = guess * (1 - give)
        if 0 < limit < 1 and upper_tail(hits, trials, limit) <= risk:
            return limit
        if give >= 1:
            break
        give *= 2
    return ZERO


def at_most(hits: int, trials: int, alpha: Number) -> Fraction:
    """An upper limit on a probability: it falls below the truth in at most a share `alpha` of all samples."""
    risk = _checked(hits, trials, alpha)
    if hits == trials:
        return ONE
    near = float(special.betainccinv(hits + 1, trials - hits, float(risk)))
    guess, give = max(Fraction(near), _STEP**2), _STEP  # a guess of 0 could not grow
    while True:
        limit = guess * (1 + give)
        if limit >= 1:
            return ONE
        if limit > 0 and upper_tail(trials - hits, trials, 1 - limit) <= risk:  # so few hits are so many misses
            return limit
        give *= 2


def _checked(hits: int, trials: int, alpha: Number) -> Fraction:
    count(hits, "hits", least=0)
    if count(trials, "trials") < hits:
        raise Refusal(f"expected hits <= trials, got hits={hits} trials={trials}")
    return share(alpha, "alpha")


def upper_tail(hits: int, trials: int, p: Fraction) -> Fraction:
    """Pr[Bin(trials, p) ≥ hits] for 0 < p < 1, rounded up.

    From the first term on, each is the one before times a ratio that falls; once that is below 1, the rest is below a
    geometric series.
    """
    if hits == 0:
        return ONE
    start = _log_choose(trials, hits) + hits * log(p, _DIGITS) + (trials - hits) * log(1 - p, _DIGITS)
    term, odds, total = start.exp(), Interval.of(p / (1 - p), _DIGITS), Interval.of(0, _DIGITS)
    for j in range(hits, trials):
        total, ratio = total + term, odds * Fraction(trials - j, j + 1)
        if ratio.high < 1 and (rest := term * ratio / (1 - ratio)).high <= total.low.scaleb(-12):
            return min(ONE, (total + rest).up)
        term = term * ratio
    return min(ONE, (total + term).up)


def exactly(hits: int, trials: int, p: Fraction) -> Fraction:
    """Pr[Bin(trials, p) = hits] for 0 < p < 1, rounded up."""
    return (_log_choose(trials, hits) + hits * log(p, _DIGITS) + (trials - hits) * log(1 - p, _DIGITS)).exp().up


def _log_choose(n: int, k: int) -> Interval:
    return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


def _log_factorial(n: int) -> Interval:
    """ln n!, beyond 1000 by (n + ½) ln n − n + ½ ln 2π + r with 1/(12n+1) < r < 1/(12n) (Robbins 1955)."""
    if n < 1000:
        return log(math.factorial(n), _DIGITS)
    main = (n + Fraction(1, 2)) * log(n, _DIGITS) - n + (2 * pi(_DIGITS)).log() / 2
    low, high = main + Fraction(1, 12 * n + 1), main + Fraction(1, 12 * n)
    return Interval(low.low, high.high, _DIGITS)


def epsilon_at_least(likely: Fraction, unlikely: Fraction, delta: Fraction = ZERO) -> Fraction:
    """What (ε, delta)-privacy needs if an event is at least `likely` on one input and at most `unlikely` on the other.

    ε ≥ ln((likely − delta) / unlikely), rounded down; 0 where that says nothing.
    """
    if likely - delta <= unlikely:
        return ZERO
    return max(ZERO, log((likely - delta) / unlikely).down)


def roughly_at_least(hits: HitCounts, trials: int | HitCounts, alpha: float) -> Reals:
    """`at_least` of many counts in floats: for choosing an event, never for proving one."""
    some = np.maximum(hits, 1)
    return np.where(hits < 1, 0.0, special.betaincinv(some, np.maximum(trials, some) - some + 1, alpha))


def roughly_at_most(hits: HitCounts, trials: int, alpha: float) -> Reals:
    """`at_most` of many counts in floats: for choosing an event, never for proving one."""
    some = np.minimum(hits, trials - 1)
    return np.where(hits >= trials, 1.0, special.betainccinv(some + 1, trials - some, alpha))
