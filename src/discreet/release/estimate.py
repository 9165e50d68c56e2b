"""Estimate: a number that was released or computed from what was, with its error bar where one covers.

And a curve of shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR

import numpy as np

from discreet.errors import Refusal
from discreet.exact import digit_of, to_digit
from discreet.release.interval_tree import Reals

# An error bar reaches so many standard errors and this much more to either side, and covers 19 times in 20. One count
# with Laplace noise needs 2.12, sums of many 1.96; whole noise of a small scale needs up to 0.62 more.
TIMES, MORE = 2.12, 0.625
_SUBTRACTED = 1 - 1e-12  # a difference of doubles may be too large by this share


def error_bar(error: float, value: float = 0.5) -> float:
    """How far an error bar goes to either side of a count with this standard error, 19 times in 20.

    Beside a whole number nothing but whole numbers can be true, so it ends at one.
    """
    far = TIMES * error + MORE
    return float(math.floor(far)) if float(value).is_integer() and not math.isnan(far) else far


@dataclass(frozen=True)
class Estimate:
    """A number, and its standard error where one is known. `span` is given where an error bar is not about the value.

    `interval` covers the truth 19 times in 20. Where there is neither, there is no error bar.
    """

    value: float
    error: float | None
    span: tuple[float, float] | None = None
    note: str = ""  # what has to be said about it

    @property
    def barred(self) -> bool:
        """Whether there is an error bar."""
        return self.error is not None or self.span is not None

    def interval(self) -> tuple[float, float]:
        """From where to where the error bar goes."""
        if self.span is not None:
            return self.span
        if self.error is None:
            raise Refusal(f"there is no error bar: how far {self.value:g} may be off is not known")
        far = error_bar(self.error, self.value)
        return self.value - far, self.value + far

    def __str__(self) -> str:
        told = f"{self.value:.6g}"
        if self.barred:
            low, high = map(float, self.interval())
            place = digit_of(high - low)
            told = to_digit(float(self.value), place)
            if self.span is not None:
                told += f" (from {to_digit(low, place, ROUND_FLOOR)} to {to_digit(high, place, ROUND_CEILING)})"
            else:  # what rounding takes from the number itself is in the bar
                far = max(float(told) - low, high - float(told)) * _SUBTRACTED
                told += f" ± {to_digit(far, place, ROUND_CEILING)}"
        return f"{told} ({self.note})" if self.note else told


def weighted(value: float, error: float, weights: Reals, largest: float) -> Estimate:
    """A sum of counts with these weights, where no draw of whole noise weighs more than `largest` in it.

    A draw that weighs more than 1 needs so many times what whole noise needs more (docs/proofs/hierarchy.md). Only sums
    with whole weights are whole numbers.
    """
    whole = bool(np.all(weights == np.rint(weights)))
    if whole and largest <= 1 + 1e-9:
        return Estimate(value, error)
    far = TIMES * error + MORE * max(1.0, largest)
    far = float(math.floor(far)) if whole and value.is_integer() else far
    return Estimate(value, error, (value - far, value + far))


@dataclass(frozen=True, eq=False)
class Curve:
    """Rising shares: of all records, how much lies up to each value.

    Standard errors are not a number where there is none.
    """

    values: Reals
    shares: Reals
    errors: Reals | None
