"""Diluted geometric noise: each person adds a share of the noise of a sum, most of them nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from scipy.optimize import minimize_scalar

from discreet.aggregate.gaussian_shares import within
from discreet.errors import Refusal
from discreet.exact import ONE, Number, count, exact, positive, probability, share, shown
from discreet.interval_arithmetic import log
from discreet.noise import SECURE, Entropy, flip, laplace
from discreet.privacy import Approximate

_DIGITS = 64  # binary ones of the chance that a person adds noise
_SURE = 1 + 1e-9  # more than what doubles can have made of a bound


@dataclass(frozen=True)
class DilutedGeometric:
    """What each of `people` adds to a value in {0, …, limit}: discrete Laplace noise with a small chance, else nothing.

    Guarantee: if at least `honest` of the people do as they are told and tell nobody else their noise, the sum of all
        values is Approximate(epsilon, delta) for replacing the value of one of these, against everybody else together.
    Proof: docs/proofs/aggregate.md, Theorem 1.
    Source: Shi, Chan, Rieffel, Chow & Song 2011, Theorem 2.
    """

    epsilon: Fraction
    delta: Fraction
    people: int
    honest: int
    limit: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(self.delta, "delta"))
        for name in ("people", "honest", "limit"):
            object.__setattr__(self, name, count(getattr(self, name), name))
        if self.honest > self.people:
            raise Refusal(f"expected honest <= people, got honest={self.honest} people={self.people}")

    @classmethod
    def of(cls, epsilon: Number, delta: Number, people: int, limit: int = 1, *, honest: Number = 1) -> DilutedGeometric:
        """The one for a share of honest people, `honest` of all: rounded down to whole people, against us."""
        return cls(exact(epsilon, "epsilon"), exact(delta, "delta"), people, honest_of(people, honest), limit)

    @property
    def privacy(self) -> Approximate:
        """What one sum costs a person."""
        return Approximate(self.epsilon, self.delta)

    @property
    def scale(self) -> Fraction:
        """Of the discrete Laplace noise."""
        return self.limit / self.epsilon

    @cached_property
    def chance(self) -> Fraction:
        """That a person adds noise: the least multiple of 2^−64 for which (1 − chance)^honest ≤ δ, or one above it."""
        if self.delta == 0:
            return ONE
        least = (1 - (log(self.delta) / self.honest).exp()).up
        return min(ONE, Fraction(math.ceil(least * (1 << _DIGITS)), 1 << _DIGITS))

    @property
    def places(self) -> int:
        """Binary places behind the point of what is added up: none."""
        return 0

    def number(self, value: int, *, rng: Entropy = SECURE) -> int:
        """A person's value with the share of noise."""
        within(value, self.limit)
        return value + self.draw(rng=rng)

    def draw(self, *, rng: Entropy = SECURE) -> int:
        """The noise of one person."""
        return laplace(self.scale, rng=rng) if flip(self.chance, rng=rng) else 0

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in the sum, if all people are honest."""
        return math.sqrt(self.people * float(self.chance) * geometric_variance(1 / float(self.scale)))

    def error(self, confidence: Number = Fraction(19, 20)) -> int:
        """An α such that the sum with noise is within α of the sum with this probability, if all people are honest."""
        rare = 1 - share(confidence, "confidence")
        rate = 1 / float(self.scale)

        def bound(at: float) -> float:
            tilt = math.exp(at) * rate  # in (0, rate): Chernoff's bound holds for each, so the search need not be exact
            growth = _growth(rate, tilt) * float(self.chance)
            return (math.log(2) - math.log(rare) + self.people * math.log1p(growth)) / tilt

        best = minimize_scalar(bound, bounds=(math.log(1e-12), -1e-9), method="bounded").x
        return math.ceil(bound(float(best)) * _SURE)


def honest_of(people: int, share_of: Number) -> int:
    """So large a share of people, rounded down, but one at least: whoever is protected is honest."""
    part = exact(share_of, "honest")
    if not 0 < part <= 1:
        raise Refusal(f"expected 0 < honest <= 1, got honest={shown(share_of, str)}")
    return max(1, math.floor(part * count(people, "people")))


def geometric_variance(rate: float) -> float:
    """Of Pr[n] ∝ exp(−rate |n|): 2q/(1 − q)² with q = exp(−rate)."""
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def _growth(rate: float, tilt: float) -> float:
    """E exp(tilt · n) − 1 of discrete Laplace noise: q e^t (1 − e^{−t})² / ((1 − q e^t)(1 − q e^{−t})), q = exp(−rate).

    Nothing is taken away from what is nearly the same, so doubles hold it however small it is.
    """
    square = math.exp(tilt - rate) * math.expm1(-tilt) ** 2
    return square / (math.expm1(tilt - rate) * math.expm1(-tilt - rate))
