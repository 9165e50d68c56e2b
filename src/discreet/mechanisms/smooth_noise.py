"""Noise whose scale depends on the data: which shapes stand that, and how smooth the scale must be for them.

Neighbours then have different scales, so their laws differ by a shift *and* a stretch. Plain ε-Laplace noise does not
stand a stretch: far out, its ratio has no bound (docs/smooth.md). Two shapes do, each at its own price.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from discreet.errors import Refusal
from discreet.exact import Number, share, spoken
from discreet.interval_arithmetic import exp, greatest, log, pi, simpler_down, sqrt
from discreet.noise import SECURE, Entropy, below, flip, laplace
from discreet.privacy.calibrate import laplace_error

_WIDTH = Fraction(1, 10**6)
_LEAST = Fraction(1, 1 << 40)  # of γ: what the fixed-point weights of `smooth` resolve
_ROOT = Fraction(ceil(sqrt(12).up * (1 << 32)), 1 << 32)  # √12, rounded up


@dataclass(frozen=True)
class LaplaceTails:
    """Discrete Laplace noise of scale 2S/ε.

    Guarantee: if |f(x) − f(x')| ≤ min(S(x), S(x')) and S(x) ≤ growth · S(x') for all neighbours, adding this noise to
        the whole number f(x) is Approximate(epsilon, delta).
    Proof: docs/proofs/smooth.md, Theorem 1.
    Source: Nissim, Raskhodnikova & Smith 2007, Section 2.1, made discrete, with a larger growth for the same δ.
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def growth(self) -> Fraction:
        """1 + γ for the largest γ ≤ ε/2 with γ/(1+γ) · (e^{−ε/2γ} + e^{−3ε/2γ}) ≤ δ, rounded down."""
        return _laplace_growth(self.epsilon, self.delta)

    def scale(self, smooth: Fraction) -> Fraction:
        """Of the noise, where the smooth bound is this."""
        return 2 * smooth / self.epsilon

    def draw(self, scale: Fraction, rng: Entropy = SECURE) -> int:
        """One number."""
        return laplace(scale, rng=rng)

    def error(self, scale: Fraction, confidence: Number) -> int:
        """The smallest α with Pr[|noise| ≤ α] ≥ confidence."""
        return laplace_error(scale, confidence)


@dataclass(frozen=True)
class StudentTails:
    """Noise with Pr[n] ∝ (1 + n²/s²)^−2, Student's law with three degrees of freedom on the integers; s = S/α.

    Guarantee: if |f(x) − f(x')| ≤ min(S(x), S(x')) and S(x) ≤ growth · S(x') for all neighbours, adding this noise to
        the whole number f(x) is Pure(epsilon). The growth is 1 + ε/6 and α² = ε²/12.
    Proof: docs/proofs/smooth.md, Theorem 2.
    Source: Nissim, Raskhodnikova & Smith 2007, Section 2.1, and Bun & Steinke 2019, for the continuous laws.
    """

    epsilon: Fraction

    @property
    def growth(self) -> Fraction:
        """1 + ε/6."""
        return _resolved(1 + self.epsilon / 6, self.epsilon)

    def scale(self, smooth: Fraction) -> Fraction:
        """s = √12 S/ε, rounded up, where the smooth bound S is this."""
        return smooth * _ROOT / self.epsilon

    def draw(self, scale: Fraction, rng: Entropy = SECURE) -> int:
        """One number, exactly: proposals until one is kept (docs/proofs/smooth.md, Theorem 3)."""
        while (number := _student_proposal(scale, rng)) is None:
            pass
        return number

    def error(self, scale: Fraction, confidence: Number) -> int:
        """An α with Pr[|noise| ≤ α] ≥ confidence: 2 Σ_{n>α} (s/n)⁴ ≤ 2s⁴/(3α³), over a bound of the total weight."""
        rare = 1 - share(confidence, "confidence")
        if 13 * scale**4 / 6 <= rare:  # Σ_{n≥1} n^−4 = π⁴/90 < 13/12
            return 0
        total = max(Fraction(1), (scale * pi() / 2 - 1).down)
        wanted = 2 * scale**4 / (3 * rare * total)  # α³ must reach it
        high = 1
        while high**3 < wanted:
            high *= 2
        low = 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if middle**3 >= wanted else (middle, high)
        return high


Tails = LaplaceTails | StudentTails


def _student_proposal(scale: Fraction, rng: Entropy) -> int | None:
    """A shell of doubling width, a place in it, a coin and a sign: n is kept with probability 7/64 · w(n) / ⌈scale⌉."""
    base, square, shell = ceil(scale), scale * scale, 0
    while rng.bits(3) == 0:
        shell += 1
    size = base * ((1 << shell) - 1) + below(base << shell, rng=rng)
    kept = flip((square / (square + size * size)) ** 2 * Fraction(1 << 4 * shell, 4), rng=rng)
    negative = rng.bits(1)
    if not kept or (negative and not size):
        return None
    return -size if negative else size


@lru_cache(maxsize=256)
def _laplace_growth(epsilon: Fraction, delta: Fraction) -> Fraction:
    def spares(gamma: Fraction) -> bool:
        far = exp(-epsilon / (2 * gamma))
        return (gamma / (1 + gamma) * (far + far * far * far)).up <= delta

    most = epsilon / 2
    sure = min(most, simpler_down((epsilon / (2 * log(2 / delta))).down))  # there the sum is below δ
    gamma = most if spares(most) else greatest(spares, sure, most, _WIDTH)
    return _resolved(1 + gamma, epsilon)


def _resolved(growth: Fraction, epsilon: Fraction) -> Fraction:
    if growth - 1 < _LEAST:
        raise Refusal(
            f"epsilon={spoken(epsilon)} is too small for a smooth bound",
            hint="take a larger epsilon, or noise for the whole range",
        )
    return growth
