"""Formulas of noisy statistics: which are linear, which ratios, and between which numbers they are known to lie.

A formula is a graph: what SQL names once and uses twice is one part of two others. So a part that is made of others is
equal to itself alone (`eq=False`), and whatever is worked out of a formula goes through `folded`, to each part once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

Range = tuple[Fraction, Fraction]
_LONGEST = 10_000  # bits of a number: a double has 1,024 before its point


def handy(number: Fraction) -> bool:
    """Whether a number is short enough to go on with: of squares of squares, each is twice as long as the last."""
    return max(number.numerator.bit_length(), number.denominator.bit_length()) <= _LONGEST


def times(one: Range, two: Range) -> Range:
    """Every product of a number of one range with one of the other."""
    ends = [a * b for a in one for b in two]
    return min(ends), max(ends)


def over(one: Range, two: Range) -> Range | None:
    """Every quotient; None if the divisor may be 0."""
    if two[0] <= 0 <= two[1]:
        return None
    ends = [a / b for a in one for b in two]
    return min(ends), max(ends)


def root(one: Range) -> Range:
    """Every square root, a little further out."""
    low, high = (math.sqrt(max(Fraction(0), end)) for end in one)
    return Fraction(math.nextafter(low, 0.0)), Fraction(math.nextafter(high, math.inf))


def rounded(one: Range, digits: int, way: str) -> Range:
    """Every number of a range rounded. The ends give way a little: SQL rounds doubles, and halves either way."""
    scale = Fraction(10) ** digits
    tiny = max(abs(one[0]), abs(one[1])) / 2**48  # what 32 roundings of a double add up to
    low, high = (one[0] - tiny) * scale, (one[1] + tiny) * scale
    half = Fraction(1, 2)
    match way:
        case "zero":  # of whole numbers, and so exact
            return math.trunc(one[0] * scale) / scale, math.trunc(one[1] * scale) / scale
        case "down":
            return math.floor(low) / scale, math.floor(high) / scale
        case "up":
            return math.ceil(low) / scale, math.ceil(high) / scale
        case _:
            return math.ceil(low - half) / scale, math.floor(high + half) / scale


T = TypeVar("T")
Place = int | None  # which hidden column says the row of a noisy table; None: it has one row


class Untraced(Exception):  # not an error: an answer
    """This number cannot be read as a formula."""


@dataclass(frozen=True)
class Leaf:
    """One noisy statistic: of which part, in which row, and which of the part's statistics."""

    part: str
    place: Place
    statistic: int


@dataclass(frozen=True)
class Constant:
    """A number that is written in the question."""

    value: Fraction


@dataclass(frozen=True)
class Given:
    """A number without noise that a hidden column holds: a key, or a public table's."""

    column: int
    public: bool
    row: tuple[str, int] | None = None  # of a key: its part, and which hidden column says the row


@dataclass(frozen=True)
class Noisy:
    """A noisy statistic."""

    leaf: Leaf


@dataclass(frozen=True)
class Ranked:
    """A noisy quantile. Its interval was bought with it."""

    leaf: Leaf
    step: Fraction


