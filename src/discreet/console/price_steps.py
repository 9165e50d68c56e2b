"""Prices to choose among: round numbers, each a fifth or so above the one before."""

from __future__ import annotations

import math
from fractions import Fraction

_ROUND = tuple(Fraction(each, 10) for each in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80))
_CHEAPEST = 100  # the cheapest price is so many times below the usual one


def ladder(usual: Fraction, most: Fraction) -> tuple[Fraction, ...]:
    """Prices from far below the usual one to the whole budget, cheapest first. The usual one is among them."""
    least, most = min(usual, most) / _CHEAPEST, max(usual, most)
    first, last = (math.floor(math.log10(each)) for each in (least, most))
    steps = {each * Fraction(10) ** power for power in range(first - 1, last + 2) for each in _ROUND}
    return tuple(sorted({each for each in steps if least <= each <= most} | {usual, most}))


def nearest(steps: tuple[Fraction, ...], price: Fraction) -> int:
    """Which step is nearest to a price, as prices are compared: by how many times one is the other."""
    if price <= 0:
        return 0
    return min(range(len(steps)), key=lambda each: abs(math.log(steps[each] / price)))


def above(price: Fraction, digits: int = 3) -> Fraction:
    """Hardly more than a price, in so many digits."""
    unit = _unit(price, digits)
    return math.ceil(price / unit) * unit


def below(price: Fraction, digits: int = 6) -> Fraction:
    """Hardly less than a price, in so many digits."""
    if price <= 0:
        return Fraction(0)
    unit = _unit(price, digits)
    return math.floor(price / unit) * unit


def _unit(price: Fraction, digits: int) -> Fraction:
    """What the last of so many digits counts."""
    return Fraction(10) ** (math.floor(math.log10(price)) + 1 - digits)
