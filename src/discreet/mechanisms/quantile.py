"""One quantile: the exponential mechanism over every point of a grid, exact although there may be 2^54 of them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import Grid
from discreet.declared.table import grid_of
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.interval_arithmetic import exp, log
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, below, flip_exp, geometric
from discreet.noise.inverse_cdf_sampler import START, Enclosure, exp_enclosure
from discreet.privacy import AddRemove, Neighbours, Pure, Replace

FINEST = 1 << 20  # the largest denominator of a level: a rank times it fits into 64 bits
_LEVELS = 64  # beyond it a candidate weighs less than e^−64 times the best, so that even 2^62 of them are met rarely
_FARTHEST = (1 << 62) - 1

Whole = NDArray[np.int64]
MOST_POINTS = 1 << 20  # at which an engine counts rows


def counting_stride(grid: Grid) -> int:
    """To how many steps of a grid the rows of a relation are rounded before they are counted."""
    return -(-(grid.span + 1) // MOST_POINTS)


@registered("quantile")
@dataclass(frozen=True)
class Quantile:
    """A number on a grid below which about `level` of the rows lie.

    Guarantee: Pure(epsilon), when the rows of one unit (at most `max_rows`) are added or removed; or, with `Replace`
        neighbours and one row a unit, when one row changes.
    Proof: docs/proofs/quantile.md. A candidate's score is minus the number of rows by which its rank misses the target.
        A row more or less moves it by at most max(level, 1 − level), a row replaced by at most 1.
    Source: Smith 2011, with McSherry & Talwar 2007, Theorem 6.
    """

    takes: ClassVar[Takes] = Takes.OWNED_ROWS
    declared: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "max_rows")
    counted: ClassVar[bool] = True

    epsilon: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    level: Fraction = Fraction(1, 2)
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        grid = Grid(self.lower, self.upper, self.step)
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            lower=grid.lower,
            upper=grid.upper,
            step=grid.step,
            level=_fine(share(self.level, "level")),
            max_rows=count(self.max_rows, "max_rows"),
            neighbours=self.neighbours,
        )
        if isinstance(self.neighbours, Replace) and self.max_rows > 1:
            raise Refusal(
                f"expected one row a unit when units are replaced, got max_rows={shown(self.max_rows)}",
                hint="promise for AddRemove: replacing is removing, then adding",
            )

    @classmethod
    def of(cls, level: Number, grid: Grid, epsilon: Number, neighbours: Neighbours = AddRemove()) -> Quantile:
        """This quantile of values on this grid, at the price `epsilon`."""
        price, where = positive(epsilon, "epsilon"), share(level, "level")
        return cls(price, grid.lower, grid.upper, grid.step, where, neighbours=neighbours)

    @cached_property
    def grid(self) -> Grid:
        """The candidates."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def privacy(self) -> Pure:
        """ε as asked for."""
        return Pure(self.epsilon)

    @cached_property
    def rate(self) -> Fraction:
        """What a row's distance from the target costs in the exponent: ε over twice the sensitivity of the score."""
        moved = Fraction(1) if isinstance(self.neighbours, Replace) else max(self.level, 1 - self.level)
        return self.epsilon / (2 * moved * self.max_rows)

    def error(self, confidence: Number = USUAL) -> Fraction:
        """The number of rows α by which the answer's rank misses the target at most, with this probability.

        With r the share of rows below the answer and r' that of rows not above it: r − α/n ≤ level ≤ r' + α/n. It holds
        for all data on the grid, and all data in one point nearly reaches it.
        """
        fine_rate = self.rate / self.level.denominator
        return Fraction(rank_error(self.grid.span + 1, fine_rate, confidence), self.level.denominator)

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """One row moves the target so that most of the candidates, all on one side, lose, and those beyond it gain."""
        if self.level < Fraction(1, 2):  # the mirror image
            pairs = _worst(1 - self.level, self.max_rows, self.neighbours, self.grid.high, self.grid.low)
        else:
            pairs = _worst(self.level, self.max_rows, self.neighbours, self.grid.low, self.grid.high)
        left, right = (tuple(self.grid.value(step) for step in steps) for steps in pairs)
        return (Pair(left, right, "a row lands beyond the quantile, and a long stretch without rows ends at it"),)

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Fraction:
        """The number. Values outside the bounds count as the nearer bound, and what is no number as the lower one."""
        return self._chosen(Rows.of(self.grid.steps(values), self.grid.low, self.grid.high), rng)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> Fraction:
        """The quantile of a column, of the rows that have a number there."""
        return self._chosen(Rows.over(relation, column, self.grid), rng)

    def _chosen(self, rows: Rows, rng: Entropy) -> Fraction:
        return self.grid.value(rows.quantile(self.level, self.rate, rng=rng))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows among the candidates from `low` to `high`, as sorted points and the number of rows at each."""

    points: Whole
    counts: Whole
    low: int
    high: int

    @classmethod
    def of(cls, steps: Whole, low: int, high: int) -> Rows:
        """Rows by their values, in any order."""
        points, counts = np.unique(steps, return_counts=True)
        return cls(points, counts.astype(np.int64), low, high)

    @classmethod
    def over(cls, relation: Relation, column: str, grid: Grid) -> Rows:
        """Those of a relation that have a number in a column, in steps of `grid`, which must be the column's own.

        On a grid of more than 2^20 points they are rounded to every second point, or third, or as many as it takes.
        """
        if grid_of(relation, column) != grid:
            raise Refusal(f"column {column!r} has another grid than this mechanism", hint="take the declared one")
        every = counting_stride(grid)
        points = np.arange(grid.low, grid.high + 1, every, dtype=np.int64)
        counts = relation.quantile_counts(column, [grid.low, *(points[1:] - every // 2).tolist()])[1:]
        some = counts > 0
        return cls(points[some], counts[some], grid.low, grid.high)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def quantile(self, level: Fraction, rate: Fraction, *, rng: Entropy) -> int:
        """A candidate y with Pr[y] ∝ exp(−rate · gap(y))."""
        starts, lengths, ahead, equal = self.runs()
        piece = segment(gaps(ahead, equal, self.size, level), lengths, rate / level.denominator, rng=rng)
        return int(starts[piece]) + below(int(lengths[piece]), rng=rng)

    def runs(self) -> tuple[Whole, Whole, Whole, Whole]:
        """The candidates cut at the points: where each piece starts, its length, the rows below it and those at it."""
        ahead = np.cumsum(self.counts) - self.counts
        starts = np.concatenate([self.points, [self.low], self.points + 1]).astype(np.int64)
        ends = np.concatenate([self.points + 1, self.points, [self.high + 1]]).astype(np.int64)
        below_it = np.concatenate([ahead, ahead, [self.size]]).astype(np.int64)
        at_it = np.concatenate([self.counts, np.zeros(self.points.size + 1, dtype=np.int64)])
        some = ends > starts
        return starts[some], (ends - starts)[some], below_it[some], at_it[some]


def gaps(ahead: Whole, equal: Whole, rows: int, level: Fraction) -> Whole:
    """How far the target, level · rows, is from [ahead, ahead + equal], times the level's denominator."""
    top, bottom = level.numerator, level.denominator
    above, under = bottom * ahead - top * rows, top * rows - bottom * (ahead + equal)
    return np.asarray(np.maximum(0, np.maximum(above, under)))


