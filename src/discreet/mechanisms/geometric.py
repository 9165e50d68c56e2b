"""Discrete Laplace noise on an integer whose range is public, and which stays in it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import ClassVar

from discreet.errors import Refusal
from discreet.exact import Number, count, exact, positive, share, shown
from discreet.interval import Interval, exp
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.privacy.calibrate import laplace_error


@registered("geometric")
@dataclass(frozen=True)
class Geometric:
    """Adds discrete Laplace noise to an integer between two public bounds, and clamps the sum to them.

    Guarantee: |f(x) − f(x')| ≤ sensitivity for neighbours x, x' implies Pure(sensitivity / scale).
    Proof: clamping f brings no two values further apart, `Laplace` is private, and clamping the sum is post-processing.
    Source: Ghosh, Roughgarden & Sundararajan 2009, Section 2.2: for a count it serves every
        Bayesian user as well as the best private mechanism for that user, after post-processing (their main theorem).
    """

    takes: ClassVar[Takes] = Takes.NUMBER

    scale: Fraction
    lower: int
    upper: int
    sensitivity: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            scale=positive(self.scale, "scale"),
            lower=_whole(self.lower, "lower"),
            upper=_whole(self.upper, "upper"),
            sensitivity=count(self.sensitivity, "sensitivity"),
            neighbours=self.neighbours,
        )
        if not self.lower < self.upper:
            raise Refusal(f"expected lower < upper, got lower={shown(self.lower)} upper={shown(self.upper)}")

    @classmethod
    def of(
        cls, epsilon: Number, lower: int, upper: int, sensitivity: int = 1, neighbours: Neighbours = AddRemove()
    ) -> Geometric:
        """The one that loses exactly `epsilon`."""
        scale = count(sensitivity, "sensitivity") / positive(epsilon, "epsilon")
        return cls(scale, lower, upper, sensitivity, neighbours)

    @property
    def privacy(self) -> Pure:
        """ε = sensitivity / scale."""
        return Pure(self.sensitivity / self.scale)

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α such that any value in the range comes out within α with this confidence.

        Where the range leaves room on one side only, one tail counts.
        """
        rare, span = 1 - share(confidence, "confidence"), self.upper - self.lower
        both = laplace_error(self.scale, confidence)
        if span >= 2 * both + 2:
            return both
        one = laplace_error(self.scale, 1 - 2 * rare) if 2 * rare < 1 else 0
        return min(span, max(one, span // 2))  # no value has room for more than span // 2 on both sides

    def pairs(self) -> tuple[Pair[int], ...]:
        """Values at full distance at one end of the range, and in the middle of it."""
        apart = min(self.sensitivity, self.upper - self.lower)
        middle = (self.lower + self.upper - apart) // 2
        return (
            Pair(self.lower, self.lower + apart, "values at the lower end"),
            Pair(middle, middle + apart, "values in the middle"),
        )

    def law(self, value: int) -> dict[int, Interval]:
        """The probability of each output. As private as the value: for proofs and audits, not for release."""
        centre, b = self._inside(value), exp(-1 / self.scale)
        chances = {n: (1 - b) / (1 + b) * exp(-abs(n - centre) / self.scale) for n in range(self.lower, self.upper + 1)}
        for end in (self.lower, self.upper):
            distance = abs(end - centre)  # the end takes the whole tail: b^d/(1+b), and all but a tail from itself
            chances[end] = exp(-distance / self.scale) / (1 + b) if distance else 1 / (1 + b)
        return chances

    def __call__(self, value: int, /, *, rng: Entropy = SECURE) -> int:
        """The value with noise, within the range."""
        return self._inside(self._inside(value) + laplace(self.scale, rng=rng))

    def _inside(self, value: int) -> int:
        return min(self.upper, max(self.lower, index(value)))


def _whole(value: int, name: str) -> int:
    number = exact(value, name)
    if number.denominator != 1:
        raise Refusal(f"expected a whole number {name}, got {name}={shown(value)}")
    return int(number)
