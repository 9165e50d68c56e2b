"""Noise on integers: the discrete Laplace and Gaussian mechanisms, and the geometric one, which stays in a range."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers, whole
from discreet.errors import Refusal
from discreet.exact import Number, count, exact, positive, share, shown
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, gaussian, gaussians, laplace, laplaces
from discreet.noise.vector import LARGEST, SMALLEST
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure
from discreet.privacy.calibrate import gaussian_error, laplace_error

_WIDEST = (1 << 63) - 1


@dataclass(frozen=True)
class _OfScale:
    """Discrete Laplace noise on whole numbers that neighbours move by so much, in L1."""

    scale: Fraction
    sensitivity: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            scale=positive(self.scale, "scale"),
            sensitivity=count(self.sensitivity, "sensitivity"),
            neighbours=self.neighbours,
        )

    @classmethod
    def of(cls, epsilon: Number, sensitivity: int = 1, neighbours: Neighbours = AddRemove()) -> Self:
        """The one that loses exactly `epsilon`."""
        return cls(count(sensitivity, "sensitivity") / positive(epsilon, "epsilon"), sensitivity, neighbours)

    @property
    def privacy(self) -> Pure:
        """ε = sensitivity / scale."""
        return Pure(self.sensitivity / self.scale)

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α with Pr[|noise| ≤ α] ≥ confidence, for each number by itself."""
        return laplace_error(self.scale, confidence)


class _Vector(ABC):
    """Independent noise on each of several integers."""

    takes: ClassVar[Takes] = Takes.VECTOR

    @abstractmethod
    def _drawn(self, size: int, rng: Entropy) -> NDArray[np.int64] | None:
        """So many draws at once; None where the proof of the vector sampler ends."""

    @abstractmethod
    def _one(self, rng: Entropy) -> int:
        """One draw of any width."""

    def __call__(self, values: Integers, /, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """The values with noise.

        Where it is drawn one by one the sum is clamped, which is post-processing. The noise is not: that would tell
        values at its end apart.
        """
        clamped = whole(values)
        drawn = self._drawn(clamped.size, rng)
        if drawn is not None:
            return clamped + drawn.reshape(clamped.shape)
        return whole([value + self._one(rng) for value in clamped.ravel().tolist()], _WIDEST).reshape(clamped.shape)

    def exactly(self, values: Sequence[int], /, *, rng: Entropy = SECURE) -> list[int]:
        """Python's integers of any size with noise of any width: nothing is clamped."""
        drawn = self._drawn(len(values), rng)
        noise = [self._one(rng) for _ in values] if drawn is None else drawn.tolist()
        return [index(value) + each for value, each in zip(values, noise, strict=True)]


@registered("laplace")
@dataclass(frozen=True)
class Laplace(_OfScale):
    """Adds discrete Laplace noise to an integer.

    Guarantee: |f(x) − f(x')| ≤ sensitivity for neighbours x, x' implies Pure(sensitivity / scale).
    Proof: Pr[M(x) = n] / Pr[M(x') = n] = exp((|n − f(x')| − |n − f(x)|) / scale) ≤ exp(sensitivity / scale).
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1; Ghosh, Roughgarden & Sundararajan 2009 for integers.
    """

    takes: ClassVar[Takes] = Takes.NUMBER

    def pairs(self) -> tuple[Pair[int], ...]:
        """The law depends on the value only by a shift, so one pair at full distance is the worst."""
        return (Pair(0, self.sensitivity, "values that differ by the whole sensitivity"),)

    def __call__(self, value: int, /, *, rng: Entropy = SECURE) -> int:
        """The value with noise."""
        return index(value) + laplace(self.scale, rng=rng)


@registered("laplace-vector")
@dataclass(frozen=True)
class LaplaceVector(_OfScale, _Vector):
    """Adds independent discrete Laplace noise to each of several integers. In an array they count as within ±2^62.

    Guarantee: ‖f(x) − f(x')‖₁ ≤ sensitivity for neighbours x, x' implies Pure(sensitivity / scale).
    Proof: the logarithms of the coordinates' ratios add up to at most ‖f(x) − f(x')‖₁ / scale.
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1.
    """

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """All of the distance in one coordinate, and spread over several: equally bad in truth."""
        spread = tuple(1 for _ in range(min(self.sensitivity, 8)))
        return (
            Pair((0, 0), (self.sensitivity, 0), "one coordinate takes the whole distance"),
            Pair(tuple(0 for _ in spread), spread, "every coordinate takes a unit of the distance"),
        )

    def _drawn(self, size: int, rng: Entropy) -> NDArray[np.int64] | None:
        return laplaces(self.scale, size, rng=rng) if SMALLEST <= self.scale <= LARGEST else None

    def _one(self, rng: Entropy) -> int:
        return laplace(self.scale, rng=rng)


@registered("gaussian")
@dataclass(frozen=True)
class Gaussian:
    """Adds discrete Gaussian noise to an integer.

    Guarantee: |f(x) − f(x')| ≤ sensitivity for neighbours x, x' implies Concentrated(sensitivity² / (2 variance)).
    Proof: at an integer distance d the Rényi divergence of order α between discrete Gaussians of one variance is at
        most α d² / (2 variance), shown in the source.
    Source: Canonne, Kamath & Steinke 2020, Theorem 4.
    """

    takes: ClassVar[Takes] = Takes.NUMBER

    variance: Fraction
    sensitivity: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            variance=positive(self.variance, "variance"),
            sensitivity=count(self.sensitivity, "sensitivity"),
            neighbours=self.neighbours,
        )

    @classmethod
    def of(cls, rho: Number, sensitivity: int = 1, neighbours: Neighbours = AddRemove()) -> Gaussian:
        """The one that loses exactly `rho`."""
        return cls(count(sensitivity, "sensitivity") ** 2 / (2 * positive(rho, "rho")), sensitivity, neighbours)

    @property
    def privacy(self) -> Concentrated:
        """ρ = sensitivity² / (2 variance)."""
        return Concentrated(self.sensitivity**2 / (2 * self.variance))

    def error(self, confidence: Number = USUAL) -> int:
        """An α with Pr[|noise| ≤ α] ≥ confidence."""
        return gaussian_error(self.variance, confidence)

    def pairs(self) -> tuple[Pair[int], ...]:
        """The law depends on the value only by a shift, so one pair at full distance is the worst."""
        return (Pair(0, self.sensitivity, "values that differ by the whole sensitivity"),)

    def __call__(self, value: int, /, *, rng: Entropy = SECURE) -> int:
        """The value with noise."""
        return index(value) + gaussian(self.variance, rng=rng)