def rank_error(candidates: int, rate: Fraction, confidence: Number) -> int:
    """The smallest g ≥ 0 with m e^{−rate (g+1)} ≤ β/(1 − β), m = candidates − 1 and β = 1 − confidence.

    Proof: the gaps are whole and one is 0. Those above g weigh at most m e^{−rate (g+1)} together, beside 1 at least.
    """
    sure = share(confidence, "confidence")
    if candidates == 1:
        return 0
    needed = log((candidates - 1) * sure / (1 - sure)).up / rate
    return max(0, math.ceil(needed) - 1)


def segment(gaps: Whole, lengths: Whole, rate: Fraction, *, rng: Entropy, top: int = _LEVELS) -> int:
    """The index i with Pr[i] ∝ lengths[i] · exp(−rate · gaps[i]), for whole lengths ≥ 1 that add up to less than 2^62.

    Proof: docs/proofs/quantile.md. An index is on level ⌊rate · (gap − least gap)⌋. K is drawn with weight e^−K times
        the length of all on level K or less, an index among these by length: so one on level k has weight Σ_{K≥k} e^−K.
        It is kept with the probability that turns the rounded exponent into the exact one. Levels from `top` on are
        drawn as one, by a geometric law.
    """
    rises = gaps - gaps.min()
    levels = np.searchsorted(_ends(rate, top), rises)
    sizes = np.zeros(top + 1, dtype=np.int64)
    np.add.at(sizes, levels, lengths)
    within = np.cumsum(sizes).tolist()
    while True:
        level = _level(within, rng)
        near = levels <= level
        if level == top:  # stands for all further ones, as if they held everything
            near = rises <= _end(rate, top + geometric(1, rng=rng))
            if below(within[-1], rng=rng) >= int(lengths[near].sum()):
                continue
        sums = np.cumsum(np.where(near, lengths, 0))
        index = int(np.searchsorted(sums, below(int(sums[-1]), rng=rng), side="right"))
        exponent = int(rises[index]) * rate
        if flip_exp(exponent - math.floor(exponent), rng=rng):
            return index


