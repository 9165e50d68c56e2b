"""Shares of discrete Gaussian noise: each person adds a little, and the honest together add enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from discreet.errors import Refusal
from discreet.exact import Number, count, exact, positive, shown
from discreet.noise import SECURE, Entropy, gaussian, gaussians
from discreet.privacy import Concentrated
from discreet.privacy.calibrate import gaussian_error

_SMOOTH = 64  # variance of a share, at which sums of shares are Gaussian but for a chance far below _APART
_APART = Fraction(1, 1 << 128)
_MOST = 1 << 40  # people: docs/proofs/aggregate.md, Theorem 3
_LONGEST = 1 << 16  # numbers of a vector: the same


@dataclass(frozen=True)
class GaussianShares:
    """What each of `people` adds to a value in {0, …, limit}: discrete Gaussian noise on a grid of 2^−places.

    With a `dimension` the value is a vector of so many whole numbers, whose squares add up to limit² at most, and each
    of them gets noise.

    Guarantee: if at least `honest` people whose numbers are added up do as they are told and tell nobody else their
        noise, the sum is Concentrated(rho, 2^−128) for replacing the value of one of these, against everybody else.
    Proof: docs/proofs/aggregate.md, Theorem 3.
    Source: Kairouz, Liu & Steinke 2021, with the distance from one Gaussian derived anew.
    """

    rho: Fraction
    people: int
    honest: int
    limit: int = 1
    dimension: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho"))
        for name in ("people", "honest", "limit"):
            object.__setattr__(self, name, count(getattr(self, name), name))
        if not self.honest <= self.people <= _MOST:
            raise Refusal(f"expected honest <= people <= 2^40, got honest={self.honest} people={self.people}")
        if count(self.dimension, "dimension", least=0) > _LONGEST:
            raise Refusal(f"expected a vector of at most {_LONGEST} numbers, got dimension={self.dimension}")

    @property
    def privacy(self) -> Concentrated:
        """What one sum costs a person."""
        return Concentrated(self.rho, _APART)

    @property
    def moved(self) -> int:
        """How far one person's value can move the sum: a number from 0 to limit, a vector twice its longest length."""
        return 2 * self.limit if self.dimension else self.limit

    @property
    def variance(self) -> Fraction:
        """Of the noise of one person in one number, in squared units of values."""
        return Fraction(self.moved) ** 2 / (2 * self.rho * self.honest)

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

    def numbers(self, value: int | Sequence[int], *, rng: Entropy = SECURE) -> list[int]:
        """A person's value with the share of noise, number by number, in units of 2^−places."""
        if isinstance(value, int):
            self.fits(value)
            return [self.number(value, rng=rng)]
        self.fits(value)
        noise = gaussians(self.variance * 4**self.places, self.dimension, rng=rng)
        return [(each << self.places) + drawn for each, drawn in zip(value, noise.tolist(), strict=True)]

    def fits(self, value: int | Sequence[int]) -> None:
        """Refuse what is no value of this sum."""
        if isinstance(value, int):
            if self.dimension:
                raise Refusal(f"expected {self.dimension} whole numbers, got {shown(value)}")
            within(value, self.limit)
        elif not self.dimension or len(value) != self.dimension:
            raise Refusal(f"expected {self.dimension or 'one'} whole numbers, got {len(value)}")
        elif sum(count(abs(each), "number", least=0) ** 2 for each in value) > self.limit**2:
            raise Refusal(f"expected a vector no longer than {self.limit}", hint="clip it first")

    def deviation_of(self, survivors: int) -> float:
        """Standard deviation of the noise in a sum over so many people."""
        return math.sqrt(float(self.variance) * survivors)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in a sum over all people."""
        return self.deviation_of(self.people)

    def error(self, confidence: Number = Fraction(19, 20)) -> int:
        """An α such that the sum with noise is within α of the sum with this probability, if all people are honest."""
        return self.error_of(self.people, confidence)

    def error_of(self, survivors: int, confidence: Number = Fraction(19, 20)) -> int:
        """The same for a sum over so many people; of a vector, for each of its numbers by itself."""
        return _error(self.variance * survivors, exact(confidence, "confidence"))


@lru_cache(maxsize=256)
def _error(variance: Fraction, confidence: Fraction) -> int:
    return gaussian_error(variance, confidence) + 2


def within(value: int, limit: int) -> None:
    """Refuse a value that is not in {0, …, limit}."""
    if not 0 <= count(value, "value", least=0) <= limit:
        raise Refusal(f"expected a value from 0 to {limit}, got {shown(value)}")