@registered("gaussian-vector")
@dataclass(frozen=True)
class GaussianVector(_Vector):
    """Adds independent discrete Gaussian noise to each of several integers. In an array they count as within ±2^62.

    Guarantee: ‖f(x) − f(x')‖₂² ≤ sensitivity_squared for neighbours x, x' implies
        Concentrated(sensitivity_squared / (2 variance)).
    Proof: the Rényi divergence of independent coordinates is the sum of theirs, at most α Σ dᵢ² / (2 variance).
    Source: Canonne, Kamath & Steinke 2020, Theorem 4, for each coordinate.
    """

    variance: Fraction
    sensitivity_squared: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            variance=positive(self.variance, "variance"),
            sensitivity_squared=count(self.sensitivity_squared, "sensitivity_squared"),
            neighbours=self.neighbours,
        )

    @classmethod
    def of(cls, rho: Number, sensitivity_squared: int = 1, neighbours: Neighbours = AddRemove()) -> GaussianVector:
        """The one that loses exactly `rho`."""
        square = count(sensitivity_squared, "sensitivity_squared")
        return cls(square / (2 * positive(rho, "rho")), square, neighbours)

    @property
    def privacy(self) -> Concentrated:
        """ρ = sensitivity_squared / (2 variance)."""
        return Concentrated(self.sensitivity_squared / (2 * self.variance))

    def error(self, confidence: Number = USUAL) -> int:
        """An α with Pr[|noise| ≤ α] ≥ confidence, for each coordinate by itself."""
        return gaussian_error(self.variance, confidence)

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """The distance spread over coordinates, a unit each, and the largest that one coordinate can take."""
        spread = tuple(1 for _ in range(min(self.sensitivity_squared, 8)))
        alone = math.isqrt(self.sensitivity_squared)
        return (
            Pair(tuple(0 for _ in spread), spread, "every coordinate takes a unit of the distance"),
            Pair((0, 0), (alone, 0), "one coordinate takes as much as a whole number can"),
        )

    def _drawn(self, size: int, rng: Entropy) -> NDArray[np.int64] | None:
        fast = SMALLEST**2 <= self.variance <= LARGEST**2
        return gaussians(self.variance, size, rng=rng) if fast else None

    def _one(self, rng: Entropy) -> int:
        return gaussian(self.variance, rng=rng)


