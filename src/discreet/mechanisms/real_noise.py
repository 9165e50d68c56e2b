"""Noise on one real number, put on a public grid first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from discreet.declared.grid import Grid
from discreet.exact import Number, positive
from discreet.mechanisms.integer_noise import Gaussian, Laplace
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure

Real: TypeAlias = int | float | Fraction | Decimal  # what data holds; a text is for parameters, which people write


class _OnGrid(ABC):
    """A real number rounded to a grid, with noise in whole steps."""

    takes: ClassVar[Takes] = Takes.NUMBER

    sensitivity: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    neighbours: Neighbours

    @property
    @abstractmethod
    def noise(self) -> Laplace | Gaussian:
        """The mechanism on whole steps."""

    def _settle(self, **price: Fraction) -> None:
        grid = Grid(self.lower, self.upper, self.step)
        settle(
            self,
            **{name: positive(value, name) for name, value in price.items()},
            sensitivity=positive(self.sensitivity, "sensitivity"),
            lower=grid.lower,
            upper=grid.upper,
            step=grid.step,
            neighbours=self.neighbours,
        )

    @cached_property
    def grid(self) -> Grid:
        """Where values and answers lie."""
        return Grid(self.lower, self.upper, self.step)

    def error(self, confidence: Number = USUAL) -> Fraction:
        """An α such that a value within the bounds comes out within α with this confidence."""
        return self.noise.error(confidence) * self.step + self.grid.slack

    def pairs(self) -> tuple[Pair[Fraction], ...]:
        """Values at full distance whose images are as far apart as rounding can bring them.

        The left value is so close below the middle between two steps that the right one is just above a middle.
        """
        rest = self.sensitivity / self.step % 1
        offset = (1 - rest) / 2 if rest else Fraction(0)
        left = (self.grid.low + offset) * self.step
        right = min(left + self.sensitivity, self.upper)
        return (Pair(left, right, "values whose images are as far apart as they get"),)

    def __call__(self, value: Real, /, *, rng: Entropy = SECURE) -> Fraction:
        """The value with noise."""
        cell = np.empty(1, dtype=object)  # as it is, of whatever type
        cell[0] = value
        return self.grid.value(self.noise(int(self.grid.steps(cell)[0]), rng=rng))


@registered("laplace-real")
@dataclass(frozen=True)
class LaplaceReal(_OnGrid):
    """Rounds a real number to a grid and adds discrete Laplace noise in steps. The answer lies on the grid, exactly.

    A value below `lower` counts as `lower`, one above `upper` as `upper`, and what is not a number as `lower`: also a
    text, whatever its digits say.

    Guarantee: |f(x) − f(x')| ≤ sensitivity for neighbours x, x', for f as it is computed, implies Pure(epsilon).
    Proof: on the grid the two values are at most ⌈sensitivity / step⌉ steps apart (`Grid.apart`), and the noise is
        `Laplace.of(epsilon, ⌈sensitivity / step⌉)`.
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1; why a grid: Mironov 2012.
    """

    epsilon: Fraction
    sensitivity: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settle(epsilon=self.epsilon)

    @cached_property
    def noise(self) -> Laplace:
        """The mechanism on whole steps."""
        return Laplace.of(self.epsilon, max(1, self.grid.apart(self.sensitivity)), self.neighbours)

    @property
    def privacy(self) -> Pure:
        """ε."""
        return Pure(self.epsilon)


@registered("gaussian-real")
@dataclass(frozen=True)
class GaussianReal(_OnGrid):
    """Rounds a real number to a grid and adds discrete Gaussian noise in steps. The answer lies on the grid, exactly.

    A value below `lower` counts as `lower`, one above `upper` as `upper`, and what is not a number as `lower`: also a
    text, whatever its digits say.

    Guarantee: |f(x) − f(x')| ≤ sensitivity for neighbours x, x', for f as it is computed, implies Concentrated(rho).
    Proof: on the grid the two values are at most ⌈sensitivity / step⌉ steps apart (`Grid.apart`), and the noise is
        `Gaussian.of(rho, ⌈sensitivity / step⌉)`.
    Source: Canonne, Kamath & Steinke 2020, Theorem 4; why a grid: Mironov 2012.
    """

    rho: Fraction
    sensitivity: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settle(rho=self.rho)

    @cached_property
    def noise(self) -> Gaussian:
        """The mechanism on whole steps."""
        return Gaussian.of(self.rho, max(1, self.grid.apart(self.sensitivity)), self.neighbours)

    @property
    def privacy(self) -> Concentrated:
        """ρ."""
        return Concentrated(self.rho)
