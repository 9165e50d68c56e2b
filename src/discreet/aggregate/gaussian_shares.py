"""Shares of discrete Gaussian noise: each person adds a little, and the honest together add enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, shown
from discreet.noise import SECURE, Entropy, gaussian
from discreet.privacy import Concentrated
from discreet.privacy.calibrate import gaussian_error

_SMOOTH = 64  # variance of a share, at which sums of shares are Gaussian but for a chance far below _APART
_APART = Fraction(1, 1 << 128)
_MOST = 1 << 40  # people: docs/proofs/aggregate.md, Theorem 3


@dataclass(frozen=True)
class GaussianShares:
    """What each of `people` adds to a value in {0, …, limit}: discrete Gaussian noise on a grid of 2^−places.

    Guarantee: if at least `honest` people whose numbers are added up do as they are told and tell nobody else their
        noise, the sum is Concentrated(rho, 2^−128) for replacing the value of one of these, against everybody else.
    Proof: docs/proofs/aggregate.md, Theorem 3.
    Source: Kairouz, Liu & Steinke 2021, with the distance from one Gaussian derived anew.
    """

    rho: Fraction
    people: int
    honest: int
    limit: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho"))
        for name in ("people", "honest", "limit"):
            object.__setattr__(self, name, count(getattr(self, name), name))
        if not self.honest <= self.people <= _MOST:
            raise Refusal(f"expected honest <= people <= 2^40, got honest={self.honest} people={self.people}")

    @property
    def privacy(self) -> Concentrated:
        """What one sum costs a person."""
        return Concentrated(self.rho, _APART)

    @property
    def variance(self) -> Fraction:
        """Of the noise of one person, in squared units of values."""
        return Fraction(self.limit) ** 2 / (2 * self.rho * self.honest)

    @cached_property
    def places(self) -> int:
        """Binary places behind the point of what is added up: so many that a share has a variance of 64 units."""
        places = 0
        while self.variance * 4**places < _SMOOTH:
            places += 1
        return places

    def number(self, value: int, *, rng: Entropy = SECURE) -> int:
        """A person's value with the share of noise, in units of 2^−places."""
        within(value, self.limit)
        return (value << self.places) + gaussian(self.variance * 4**self.places, rng=rng)

    def deviation_of(self, survivors: int) -> float:
        """Standard deviation of the noise in a sum over so many people."""
        return math.sqrt(float(self.variance) * survivors)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in a sum over all people."""
        return self.deviation_of(self.people)

    def error(self, confidence: Number = Fraction(19, 20)) -> int:
        """An α such that the sum with noise is within α of the sum with this probability, if all people are honest."""
        return gaussian_error(self.variance * self.people, confidence) + 2


def within(value: int, limit: int) -> None:
    """Refuse a value that is not in {0, …, limit}."""
    if not 0 <= count(value, "value", least=0) <= limit:
        raise Refusal(f"expected a value from 0 to {limit}, got {shown(value)}")