@registered("geometric")
@dataclass(frozen=True)
class Geometric:
    """Adds discrete Laplace noise to an integer between two public bounds, and clamps the sum to them.

    Guarantee: |f(x) − f(x')| ≤ sensitivity for neighbours x, x' implies Pure(sensitivity / scale).
    Proof: clamping f brings no two values further apart, `Laplace` is private, and clamping the sum is post-processing.
    Source: Ghosh, Roughgarden & Sundararajan 2009, Section 2.2: for a count it serves every
        Bayesian user as well as the best private mechanism for that user, after post-processing (their main theorem).
    """

    takes: ClassVar[Takes] = Takes.NUMBER

    scale: Fraction
    lower: int
    upper: int
    sensitivity: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            scale=positive(self.scale, "scale"),
            lower=_whole(self.lower, "lower"),
            upper=_whole(self.upper, "upper"),
            sensitivity=count(self.sensitivity, "sensitivity"),
            neighbours=self.neighbours,
        )
        if not self.lower < self.upper:
            raise Refusal(f"expected lower < upper, got lower={shown(self.lower)} upper={shown(self.upper)}")

    @classmethod
    def of(
        cls, epsilon: Number, lower: int, upper: int, sensitivity: int = 1, neighbours: Neighbours = AddRemove()
    ) -> Geometric:
        """The one that loses exactly `epsilon`."""
        scale = count(sensitivity, "sensitivity") / positive(epsilon, "epsilon")
        return cls(scale, lower, upper, sensitivity, neighbours)

    @property
    def privacy(self) -> Pure:
        """ε = sensitivity / scale."""
        return Pure(self.sensitivity / self.scale)

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α such that any value in the range comes out within α with this confidence.

        Where the range leaves room on one side only, one tail counts.
        """
        rare, span = 1 - share(confidence, "confidence"), self.upper - self.lower
        both = laplace_error(self.scale, confidence)
        if span >= 2 * both + 2:
            return both
        one = laplace_error(self.scale, 1 - 2 * rare) if 2 * rare < 1 else 0
        return min(span, max(one, span // 2))  # no value has room for more than span // 2 on both sides

    def pairs(self) -> tuple[Pair[int], ...]:
        """Values at full distance at one end of the range, and in the middle of it."""
        apart = min(self.sensitivity, self.upper - self.lower)
        middle = (self.lower + self.upper - apart) // 2
        return (
            Pair(self.lower, self.lower + apart, "values at the lower end"),
            Pair(middle, middle + apart, "values in the middle"),
        )

    def law(self, value: int) -> dict[int, Interval]:
        """The probability of each output. As private as the value: for proofs and audits, not for release."""
        centre, b = self._inside(value), exp(-1 / self.scale)
        chances = {n: (1 - b) / (1 + b) * exp(-abs(n - centre) / self.scale) for n in range(self.lower, self.upper + 1)}
        for end in (self.lower, self.upper):
            distance = abs(end - centre)  # the end takes the whole tail: b^d/(1+b), and all but a tail from itself
            chances[end] = exp(-distance / self.scale) / (1 + b) if distance else 1 / (1 + b)
        return chances

    def __call__(self, value: int, /, *, rng: Entropy = SECURE) -> int:
        """The value with noise, within the range."""
        return self._inside(self._inside(value) + laplace(self.scale, rng=rng))

    def _inside(self, value: int) -> int:
        return min(self.upper, max(self.lower, index(value)))


def _whole(value: int, name: str) -> int:
    number = exact(value, name)
    if number.denominator != 1:
        raise Refusal(f"expected a whole number {name}, got {name}={shown(value)}")
    return int(number)
