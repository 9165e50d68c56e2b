"""What happened, as plain frozen data: one use of one mechanism, described by public parameters.

An event says nothing about accounting. `Profile` counts events; what they lose together is worked out when asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal

Floats = TypeVar("Floats", bound=float | NDArray[np.float64])


def finite(value: Floats, what: str) -> Floats:
    """The value itself, if all of it is a finite number."""
    if not np.isfinite(value).all():
        hint = "use Renyi or Concentrated, which are exact, or add the losses"
        raise Refusal(f"{what} cannot be computed: the numbers are beyond what floats hold", hint=hint)
    return value


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
