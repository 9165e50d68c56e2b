"""Real numbers on a fixed grid: the only way they meet noise; and the step of a grid where none is declared.

A float is mapped to a whole number of steps before anything is summed, and noise is added to whole numbers, so neither
the order of a sum nor the digits of a float can tell who is in the data.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.nearest_steps import NearestSteps
from discreet.errors import Refusal
from discreet.exact import Number, exact, nonnegative, positive, shown

Integers: TypeAlias = Sequence[int] | NDArray[np.int64] | NDArray[np.object_]

LIMIT = (1 << 62) - 1  # two numbers of at most this size have a sum that 64 bits hold

_WIDEST = 20_000  # decimal exponents beyond this are as good as infinite, or zero: no bound or step has more than 9999
MOST_STEPS = 1 << 53  # below it a double counts every step
_USUAL = Fraction(1, 100)
_SMALLEST = Fraction(1, 10**300)
_COLUMN = 26  # bits for the places across a column's bounds, at the least: a few more still fit four bytes
_AT_ONCE = 1 << 14  # doubles
_EXPRESSION = 28  # and for those of an expression that is ranked: a finer grid would only cost more


@dataclass(frozen=True, init=False)
class Grid:
    """Whole steps between two bounds. What is not a number counts as `lower`; what is outside, as the nearer bound."""

    lower: Fraction
    upper: Fraction
    step: Fraction

    def __init__(self, lower: Number, upper: Number, step: Number) -> None:
        object.__setattr__(self, "lower", exact(lower, "lower"))
        object.__setattr__(self, "upper", exact(upper, "upper"))
        object.__setattr__(self, "step", positive(step, "step"))
        if not self.lower < self.upper:
            raise Refusal(f"expected lower < upper, got lower={shown(lower, str)} upper={shown(upper, str)}")
        if self.low > self.high:
            between = f"{shown(lower, str)} and {shown(upper, str)}"
            raise Refusal(f"no multiple of step={shown(step, str)} lies between {between}", hint="take a smaller step")
        if self.reach >= MOST_STEPS:
            raise Refusal(
                f"the bounds are 2^53 steps from zero or more, got step={shown(step, str)}", hint="take a larger step"
            )

    @classmethod
    def of_steps(cls, low: int, high: int, step: Fraction) -> Grid:
        """From so many steps to so many: also beyond what a double counts, for sums of whole numbers in an engine."""
        grid = object.__new__(cls)
        for name, value in (("lower", low * step), ("upper", high * step), ("step", step)):
            object.__setattr__(grid, name, value)
        return grid

    @cached_property
    def low(self) -> int:
        """The lower bound in steps, rounded inward: no value is below it."""
        return math.ceil(self.lower / self.step)

    @cached_property
    def high(self) -> int:
        """The upper bound in steps, rounded inward."""
        return math.floor(self.upper / self.step)

    @cached_property
    def nearest(self) -> NearestSteps | None:
        """What tells the steps of most doubles at a glance, if anything does."""
        return NearestSteps.of([(self.low, self.high, self.step)])

    @property
    def reach(self) -> int:
        """How far one value can lie from zero: the sensitivity of a sum when a row is added or removed."""
        return max(abs(self.low), abs(self.high))

    @property
    def span(self) -> int:
        """How far two values can lie apart: the sensitivity of a sum when a row is replaced."""
        return self.high - self.low

    @property
    def middle(self) -> int:
        """The step nearest to the centre."""
        return (self.low + self.high) // 2

    @property
    def half(self) -> int:
        """How far a value lies from the middle at most, in steps."""
        return max(self.high - self.middle, self.middle - self.low)

    @property
    def short(self) -> bool:
        """Whether a step is so short a number that 128 bits hold whole numbers on their way to steps."""
        return max(self.step.numerator, self.step.denominator) < 1 << 60

    @property
    def slack(self) -> Fraction:
        """How far a value within the bounds can lie from its image: half a step, more where a bound is no multiple."""
        ends = self.low - self.lower / self.step, self.upper / self.step - self.high
        return self.step * max(Fraction(1, 2), *ends)

    def apart(self, distance: Number) -> int:
        """How many steps the images of two values that differ by at most `distance` can lie apart.

        Proof: with a ≥ b and d = ⌈(a − b)/step⌉, a/step + 1/2 ≤ b/step + 1/2 + d, and the floor of the right side is d
            more than b's image. Clamping brings images no further apart.
        """
        return min(self.span, math.ceil(nonnegative(distance, "distance") / self.step))

    def steps(self, values: ArrayLike) -> NDArray[np.int64]:
        """Each value as a whole number of steps: ⌊value/step + 1/2⌋ exactly, clamped.

        Total and monotone: every float, integer, decimal and fraction has an image, and so has what is no number. The
        image of a cell depends on that cell alone, also in a list that mixes types; see `cells`.
        """
        given = cells(values)
        kind = given.dtype.kind
        if kind == "f" and given.dtype.itemsize <= 8:  # one that is longer than a double is not rounded to one first
            return self._of_floats(given)
        if kind in "iub":
            return self._of_integers(given)
        if kind in "fO":
            return self._one_by_one(given)
        return np.full(given.shape, self.low, dtype=np.int64)

    def value(self, steps: int) -> Fraction:
        """The number that so many steps stand for."""
        return int(steps) * self.step

    def _of_floats(self, given: NDArray[np.generic]) -> NDArray[np.int64]:
        """As many at once as lie in a cache."""
        if not Fraction(1, 1 << 1000) < self.step < 1 << 1000 or self.reach >= MOST_STEPS:
            return self._one_by_one(given)
        flat = given.reshape(-1)
        told, nearest = np.empty(flat.size, dtype=np.int64), self.nearest
        image, off = np.empty((1, _AT_ONCE)), np.empty((1, _AT_ONCE))
        for start in range(0, flat.size, _AT_ONCE):
            some = flat[start : start + _AT_ONCE]
            own = image[:, : some.size]
            known = nearest is not None and nearest.told([some], own, off[:, : some.size])
            told[start : start + _AT_ONCE] = own[0] if known else self._of_some(some)
        return told.reshape(given.shape)

    def _of_some(self, given: NDArray[np.generic]) -> NDArray[np.int64]:
        """In doubles, and again in rationals where their error could move a value over the middle between two steps."""
        with np.errstate(all="ignore"):
            reals = given.astype(np.float64)
            scaled = reals / float(self.step)
            floor = np.floor(scaled)
            part = scaled - floor  # NaN at infinities, which are at no middle
            image = floor + (part >= 0.5)
            size = np.abs(scaled)
            # scaled is within 2^-51 of value/step relatively, and part within 2^-53 of scaled − floor
            near = (np.abs(part - 0.5) <= (size + 1) * 2.0**-50) & (size <= 2.0**54)
        if not _is_power_of_two(self.step):  # else the division is exact
            middle, places = np.unique(reals[near], return_inverse=True)
            image[near] = self._one_by_one(middle)[places]
        low, high = float(self.low), float(self.high)
        return np.where(np.isnan(reals), low, np.clip(image, low, high)).astype(np.int64)

    def _of_integers(self, given: NDArray[np.generic]) -> NDArray[np.int64]:
        """⌊(2 v bottom + top)/(2 top)⌋ in 64 bits, if the bounds leave room for it."""
        low, high = math.floor(self.lower), math.ceil(self.upper)
        top, bottom = self.step.numerator, self.step.denominator
        if 2 * max(abs(low), abs(high)) * bottom + 2 * top >= 1 << 63:
            return self._one_by_one(given)
        if given.dtype.kind == "u":
            given = np.minimum(given.astype(np.uint64), np.uint64(max(high, 0)))
        inside = np.clip(given.astype(np.int64), low, high)
        return np.clip((2 * bottom * inside + top) // (2 * top), self.low, self.high)

    def _one_by_one(self, given: NDArray[np.generic]) -> NDArray[np.int64]:
        low, high = self.low, self.high
        images = [self._image(cell, low, high) for cell in given.ravel().tolist()]
        return np.array(images, dtype=np.int64).reshape(given.shape)

    def _image(self, cell: object, low: int, high: int) -> int:
        number = real(cell)
        if isinstance(number, float):  # not finite
            return high if number > 0 else low
        return max(low, min(high, math.floor(number / self.step + Fraction(1, 2))))


def _is_power_of_two(x: Fraction) -> bool:
    return (x.numerator & (x.numerator - 1)) == 0 and (x.denominator & (x.denominator - 1)) == 0


def usual_step(low: Fraction, high: Fraction) -> Fraction:
    """The step of a column of doubles that declares none: hundredths, or what its bounds need."""
    return min(_USUAL, _power_of_ten((high - low) / (1 << _COLUMN)))


def fine_step(low: Fraction, high: Fraction) -> Fraction:
    """A step for ranking numbers of which nothing but the range is known: so fine that rounding to it hardly shows."""
    return max(_power_of_ten(max((high - low) / (1 << _EXPRESSION), _SMALLEST)), finest_step(low, high))


def finest_step(low: Fraction, high: Fraction) -> Fraction:
    """The same for adding them up, where no error bar holds what rounding takes from every row: as fine as doubles."""
    farthest = max(abs(low), abs(high))
    finest = _power_of_ten(max(farthest / MOST_STEPS, _SMALLEST))
    return finest if farthest / finest < MOST_STEPS else 10 * finest


def _power_of_ten(most: Fraction) -> Fraction:
    """The largest power of ten that is not larger than this."""
    power = Fraction(10) ** (len(str(most.numerator)) - len(str(most.denominator)))
    return power if power <= most else power / 10


def whole(values: Integers, limit: int = LIMIT) -> NDArray[np.int64]:
    """The values as 64-bit integers, those beyond ±limit at ±limit.

    Clamping brings no two numbers further apart, so every sensitivity stays what it was. These are what a query has
    counted or summed, whole by the code that computed them; anything else among them is refused, for it has no
    sensitivity. Cells as people wrote them go through a `Grid` or `floors`, which refuse none.
    """
    given = np.asarray(values)
    if given.dtype.kind in "ib":
        return np.clip(given.astype(np.int64), -limit, limit)
    if given.dtype.kind == "u":
        return np.minimum(given.astype(np.uint64), np.uint64(limit)).astype(np.int64)
    if isinstance(values, np.ndarray) and given.dtype.kind != "O":
        raise Refusal(f"expected whole numbers, got {given.dtype}", hint="put reals on a Grid first")
    exactly = np.array(values, dtype=object)  # also numbers that no machine type holds together, as 2^63 and −1
    if not all(_is_whole(cell) for cell in exactly.flat):
        raise Refusal("expected whole numbers, got others among them", hint="put reals on a Grid first")
    clamped = [max(-limit, min(limit, int(cell))) for cell in exactly.flat]
    return np.array(clamped, dtype=np.int64).reshape(exactly.shape)


def _is_whole(cell: object) -> bool:
    """A duration of numpy's is not, though it is among its integers."""
    return isinstance(cell, (numbers.Integral, np.bool_)) and not isinstance(cell, np.timedelta64)


