"""Ranges of exact numbers: what products, quotients, roots and roundings make of them."""

from __future__ import annotations

import math
from fractions import Fraction

Range = tuple[Fraction, Fraction]
_LONGEST = 10_000  # bits of a number: a double has 1,024 before its point


def handy(number: Fraction) -> bool:
    """Whether a number is short enough to go on with: of squares of squares, each is twice as long as the last."""
    return max(number.numerator.bit_length(), number.denominator.bit_length()) <= _LONGEST


def times(one: Range, two: Range) -> Range:
    """Every product of a number of one range with one of the other."""
    ends = [a * b for a in one for b in two]
    return min(ends), max(ends)


def over(one: Range, two: Range) -> Range | None:
    """Every quotient; None if the divisor may be 0."""
    if two[0] <= 0 <= two[1]:
        return None
    ends = [a / b for a in one for b in two]
    return min(ends), max(ends)


def root(one: Range) -> Range:
    """Every square root, a little further out."""
    low, high = (math.sqrt(max(Fraction(0), end)) for end in one)
    return Fraction(math.nextafter(low, 0.0)), Fraction(math.nextafter(high, math.inf))


def rounded(one: Range, digits: int, way: str) -> Range:
    """Every number of a range rounded. The ends give way a little: SQL rounds doubles, and halves either way."""
    scale = Fraction(10) ** digits
    tiny = max(abs(one[0]), abs(one[1])) / 2**48  # what 32 roundings of a double add up to
    low, high = (one[0] - tiny) * scale, (one[1] + tiny) * scale
    half = Fraction(1, 2)
    match way:
        case "zero":  # of whole numbers, and so exact
            return math.trunc(one[0] * scale) / scale, math.trunc(one[1] * scale) / scale
        case "down":
            return math.floor(low) / scale, math.floor(high) / scale
        case "up":
            return math.ceil(low) / scale, math.ceil(high) / scale
        case _:
            return math.ceil(low - half) / scale, math.floor(high + half) / scale
