"""Numbers above the noise as formulas of noisy statistics: which are linear, which ratios, and what is declared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

Range = tuple[Fraction, Fraction]
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
class Total:
    """The sum of one noisy statistic over all rows of its part, times a step."""

    part: str
    statistic: int
    step: Fraction


@dataclass(frozen=True)
class Sum:
    """Of two numbers."""

    left: Formula
    right: Formula


@dataclass(frozen=True)
class Product:
    """Of two numbers."""

    left: Formula
    right: Formula


@dataclass(frozen=True)
class Quotient:
    """Of two numbers."""

    above: Formula
    below: Formula


@dataclass(frozen=True)
class Root:
    """The square root; of less than nothing, 0."""

    inner: Formula


@dataclass(frozen=True)
class Bounded:
    """A number that lies between two declared ones, whatever the rows are."""

    inner: Formula
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class Rounded:
    """A number rounded to so many decimal digits: to the nearest ("near"), "down", "up" or toward "zero"."""

    inner: Formula
    digits: int
    way: str = "near"


@dataclass(frozen=True, eq=False)
class Line:
    """A linear number that was put together already."""

    linear: Linear


Formula = Constant | Given | Noisy | Ranked | Total | Line | Sum | Product | Quotient | Root | Bounded | Rounded


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
    def linear(self) -> Linear | None:
        """The linear number that it is, if what is below has no noise."""
        if self.below.weights or not self.below.constant:
            return None
        return self.above * (1 / self.below.constant)


_ONE = Linear(Fraction(1), {})


def ratio(formula: Formula) -> Ratio | None:  # noqa: PLR0911  # one line for each kind of formula
    """A formula as a quotient of two linear numbers, if it is one. What is given must be put in before."""
    match formula:
        case Constant(value):
            return Ratio(Linear(value, {}), _ONE)
        case Noisy(leaf):
            return Ratio(Linear(Fraction(0), {leaf: Fraction(1)}), _ONE)
        case Line(linear):
            return Ratio(linear, _ONE)
        case Bounded(inner, _, _):
            return ratio(inner)
        case Sum(left, right):
            return _both(ratio(left), ratio(right), _added)
        case Product(left, right):
            return _both(ratio(left), ratio(right), _multiplied)
        case Quotient(above, below):
            return _both(ratio(above), ratio(below), _divided)
        case _:
            return None


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


def declared(formula: Formula) -> Range | None:  # noqa: PLR0911  # one line for each kind of formula
    """Between which numbers a formula lies whatever the rows are; None if that is not known."""
    match formula:
        case Constant(value):
            return value, value
        case Bounded(inner, low, high):
            known = declared(inner)
            return (low, high) if known is None else (max(low, known[0]), min(high, known[1]))
        case Sum(left, right):
            one, two = declared(left), declared(right)
            return None if one is None or two is None else (one[0] + two[0], one[1] + two[1])
        case Product(left, right):
            one, two = declared(left), declared(right)
            return None if one is None or two is None else times(one, two)
        case Quotient(above, below):
            one, two = declared(above), declared(below)
            return None if one is None or two is None else over(one, two)
        case Root(inner):
            one = declared(inner)
            return None if one is None else root(one)
        case Rounded(inner, digits, way):
            one = declared(inner)
            return None if one is None else rounded(one, digits, way)
        case _:
            return None


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


def inside(formula: Formula) -> tuple[Formula, ...]:
    """What a formula is made of."""
    match formula:
        case Sum(left, right) | Product(left, right) | Quotient(left, right):
            return left, right
        case Root(inner) | Bounded(inner, _, _) | Rounded(inner, _, _):
            return (inner,)
        case _:
            return ()


def every(formula: Formula) -> Iterator[Formula]:
    """A formula, and every one in it."""
    yield formula
    for part in inside(formula):
        yield from every(part)


def leaves(formula: Formula) -> frozenset[Leaf]:
    """The noisy statistics in it, without those of totals."""
    found = set[Leaf]()
    for part in every(formula):
        match part:
            case Noisy(leaf) | Ranked(leaf, _):
                found.add(leaf)
            case Line(linear):
                found.update(linear.weights)
    return frozenset(found)


def changed(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with every part of it changed, the inner ones first."""
    match formula:
        case Sum(left, right):
            formula = Sum(changed(left, change), changed(right, change))
        case Product(left, right):
            formula = Product(changed(left, change), changed(right, change))
        case Quotient(left, right):
            formula = Quotient(changed(left, change), changed(right, change))
        case Root(inner):
            formula = Root(changed(inner, change))
        case Bounded(inner, low, high):
            formula = Bounded(changed(inner, change), low, high)
        case Rounded(inner, digits, way):
            formula = Rounded(changed(inner, change), digits, way)
    return change(formula)


def bare(formula: Formula) -> Formula:
    """The formula without what is declared of it."""
    return changed(formula, lambda part: part.inner if isinstance(part, Bounded) else part)
