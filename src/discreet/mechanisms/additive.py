"""Noise on integers: the discrete Laplace and discrete Gaussian mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers, whole
from discreet.exact import Number, count, positive
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, gaussian, gaussians, laplace, laplaces
from discreet.noise.vector import LARGEST, SMALLEST
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure
from discreet.privacy.calibrate import gaussian_error, laplace_error

_WIDEST = (1 << 63) - 1


@registered("laplace")
@dataclass(frozen=True)
class Laplace:
    """Adds discrete Laplace noise to an integer.

    Guarantee: |f(x) − f(x')| ≤ sensitivity for neighbours x, x' implies Pure(sensitivity / scale).
    Proof: Pr[M(x) = n] / Pr[M(x') = n] = exp((|n − f(x')| − |n − f(x)|) / scale) ≤ exp(sensitivity / scale).
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1; Ghosh, Roughgarden & Sundararajan 2009 for integers.
    """

    takes: ClassVar[Takes] = Takes.NUMBER

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
    def of(cls, epsilon: Number, sensitivity: int = 1, neighbours: Neighbours = AddRemove()) -> Laplace:
        """The one that loses exactly `epsilon`."""
        return cls(count(sensitivity, "sensitivity") / positive(epsilon, "epsilon"), sensitivity, neighbours)

    @property
    def privacy(self) -> Pure:
        """ε = sensitivity / scale."""
        return Pure(self.sensitivity / self.scale)

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α with Pr[|noise| ≤ α] ≥ confidence."""
        return laplace_error(self.scale, confidence)

    def pairs(self) -> tuple[Pair[int], ...]:
        """The law depends on the value only by a shift, so one pair at full distance is the worst."""
        return (Pair(0, self.sensitivity, "values that differ by the whole sensitivity"),)

    def __call__(self, value: int, /, *, rng: Entropy = SECURE) -> int:
        """The value with noise."""
        return index(value) + laplace(self.scale, rng=rng)


@registered("laplace-vector")
@dataclass(frozen=True)
class LaplaceVector:
    """Adds independent discrete Laplace noise to each of several integers. In an array they count as within ±2^62.

    Guarantee: ‖f(x) − f(x')‖₁ ≤ sensitivity for neighbours x, x' implies Pure(sensitivity / scale).
    Proof: the logarithms of the coordinates' ratios add up to at most ‖f(x) − f(x')‖₁ / scale.
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1.
    """

    takes: ClassVar[Takes] = Takes.VECTOR

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
    def of(cls, epsilon: Number, sensitivity: int = 1, neighbours: Neighbours = AddRemove()) -> LaplaceVector:
        """The one that loses exactly `epsilon`."""
        return cls(count(sensitivity, "sensitivity") / positive(epsilon, "epsilon"), sensitivity, neighbours)

    @property
    def privacy(self) -> Pure:
        """ε = sensitivity / scale."""
        return Pure(self.sensitivity / self.scale)

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α with Pr[|noise| ≤ α] ≥ confidence, for each coordinate by itself."""
        return laplace_error(self.scale, confidence)

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """All of the distance in one coordinate, and spread over several: equally bad in truth."""
        spread = tuple(1 for _ in range(min(self.sensitivity, 8)))
        return (
            Pair((0, 0), (self.sensitivity, 0), "one coordinate takes the whole distance"),
            Pair(tuple(0 for _ in spread), spread, "every coordinate takes a unit of the distance"),
        )

    def __call__(self, values: Integers, /, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """The values with noise."""
        clamped = whole(values)
        if SMALLEST <= self.scale <= LARGEST:
            return clamped + laplaces(self.scale, clamped.size, rng=rng).reshape(clamped.shape)
        return _one_by_one(clamped, lambda: laplace(self.scale, rng=rng))

    def exactly(self, values: Sequence[int], /, *, rng: Entropy = SECURE) -> list[int]:
        """Python's integers of any size with noise of any scale: nothing is clamped."""
        if SMALLEST <= self.scale <= LARGEST:
            return _sums(values, laplaces(self.scale, len(values), rng=rng).tolist())
        return _sums(values, [laplace(self.scale, rng=rng) for _ in values])


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
class GaussianVector:
    """Adds independent discrete Gaussian noise to each of several integers. In an array they count as within ±2^62.

    Guarantee: ‖f(x) − f(x')‖₂² ≤ sensitivity_squared for neighbours x, x' implies
        Concentrated(sensitivity_squared / (2 variance)).
    Proof: the Rényi divergence of independent coordinates is the sum of theirs, at most α Σ dᵢ² / (2 variance).
    Source: Canonne, Kamath & Steinke 2020, Theorem 4, for each coordinate.
    """

    takes: ClassVar[Takes] = Takes.VECTOR

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

    def __call__(self, values: Integers, /, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """The values with noise."""
        clamped = whole(values)
        if SMALLEST**2 <= self.variance <= LARGEST**2:
            return clamped + gaussians(self.variance, clamped.size, rng=rng).reshape(clamped.shape)
        return _one_by_one(clamped, lambda: gaussian(self.variance, rng=rng))

    def exactly(self, values: Sequence[int], /, *, rng: Entropy = SECURE) -> list[int]:
        """Python's integers of any size with noise of any variance: nothing is clamped."""
        if SMALLEST**2 <= self.variance <= LARGEST**2:
            return _sums(values, gaussians(self.variance, len(values), rng=rng).tolist())
        return _sums(values, [gaussian(self.variance, rng=rng) for _ in values])


def _sums(values: Sequence[int], noise: Sequence[int]) -> list[int]:
    return [index(value) + each for value, each in zip(values, noise, strict=True)]


def _one_by_one(values: NDArray[np.int64], draw: Callable[[], int]) -> NDArray[np.int64]:
    """Where the proof of the vector sampler ends: single draws, added as Python's integers.

    The sum is clamped, which is post-processing. The noise is not: that would tell values at its end apart.
    """
    return whole([value + draw() for value in values.ravel().tolist()], _WIDEST).reshape(values.shape)
