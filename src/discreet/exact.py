"""Numbers that carry a guarantee are read exactly.

A price given as a float is read through its decimal text, so that ten times 0.1 is 1. Nonsense is refused by name.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import Ground, Refusal

Number: TypeAlias = int | float | str | Fraction | Decimal

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
FAR = Fraction(10) ** 300  # a float can hold it

_HUGE_EXPONENT = re.compile(r"[eE][+-]?[0_]*[1-9][0-9_]{3}")  # '1e999999999' would fill the memory with zeros
_FINEST, _LARGEST = -12, 1e15  # the last digit of a double, and a double, beyond which it is written as it is
LONGEST = 2000  # characters of a number: room for '1e999' over another, written out
_LONG_BITS = 1 << 16  # of a number whose decimal digits take noticeable time
_SHOWN = 200  # characters of a value in a message


def exact(value: Number, name: str) -> Fraction:
    """The rational that `value` says: a float or a text by its decimal digits, everything else as it is."""
    return _read(value, name)


def _read(value: object, name: str) -> Fraction:  # whatever came, for callers that no type checker has seen
    if isinstance(value, (bool, complex)):
        raise Refusal(f"{name} must be a number, got {shown(value)}", ground=Ground.VALUE)
    if isinstance(value, numbers.Rational):  # int() also inside a Fraction: one built on a numpy integer wraps around
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, numbers.Real) and not math.isfinite(value):
        raise Refusal(f"{name} must be finite, got {shown(value)}", ground=Ground.VALUE)
    text = _text(value)
    if len(text) > LONGEST:
        raise Refusal(f"{name} must have at most {LONGEST} characters, got {shown(value)}", ground=Ground.VALUE)
    if not text.isascii():  # other scripts have digits too, which the next pattern does not know
        raise Refusal(f"{name} must be a finite number in the digits 0 to 9, got {shown(value)}", ground=Ground.VALUE)
    if _HUGE_EXPONENT.search(text):
        raise Refusal(f"{name} must have an exponent of at most three digits, got {shown(value)}", ground=Ground.VALUE)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise Refusal(f"{name} must be a finite number, got {shown(value)}", ground=Ground.VALUE) from None


def _text(value: object) -> str:
    """Of a float the shortest digits that give it back, however numpy was told to print; of no number, nothing."""
    if isinstance(value, float):  # a double of numpy as well
        return float.__repr__(value)
    if (numpy := sys.modules.get("numpy")) and isinstance(value, numpy.floating):  # not loaded, it has no numbers here
        return str(numpy.format_float_scientific(value, unique=True, trim="-"))
    return str(value) if isinstance(value, (str, Decimal, numbers.Real)) else ""


def positive(value: Number, name: str) -> Fraction:
    """`value` read exactly, if it is greater than zero."""
    number = exact(value, name)
    if number <= 0:
        raise Refusal(f"expected {name} > 0, got {name}={shown(value, str)}", ground=Ground.VALUE)
    return number


def nonnegative(value: Number, name: str) -> Fraction:
    """`value` read exactly, if it is not below zero."""
    number = exact(value, name)
    if number < 0:
        raise Refusal(f"expected {name} >= 0, got {name}={shown(value, str)}", ground=Ground.VALUE)
    return number


def probability(value: Number, name: str) -> Fraction:
    """`value` read exactly, if 0 <= value < 1: how δ is given."""
    number = exact(value, name)
    if not 0 <= number < 1:
        raise Refusal(f"expected 0 <= {name} < 1, got {name}={shown(value, str)}", ground=Ground.VALUE)
    return number


def share(value: Number, name: str) -> Fraction:
    """`value` read exactly, if 0 < value < 1: a confidence, a failure probability."""
    number = exact(value, name)
    if not 0 < number < 1:
        raise Refusal(f"expected 0 < {name} < 1, got {name}={shown(value, str)}", ground=Ground.VALUE)
    return number


def count(value: int, name: str, *, least: int = 1) -> int:
    """`value`, if it is a whole number of at least `least`."""
    if _whole(value) and value >= least:
        return int(value)
    raise Refusal(f"expected a whole number {name} >= {least}, got {name}={shown(value)}", ground=Ground.VALUE)


def _whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def spoken(value: Fraction, digits: int = 9) -> str:
    """For messages: the number itself where so many digits say it, else ≈ and its first digits."""
    top, bottom = value.numerator.bit_length(), value.denominator.bit_length()
    if max(top, bottom) > _LONG_BITS:
        return f"≈{'-' if value < 0 else ''}2^{top - bottom}"
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    rounded = context.normalize(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
    if Fraction(rounded) == value:
        return f"{rounded:f}" if -digits <= rounded.adjusted() <= digits else f"{rounded}"
    short = max(abs(value.numerator), value.denominator) < 10**digits  # Python writes no number of 4300 digits
    fraction = str(value) if short else ""
    return fraction if 0 < len(fraction) <= digits else f"≈{rounded}"


def shown(value: object, write: Callable[[object], str] = repr) -> str:
    """For refusals: the value as it came, its beginning if that is long, and a number too long for Python by `spoken`.

    A refusal never fails at the value that it names.
    """
    try:
        text = str.__str__(write(value))  # of a text with a length of its own, the plain one
    except (ValueError, RecursionError):  # whole numbers of more than 4300 digits, or lists of them
        long = f"a {type(value).__name__} too long to write"
        text = spoken(Fraction(value)) if isinstance(value, (int, Fraction)) else long
    except Exception:  # noqa: BLE001  # what a stranger's object does when it is asked for its text
        text = f"a {type(value).__name__} that cannot be written"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def digit_of(wide: float) -> int:
    """The power of ten to which numbers are written beside an error bar of this width: its fifth digit."""
    return max(_FINEST, math.floor(math.log10(wide)) - 4) if 0 < wide < math.inf else _FINEST


def to_digit(number: float, place: int, way: str = ROUND_HALF_EVEN) -> str:
    """A double to a power of ten, in full."""
    if not math.isfinite(number) or abs(number) >= _LARGEST:
        return str(number)
    text = f"{Decimal(repr(number)).quantize(Decimal(1).scaleb(place), way):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