def floors(values: ArrayLike, low: int, high: int) -> NDArray[np.int64]:
    """The whole number at or below each cell, within 0 ≤ low ≤ high ≤ 2^53, and `low` where there is no number.

    Total, and the image of a cell depends on that cell alone.
    """
    given = cells(values)
    if given.dtype.kind == "u":
        given = np.minimum(given.astype(np.uint64), np.uint64(high))
    if given.dtype.kind in "iub":
        return np.clip(given.astype(np.int64), low, high)
    if given.dtype.kind == "f" and given.dtype.itemsize <= 8:
        reals = given.astype(np.float64)
        return np.where(np.isnan(reals), low, np.clip(np.floor(reals), low, high)).astype(np.int64)
    images = [_floor(cell, low, high) for cell in given.ravel().tolist()]
    return np.array(images, dtype=np.int64).reshape(given.shape)


def _floor(cell: object, low: int, high: int) -> int:
    number = real(cell)
    if isinstance(number, float):  # not finite
        return high if number > 0 else low
    return max(low, min(high, math.floor(number)))


def cells(values: ArrayLike | Iterable[object]) -> NDArray[np.generic]:
    """An array of the values in which no cell was changed to fit its neighbours.

    What brings a type of its own, an array or a buffer, is taken as it is. Everything else that has elements is read
    element by element: numpy would find one type for all of them, and one text would make texts of a million numbers.
    What has none, or is a text, is one cell.
    """
    if _has_type(values):
        return np.asarray(values)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return _objects([values]).reshape(())
    given = list(values)
    kinds = set(map(type, given))
    if kinds == {float}:
        return np.array(given, dtype=np.float64)
    array = _objects(given)
    whole = kinds == {int} and all(-(1 << 63) <= value < 1 << 63 for value in array)
    return array.astype(np.int64) if whole else array


