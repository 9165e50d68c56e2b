"""Which counter a price buys: whole-number trees for pure ε, fading sums for ρ, the sharper one for (ε, δ)."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import Refusal
from discreet.exact import Number, positive, probability
from discreet.privacy import AddRemove, Approximate, Concentrated, Loss, Neighbours, Pure
from discreet.privacy.calibrate import concentrated_for
from discreet.stream.gaussian_counters import BufferedCounter
from discreet.stream.tree_counter import TreeCounter


def counter_for(
    price: Loss, horizon: int, moved: int, neighbours: Neighbours
) -> tuple[TreeCounter | BufferedCounter, Pure | Approximate | Concentrated]:
    """The counter of this price whose largest deviation is the least, and what is charged for it.

    It compares streams with one unit more or less. Where units take each other's place, two come and go at once, so it
    is bought at half the ε or a quarter of the ρ.
    """
    own, twice = AddRemove(neighbours.unit), 1 if isinstance(neighbours, AddRemove) else 2
    match price:
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon, delta=Fraction(numerator=0)):
            return TreeCounter.of(positive(epsilon, "epsilon") / twice, horizon, moved, own), price
        case Concentrated(rho=rho, delta=Fraction(numerator=0)):
            return BufferedCounter.of(positive(rho, "rho") / twice**2, horizon, moved, own), price
        case Approximate(epsilon=epsilon, delta=delta):
            tree = TreeCounter.of(epsilon / twice, horizon, moved, own)
            fading = BufferedCounter.of(concentrated_for(epsilon, delta).rho / twice**2, horizon, moved, own)
            if tree.deviation() < fading.deviation():
                return tree, Approximate(epsilon, Fraction(0))
            return fading, price
    raise Refusal(f"no counter is bought for {price}", hint="name epsilon, with a delta or without, or rho alone")


def price_of(total: Loss, epsilon: Number | None, rho: Number | None, delta: Number | None) -> Loss:
    """What was named, in the measure of a budget."""
    named = {"epsilon": epsilon, "rho": rho, "delta": delta}
    match total:
        case Pure() if epsilon is not None and rho is None and delta is None:
            return Pure(positive(epsilon, "epsilon"))
        case Approximate() if epsilon is not None and rho is None:
            return Approximate(
                positive(epsilon, "epsilon"), Fraction(0) if delta is None else probability(delta, "delta")
            )
        case Concentrated() if rho is not None and epsilon is None and delta is None:
            return Concentrated(positive(rho, "rho"))
    wanted = {"Pure": "epsilon", "Approximate": "epsilon and perhaps delta", "Concentrated": "rho"}[
        type(total).__name__
    ]
    got = ", ".join(f"{word}={value}" for word, value in named.items() if value is not None) or "nothing"
    raise Refusal(f"a stream is paid from this budget with {wanted}, got {got}")
