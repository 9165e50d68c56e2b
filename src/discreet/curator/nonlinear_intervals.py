"""Formulas that are neither linear nor a ratio: how they bend within a box around the noisy statistics.

Proof: docs/proofs/intervals.md, "Other formulas".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.formula import (
    Bounded,
    Constant,
    Formula,
    Leaf,
    Line,
    Noisy,
    Product,
    Quotient,
    Ranked,
    Root,
    Sum,
    folded,
    ranged,
)
from discreet.curator.ranges import Range, handy, over, root, times

_SURE = 1 + 1e-9
Ends = tuple[float, float]


class MayBeAnything(Exception):  # not an error: an answer
    """A divisor or the number under a root may be 0 within the box."""


@dataclass(frozen=True)
class Jet:
    """A formula on a box: its values, its slopes there, and how large its second derivatives are at most."""

    value: Range
    slope: Mapping[Leaf, Ends]
    bend: Mapping[tuple[Leaf, Leaf], float]


def enclosed(formula: Formula, box: Mapping[Leaf, Range]) -> Range:
    """Every value of a formula where its statistics are in a box; declared bounds count."""
    found = folded(formula, lambda part, inner: _enclosed(part, inner, box))
    if found is None:
        raise MayBeAnything
    return found


def _enclosed(formula: Formula, inner: Sequence[Range | None], box: Mapping[Leaf, Range]) -> Range | None:
    match formula:
        case Constant(value):
            return value, value
        case Noisy(leaf):
            return box[leaf]
        case Ranked(leaf, step):
            low, high = box[leaf]
            return low * step, high * step
        case Line(linear):
            ends = [linear.constant, linear.constant]
            for leaf, weight in linear.weights.items():
                low, high = times(box[leaf], (weight, weight))
                ends = [ends[0] + low, ends[1] + high]
            return ends[0], ends[1]
        case Bounded(_, low, high):
            return (low, high) if inner[0] is None else clipped(inner[0], (low, high))
        case _:
            return ranged(formula, inner)


def clipped(one: Range, most: Range) -> Range:
    """What two ranges have in common; if that is nothing, the end of the second that is nearest to the first."""
    low, high = max(one[0], most[0]), min(one[1], most[1])
    if low <= high:
        return low, high
    return (most[0], most[0]) if one[1] < most[0] else (most[1], most[1])


def jet(formula: Formula, box: Mapping[Leaf, Range]) -> Jet:
    """A formula's values, slopes and bends on a box."""
    return folded(formula, lambda part, inner: _jet(part, inner, box))


def _jet(formula: Formula, inner: Sequence[Jet], box: Mapping[Leaf, Range]) -> Jet:
    match formula:
        case Constant(value):
            found = Jet((value, value), {}, {})
        case Noisy(leaf):
            found = Jet(box[leaf], {leaf: (1.0, 1.0)}, {})
        case Line(linear):
            found = Jet(enclosed(formula, box), {k: (float(w), float(w)) for k, w in linear.weights.items()}, {})
        case Bounded():
            found = inner[0]
        case Sum():
            found = _sum(*inner)
        case Product():
            found = _product(*inner)
        case Quotient():
            found = _product(inner[0], _inverse(inner[1]))
        case Root():
            found = _root(*inner)
        case _:
            raise MayBeAnything
    if not all(handy(end) for end in found.value):
        raise MayBeAnything
    return found


def _sum(one: Jet, two: Jet) -> Jet:
    slope = {k: _add(one.slope.get(k, (0.0, 0.0)), two.slope.get(k, (0.0, 0.0))) for k in {*one.slope, *two.slope}}
    bend = {k: one.bend.get(k, 0.0) + two.bend.get(k, 0.0) for k in {*one.bend, *two.bend}}
    return Jet((one.value[0] + two.value[0], one.value[1] + two.value[1]), slope, bend)


def _product(one: Jet, two: Jet) -> Jet:
    if not one.slope or not two.slope:
        number, other = (one, two) if not one.slope else (two, one)
        return _outer(other, times(one.value, two.value), _ends(number.value), 0.0)
    first, second = _ends(one.value), _ends(two.value)
    leaves = {*one.slope, *two.slope}
    slope = {
        k: _add(_times(first, two.slope.get(k, (0.0, 0.0))), _times(second, one.slope.get(k, (0.0, 0.0))))
        for k in leaves
    }
    bend = {}
    for k in leaves:
        for j in leaves:
            bend[k, j] = (
                _size(first) * two.bend.get((k, j), 0.0)
                + _size(second) * one.bend.get((k, j), 0.0)
                + _size(one.slope.get(k, (0.0, 0.0))) * _size(two.slope.get(j, (0.0, 0.0)))
                + _size(one.slope.get(j, (0.0, 0.0))) * _size(two.slope.get(k, (0.0, 0.0)))
            )
    return Jet(times(one.value, two.value), slope, bend)


def _inverse(one: Jet) -> Jet:
    value = over((Fraction(1), Fraction(1)), one.value)
    if value is None:
        raise MayBeAnything
    ends = _ends(value)
    square = ends[0] * ends[0], ends[1] * ends[1]
    return _outer(one, value, (-max(square), -min(square)), 2 * _size(ends) ** 3)


def _root(one: Jet) -> Jet:
    if one.value[0] <= 0:
        raise MayBeAnything
    value = root(one.value)
    low, high = _ends(value)
    if low <= 0:
        raise MayBeAnything
    return _outer(one, value, (1 / (2 * high), 1 / (2 * low)), 1 / (4 * low**3))


def _outer(one: Jet, value: Range, first: Ends, second: float) -> Jet:
    """A function of a formula, by its first derivative and the size of its second."""
    slope = {k: _times(first, ends) for k, ends in one.slope.items()}
    bend = {
        (k, j): _size(first) * one.bend.get((k, j), 0.0) + second * _size(one.slope[k]) * _size(one.slope[j])
        for k in one.slope
        for j in one.slope
    }
    return Jet(value, slope, bend)


def _ends(one: Range) -> Ends:
    low, high = float(one[0]), float(one[1])
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _add(one: Ends, two: Ends) -> Ends:
    return one[0] + two[0], one[1] + two[1]


def _times(one: Ends, two: Ends) -> Ends:
    ends = [a * b for a in one for b in two]
    return min(ends), max(ends)


def _size(one: Ends) -> float:
    return max(abs(one[0]), abs(one[1])) * _SURE
