"""Fit in stages: the number of rows first, with noise, and what is bought then depends on it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.learn.fit_parameters import Priced
from discreet.learn.price import FitLoss
from discreet.learn.row_price import RowPrice
from discreet.privacy import Approximate, Neighbours, Pure

SIZE = Fraction(1, 20)  # of the price, for the number of rows


class Staged(Priced):
    """A mechanism that divides its price among stages, one after another."""

    neighbours: Any

    def priced(self, share: Fraction, *, pure: bool) -> RowPrice | None:
        """What a row may lose in a stage that has this share, by one kind of noise, if the price allows that kind.

        ε with δ allows both: without δ, or all of δ with Gaussian noise.
        """
        loss = self.privacy
        if isinstance(loss, Approximate):
            part = loss.epsilon * share
            return self._row(Pure(part)) if pure else self._row(Approximate(part, loss.delta))
        return self._row(loss).part(share) if pure is isinstance(loss, Pure) else None

    def usual(self, share: Fraction) -> RowPrice:
        """In ε where that is possible, else in ρ."""
        return self.priced(share, pure=True) or self._row(self.privacy).part(share)

    def least(self, share: Fraction, noise: Callable[[RowPrice], float]) -> RowPrice:
        """The kind of noise, of those that the price allows, by which there is least of it."""
        both = [self.priced(share, pure=pure) for pure in (True, False)]
        return min((each for each in both if each is not None), key=noise)

    @property
    def first(self) -> RowPrice:
        """For the number of rows."""
        return self.usual(SIZE)

    def _row(self, loss: FitLoss) -> RowPrice:
        neighbours: Neighbours = self.neighbours
        return RowPrice.at(loss, self.max_rows, neighbours)