@dataclass(frozen=True)
class ColumnTotal:
    """The sum of one noisy statistic over all rows of its part, times a step."""

    part: str
    statistic: int
    step: Fraction


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum of two numbers."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False)
class Product:
    """The product of two numbers."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False)
class Quotient:
    """The quotient of two numbers."""

    above: Formula
    below: Formula


@dataclass(frozen=True, eq=False)
class Root:
    """The square root; of less than nothing, 0."""

    inner: Formula


@dataclass(frozen=True, eq=False)
class Bounded:
    """A number that lies between two declared ones, whatever the rows are."""

    inner: Formula
    low: Fraction
    high: Fraction


@dataclass(frozen=True, eq=False)
class Rounded:
    """A number rounded to so many decimal digits: to the nearest ("near"), "down", "up" or toward "zero"."""

    inner: Formula
    digits: int
    way: str = "near"


@dataclass(frozen=True, eq=False)
class Line:
    """A linear number that was put together already."""

    linear: Linear


Formula = Constant | Given | Noisy | Ranked | ColumnTotal | Line | Sum | Product | Quotient | Root | Bounded | Rounded


@dataclass(frozen=True)
class Linear:
    """A constant, and noisy statistics with their weights."""

    constant: Fraction
    weights: Mapping[Leaf, Fraction]

    def __add__(self, other: Linear) -> Linear:
        weights = dict(self.weights)
        for leaf, weight in other.weights.items():
            weights[leaf] = weights.get(leaf, Fraction(0)) + weight
        return Linear(self.constant + other.constant, {leaf: weight for leaf, weight in weights.items() if weight})

    def __mul__(self, number: Fraction) -> Linear:
        if not number:
            return Linear(Fraction(0), {})
        return Linear(self.constant * number, {leaf: weight * number for leaf, weight in self.weights.items()})

    def at(self, numbers: Mapping[Leaf, int]) -> Fraction:
        """Its value where the statistics are these."""
        return sum((weight * numbers[leaf] for leaf, weight in self.weights.items()), self.constant)


@dataclass(frozen=True)
class Ratio:
    """A quotient of two linear numbers; of the first alone if there is nothing below."""

    above: Linear
    below: Linear

    @property
    def numbers(self) -> Iterator[Fraction]:
        """Every number in it."""
        for line in (self.above, self.below):
            yield line.constant
            yield from line.weights.values()

    @property
    def linear(self) -> Linear | None:
        """The linear number that it is, if what is below has no noise."""
        if self.below.weights or not self.below.constant:
            return None
        return self.above * (1 / self.below.constant)


_ONE = Linear(Fraction(1), {})


def ratio(formula: Formula) -> Ratio | None:
    """A formula as a quotient of two linear numbers, if it is one. What is given must be put in before."""
    return folded(formula, joined)


def joined(formula: Formula, inner: Sequence[Ratio | None]) -> Ratio | None:
    """A formula as a quotient of two linear numbers, from its parts as such."""
    match formula:
        case Constant(value):
            whole: Ratio | None = Ratio(Linear(value, {}), _ONE)
        case Noisy(leaf):
            whole = Ratio(Linear(Fraction(0), {leaf: Fraction(1)}), _ONE)
        case Line(linear):
            whole = Ratio(linear, _ONE)
        case Bounded():
            whole = inner[0]
        case Sum():
            whole = _both(inner[0], inner[1], _added)
        case Product():
            whole = _both(inner[0], inner[1], _multiplied)
        case Quotient():
            whole = _both(inner[0], inner[1], _divided)
        case _:
            return None
    return None if whole is None or not all(handy(number) for number in whole.numbers) else whole


def _both(left: Ratio | None, right: Ratio | None, join: Callable[[Ratio, Ratio], Ratio | None]) -> Ratio | None:
    return None if left is None or right is None else join(left, right)


def _added(left: Ratio, right: Ratio) -> Ratio | None:
    if left.below == right.below:
        return Ratio(left.above + right.above, left.below)
    for one, other in ((left, right), (right, left)):
        number = one.linear
        if number is not None and not number.weights:
            return Ratio(other.above + other.below * number.constant, other.below)
    if left.linear is not None and right.linear is not None:
        return Ratio(left.linear + right.linear, _ONE)
    return None


def _multiplied(left: Ratio, right: Ratio) -> Ratio | None:
    for one, other in ((left, right), (right, left)):
        number = one.linear
        if number is not None and not number.weights:
            return Ratio(other.above * number.constant, other.below)
    return None


def _divided(left: Ratio, right: Ratio) -> Ratio | None:
    number = right.linear
    if number is not None and not number.weights:
        return Ratio(left.above * (1 / number.constant), left.below) if number.constant else None
    if left.below == right.below:
        return Ratio(left.above, right.above)
    first = left.linear
    if first is not None and not first.weights:  # a number without noise over a ratio is one upside down
        return Ratio(right.below * first.constant, right.above)
    if left.linear is not None and right.linear is not None:
        return Ratio(left.linear, right.linear)
    return None


def ranged(formula: Formula, inner: Sequence[Range | None]) -> Range | None:
    """Between which numbers a formula lies if its parts lie in these ranges; None if it may be anything."""
    known = [one for one in inner if one is not None]
    if not known or len(known) < len(inner):
        return None
    match formula:
        case Sum():
            whole: Range | None = (known[0][0] + known[1][0], known[0][1] + known[1][1])
        case Product():
            whole = times(known[0], known[1])
        case Quotient():
            whole = over(known[0], known[1])
        case Root():
            whole = root(known[0])
        case Rounded(_, digits, way):
            whole = rounded(known[0], digits, way)
        case _:
            return None
    return None if whole is None or not (handy(whole[0]) and handy(whole[1])) else whole


def inside(formula: Formula) -> tuple[Formula, ...]:
    """What a formula is made of."""
    match formula:
        case Sum(left, right) | Product(left, right) | Quotient(left, right):
            return left, right
        case Root(inner) | Bounded(inner, _, _) | Rounded(inner, _, _):
            return (inner,)
        case _:
            return ()


def folded(formula: Formula, step: Callable[[Formula, Sequence[T]], T], done: dict[Formula, T] | None = None) -> T:
    """What a formula comes to, from what its parts come to: each of them once, however many others it is part of.

    Who works on several formulas that share parts keeps what is done from one to the next.
    """
    done = {} if done is None else done
    waiting = [formula]
    while waiting:
        parts = inside(waiting[-1])
        missing = [part for part in parts if part not in done]
        waiting += missing
        if not missing:
            whole = waiting.pop()
            if whole not in done:
                done[whole] = step(whole, [done[part] for part in parts])
    return done[formula]


def every(formula: Formula) -> tuple[Formula, ...]:
    """A formula, and every one in it, each once."""
    parts: dict[Formula, None] = {}
    folded(formula, lambda _, __: None, parts)
    return tuple(parts)


def leaves(formula: Formula) -> frozenset[Leaf]:
    """The noisy statistics in it, without those of totals."""
    noisy = set[Leaf]()
    for part in every(formula):
        match part:
            case Noisy(leaf) | Ranked(leaf, _):
                noisy.add(leaf)
            case Line(linear):
                noisy.update(linear.weights)
    return frozenset(noisy)


def changed(
    formula: Formula, change: Callable[[Formula], Formula], done: dict[Formula, Formula] | None = None
) -> Formula:
    """The formula with every part of it changed, the inner ones first. What is the same before and after is kept."""
    return folded(formula, lambda part, inner: change(_of(part, inner)), done)


def _of(formula: Formula, inner: Sequence[Formula]) -> Formula:
    """The same formula of other parts."""
    if all(new is old for new, old in zip(inner, inside(formula), strict=True)):
        return formula
    match formula:
        case Sum() | Product() | Quotient():
            return type(formula)(*inner)
        case Root() | Bounded() | Rounded():
            return replace(formula, inner=inner[0])
        case _:
            return formula


def moved(formula: Formula, place: Callable[[int], int], done: dict[Formula, Formula]) -> Formula:
    """The formula with its hidden columns at other places."""

    def change(part: Formula) -> Formula:
        match part:
            case Given(column, public, None):
                return Given(place(column), public=public)
            case Given(column, public, (name, row)):
                return Given(place(column), public=public, row=(name, place(row)))
            case Noisy(Leaf(name, int(row), statistic)):
                return Noisy(Leaf(name, place(row), statistic))
            case Ranked(Leaf(name, int(row), statistic), step):
                return Ranked(Leaf(name, place(row), statistic), step)
            case _:
                return part

    return changed(formula, change, done)
