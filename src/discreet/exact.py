"""Numbers that carry a guarantee are read exactly.

A price given as a float is read through its decimal text, so that ten times 0.1 is 1. Nonsense is refused by name.
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import Refusal

Number: TypeAlias = int | float | str | Fraction | Decimal

_HUGE_EXPONENT = re.compile(r"[eE][+-]?[0_]*[1-9][0-9_]{3}")  # '1e999999999' would fill the memory with zeros


def exact(value: Number, name: str) -> Fraction:
    """The rational that `value` says: a float or a text by its decimal digits, everything else as it is."""
    return _read(value, name)


def _read(value: object, name: str) -> Fraction:  # whatever came, for callers that no type checker has seen
    if isinstance(value, (bool, complex)):
        raise Refusal(f"{name} must be a number, got {value!r}")
    if isinstance(value, numbers.Rational):  # int() also inside a Fraction: one built on a numpy integer wraps around
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, numbers.Real) and not math.isfinite(value):
        raise Refusal(f"{name} must be finite, got {value!r}")
    text = str(value)  # of numpy's floats as well: the shortest digits that give the value back at its own precision
    if _HUGE_EXPONENT.search(text):
        raise Refusal(f"{name} must have an exponent of at most three digits, got {value!r}")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise Refusal(f"{name} must be a finite number, got {value!r}") from None


def positive(value: Number, name: str) -> Fraction:
    """`value` read exactly, if it is greater than zero."""
    number = exact(value, name)
    if number <= 0:
        raise Refusal(f"expected {name} > 0, got {name}={value}")
    return number


def nonnegative(value: Number, name: str) -> Fraction:
    """`value` read exactly, if it is not below zero."""
    number = exact(value, name)
    if number < 0:
        raise Refusal(f"expected {name} >= 0, got {name}={value}")
    return number


def probability(value: Number, name: str) -> Fraction:
    """`value` read exactly, if 0 <= value < 1: how δ is given."""
    number = exact(value, name)
    if not 0 <= number < 1:
        raise Refusal(f"expected 0 <= {name} < 1, got {name}={value}")
    return number


def share(value: Number, name: str) -> Fraction:
    """`value` read exactly, if 0 < value < 1: a confidence, a failure probability."""
    number = exact(value, name)
    if not 0 < number < 1:
        raise Refusal(f"expected 0 < {name} < 1, got {name}={value}")
    return number


def count(value: int, name: str, *, least: int = 1) -> int:
    """`value`, if it is a whole number of at least `least`."""
    if _whole(value) and value >= least:
        return int(value)
    raise Refusal(f"expected a whole number {name} >= {least}, got {name}={value!r}")


def _whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def spoken(value: Fraction, digits: int = 9) -> str:
    """For messages: the number itself where so many digits say it, else ≈ and its first digits."""
    context = Context(prec=digits)
    rounded = context.normalize(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
    if Fraction(rounded) == value:
        return f"{rounded:f}" if -digits <= rounded.adjusted() <= digits else f"{rounded}"
    fraction = str(value)
    return fraction if len(fraction) <= digits else f"≈{rounded}"
