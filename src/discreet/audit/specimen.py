"""A wrong mechanism, kept to see whether the audit catches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.audit.outputs import Outputs
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy
from discreet.privacy.loss import Loss

Draw = Callable[[Any, int, Entropy], Outputs]


@dataclass(frozen=True)
class Specimen:
    """A mechanism with a false promise: what it claims, where the claim breaks, why, and who found out.

    It has the face of a mechanism, so that `audit(specimen)` is all there is to do. It is registered nowhere: no door
    leads to it, and nothing outside this room uses it.
    """

    name: str
    privacy: Loss
    pair: Pair[Any]
    fault: str
    source: str
    draw: Draw

    def pairs(self) -> tuple[Pair[Any], ...]:
        """The neighbouring inputs on which it breaks."""
        return (self.pair,)

    def sample(self, data: object, size: int, *, rng: Entropy = SECURE) -> Outputs:
        """Many outputs at once."""
        return self.draw(data, size, rng)

    def __call__(self, data: object, /, *, rng: Entropy = SECURE) -> object:
        """One output."""
        return self.draw(data, 1, rng)[0]
