"""How well the best test can tell two neighbours apart: Gaussian privacy, error trade-offs, and Bob's guess.

Dong, Roth & Su 2022 is numbered here as in its preprint (arXiv 1905.02383).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from discreet.exact import FAR, ONE, ZERO, Number, count, nonnegative, positive, probability, share, spoken
from discreet.interval_arithmetic import WIDTH, exp, greatest, least, log, normal_tail, simpler_up, sqrt
from discreet.privacy.compose import crossing
from discreet.privacy.loss import Approximate, Loss, Pure, within


@dataclass(frozen=True, init=False)
class Gaussian:
    """μ-Gaussian differential privacy (Dong, Roth & Su 2022, Definition 2.6), kept as μ².

    Neighbours are no easier to tell apart than N(0, 1) from N(μ, 1); under composition the μ² add (Corollary 3.3).
    """

    mu_squared: Fraction

    def __init__(self, mu_squared: Number) -> None:
        object.__setattr__(self, "mu_squared", nonnegative(mu_squared, "mu_squared"))

    @classmethod
    def of(cls, mu: Number) -> Gaussian:
        """The measure for a given μ."""
        return cls(nonnegative(mu, "mu") ** 2)

    @classmethod
    def noise(cls, variance: Number, l2_squared: Number = 1) -> Gaussian:
        """Of continuous Gaussian noise on a query of this squared L2 sensitivity: μ² = Δ²/σ² (Theorem 2.7)."""
        return cls(nonnegative(l2_squared, "l2_squared") / positive(variance, "variance"))

    def __str__(self) -> str:
        return f"Gaussian(mu_squared={spoken(self.mu_squared)})"

    def __add__(self, other: Gaussian) -> Gaussian:
        if not isinstance(other, Gaussian):
            return NotImplemented
        return Gaussian(self.mu_squared + other.mu_squared)

    def __rmul__(self, times: int) -> Gaussian:
        return Gaussian(count(times, "times", least=0) * self.mu_squared)

    def __le__(self, other: Gaussian) -> bool:
        if not isinstance(other, Gaussian):
            return NotImplemented
        return self.mu_squared <= other.mu_squared

    def group(self, size: int) -> Gaussian:
        """μ grows with the size of the group (Dong, Roth & Su 2022, Theorem 2.14)."""
        return Gaussian(count(size, "size") ** 2 * self.mu_squared)

    def delta_at(self, epsilon: Number) -> Fraction:
        """Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), rounded up (Balle & Wang 2018, Theorem 8; Dong et al., Corollary 2.13)."""
        target = nonnegative(epsilon, "epsilon")
        if self.mu_squared == 0:
            return ZERO
        mu = sqrt(self.mu_squared)
        far, half = target / mu, mu / 2
        if target > _BEYOND:  # the second term only lowers δ, so leaving it out is a bound
            return min(ONE, normal_tail(far - half).up)
        return max(ZERO, min(ONE, (normal_tail(far - half) - exp(target) * normal_tail(far + half)).up))

    def epsilon_at(self, delta: Number) -> Fraction:
        """The smallest ε, to ten digits, at which the profile is at most `delta`: floats guess, `delta_at` decides."""
        rare = share(delta, "delta")

        def holds(epsilon: Fraction) -> bool:
            return self.delta_at(epsilon) <= rare

        if holds(ZERO):
            return ZERO
        half = (
            self.mu_squared / 2
        )  # of zCDP, whose older conversion says where ε surely lies (Bun & Steinke, Prop. 1.3)
        most = (half + 2 * (half * log(1 / rare)).sqrt()).up
        mu = math.sqrt(min(max(self.mu_squared, 1 / FAR), FAR))
        aim = float(log(rare).low)
        guess = Fraction(crossing(lambda epsilon: log_profile(epsilon, mu) - aim, float(min(most, FAR))))
        for width in (WIDTH, 1000 * WIDTH):
            low, high = guess * (1 - width), guess * (1 + width)
            if high < most and holds(high) and not holds(low):
                return simpler_up(least(holds, low, high, WIDTH), 48)
        return least(holds, ZERO, most, WIDTH)

    def less(self, spent: Gaussian) -> Gaussian:
        """What is left of this much once `spent` of it is gone."""
        return Gaussian(self.mu_squared - within(spent, self).mu_squared)

    def fills(self) -> None:
        """Sums of μ² are valid for adaptive choices: docs/proofs/filters.md (also Koskela, Tobaben & Honkela 2023)."""


_BEYOND = 10**17  # e to this is still a decimal, e to a hundred times this is not


def log_profile(epsilon: float, mu: float) -> float:
    """ln δ of μ-Gaussian privacy in floats, to guess with."""
    near, far = _log_tail(epsilon / mu - mu / 2), _log_tail(epsilon / mu + mu / 2)
    return near + math.log1p(-min(math.exp(min(0.0, epsilon + far - near)), 1 - 1e-16))


def _log_tail(x: float) -> float:
    if x < 25:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    y = 1 / (x * x)
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log1p(-y * (1 - 3 * y * (1 - 5 * y)))


def tradeoff(loss: Loss, alpha: Number) -> Fraction:
    """No test with false alarms at most `alpha` misses less often than this: a lower bound, rounded down.

    For Pure and Approximate it is f_{ε,δ} (Wasserman & Zhou 2010; Dong, Roth & Su 2022, Proposition 2.5), for Gaussian
    Φ(Φ⁻¹(1 − α) − μ), and for any other loss the best line of its profile that a search finds (Proposition 2.12).
    """
    alarms = probability(alpha, "alpha")
    if isinstance(loss, Gaussian):
        return _gaussian_misses(loss, alarms)
    if isinstance(loss, (Pure, Approximate)):
        return _line(loss, loss.epsilon, alarms)
    return max(_line(loss, ZERO, alarms), _peak(lambda epsilon: _line(loss, epsilon, alarms)))


def winning(loss: Loss) -> Fraction:
    """Bob's best chance to name the right one of two neighbours after a fair coin chose between them, rounded up.

    It is (1 + total variation distance)/2, and the distance is the profile at ε = 0. So for Pure it is at most
    e^ε/(1 + e^ε), and (e^ε + δ)/(1 + e^ε) for Approximate.
    """
    return (1 + loss.delta_at(0)) / 2


def _line(loss: Loss, epsilon: Fraction, alarms: Fraction) -> Fraction:
    """(ε, δ)-privacy in both directions forces misses ≥ 1 − δ − e^ε α and ≥ e^−ε (1 − δ − α)."""
    kept = 1 - loss.delta_at(epsilon)
    shrink = exp(-epsilon)
    steep = kept if alarms == 0 else kept - (alarms / shrink).up if alarms < shrink.down else ZERO
    return max(ZERO, steep, (shrink * max(ZERO, kept - alarms)).down)


def _peak(value: Callable[[Fraction], Fraction]) -> Fraction:
    """The largest `value` met while searching ε between e^−12 and e^12; every value met is a proven bound."""

    def at(place: float) -> Fraction:
        return value(Fraction(math.exp(place)).limit_denominator(10**9))

    low, high, golden = -12.0, 12.0, (math.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    left, right = at(a), at(b)
    best = max(left, right)
    for _ in range(36):
        if left >= right:
            high, b, right = b, a, left
            a = high - golden * (high - low)
            left = at(a)
        else:
            low, a, left = a, b, right
            b = low + golden * (high - low)
            right = at(b)
        best = max(best, left, right)
    return best


def _gaussian_misses(loss: Gaussian, alarms: Fraction) -> Fraction:
    """Pr[N(μ, 1) ≤ z] for a z that N(0, 1) certainly exceeds with probability at least α."""
    if alarms == 0 or loss.mu_squared == 0:
        return 1 - alarms
    if 1 - alarms < Fraction(1, 10**50):
        return ZERO  # no figure could show the difference
    return normal_tail(sqrt(loss.mu_squared) - _exceeded(alarms)).down


def _exceeded(alarms: Fraction) -> Fraction:
    """A z just below the one that N(0, 1) exceeds with probability `alarms`: a float guesses, `normal_tail` decides."""
    if 0 < float(alarms) < 1:
        z = Fraction(-NormalDist().inv_cdf(float(alarms))) - Fraction(1, 10**13)
        if normal_tail(z).down >= alarms:
            return z
    far = Fraction(8)
    while normal_tail(far).down >= alarms or normal_tail(-far).down < alarms:
        far *= 2
    return greatest(lambda z: normal_tail(z - far).down >= alarms, ZERO, 2 * far, Fraction(1, 10**15)) - far
