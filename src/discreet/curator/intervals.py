"""Intervals of formulas of noisy statistics: between which numbers they lie, with a stated probability.

Functions of what was bought and of the noises' public laws, never of rows. Proofs: docs/proofs/intervals.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.curator.formula import (
    Bounded,
    Constant,
    Formula,
    Leaf,
    Line,
    Noisy,
    Product,
    Quotient,
    Range,
    Ranked,
    Ratio,
    Root,
    Rounded,
    Sum,
    changed,
    every,
    folded,
    handy,
    leaves,
    over,
    ranged,
    ratio,
    root,
    rounded,
    times,
)
from discreet.curator.pivot_intervals import TwoRatios, VariancePivot, pivotal
from discreet.curator.ratio_intervals import Fieller
from discreet.mechanisms.noise_sums import Additive, bar, sums_of

_BOX = Fraction(1, 5)  # of what may go wrong: the box around all statistics of a formula that is neither line nor ratio
_MOST_ROWS = 512  # whose ratios are looked at together: more would only take memory

Numbers = Mapping[Leaf, int]
Law = Callable[[Leaf], Additive]
Bought = Mapping[Leaf, tuple[int, int]]  # the intervals that were bought with quantiles, in steps
Row = tuple[Numbers, Bought]  # what the noisy statistics of a formula are in one row
Maybe = Range | None


@dataclass(frozen=True)
class Barred:
    """Finds the intervals of one formula at one confidence, for many rows."""

    formula: Formula
    law: Law
    rare: Fraction
    quick: bool = False  # for very many rows: wider intervals, soon found

    @cached_property
    def leaves(self) -> frozenset[Leaf]:
        """The noisy statistics that it is made of."""
        return leaves(self.formula)

    def at(self, rows: Sequence[Row]) -> list[Maybe]:
        """The interval in each row; None where there is none."""
        try:
            return self._of(self.formula, rows)
        except (OverflowError, ValueError, ZeroDivisionError):  # more or less than a double holds, or infinity over it
            return [one for row in rows for one in self.at([row])] if len(rows) > 1 else [None]

    def _of(self, formula: Formula, rows: Sequence[Row]) -> list[Maybe]:
        match formula:  # what rises with its argument takes the argument's ends to its own
            case Rounded(inner, digits, way):
                return [None if one is None else rounded(one, digits, way) for one in self._of(inner, rows)]
            case Root(inner):
                return [None if one is None else root(one) for one in self._of(inner, rows)]
        part = _Part.of(formula)
        known, intervals = part.declared, self._intervals(part, rows)
        if known is None:
            return intervals
        return [known if one is None else clipped(one, known) for one in intervals]

    def _intervals(self, part: _Part, rows: Sequence[Row]) -> list[Maybe]:
        if part.ranked is not None:
            return [_quantile(part, bought.get(part.ranked)) for _, bought in rows]
        if part.ratio is None:
            pivots = None if self.quick else part.pivots
            if pivots is not None:
                return pivots.intervals([numbers for numbers, _ in rows], self.law, self.rare)
            return [self._curved(part, numbers) for numbers, _ in rows]
        line = part.ratio.linear
        if line is None:
            return self._ratios(part.ratio, [numbers for numbers, _ in rows])
        error = bar(tuple((self.law(leaf), weight) for leaf, weight in line.weights.items()), self.rare)
        middles = (line.at(numbers) for numbers, _ in rows)
        return [(middle - error, middle + error) for middle in middles]

    def _ratios(self, quotient: Ratio, rows: Sequence[Numbers]) -> list[Maybe]:
        """Of each row every r that the test |A − r B| ≤ quantile of its noise does not reject."""
        names = tuple({**quotient.above.weights, **quotient.below.weights})
        fieller = Fieller(quotient, names, sums_of(tuple(self.law(leaf) for leaf in names), self.rare))
        lots = (rows[i : i + _MOST_ROWS] for i in range(0, len(rows), _MOST_ROWS))
        return [interval for lot in lots for interval in fieller.intervals(lot, quick=self.quick)]

    def _curved(self, part: _Part, numbers: Numbers) -> Maybe:
        """Of what is smooth, its tangent and how far it leaves that within a box; of the rest, the box."""
        names = tuple(part.leaves)
        if not names:
            return None
        smooth = part.smooth and not self.quick
        wide = _BOX * self.rare if smooth else self.rare
        sums = sums_of(tuple(self.law(leaf) for leaf in names), wide)
        reaches = dict(zip(names, sums.reaches, strict=True))
        box = {leaf: (Fraction(numbers[leaf] - a), Fraction(numbers[leaf] + a)) for leaf, a in reaches.items()}
        try:
            boxed = enclosed(part.formula, box)
            if not smooth:
                return boxed
            bent = jet(part.formula, box)
            middle = enclosed(part.bare, {leaf: (Fraction(numbers[leaf]), Fraction(numbers[leaf])) for leaf in names})
        except MayBeAnything:
            return None
        weights = [max(map(abs, bent.slope.get(leaf, (0.0, 0.0)))) * (1 + 1e-9) for leaf in names]
        straight = sums_of(sums.noises, self.rare - wide).quantile(weights)
        rest = sum(size * reaches[k] * reaches[j] for (k, j), size in bent.bend.items()) / 2
        error = Fraction((straight + rest) * (1 + 1e-9))
        return clipped((middle[0] - error, middle[1] + error), boxed)


@dataclass(frozen=True, eq=False)
class _Part:
    """What is known of a formula before a number is put in."""

    formula: Formula
    bare: Formula  # without its declared bounds, which are not smooth
    ratio: Ratio | None
    declared: Range | None
    leaves: frozenset[Leaf]
    ranked: Leaf | None
    smooth: bool
    pivots: TwoRatios | VariancePivot | None

    @classmethod
    def of(cls, formula: Formula) -> _Part:
        parted = ratio(formula)
        ranked = next((part.leaf for part in every(formula) if isinstance(part, Ranked)), None)
        smooth = not any(isinstance(part, Rounded) for part in every(formula))
        plain = bare(formula)
        pivots = pivotal(plain) if parted is None else None
        return cls(formula, plain, parted, declared(formula), leaves(formula), ranked, smooth, pivots)


def _quantile(part: _Part, ends: tuple[int, int] | None) -> Maybe:
    """Of a function of one quantile alone: what it makes of the interval that was bought."""
    if ends is None or part.leaves != {part.ranked} or part.ranked is None:
        return None
    try:
        return enclosed(part.formula, {part.ranked: (Fraction(ends[0]), Fraction(ends[1]))})
    except MayBeAnything:
        return None


_SURE = 1 + 1e-9
Ends = tuple[float, float]


def declared(formula: Formula) -> Range | None:
    """Between which numbers a formula lies whatever the rows are; None if that is not known."""
    return folded(formula, _declared)


def _declared(formula: Formula, inner: Sequence[Range | None]) -> Range | None:
    match formula:
        case Constant(value):
            return value, value
        case Bounded(_, low, high):
            known = inner[0]
            return (low, high) if known is None else (max(low, known[0]), min(high, known[1]))
        case _:
            return ranged(formula, inner)


def bare(formula: Formula) -> Formula:
    """The formula without what is declared of it."""
    return changed(formula, lambda part: part.inner if isinstance(part, Bounded) else part)


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
    values = folded(formula, lambda part, inner: _enclosed(part, inner, box))
    if values is None:
        raise MayBeAnything
    return values


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
            whole = Jet((value, value), {}, {})
        case Noisy(leaf):
            whole = Jet(box[leaf], {leaf: (1.0, 1.0)}, {})
        case Line(linear):
            whole = Jet(enclosed(formula, box), {k: (float(w), float(w)) for k, w in linear.weights.items()}, {})
        case Bounded():
            whole = inner[0]
        case Sum():
            whole = _sum(*inner)
        case Product():
            whole = _product(*inner)
        case Quotient():
            whole = _product(inner[0], _inverse(inner[1]))
        case Root():
            whole = _root(*inner)
        case _:
            raise MayBeAnything
    if not all(handy(end) for end in whole.value):
        raise MayBeAnything
    return whole


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