def _fine(level: Fraction) -> Fraction:
    """The level, if its denominator leaves room for the ranks."""
    if level.denominator > FINEST:
        raise Refusal(f"expected a level with a denominator of at most 2^20, got {shown(level, str)}", hint="round it")
    return level


def _end(rate: Fraction, level: int) -> int:
    """The largest rise on this level: rate · rise < level + 1."""
    return min(_FARTHEST, math.ceil((level + 1) / rate) - 1)


@lru_cache(maxsize=256)
def _ends(rate: Fraction, top: int) -> Whole:
    return np.array([_end(rate, level) for level in range(top)], dtype=np.int64)


@lru_cache(maxsize=8)
def _powers(top: int, precision: int) -> list[Enclosure]:
    """e^−K for each level K below `top`, and their sum from there on, e^−top/(1 − e^−1)."""
    digits = precision * 3 // 10 + 5
    rest = exp(-top, digits) / (1 - exp(-1, digits)) * (1 << precision)
    powers = [exp_enclosure(Fraction(level), precision) for level in range(top)]
    return [*powers, (math.floor(rest.down), math.ceil(rest.up))]


def _level(within: Sequence[int], rng: Entropy) -> int:
    """K with Pr[K] ∝ within[K] · e^−K, by inversion: binary digits of a uniform number until they settle it."""
    top, digits, size, precision = len(within) - 1, 0, 0, START
    while True:
        digits, size = digits << 64 | rng.bits(64), size + 64
        powers = _powers(top, precision)
        lows = list(accumulate(length * low for length, (low, _) in zip(within, powers, strict=True)))
        highs = list(accumulate(length * high for length, (_, high) in zip(within, powers, strict=True)))
        # the number lies in [digits, digits + 1) / 2^size: before the first threshold that is surely not below its end
        level = min(bisect_left(lows, -(-(digits + 1) * highs[-1] >> size)), top)
        if level == 0 or digits * lows[-1] >= highs[level - 1] << size:
            return level
        precision *= 2


def _worst(level: Fraction, most: int, neighbours: Neighbours, low: int, high: int) -> tuple[list[int], list[int]]:
    """For level ≥ 1/2, in steps from `low` towards `high`: docs/proofs/quantile.md, "The bound is reached"."""
    inward = 1 if high >= low else -1
    point = high - inward * min(2, abs(high - low))
    if isinstance(neighbours, Replace):
        rows = math.ceil(1 / (1 - level))
        right = math.ceil((1 - level) * rows)
        left = [low] * (rows - right) + [point] * right
        return left, [*left[1:], high]
    rows = math.floor(most * level / (1 - level))
    left = [low] * rows + [point] * most
    return left, left + [high] * most
