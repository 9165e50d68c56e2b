"""Mean and variance of bounded numbers when nobody may know how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import Grid
from discreet.declared.table import grid_of
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.privacy.calibrate import laplace_error

_WIDEST = 1 << 30  # steps between bounds: a square of as many fits into 64 bits
_ROOM = 1 << 62


@dataclass(frozen=True)
class Average:
    """A mean, and about how many rows it is of. All of it is noisy, and safe to publish."""

    rows: Fraction
    mean: Fraction


@dataclass(frozen=True)
class Spread:
    """A mean and a variance, and about how many rows they are of. All of it is noisy, and safe to publish."""

    rows: Fraction
    mean: Fraction
    variance: Fraction


@dataclass(frozen=True)
class _OfSums:
    """What noisy sums of powers of bounded numbers say."""

    takes: ClassVar[Takes] = Takes.OWNED_ROWS
    declared: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "max_rows")

    epsilon: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(self, **_read(self.epsilon, self.grid, self.max_rows, self.neighbours))

    @classmethod
    def of(cls, grid: Grid, epsilon: Number, max_rows: int = 1) -> Self:
        """Of values on this grid, at the price `epsilon`."""
        return cls(positive(epsilon, "epsilon"), grid.lower, grid.upper, grid.step, max_rows)

    @cached_property
    def grid(self) -> Grid:
        """What the numbers are rounded to."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def privacy(self) -> Pure:
        """ε as asked for, for everything that is told together."""
        return Pure(self.epsilon)

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """All of a unit's rows at one bound: one of the sums takes the whole distance."""
        low, high = ((self.grid.value(end),) * self.max_rows for end in (self.grid.low, self.grid.high))
        return tuple(
            Pair(before, before + after, "all rows of a unit at one bound, beside as many at the other, or none")
            for after, before in ((low, ()), (high, ()), (low, high), (high, low))
        )


@registered("mean")
@dataclass(frozen=True)
class Mean(_OfSums):
    """The mean of numbers on a grid, and their number.

    Guarantee: Pure(epsilon), when the rows of one unit (at most `max_rows`) are added or removed.
    Proof: noise goes to Σ(x − lower) and Σ(upper − x). A row adds x − lower to one and upper − x to the other, together
        upper − lower for every x: that is the L1 sensitivity. The rest only uses the two sums. docs/proofs/moments.md
        shows that this halves the variance of the usual noisy sum and noisy count.
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1; the two sums are the axes of Hardt & Talwar 2010's K.
    """

    @cached_property
    def scale(self) -> Fraction:
        """Of the noise on either sum, in steps."""
        return self.max_rows * self.grid.span / self.epsilon

    def error(self, confidence: Number = USUAL) -> Fraction:
        """Divided by the number of rows in the answer, if above 0: how far its mean is from that on the grid.

        What the error is for n rows depends on n, which is private; the quotient may be published with the answer.
        """
        return self._noise(confidence) * self.step

    def error_for(self, rows: int, confidence: Number = USUAL) -> Fraction:
        """How far the mean of so many rows is from the answer's, at most, with this probability."""
        noise, full = self._noise(confidence), Fraction(count(rows, "rows") * self.grid.span)
        widest = self.grid.span * self.step
        if full <= 2 * noise:
            return widest
        return min(widest, noise * self.step / (rows * (1 - 2 * noise / full)))

    def _noise(self, confidence: Number) -> int:
        """Both draws of noise are at most this large."""
        return laplace_error(self.scale, _each(confidence, 2))

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Average:
        """The mean. Values outside the bounds count as the nearer bound, and what is no number as the lower one."""
        steps = self.grid.steps(values).ravel() - self.grid.low
        return self._noisy(steps.size, total(steps, self.grid.span), rng)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> Average:
        """The mean of a column, of the rows that have a number there."""
        rows, above, _ = _powers(relation, column, self.grid)
        return self._noisy(rows, above, rng)

    def _noisy(self, rows: int, above: int, rng: Entropy) -> Average:
        """Of so many rows that lie so many steps above `lower` together."""
        grid, span = self.grid, self.grid.span
        low, high = (exact + laplace(self.scale, rng=rng) for exact in (rows * span - above, above))
        return Average(Fraction(low + high, span), grid.step * (grid.low + span * _share(high, low + high)))


