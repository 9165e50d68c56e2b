"""Fit in stages: the number of rows first, with noise, and what is bought then depends on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.learn.fit_price import FitLoss
from discreet.learn.row_price import RowPrice
from discreet.privacy import Approximate, Neighbours, Pure

SIZE = Fraction(1, 20)  # of the price, for the number of rows


@dataclass(frozen=True)
class Stages:
    """A price that is divided among stages, one after another, of so many rows of one unit."""

    loss: FitLoss
    rows: int
    neighbours: Neighbours

    def priced(self, share: Fraction, *, pure: bool) -> RowPrice | None:
        """What a row may lose in a stage that has this share, by one kind of noise, if the price allows that kind.

        ε with δ allows both: without δ, or all of δ with Gaussian noise.
        """
        loss = self.loss
        if isinstance(loss, Approximate):
            part = loss.epsilon * share
            return self._row(Pure(part)) if pure else self._row(Approximate(part, loss.delta))
        return self._row(loss).part(share) if pure is isinstance(loss, Pure) else None

    def usual(self, share: Fraction) -> RowPrice:
        """In ε where that is possible, else in ρ."""
        return self.priced(share, pure=True) or self._row(self.loss).part(share)

    def least(self, share: Fraction, noise: Callable[[RowPrice], float]) -> RowPrice:
        """The kind of noise, of those that the price allows, by which there is least of it."""
        both = [self.priced(share, pure=pure) for pure in (True, False)]
        return min((each for each in both if each is not None), key=noise)

    @property
    def first(self) -> RowPrice:
        """For the number of rows."""
        return self.usual(SIZE)

    def _row(self, loss: FitLoss) -> RowPrice:
        return RowPrice.at(loss, self.rows, self.neighbours)
