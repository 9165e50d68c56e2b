"""Intervals of sums of two ratios and of variances, by pivots: numbers that are nothing but noise at the truth.

Proof: docs/proofs/intervals.md, "Pivots".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.curator.formula import (
    Constant,
    Formula,
    Leaf,
    Linear,
    Product,
    Quotient,
    Range,
    Ratio,
    Sum,
    folded,
    handy,
    joined,
    over,
    ratio,
    times,
)
from discreet.curator.ratio_intervals import Fieller
from discreet.curator.turned_ratios import TurnedRatios
from discreet.mechanisms.noise_sums import SURE, Additive, Sums, sums_of

_BESIDE = Fraction(1, 6)  # of what may go wrong: that a number beside the pivot is not where it is taken to be
_CELLS, _WIDEST_CELL = 12, 0.04  # of what one divisor gained and the other lost
_APART = Fraction(1, 5)  # of that: for where either ratio is, the rest for how far its divisor may be moved
_ROUNDS, _MEANS = 5, 10  # in which the ends of a variance come nearer, and parts of what its mean may be

Numbers = Mapping[Leaf, int]
Law = Callable[[Leaf], Additive]
Maybe = Range | None


@dataclass(frozen=True)
class TwoRatios:
    """The sum of two quotients of linear numbers, as a difference of averages is."""

    one: Ratio
    two: Ratio

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The noisy statistics in it."""
        lines = (self.one.above, self.one.below, self.two.above, self.two.below)
        return tuple(dict.fromkeys(leaf for line in lines for leaf in line.weights))

    def intervals(self, rows: Sequence[Numbers], law: Law, rare: Fraction) -> list[Maybe]:
        """One in each row; None where a divisor may be 0."""
        sums = sums_of(tuple(map(law, self.leaves)), (1 - _BESIDE) * rare)
        own = [{*each.above.weights, *each.below.weights} for each in (self.one, self.two)]
        if all(own) and own[0].isdisjoint(own[1]) and not sums.short:
            return self._by_arcs(rows, law, rare)
        beside = _BESIDE * rare / 3
        divisors = _test(Ratio(self.one.below, self.two.below), rows, law, beside)
        firsts, seconds = (_test(each, rows, law, beside) for each in (self.one, self.two))
        return [
            None
            if first is None or second is None or shift is None
            else self._interval(numbers, (first, second), shift, sums)
            for numbers, first, second, shift in zip(rows, firsts, seconds, divisors, strict=True)
        ]

    def _by_arcs(self, rows: Sequence[Numbers], law: Law, rare: Fraction) -> list[Maybe]:
        """Of ratios without a common noise: both pivots together, whatever the true divisors' ratio is."""
        beside = _BESIDE * rare / 2
        known = [_test(each, rows, law, beside * _APART) for each in (self.one, self.two)]
        scene = TurnedRatios.of((self.one, self.two), law, (1 - _BESIDE) * rare, beside * (1 - _APART))
        return [
            None if first is None or second is None else scene.interval(numbers, (first, second))
            for numbers, first, second in zip(rows, *known, strict=True)
        ]

    def _interval(self, numbers: Numbers, known: tuple[Range, Range], shift: Range, sums: Sums) -> Range:
        """How far the sum may be off, whatever the true divisors' ratio is that `shift` leaves."""
        n, m = self.one.below.at(numbers), self.two.below.at(numbers)
        told = self.one.above.at(numbers) / n, self.two.above.at(numbers) / m
        off = [(float(seen - high), float(seen - low)) for seen, (low, high) in zip(told, known, strict=True)]
        up = down = 0.0
        for low, high in _cells(*sorted(float(end * m / n) for end in shift)):
            if high <= 1:
                own, other, slack = (1.0, 1.0), (low, high), (1 - low, off[1])
            else:
                own, other, slack = (1 / high, 1 / low), (1.0, 1.0), (1 - 1 / high, off[0])
            weights = self._weights(known, (float(n), float(m)), (own, other))
            (straight,) = sums.nearest([weights])
            up = max(up, straight + slack[0] * max(0.0, slack[1][1]))
            down = max(down, straight + slack[0] * max(0.0, -slack[1][0]))
        up, down = min(up, off[0][1] + off[1][1]), min(down, -off[0][0] - off[1][0])
        return told[0] + told[1] - Fraction(up * SURE), told[0] + told[1] + Fraction(down * SURE)

    def _weights(
        self, known: Sequence[Range], divisors: Sequence[float], shares: Sequence[tuple[float, float]]
    ) -> list[float]:
        """The largest weight that each noise can have."""
        sizes = []
        for leaf in self.leaves:
            ends = [0.0, 0.0]
            for each, (low, high), divisor, share in zip((self.one, self.two), known, divisors, shares, strict=True):
                above, below = (float(line.weights.get(leaf, 0)) for line in (each.above, each.below))
                part = [(above - float(r) * below) / divisor * s for r in (low, high) for s in share]
                ends = [ends[0] + min(part), ends[1] + max(part)]
            sizes.append(max(map(abs, ends)) * SURE)
        return sizes


