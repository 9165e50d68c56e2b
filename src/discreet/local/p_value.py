"""P-value of a text: how likely one that nobody holds explains so much by chance, wherever its bits fall."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from discreet.local.frequencies import Reals

_LYAPUNOV = 0.56  # Berry and Esseen's constant for sums of unlike numbers (Shevtsova 2010)
_STEEPEST = 700.0  # of the tilt, times the widest gain: its exponential is a double


def tail(gains: Reals, hashes: int, total: float) -> float:
    """A bound on the probability that `hashes` even draws from each row of gains sum to the total or more.

    By the exponential tilt that makes the total the mean: e^(K(θ) − θ · total) times what is above the mean of a sum
    that Berry and Esseen's inequality puts near a normal one. docs/proofs/rappor.md.
    """
    mean = gains.mean(axis=1, keepdims=True)
    centred, over = gains - mean, total - hashes * float(mean.sum())
    widest = float(np.abs(centred).max(initial=0))
    if not widest or over <= 0:
        return 1.0
    sums = _Tilted(centred / widest, hashes)
    over /= widest
    if sums.mean(0.0) >= over:  # above the mean by less than sums of floats are off
        return 1.0
    if sums.mean(_STEEPEST) <= over:  # at its end: any tilt gives a bound
        return math.exp(min(0.0, sums.log_mean(_STEEPEST) - _STEEPEST * over))
    tilt = float(optimize.brentq(lambda theta: sums.mean(theta) - over, 0, _STEEPEST, xtol=1e-12, rtol=1e-14))
    return math.exp(min(0.0, sums.log_mean(tilt) - tilt * over)) * min(1.0, sums.above(tilt))


class _Tilted:
    """The sum of draws, a number g being e^(θg) times as likely as it was. Gains are at most 1 in size."""

    def __init__(self, gains: Reals, hashes: int) -> None:
        self.gains, self.hashes = gains, hashes

    def log_mean(self, theta: float) -> float:
        """K(θ): the logarithm of the mean of e^(θ · sum), before the tilt."""
        rows = special.logsumexp(theta * self.gains, axis=1) - math.log(self.gains.shape[1])
        return self.hashes * float(rows.sum())

    def mean(self, theta: float) -> float:
        """K′(θ): the mean of the sum."""
        return self.hashes * float((special.softmax(theta * self.gains, axis=1) * self.gains).sum())

    def above(self, theta: float) -> float:
        """A bound on the mean of e^(−θ(sum − mean)), counted where it is at most 1."""
        odds = special.softmax(theta * self.gains, axis=1)
        off = np.abs(self.gains - (odds * self.gains).sum(axis=1, keepdims=True))
        spread = math.sqrt(self.hashes * float((odds * off**2).sum()))
        if not spread:
            return 1.0
        cubes = self.hashes * float((odds * off**3).sum()) / spread**3
        return float(special.erfcx(theta * spread / math.sqrt(2))) / 2 + 2 * _LYAPUNOV * cubes
