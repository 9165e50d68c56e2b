"""Claims of mechanisms as points (ε, δ), each of which is promised: what an event can contradict.

The claim is turned into its curve and never the reverse: an event says nothing about ρ, μ or a Rényi divergence except
through the (ε, δ) that these imply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.outputs import Outputs
from discreet.audit.probability_bounds import HitCounts, roughly_at_least, roughly_at_most
from discreet.errors import Refusal
from discreet.exact import ZERO
from discreet.interval_arithmetic import exp
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy
from discreet.privacy.loss import Approximate, Loss, Pure

Pairs: TypeAlias = Iterable[Pair[Any] | tuple[Any, Any]]

Reals = NDArray[np.float64]
POINTS = 16  # of a curve
CLEARLY = 0.25  # more of ε that a test must prove for the sake of which runs are shared out by coins
_FAR = Fraction(10**6)  # an ε beyond it promises nothing


def named(pairs: Pairs) -> list[Pair[Any]]:
    """Each pair with a reason, and at least one."""
    known = [pair if isinstance(pair, Pair) else Pair(pair[0], pair[1], "as given") for pair in pairs]
    if not known:
        raise Refusal("expected at least one pair of neighbouring inputs, got none")
    return known


def neighbouring(mechanism: Callable[..., object], pairs: Pairs | None) -> list[Pair[Any]]:
    """The pairs that are given, else the mechanism's own."""
    if pairs is not None:
        return named(pairs)
    own = getattr(mechanism, "pairs", None)
    if not callable(own):
        raise Refusal(f"{mechanism!r} names no neighbouring inputs", hint="pass pairs=[(left, right)]")
    return named(own())


@dataclass(frozen=True)
class Point:
    """p ≤ e^ε q + δ for the probabilities p, q of every event on neighbours, in both orders."""

    epsilon: Fraction
    delta: Fraction

    def contradicted(self, likely: Fraction, unlikely: Fraction) -> bool:
        """Whether p ≥ `likely` and q ≤ `unlikely` cannot both be true. Exact: e^ε is rounded up."""
        if likely <= self.delta or not unlikely:
            return likely > self.delta
        if self.epsilon >= unlikely.denominator.bit_length():  # then e^ε q is above 1
            return False
        return likely - self.delta > (exp(self.epsilon) * unlikely).up


def points(claim: Loss, samples: int) -> tuple[Point, ...]:
    """Where to test a claim: at its own (ε, δ) if it is one, else on its curve, as far as so many outputs can see."""
    if isinstance(claim, Pure):
        return (Point(claim.epsilon, ZERO),)
    if isinstance(claim, Approximate):
        return (Point(claim.epsilon, claim.delta),)
    far = Fraction(max(1, math.ceil(math.log(samples))))  # e^ε q is above 1 for every q that so few outputs can prove
    least = claim.delta_at(far) + Fraction(1, samples)
    while claim.delta_at(far / 2) <= least:
        if far < Fraction(1, 1 << 20):
            break
        far /= 2
    curve = (Point(far * i / POINTS, claim.delta_at(far * i / POINTS)) for i in range(POINTS + 1))
    return tuple(point for point in curve if point.delta < 1)


def excess(promised: tuple[Point, ...], likely: HitCounts, unlikely: HitCounts, samples: int, alpha: float) -> Reals:
    """By how much the ε that each event proves exceeds the claim, by the better test; in floats, to choose by.

    Counts need not be whole: those of a few runs, scaled to the many that will prove.
    """
    by_limits = limits_excess(promised, likely, unlikely, samples, alpha)
    by_odds = odds_excess(promised, likely, unlikely, alpha)
    return np.where(by_odds > by_limits + CLEARLY, by_odds, by_limits)


def prefers_odds(promised: tuple[Point, ...], likely: float, unlikely: float, samples: int, alpha: float) -> bool:
    """Whether an event of about so many hits is clearly better proven by its odds than by two limits: a rare one."""
    one, two = np.array([float(likely)]), np.array([float(unlikely)])
    limits = limits_excess(promised, one, two, samples, alpha)[0]
    return bool(odds_excess(promised, one, two, alpha)[0] > limits + CLEARLY)


def odds_excess(promised: tuple[Point, ...], likely: HitCounts, unlikely: HitCounts, alpha: float) -> Reals:
    """The same if only the odds of a hit to be on the likelier side are tested: of pure claims, for rare events."""
    pure = [float(min(point.epsilon, _FAR)) for point in promised if point.delta == 0]
    total = likely + unlikely
    if not pure:
        return np.full(total.shape, -np.inf)
    low = roughly_at_least(likely, total, alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(low / (1 - low)) - min(pure))


def limits_excess(
    promised: tuple[Point, ...], likely: HitCounts, unlikely: HitCounts, samples: int, alpha: float
) -> Reals:
    """The same by a limit on each of the two probabilities."""
    low = roughly_at_least(likely, samples, alpha / 2)
    high = roughly_at_most(unlikely, samples, alpha / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        over = [np.log(np.maximum(low - float(p.delta), 0.0) / high) - float(min(p.epsilon, _FAR)) for p in promised]
    best: Reals = np.max(over, axis=0)
    return best


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
    runs: int = 20_000  # on each input: with so many it is refuted at one in a million

    def pairs(self) -> tuple[Pair[Any], ...]:
        """The neighbouring inputs on which it breaks."""
        return (self.pair,)

    def sample(self, data: object, size: int, *, rng: Entropy = SECURE) -> Outputs:
        """Many outputs at once."""
        return self.draw(data, size, rng)

    def __call__(self, data: object, /, *, rng: Entropy = SECURE) -> object:
        """One output."""
        return self.draw(data, 1, rng)[0]