@registered("variance")
@dataclass(frozen=True)
class Variance(_OfSums):
    """The variance of numbers on a grid (the mean square distance from their mean), their mean and their number.

    Guarantee: Pure(epsilon), when the rows of one unit (at most `max_rows`) are added or removed.
    Proof: with t = x − lower and s = upper − lower, noise goes to Σ(s − t)², Σ2t(s − t) and Σt². A row adds a square to
        them in all, (s − t + t)² = s² for every t: that is the L1 sensitivity. docs/proofs/moments.md.
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1, in the basis of Bernstein 1912.
    """

    @cached_property
    def scale(self) -> Fraction:
        """Of the noise on each sum, in steps squared."""
        return self.max_rows * self.grid.span**2 / self.epsilon

    def error(self, confidence: Number = USUAL) -> Fraction:
        """Divided by the number of rows in the answer, if above 0: how far its variance is from that on the grid.

        What the error is for n rows depends on n, which is private; the quotient may be published with the answer.
        """
        return Fraction(25, 16) * self._noise(confidence) * self.step**2

    def error_for(self, rows: int, confidence: Number = USUAL) -> Fraction:
        """How far the variance of so many rows is from the answer's, at most, with this probability."""
        square = self.grid.span**2
        share_off = Fraction(self._noise(confidence), count(rows, "rows") * square)
        widest = square * self.step**2 / 4
        if 3 * share_off >= 1:
            return widest
        off = share_off / (1 - 3 * share_off)
        return min(widest, square * self.step**2 * (off + Fraction(9, 4) * off**2))

    def _noise(self, confidence: Number) -> int:
        """All three draws of noise are at most this large."""
        return laplace_error(self.scale, _each(confidence, 3))

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Spread:
        """The variance. Values outside the bounds count as the nearer bound, and what is no number as the lower one."""
        steps, span = self.grid.steps(values).ravel() - self.grid.low, self.grid.span
        squares = steps * steps if span <= _WIDEST else steps.astype(object) ** 2
        second = total(squares, span**2) if span <= _WIDEST else sum(squares.tolist())
        return self._noisy(steps.size, total(steps, span), second, rng)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> Spread:
        """The variance of a column, of the rows that have a number there."""
        return self._noisy(*_powers(relation, column, self.grid), rng)

    def _noisy(self, rows: int, first: int, second: int, rng: Entropy) -> Spread:
        """Of so many rows, and the sums of how many steps they lie above `lower` and of the squares of that."""
        grid, span = self.grid, self.grid.span
        exact = (rows * span**2 - 2 * first * span + second, 2 * (first * span - second), second)
        near, between, far = (sum_ + laplace(self.scale, rng=rng) for sum_ in exact)
        whole = near + between + far
        mean = grid.step * (grid.low + span * _share(between + 2 * far, 2 * whole))
        return Spread(Fraction(whole, span**2), mean, grid.step**2 * span**2 * _spread(between, far, whole))


def _powers(relation: Relation, column: str, grid: Grid) -> tuple[int, int, int]:
    """Of the rows that have a number in a column: how many they are, and Σt and Σt² of the steps t above `lower`."""
    if grid_of(relation, column) != grid:
        raise Refusal(f"column {column!r} has another grid than this mechanism", hint="take the declared one")
    (rows, first), (_, second) = relation.products([], [column]).tolist()
    return rows, first - grid.low * rows, second - 2 * grid.low * first + grid.low**2 * rows


def total(values: NDArray[np.int64], largest: int) -> int:
    """The sum of numbers in [0, largest], largest ≤ 2^60, of which many together need not fit into 64 bits."""
    chunk = max(1, min(values.size, _ROOM // largest))
    whole = values.size - values.size % chunk
    sums: list[int] = values[:whole].reshape(-1, chunk).sum(axis=1).tolist()
    return sum(sums) + int(values[whole:].sum())


def _share(top: int, whole: int) -> Fraction:
    """top/whole, from 0 to 1; in the middle if the noise has left no rows."""
    return min(Fraction(1), max(Fraction(0), Fraction(top, whole))) if whole > 0 else Fraction(1, 2)


def _spread(between: int, far: int, whole: int) -> Fraction:
    """E t² − (E t)² as a share of s², from 0 to 1/4; none if the noise has left no rows."""
    if whole <= 0:
        return Fraction(0)
    return min(Fraction(1, 4), max(Fraction(0), Fraction(far, whole) - Fraction(between + 2 * far, 2 * whole) ** 2))


def _each(confidence: Number, draws: int) -> Fraction:
    """How sure one of several draws must be for all of them to be as sure as asked."""
    return 1 - (1 - share(confidence, "confidence")) / draws


def _read(epsilon: Fraction, grid: Grid, max_rows: int, neighbours: Neighbours) -> dict[str, object]:
    """The parameters, checked and read exactly."""
    if grid.span == 0:
        raise Refusal(
            f"only one multiple of step={shown(grid.step, str)} lies between the bounds", hint="take a smaller step"
        )
    if not isinstance(neighbours, AddRemove):
        raise Refusal(
            f"expected AddRemove neighbours, got {neighbours}: the number of rows is taken to be private here",
            hint="take AddRemove; or add noise to the sum alone, and divide by the public number of rows",
        )
    bounds = {"lower": grid.lower, "upper": grid.upper, "step": grid.step}
    rows = count(max_rows, "max_rows")
    return {"epsilon": positive(epsilon, "epsilon"), **bounds, "max_rows": rows, "neighbours": neighbours}
