"""Between which numbers an expression lies: interval arithmetic with ends that may be open.

A range is a derivation, not a promise: every summand is clamped to it anyway. It only has to be public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

End = Fraction | None  # None: no bound on this side

_LONGEST_BITS = 1200


def _sum(a: End, b: End) -> End:
    return None if a is None or b is None else a + b


def _negative(a: End) -> End:
    return None if a is None else -a


@dataclass(frozen=True)
class Range:
    """All numbers from low to high; a missing end is infinite."""

    low: End = None
    high: End = None

    def __post_init__(self) -> None:
        for name in ("low", "high"):  # numbers that nobody sums need no end, and would grow with every step
            end = getattr(self, name)
            if end is not None and max(abs(end.numerator), end.denominator).bit_length() > _LONGEST_BITS:
                object.__setattr__(self, name, None)

    @property
    def bounded(self) -> tuple[Fraction, Fraction] | None:
        """Both ends, if there are two."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __add__(self, other: Range) -> Range:
        return Range(_sum(self.low, other.low), _sum(self.high, other.high))

    def __neg__(self) -> Range:
        return Range(_negative(self.high), _negative(self.low))

    def __sub__(self, other: Range) -> Range:
        return self + -other

    def __mul__(self, other: Range) -> Range:
        one, two = self.bounded, other.bounded
        if one is None or two is None:
            return Range()
        ends = [a * b for a in one for b in two]
        return Range(min(ends), max(ends))

    def __truediv__(self, other: Range) -> Range:
        one, two = self.bounded, other.bounded
        if one is None or two is None or two[0] <= 0 <= two[1]:
            return Range()  # a divisor near zero makes the quotient as large as it likes
        ends = [a / b for a in one for b in two]
        return Range(min(ends), max(ends))

    def __mod__(self, other: Range) -> Range:
        two = other.bounded
        if two is None:
            return Range()
        size = max(abs(two[0]), abs(two[1]))
        return Range(-size, size)

    def __abs__(self) -> Range:
        one = self.bounded
        if one is None:
            return Range(Fraction(0), None)
        return Range(max(Fraction(0), one[0], -one[1]), max(abs(one[0]), abs(one[1])))

    def whole(self) -> Range:
        """Of the same numbers rounded in any direction."""
        return Range(
            None if self.low is None else Fraction(math.floor(self.low)),
            None if self.high is None else Fraction(math.ceil(self.high)),
        )

    def exp(self) -> Range:
        """Of e to these powers, as long as that is a number one would sum."""
        if self.high is None or self.high > 20:
            return Range(Fraction(0), None)
        return Range(Fraction(0), Fraction(math.ceil(math.exp(self.high) * 1024) + 1, 1024))

    def ln(self) -> Range:
        """Of their natural logarithms; what is not above zero has none."""
        low, high = (None if end is None or end <= 0 else _log(end) * 1024 for end in (self.low, self.high))
        return Range(
            None if low is None else Fraction(math.floor(low) - 1, 1024),
            None if high is None else Fraction(math.ceil(high) + 1, 1024),
        )

    def power(self, exponent: Range) -> Range:
        """Of these numbers to a small whole power; of any other, no ends."""
        if exponent.low is None or exponent.low != exponent.high or exponent.low not in range(1, 9):
            return Range()
        product = self
        for _ in range(int(exponent.low) - 1):
            product = product * self
        return product

    def sqrt(self) -> Range:
        """Of their square roots, negative numbers counting as zero."""
        if self.high is None:
            return Range(Fraction(0), None)
        return Range(Fraction(0), Fraction(math.isqrt(max(0, math.ceil(self.high))) + 1))


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


def least(ranges: Sequence[Range], sure: Sequence[bool]) -> Range:
    """Of the smallest that is not NULL. Only what is sure to be there caps it."""
    caps = [each.high for each, there in zip(ranges, sure, strict=True) if there and each.high is not None]
    every = union(ranges)
    return Range(every.low, min(caps) if caps else every.high)


def greatest(ranges: Sequence[Range], sure: Sequence[bool]) -> Range:
    """Of the largest that is not NULL."""
    return -least([-each for each in ranges], sure)


def union(ranges: Sequence[Range]) -> Range:
    """Of any of them."""
    lows, highs = [r.low for r in ranges], [r.high for r in ranges]
    return Range(
        None if None in lows else min(end for end in lows if end is not None),
        None if None in highs else max(end for end in highs if end is not None),
    )
