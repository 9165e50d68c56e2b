"""How far one unit can move the true answer: the number that noise is measured against. Exact, without square roots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.errors import Refusal
from discreet.exact import Number, count, exact, nonnegative
from discreet.privacy.neighbours import AddRemove, Neighbours

X = TypeVar("X")


@dataclass(frozen=True, init=False)
class Sensitivity:
    """Bounds on f(x) − f(x') over all neighbours x, x', for a query f that answers with a vector of numbers.

    At most `l0` coordinates change, each by at most `linf`; the absolute changes sum to at most `l1` and their squares
    to at most `l2_squared`. Where these two are not given, l0·linf and l1·linf hold.
    """

    linf: Fraction
    l0: int
    l1: Fraction
    l2_squared: Fraction

    def __init__(self, linf: Number, l0: int = 1, l1: Number | None = None, l2_squared: Number | None = None) -> None:
        each, cells = nonnegative(linf, "linf"), count(l0, "l0")
        total = cells * each if l1 is None else nonnegative(l1, "l1")
        square = total * each if l2_squared is None else nonnegative(l2_squared, "l2_squared")
        _slip("l1", total, "l0 * linf", cells * each)  # what cannot be the largest of its norm was mistyped
        _slip("l2_squared", square, "l1 * linf", total * each)
        _slip("linf", each, "l1", total)
        _slip("linf ** 2", each * each, "l2_squared", square)
        for name, value in (("linf", each), ("l0", cells), ("l1", total), ("l2_squared", square)):
            object.__setattr__(self, name, value)

    @classmethod
    def of_count(cls, rows: int = 1) -> Sensitivity:
        """Of a count to which one unit gives at most so many rows; for either neighbours."""
        return cls(count(rows, "rows"))

    @classmethod
    def of_sum(
        cls, low: Number, high: Number, neighbours: Neighbours, *, rows: int = 1, always: bool = False
    ) -> Sensitivity:
        """Of a sum of values clamped to [low, high], at most `rows` of them from one unit.

        Adding or removing a unit moves it by rows · max(|low|, |high|). Replacing one moves it by the length of what
        a unit can give: rows · (high − low) if every unit `always` gives exactly `rows` values, and otherwise the
        same with 0 taken in, because a unit may come to give nothing.
        """
        bottom, top, many = exact(low, "low"), exact(high, "high"), count(rows, "rows")
        if bottom > top:
            raise Refusal(f"expected low <= high, got low={low} and high={high}")
        if isinstance(neighbours, AddRemove):
            return cls(many * max(abs(bottom), abs(top)))
        if always:
            return cls(many * (top - bottom))
        return cls(many * (max(top, Fraction(0)) - min(bottom, Fraction(0))))

    @classmethod
    def of_histogram(cls, neighbours: Neighbours, *, max_groups: int, rows: int | None = None) -> Sensitivity:
        """Of counts per group, where one unit touches at most `max_groups` groups.

        Without `rows` it counts at most once in each. With `rows` it gives at most so many rows in all, which may fall
        into one group. Under Replace one unit leaves its groups and another enters: counts are not negative, so the
        squares at most double.
        """
        groups = count(max_groups, "max_groups")
        if rows is None:
            once = cls(1, groups)
        else:
            many = count(rows, "rows")
            once = cls(many, min(groups, many), many, many * many)
        if isinstance(neighbours, AddRemove):
            return once
        return cls(once.linf, 2 * once.l0, 2 * once.l1, 2 * once.l2_squared)

    @classmethod
    def of(cls, function: Callable[[X], Sequence[Fraction | int]], pairs: Iterable[tuple[X, X]]) -> Sensitivity:
        """Exactly, by trying all `pairs` of neighbours of a finite domain: for tests and for teaching."""
        linf, l0, l1, l2_squared = Fraction(0), 1, Fraction(0), Fraction(0)
        for one, other in pairs:
            moves = [abs(Fraction(a) - b) for a, b in zip(function(one), function(other), strict=True)]
            linf, l1 = max([linf, *moves]), max(l1, sum(moves, Fraction(0)))
            l0, l2_squared = max(l0, sum(map(bool, moves))), max(l2_squared, sum((m * m for m in moves), Fraction(0)))
        return cls(linf, l0, l1, l2_squared)

    def __rmul__(self, factor: Number) -> Sensitivity:
        size = abs(exact(factor, "factor"))
        return Sensitivity(size * self.linf, self.l0, size * self.l1, size * size * self.l2_squared)

    def beside(self, other: Sensitivity) -> Sensitivity:
        """Of both queries answered together, as one longer vector."""
        return Sensitivity(
            max(self.linf, other.linf),
            self.l0 + other.l0,
            self.l1 + other.l1,
            self.l2_squared + other.l2_squared,
        )


def _slip(small: str, value: Fraction, large: str, bound: Fraction) -> None:
    if value > bound:
        raise Refusal(f"{small}={value} exceeds {large}={bound}", hint="one of the two is not the largest change")