def _has_type(values: object) -> bool:
    """Whether one type for all cells came with the values."""
    if hasattr(values, "__array__") or hasattr(values, "__array_interface__"):
        return True
    if isinstance(values, (list, tuple, bytes)):
        return False
    try:
        memoryview(values)  # type: ignore[arg-type]  # that is the question
    except TypeError:
        return False
    return True


def _objects(given: Sequence[object]) -> NDArray[np.generic]:
    array = np.empty(len(given), dtype=object)
    for i, value in enumerate(given):  # a list among the cells stays one
        array[i] = value
    return array


def real(cell: object) -> Fraction | float:
    """The number that a cell is, exactly; an infinity as it is; NaN for everything else."""
    if isinstance(cell, np.timedelta64):  # a duration, though numpy has it among its integers
        return math.nan
    if isinstance(cell, np.bool_):
        return Fraction(int(cell))
    if isinstance(cell, numbers.Rational):
        return Fraction(int(cell.numerator), int(cell.denominator))
    if isinstance(cell, (float, np.floating)):  # of every width, so not by way of a double
        return Fraction(*map(int, cell.as_integer_ratio())) if np.isfinite(cell) else float(cell)
    return _of_decimal(cell) if isinstance(cell, Decimal) else math.nan


def _of_decimal(cell: Decimal) -> Fraction | float:
    if cell.is_nan():
        return math.nan
    if cell.is_zero() or cell.adjusted() < -_WIDEST:
        return Fraction(0)
    if cell.is_infinite() or cell.adjusted() > _WIDEST:
        return -math.inf if cell.is_signed() else math.inf
    return Fraction(cell)