@dataclass(frozen=True)
class VariancePivot:
    """(S − C²/N)/B of linear numbers, times a factor: a variance, of all rows or of a sample."""

    factor: Fraction
    square: Linear
    centred: Linear
    count: Linear
    divisor: Linear

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The noisy statistics in it."""
        lines = (self.square, self.centred, self.count, self.divisor)
        return tuple(dict.fromkeys(leaf for line in lines for leaf in line.weights))

    def intervals(self, rows: Sequence[Numbers], law: Law, rare: Fraction) -> list[Maybe]:
        """One in each row; None where a divisor may be 0."""
        beside = _BESIDE * rare
        sums = sums_of(tuple(map(law, self.leaves)), rare - beside)
        means = _test(Ratio(self.centred, self.count), rows, law, beside)
        squares = (
            None if m is None else self._interval(numbers, m, sums) for numbers, m in zip(rows, means, strict=True)
        )
        return [None if one is None else times(one, (self.factor, self.factor)) for one in squares]

    def _interval(self, numbers: Numbers, mean: Range, sums: Sums) -> Maybe:
        """S − C²/N + (C − N·mean)²/N − B·v is noise alone at the true mean and variance: for every mean by itself."""
        count, centred, divisor = (line.at(numbers) for line in (self.count, self.centred, self.divisor))
        slopes = [float(self.divisor.weights.get(leaf, 0)) for leaf in self.leaves]
        sure = float(divisor) / SURE - _reached(slopes, sums)
        if count <= 0 or sure <= 0:
            return None
        exact, middle, below = self.square.at(numbers) - centred**2 / count, centred / count, float(divisor)
        at, cells = float(exact / divisor), _parts(mean, middle, 1 if sums.short else _MEANS)
        squares = [(float(count * near**2) / below, float(count * far**2) / below) for _, near, far in cells]
        ends = (float(mean[0]), float(mean[1]))
        most = abs(at) + (squares[0][1] + squares[-1][1]) * below / sure
        most = (most * below / sure + _reached(self._weights(ends, (0.0, 0.0)), sums) / sure) * SURE
        low, high = [-most] * len(cells), [most] * len(cells)
        for _ in range(_ROUNDS):
            upward = [self._weights(means, (at, up)) for (means, _, _), up in zip(cells, high, strict=True)]
            downward = [
                self._weights(means, (down, at + near * SURE))
                for (means, _, _), down, (near, _) in zip(cells, low, squares, strict=True)
            ]
            reached = [each / below * SURE for each in sums.nearest(upward + downward)]
            rest = zip(high, low, squares, reached[: len(cells)], reached[len(cells) :], strict=True)
            moved = [
                (min(up, at + far * SURE + above), max(down, at + near / SURE - under))
                for up, down, (near, far), above, under in rest
            ]
            high, low = [up for up, _ in moved], [down for _, down in moved]
        return Fraction(min(*low, at)), Fraction(max(*high, at))

    def _weights(self, mean: tuple[float, float], variance: tuple[float, float]) -> list[float]:
        """The largest weight that each noise can have, for means and variances between these."""
        squared = max(end * end for end in mean)
        least = 0.0 if mean[0] <= 0 <= mean[1] else min(end * end for end in mean)
        sizes = []
        for leaf in self.leaves:
            of = [float(line.weights.get(leaf, 0)) for line in (self.square, self.centred, self.count, self.divisor)]
            parts = [
                (of[0], of[0]),
                tuple(-2 * of[1] * end for end in mean),
                (of[2] * least, of[2] * squared),
                tuple(-of[3] * end for end in variance),
            ]
            sizes.append(max(abs(sum(map(min, parts))), abs(sum(map(max, parts)))) * SURE)
        return sizes


def _reached(weights: Sequence[float], sums: Sums) -> float:
    """How far a sum reaches if every noise reaches as far as it can."""
    return sum(abs(w) * a for w, a in zip(weights, sums.reaches, strict=True)) * SURE


def _parts(mean: Range, middle: Fraction, many: int) -> list[tuple[tuple[float, float], Fraction, Fraction]]:
    """The means in so many equal cells, and how far those in each are from the middle, at least and at most."""
    edges = [mean[0] + (mean[1] - mean[0]) * i / many for i in range(many + 1)]
    cells = []
    for low, high in pairwise(edges):
        off = sorted((abs(low - middle), abs(high - middle)))
        near = Fraction(0) if low <= middle <= high else off[0]
        cells.append(((math.nextafter(float(low), -math.inf), math.nextafter(float(high), math.inf)), near, off[1]))
    return cells


def pivotal(formula: Formula) -> TwoRatios | VariancePivot | None:
    """A formula without declared bounds as one of these, if it is one."""
    terms = folded(formula, _terms)
    return TwoRatios(*terms) if terms is not None and len(terms) == 2 else _spread(formula, Fraction(1))


Terms = tuple[Ratio, ...]  # quotients that are added up, two at most


def _terms(formula: Formula, inner: Sequence[Terms | None]) -> Terms | None:
    """The quotients that a formula adds up; None if it is more than that."""
    known = [one for one in inner if one is not None]
    if len(known) < len(inner):
        return None
    if all(len(terms) == 1 for terms in known):
        alone = joined(formula, [terms[0] for terms in known])
        if alone is not None:
            return (alone,)
    match formula:
        case Sum():
            return _added(formula, *known)
        case Product():
            return _scaled(known[1], _number(known[0])) or _scaled(known[0], _number(known[1]))
        case Quotient():
            number = _number(known[1])
            return _scaled(known[0], 1 / number) if number else None
        case _:
            return None


def _added(formula: Formula, left: Terms, right: Terms) -> Terms | None:
    terms = list(left)
    for one in right:
        both = ((i, joined(formula, [other, one])) for i, other in enumerate(terms))
        place, whole = next(((i, known) for i, known in both if known is not None), (len(terms), one))
        terms[place : place + 1] = [whole]
    return tuple(terms) if len(terms) <= 2 else None


def _number(terms: Terms) -> Fraction | None:
    """What a formula is if it has no noise."""
    line = terms[0].linear if len(terms) == 1 else None
    return None if line is None or line.weights else line.constant


def _scaled(terms: Terms, number: Fraction | None) -> Terms | None:
    scaled = tuple(Ratio(each.above * number, each.below) for each in terms) if number else ()
    return scaled if scaled and all(handy(part) for each in scaled for part in each.numbers) else None


def _spread(formula: Formula, factor: Fraction) -> VariancePivot | None:
    match formula:
        case Product(Constant(number), inner):
            return _spread(inner, factor * number)
        case Quotient(Sum(square, Product(Constant(sign), Quotient(Product(one, two), count))), divisor) if sign == -1:
            lines = [known for part in (square, one, two, count, divisor) if (known := _line(part)) is not None]
            if len(lines) == 5 and lines[1] == lines[2]:
                return VariancePivot(factor, lines[0], lines[1], lines[3], lines[4])
    return None


def _line(formula: Formula) -> Linear | None:
    known = ratio(formula)
    return None if known is None else known.linear


def _test(asked: Ratio, rows: Sequence[Numbers], law: Law, rare: Fraction) -> list[Maybe]:
    """The intervals of a quotient in each row; None where its divisor may be 0."""
    names = tuple({**asked.above.weights, **asked.below.weights})
    if not names:
        quotient = over((asked.above.constant,) * 2, (asked.below.constant,) * 2)
        return [quotient] * len(rows)
    return Fieller(asked, names, sums_of(tuple(map(law, names)), rare)).intervals(rows, quick=False)


def _cells(low: float, high: float) -> Iterator[tuple[float, float]]:
    """What covers all from `low` to `high`, in cells of which none has 1 inside."""
    low, high = min(low, 1.0) / SURE, max(high, 1.0) * SURE
    for first, last in ((low, 1.0), (1.0, high)):
        many = max(1, min(_CELLS, math.ceil((last - first) / _WIDEST_CELL)))
        edges = np.linspace(first, last, many + 1)
        yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
