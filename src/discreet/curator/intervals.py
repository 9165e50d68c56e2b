"""Error bars: between which numbers a formula of noisy statistics lies, with a stated probability.

Functions of what was bought and of the noises' public laws, never of rows. Proofs: docs/proofs/intervals.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

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
from discreet.curator.noise_sums import Additive, bar, sums_of
from discreet.curator.nonlinear_intervals import MayBeAnything, clipped, enclosed, jet
from discreet.curator.ranges import Range, root, rounded
from discreet.curator.ratio_intervals import Fieller

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
        except (OverflowError, ValueError):  # something in between is more than a double holds, or infinity over itself
            return [one for row in rows for one in self.at([row])] if len(rows) > 1 else [None]

    def _of(self, formula: Formula, rows: Sequence[Row]) -> list[Maybe]:
        match formula:  # what rises with its argument takes the argument's ends to its own
            case Rounded(inner, digits, way):
                return [None if one is None else rounded(one, digits, way) for one in self._of(inner, rows)]
            case Root(inner):
                return [None if one is None else root(one) for one in self._of(inner, rows)]
        part = _Part.of(formula)
        known, found = part.declared, self._found(part, rows)
        if known is None:
            return found
        return [known if one is None else clipped(one, known) for one in found]

    def _found(self, part: _Part, rows: Sequence[Row]) -> list[Maybe]:
        if part.ranked is not None:
            return [_quantile(part, bought.get(part.ranked)) for _, bought in rows]
        if part.ratio is None:
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
        return [found for lot in lots for found in fieller.intervals(lot, quick=self.quick)]

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


def _quantile(part: _Part, ends: tuple[int, int] | None) -> Maybe:
    """Of a function of one quantile alone: what it makes of the interval that was bought."""
    if ends is None or part.leaves != {part.ranked} or part.ranked is None:
        return None
    try:
        return enclosed(part.formula, {part.ranked: (Fraction(ends[0]), Fraction(ends[1]))})
    except MayBeAnything:
        return None
