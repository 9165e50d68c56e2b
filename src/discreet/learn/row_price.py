"""Price of one row: what its coming or going may lose, and the choices and noise that parts of it buy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.interval_arithmetic import simpler_down, simpler_up, sqrt
from discreet.learn.fit_price import FitLoss, rho_of
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.noise import SECURE, Entropy, gaussian, laplace
from discreet.privacy import AddRemove, Neighbours, Pure


@dataclass(frozen=True)
class RowPrice:
    """What one row that is added or removed may lose: in ε, or in ρ."""

    of: Fraction
    pure: bool

    @classmethod
    def at(cls, loss: FitLoss, rows: int, neighbours: Neighbours) -> RowPrice:
        """The most for which all rows of a unit together lose no more than this.

        Proof: docs/proofs/trees.md, "One row at a time".
        """
        moves = rows if isinstance(neighbours, AddRemove) else 2 * rows
        if isinstance(loss, Pure):
            return cls(loss.epsilon / moves, pure=True)
        return cls(rho_of(loss) / moves**2, pure=False)

    def part(self, share: Fraction) -> RowPrice:
        """This share of it."""
        return RowPrice(simpler_down(self.of * share), self.pure)

    @property
    def epsilon(self) -> Fraction:
        """The ε of a choice that loses no more."""
        return self.of if self.pure else simpler_down(sqrt(8 * self.of).down)

    def choice(self, candidates: int, sensitivity: int) -> PermuteAndFlip | Exponential:
        """A choice by scores that one more row lowers, or raises, all together and by at most `sensitivity`."""
        kind = PermuteAndFlip if self.pure else Exponential
        return kind(self.epsilon, candidates, sensitivity, monotone=True)

    def spread(self, unit: int) -> Fraction:
        """The scale of Laplace noise, or the variance of Gaussian, on sums that a row moves by `unit` in L1."""
        return simpler_up(unit / self.of) if self.pure else simpler_up(Fraction(unit) ** 2 / (2 * self.of))

    def deviation(self, unit: int) -> float:
        """The standard deviation of that noise."""
        return float(self.spread(unit)) * 2**0.5 if self.pure else float(self.spread(unit)) ** 0.5

    def noisy(self, sums: Iterable[int], unit: int, rng: Entropy = SECURE) -> list[int]:
        """Sums with noise, which a row moves together by at most `unit` in L1."""
        wide, draw = self.spread(unit), laplace if self.pure else gaussian
        return [int(each) + draw(wide, rng=rng) for each in sums]
