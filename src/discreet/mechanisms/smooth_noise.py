"""What the medians share: an order statistic, a smooth bound on how far it can move, and noise to match."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

from numpy.typing import ArrayLike

from discreet.exact import Number
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.mechanism import USUAL, Takes
from discreet.mechanisms.smooth import Order
from discreet.mechanisms.tails import Tails
from discreet.noise import SECURE, Entropy

_QUIET = Fraction(1, 1 << 16)  # a scale of noise below which nothing is gained any more


class Fitted(ABC):
    """An order statistic of numbers on a grid, with noise fitted to the data."""

    takes: ClassVar[Takes] = Takes.ROWS

    lower: Fraction
    upper: Fraction
    step: Fraction

    @property
    @abstractmethod
    def tails(self) -> Tails:
        """The shape of the noise."""

    @abstractmethod
    def truth(self, order: Order) -> int:
        """The answer in steps, without noise. Private."""

    @abstractmethod
    def smooth(self, order: Order, growth: Fraction, least: Fraction) -> Fraction:
        """The smooth bound in steps. Private."""

    @property
    def grid(self) -> Grid:
        """Where values and answers lie."""
        return Grid(self.lower, self.upper, self.step)

    def error(self, confidence: Number = USUAL) -> Fraction:
        """α with Pr[|answer − truth| ≤ α] ≥ confidence on the worst data there is; usual data does far better.

        The truth is that of the numbers on the grid.
        """
        return self._error(self.tails.scale(Fraction(self.grid.span)), confidence)

    def error_on(self, values: ArrayLike, confidence: Number = USUAL) -> Fraction:
        """α with Pr[|answer − truth| ≤ α] ≥ confidence on this data. Private: it depends on the data."""
        return self._error(self._scale(self.order(values)), confidence)

    def _error(self, scale: Fraction, confidence: Number) -> Fraction:
        return self.step * min(self.grid.span, self.tails.error(scale, confidence))  # no answer is further off

    def order(self, values: ArrayLike) -> Order:
        """The values as this mechanism sees them. Private."""
        return Order.of(values, self.grid)

    def _scale(self, order: Order) -> Fraction:
        least = _QUIET / self.tails.scale(Fraction(order.span))
        return self.tails.scale(self.smooth(order, self.tails.growth, least))

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Fraction:
        """The answer with noise. What is no number counts as `lower`, what is outside as the nearer bound."""
        order = self.order(values)
        noisy = self.truth(order) + self.tails.draw(self._scale(order), rng)
        return self.grid.value(min(max(noisy, order.lower), order.upper))
