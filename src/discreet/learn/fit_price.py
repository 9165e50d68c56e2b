"""What a fit may lose: ε with or without δ, or ρ."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from discreet.errors import Refusal
from discreet.exact import positive, probability
from discreet.privacy import Approximate, Concentrated, Pure, concentrated_for

FitLoss: TypeAlias = Pure | Approximate | Concentrated


def loss_of(epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> FitLoss:
    """The loss that a fit names: Pure(ε), Approximate(ε, δ) or Concentrated(ρ)."""
    if (epsilon is None) == (rho is None):
        given = "both" if rho is not None else "neither"
        raise Refusal(f"a fit names one of epsilon and rho, got {given}", hint="say epsilon=1, for one")
    if epsilon is None:
        if probability(delta, "delta"):
            raise Refusal("delta has no meaning beside rho", hint="leave it out; it belongs to epsilon")
        return Concentrated(positive(rho or 0, "rho"))
    if probability(delta, "delta"):
        return Approximate(positive(epsilon, "epsilon"), delta)
    return Pure(positive(epsilon, "epsilon"))


def rho_of(loss: Approximate | Concentrated) -> Fraction:
    """The ρ that Gaussian noise may lose: of (ε, δ) the largest that is certainly so private."""
    return loss.rho if isinstance(loss, Concentrated) else concentrated_for(loss.epsilon, loss.delta).rho
