"""Error bars: between which numbers a formula of noisy statistics lies, with a stated probability.

Functions of what was bought and of the noises' public laws, never of rows. Proofs: docs/proofs/intervals.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from discreet.curator.curved import MayBeAnything, clipped, enclosed, jet
from discreet.curator.formula import (
    Formula,
    Leaf,
    Ranked,
    Ratio,
    Root,
    Rounded,
    bare,
    declared,
    every,
    leaves,
    ratio,
)
from discreet.curator.law import Additive, bar, sums_of
from discreet.curator.listed import listed
from discreet.curator.ranges import Range, root, rounded

_BOX = Fraction(1, 5)  # of what may go wrong: the box around all statistics of a formula that is neither line nor ratio
_STEPS = 256  # an end of a ratio is found to this share of the first guess

Numbers = Mapping[Leaf, int]
Law = Callable[[Leaf], Additive]
Bought = Mapping[Leaf, tuple[int, int]]  # the intervals that were bought with quantiles, in steps


@dataclass(frozen=True)
class Barred:
    """Finds the interval of one formula at one confidence, for many rows."""

    formula: Formula
    law: Law
    rare: Fraction
    quick: bool = False  # for very many rows: wider intervals, soon found
    _parts: dict[Formula, _Part] = field(default_factory=dict)

    @cached_property
    def leaves(self) -> frozenset[Leaf]:
        """The noisy statistics that it is made of."""
        return leaves(self.formula)

    def at(self, numbers: Numbers, bought: Bought) -> Range | None:
        """The interval where the noisy statistics are these; None if there is none."""
        try:
            return self._of(self.formula, numbers, bought)
        except (OverflowError, ValueError):  # something in between is more than a double holds, or infinity over itself
            return None

    def _of(self, formula: Formula, numbers: Numbers, bought: Bought) -> Range | None:
        match formula:  # what rises with its argument takes the argument's ends to its own
            case Rounded(inner, digits, way):
                one = self._of(inner, numbers, bought)
                return None if one is None else rounded(one, digits, way)
            case Root(inner):
                one = self._of(inner, numbers, bought)
                return None if one is None else root(one)
        part = self._parts.get(formula)
        if part is None:
            part = self._parts[formula] = _Part.of(formula)
        found = self._found(part, numbers, bought)
        if found is None or part.declared is None:
            return found or part.declared
        return clipped(found, part.declared)

    def _found(self, part: _Part, numbers: Numbers, bought: Bought) -> Range | None:
        if part.ranked is not None:
            return _quantile(part, bought.get(part.ranked))
        if part.ratio is None:
            return self._curved(part, numbers)
        line = part.ratio.linear
        if line is not None:
            middle = line.at(numbers)
            error = bar(tuple((self.law(leaf), weight) for leaf, weight in line.weights.items()), self.rare)
            return middle - error, middle + error
        return self._fieller(part.ratio, numbers)

    def _fieller(self, quotient: Ratio, numbers: Numbers) -> Range | None:
        """Every r that the test |A − r B| ≤ quantile of its noise does not reject."""
        below = quotient.below.at(numbers)
        if not below:
            return None
        middle = quotient.above.at(numbers) / below
        names = tuple({**quotient.above.weights, **quotient.below.weights})
        sums = sums_of(tuple(self.law(leaf) for leaf in names), self.rare)
        rest = quotient.above + quotient.below * -middle  # A − r̂ B, and with r = r̂ + d it is d B less
        own = [float(rest.weights.get(leaf, 0)) for leaf in names]
        slopes = [float(quotient.below.weights.get(leaf, 0)) for leaf in names]
        sure = abs(float(below)) - sum(abs(w) * a for w, a in zip(slopes, sums.reaches, strict=True)) * (1 + 1e-9)
        if sure <= 0:  # the divisor may be 0
            return None
        first = sum(abs(w) * a for w, a in zip(own, sums.reaches, strict=True)) / sure * (1 + 1e-9)
        if self.quick:
            return middle - Fraction(first), middle + Fraction(first)
        size = abs(float(below)) * (1 - 1e-9)

        narrow = listed(sums.noises)

        def ends(near: float, far: float) -> list[tuple[float, float]]:
            return [(w - near * s, w - far * s) for w, s in zip(own, slopes, strict=True)]

        def rejected(near: float, far: float) -> bool:
            largest = [max(abs(one), abs(two)) for one, two in ends(near, far)]
            return sums.within(largest, min(abs(near), abs(far)) * size)

        def listed_too(near: float, far: float) -> bool:
            seen = min(abs(near), abs(far)) * size
            return narrow is not None and narrow.within(ends(near, far), seen, float(self.rare))

        low, high = (_nearest(rejected, side * first) for side in (-1, 1))
        if narrow is not None:  # costs more: so it begins where the other is at its end
            low, high = (_nearest(listed_too, end) for end in (low, high))
        return middle + Fraction(low), middle + Fraction(high)

    def _curved(self, part: _Part, numbers: Numbers) -> Range | None:
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
            found = enclosed(part.formula, box)
            if not smooth:
                return found
            bent = jet(part.formula, box)
            middle = enclosed(part.bare, {leaf: (Fraction(numbers[leaf]), Fraction(numbers[leaf])) for leaf in names})
        except MayBeAnything:
            return None
        weights = [max(map(abs, bent.slope.get(leaf, (0.0, 0.0)))) * (1 + 1e-9) for leaf in names]
        straight = sums_of(sums.noises, self.rare - wide).quantile(weights)
        rest = sum(size * reaches[k] * reaches[j] for (k, j), size in bent.bend.items()) / 2
        error = Fraction((straight + rest) * (1 + 1e-9))
        return clipped((middle[0] - error, middle[1] + error), found)


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

    @classmethod
    def of(cls, formula: Formula) -> _Part:
        found = ratio(formula)
        ranked = next((part.leaf for part in every(formula) if isinstance(part, Ranked)), None)
        smooth = not any(isinstance(part, Rounded) for part in every(formula))
        return cls(formula, bare(formula), found, declared(formula), leaves(formula), ranked, smooth)


def _quantile(part: _Part, ends: tuple[int, int] | None) -> Range | None:
    """Of a function of one quantile alone: what it makes of the interval that was bought."""
    if ends is None or part.leaves != {part.ranked} or part.ranked is None:
        return None
    try:
        return enclosed(part.formula, {part.ranked: (Fraction(ends[0]), Fraction(ends[1]))})
    except MayBeAnything:
        return None


def _nearest(rejected: Callable[[float, float], bool], far: float) -> float:
    """The end of what is not rejected, between 0 and `far`, beyond which everything is: strides that shrink."""
    if not far:
        return 0.0
    stride, end, least = far / 4, far, abs(far) / _STEPS
    while abs(stride) >= least:
        near = end - stride
        if near * far > 0 and rejected(near, end):
            end = near
        else:
            stride /= 2
    return end
