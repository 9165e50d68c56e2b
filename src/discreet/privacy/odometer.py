"""What has been lost so far, when nobody fixed a total in advance.

A `Budget` is decided before the first question; an odometer is read after any of them. Being right at every reading at
once costs a little more than being right at one: docs/proofs/odometer.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from discreet.errors import Refusal
from discreet.exact import Number, positive, probability
from discreet.interval import log, simpler_up
from discreet.privacy.budget import charged
from discreet.privacy.convert import convert
from discreet.privacy.loss import Approximate, Concentrated, FilterLoss, Pure
from discreet.privacy.neighbours import AddRemove, Guarantee, Neighbours
from discreet.privacy.tradeoff import Gaussian

F = TypeVar("F", bound=FilterLoss)

ZERO = Fraction(0)
_LINES = 4  # how many lines on either side of the nearest are compared; each is valid, so any choice among them is


@dataclass(frozen=True, init=False)
class Odometer(Generic[F]):
    """All losses so far, and the probability `delta` with which the reading may ever be wrong.

    Guarantee: choose mechanisms and prices adaptively and charge each before it runs. (1) Except with probability
        `delta`, the privacy loss is at most `bound().epsilon` at all times at once, if no charge has a δ of its own.
        (2) For every (ε, δ) fixed beforehand, stopping before the first charge after which `bound()` would exceed it
        makes everything released (ε, δ)-private. It is *not* claimed that a reading ε taken after seeing the answers
        makes them (ε, δ)-private: such an ε is a function of the answers.
    Proof: docs/proofs/odometer.md. Pure and Approximate add up. For Concentrated and Gaussian, exp((α−1)(loss − αΣρ))
        is a supermartingale for each α > 1, so Ville's inequality bounds the loss by a line in Σρ; there is one line
        for each power of two, and they share δ.

    `around` is the public guess of the total ρ near which the reading is tightest; `neighbours` are those that the
    reading speaks of, and what is promised for others is charged for these, or refused.
    """

    spent: F
    delta: Fraction
    around: Fraction
    neighbours: Neighbours

    def __init__(self, spent: F, delta: Number = 0, around: Number = 1, neighbours: Neighbours | None = None) -> None:
        object.__setattr__(self, "spent", spent)
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "around", positive(around, "around"))
        object.__setattr__(self, "neighbours", AddRemove() if neighbours is None else neighbours)
        sums = isinstance(spent, (Pure, Approximate))
        if not sums and not isinstance(spent, (Concentrated, Gaussian)):
            raise Refusal(f"no odometer is proven for {spent}", hint="use Pure, Approximate, Concentrated or Gaussian")
        if sums == bool(self.delta):
            need = "sums are never wrong, so delta must be 0" if sums else "it needs a delta above 0"
            raise Refusal(f"an odometer of {type(spent).__name__}: {need}, got delta={delta}")

    def spend(self, guarantee: Guarantee[F]) -> Odometer[F]:
        """The odometer after this charge. None is too large for it: it only reads."""
        loss = charged(guarantee, self.spent, self.neighbours, "this odometer")
        return Odometer(self.spent + loss, self.delta, self.around, self.neighbours)

    def bound(self) -> Approximate:
        """The reading: what `Guarantee` above says about it, and no more."""
        if isinstance(self.spent, (Pure, Approximate)):
            return convert(self.spent, Approximate)
        total = convert(self.spent, Concentrated)
        epsilon = min((self._line(total.rho, k) for k in self._near(total.rho)), default=ZERO)
        return Approximate.capped(epsilon, self.delta + total.delta)

    def _near(self, rho: Fraction) -> range:
        if rho == 0:
            return range(0)
        ratio = rho / self.around
        k = ratio.numerator.bit_length() - ratio.denominator.bit_length()  # within one of log₂
        return range(k - _LINES, k + _LINES + 1)

    def _line(self, rho: Fraction, k: int) -> Fraction:
        """αρ + ln(1/δ_k)/(α − 1), with α best at ρ = around · 2^k and δ_k = (2/3) δ / ((|k|+1)(|k|+2)); Σ δ_k = δ."""
        rare = log(Fraction(3 * (abs(k) + 1) * (abs(k) + 2), 2) / self.delta)
        slope = simpler_up((rare / (self.around * Fraction(2) ** k)).sqrt().up, 32)  # α − 1; a function of k, not of ρ
        return simpler_up(((1 + slope) * rho + rare / slope).up)
