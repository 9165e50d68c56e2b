"""What honest reports look like: how many values they support, and when so many is as good as made up.

Whoever controls a client can send any report that has the right form. Three things are told or done about it, from
public parameters alone: reports that no honest client sends but by a rare accident are refused; the shares of all
answers must add up to about 1; and so many dishonest reports can move an estimate by so much and no more.
docs/proofs/honesty.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from scipy import special

RARE = 2.0**-40  # each side's: of 2^24 honest reports one is refused with a probability below 2^-15
SUSPECT = 1e-3  # a sum of shares that is rarer than this looks made up


@dataclass(frozen=True)
class Sizes:
    """The law of how many values an honest report supports, which is the same whatever its person holds.

    Its mean, its variance or a bound on that, and how far from the mean it can be.
    """

    mean: Fraction
    variance: Fraction
    furthest: Fraction

    def chance(self, people: int, supports: int) -> float:
        """At most how likely so many honest reports support a number of values in all that is so far from its mean.

        Bernstein's inequality: 2 exp(−t²/2(V + Mt/3)) for a sum of variance V of numbers within M of their means.
        """
        off = abs(supports - people * self.mean)
        spread = 2 * (people * self.variance + self.furthest * off / 3)
        return min(1.0, 2 * math.exp(-float(off**2 / spread))) if spread else float(off == 0)


def likely_sizes(holder: Fraction, other: Fraction, size: int, held: tuple[int, int]) -> tuple[int, int]:
    """Between which numbers of bits an honest report of so many sets: beyond either end is rarer than `RARE`.

    Bits are set independently, with probability `holder` if a person's value sets them and else `other`; a value sets
    at least and at most the numbers of them that are `held`. More are set the more of them it sets, so that the worst
    cases are these two.
    """
    odds, (fewest, most) = (float(holder), float(other)), held
    low = _first(lambda bits: _below(odds, size, fewest, bits) >= RARE, size)
    high = size - _first(lambda bits: _above(odds, size, most, size - bits) >= RARE, size)
    return low, high


def _first(holds: Callable[[int], bool], size: int) -> int:
    """The smallest number up to `size` that holds, where all above it do."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _below(odds: tuple[float, float], size: int, held: int, bits: int) -> float:
    """How likely at most so many bits are set."""
    return sum(p * _most(bits - own, size - held, odds[1]) for own, p in _own(odds[0], held))


def _above(odds: tuple[float, float], size: int, held: int, bits: int) -> float:
    """How likely at least so many bits are set."""
    return sum(p * _least(bits - own, size - held, odds[1]) for own, p in _own(odds[0], held))


def _own(chance: float, held: int) -> list[tuple[int, float]]:
    """How many of the bits are set that a value sets, and how likely."""
    return [(own, math.comb(held, own) * chance**own * (1 - chance) ** (held - own)) for own in range(held + 1)]


def _most(bits: int, size: int, chance: float) -> float:
    """How likely at most so many of independent coins fall on heads."""
    return 0.0 if bits < 0 else 1.0 if bits >= size else float(special.bdtr(bits, size, chance))


def _least(bits: int, size: int, chance: float) -> float:
    """How likely at least so many do."""
    return 1.0 if bits <= 0 else 0.0 if bits > size else float(special.bdtrc(bits - 1, size, chance))
