"""What happened, as plain frozen data: one use of one mechanism, described by public parameters.

An event says nothing about accounting. `Profile` counts events; what they lose together is worked out when asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, order=True)
class AnyMechanism:
    """Any (ε, δ)-private mechanism: the worst one is randomized response that fails with probability δ."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, order=True)
class LaplaceNoise:
    """Continuous Laplace noise of scale sensitivity/ε on one real number."""

    epsilon: Fraction


@dataclass(frozen=True, order=True)
class DiscreteLaplaceNoise:
    """Discrete Laplace noise of scale sensitivity/ε on one whole number that changes by at most `sensitivity`."""

    epsilon: Fraction
    sensitivity: int


@dataclass(frozen=True, order=True)
class GaussianNoise:
    """Continuous Gaussian noise on a vector, standard deviation `sigma` in units of its L2 sensitivity."""

    sigma: Fraction


@dataclass(frozen=True, order=True)
class DiscreteGaussianNoise:
    """Discrete Gaussian noise of parameter `sigma` on one whole number that changes by at most `sensitivity`."""

    sigma: Fraction
    sensitivity: int


@dataclass(frozen=True, order=True)
class SampledGaussianNoise:
    """Gaussian noise, as above, on the sum over a Poisson sample: each unit takes part with probability `rate`."""

    rate: Fraction
    sigma: Fraction


Event: TypeAlias = (
    AnyMechanism | LaplaceNoise | DiscreteLaplaceNoise | GaussianNoise | DiscreteGaussianNoise | SampledGaussianNoise
)
