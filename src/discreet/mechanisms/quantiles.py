"""Many quantiles at once: the middle one first, then the others on the rows on their side of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.declared.grid import Grid
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.interval_arithmetic import log
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.quantile import FINEST, Rows, Whole, rank_error, segment
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, below
from discreet.privacy import AddRemove, Neighbours, Pure

_MOST = 1 << 12  # levels


@registered("quantiles")
@dataclass(frozen=True)
class Quantiles:
    """Numbers on a grid, in order, below which about `levels` of the rows lie.

    Guarantee: Pure(epsilon), when the rows of one unit (at most `max_rows`) are added or removed.
    Proof: docs/proofs/quantiles.md. A cut divides the rows in two, and a row more or less is one more or less on one
        side only, so the two sides cost as much as one: the loss of m levels is that of ⌊log₂ m⌋ + 1 cuts.
    Source: Kaplan, Schnapp & Stemmer 2022, here with equal values divided between the sides.
    """

    takes: ClassVar[Takes] = Takes.OWNED_ROWS
    declared: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "max_rows")
    counted: ClassVar[bool] = True

    epsilon: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    levels: tuple[Fraction, ...]
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
            levels=_rising(tuple(share(level, "level") for level in self.levels)),
            max_rows=count(self.max_rows, "max_rows"),
            neighbours=self.neighbours,
        )
        if not isinstance(self.neighbours, AddRemove):
            raise Refusal(
                f"expected AddRemove neighbours, got {self.neighbours}: a row replaced may change both sides of a cut",
                hint="take AddRemove: replacing is removing, then adding",
            )

    @classmethod
    def of(cls, levels: Sequence[Number], grid: Grid, epsilon: Number) -> Quantiles:
        """These quantiles of values on this grid, at the price `epsilon` for all of them."""
        price, where = positive(epsilon, "epsilon"), tuple(share(level, "level") for level in levels)
        return cls(price, grid.lower, grid.upper, grid.step, where)

    @cached_property
    def grid(self) -> Grid:
        """The candidates."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def privacy(self) -> Pure:
        """ε as asked for, for all the levels together."""
        return Pure(self.epsilon)

    @property
    def parts(self) -> int:
        """In how many parts equal rows can be divided: 2^30, or as many as leave 2^61 parts of candidates in all."""
        return 1 << min(30, 61 - (self.grid.span + 1).bit_length())

    def error(self, confidence: Number = USUAL) -> Fraction:
        """The number of rows by which each answer's rank misses its target at most, with this probability for all.

        For data of at most `parts` rows, 2^30 on grids of fewer than 2^31 points; `error_for` takes any number.
        """
        return self.error_for(self.parts, confidence)

    def error_for(self, rows: int, confidence: Number = USUAL) -> Fraction:
        """The same for data of at most so many rows."""
        most, rare = count(rows, "rows"), (1 - share(confidence, "confidence")) / len(self.levels)
        missed = {Fraction(0): Fraction(0), Fraction(1): Fraction(0)}
        for cut in self._cuts():
            r, own = cut.relative, self._own(cut, most, rare)
            missed[cut.level] = (1 - r) * missed[cut.left] + r * missed[cut.right] + own
        return max(missed.values())

    def _own(self, cut: Cut, rows: int, rare: Fraction) -> Fraction:
        """What the cut itself adds to the errors of those around it, but for a share `rare` of the time."""
        candidates, rate = self.grid.span + 1, cut.rate
        if cut.last:
            bottom = cut.relative.denominator
            return Fraction(rank_error(candidates, rate / bottom, 1 - rare), bottom)
        nearest, shortest = -(-rows // self.parts), max(1, self.parts // rows)
        far = log(candidates * self.parts / (shortest * rare)).up / rate
        return nearest + Fraction(math.ceil(far))

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """A row beyond the first cut, which lies at the end of a long stretch without rows; and the same mirrored."""
        low, high = self.grid.low, self.grid.high
        near, level = min(2, high - low), next(self._cuts()).level

        def side(share_beyond: Fraction, far: int, point: int, beyond: int, why: str) -> Pair[tuple[Fraction, ...]]:
            many = math.floor(self.max_rows * (1 - share_beyond) / share_beyond)
            before = (self.grid.value(far),) * many + (self.grid.value(point),) * self.max_rows
            return Pair(before, before + (self.grid.value(beyond),) * self.max_rows, why)

        return (
            side(1 - level, low, high - near, high, "a row more above the first cut"),
            side(level, high, low + near, low, "a row more below the first cut"),
        )

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> tuple[Fraction, ...]:
        """The numbers, never falling. Values outside the bounds count as the nearer bound, no numbers as the lower."""
        return self._chosen(Rows.of(self.grid.steps(values), self.grid.low, self.grid.high), rng)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> tuple[Fraction, ...]:
        """The quantiles of a column, of the rows that have a number there."""
        return self._chosen(Rows.over(relation, column, self.grid), rng)

    def _chosen(self, every: Rows, rng: Entropy) -> tuple[Fraction, ...]:
        held, answers = {(Fraction(0), Fraction(1)): every}, {}
        for cut in self._cuts():
            rows = held.pop((cut.left, cut.right))
            if cut.last:
                answers[cut.level] = rows.quantile(cut.relative, cut.rate, rng=rng)
            else:
                answers[cut.level], lower, upper = divided(rows, cut.relative, cut.rate, self.parts, rng=rng)
                held[cut.left, cut.level], held[cut.level, cut.right] = lower, upper
        return tuple(self.grid.value(answers[level]) for level in self.levels)

    def _cuts(self) -> Iterator[Cut]:
        return _cuts(self.levels, Fraction(0), Fraction(1), self.epsilon / self.max_rows)


@dataclass(frozen=True)
class Cut:
    """A level, the levels around it that are known by then, what it may lose, and whether nothing comes after it."""

    level: Fraction
    left: Fraction
    right: Fraction
    epsilon: Fraction
    last: bool

    @property
    def relative(self) -> Fraction:
        """The level among the rows between its neighbours."""
        return (self.level - self.left) / (self.right - self.left)

    @property
    def rate(self) -> Fraction:
        """What a row's distance from the target costs in the exponent: ε over twice the sensitivity of the score."""
        return self.epsilon / (2 * max(self.relative, 1 - self.relative))


def _cuts(levels: Sequence[Fraction], left: Fraction, right: Fraction, epsilon: Fraction) -> Iterator[Cut]:
    """The middle level first, then both sides; every path down spends `epsilon` in equal shares of what is left."""
    if not levels:
        return
    middle, depth = len(levels) // 2, len(levels).bit_length()
    level, price = levels[middle], epsilon / depth
    yield Cut(level, left, right, price, last=len(levels) == 1)
    yield from _cuts(levels[:middle], left, level, epsilon - price)
    yield from _cuts(levels[middle + 1 :], level, right, epsilon - price)


def divided(rows: Rows, level: Fraction, rate: Fraction, parts: int, *, rng: Entropy) -> tuple[int, Rows, Rows]:
    """A candidate near the level, and the rows on its two sides; of those equal to it, some on either."""
    starts, lengths, ahead, own = pieces(rows, parts)
    top, bottom = level.numerator, level.denominator
    misses = np.abs(bottom * ahead - top * rows.size)
    piece = segment(misses, lengths, rate / bottom, rng=rng)
    place = int(starts[piece])
    if own[piece] < 0:  # no row is there, so every part of every candidate in the run is as good
        place += below(int(lengths[piece]) // parts, rng=rng)
    return place, *_split(rows, place, max(0, int(own[piece])))


def pieces(rows: Rows, parts: int) -> tuple[Whole, Whole, Whole, Whole]:
    """Every candidate in equal parts: at part s of a point with c rows, ⌊c s / parts⌋ of them count as below.

    Parts with one number of rows below are one piece: where it starts, its length, the rows below, and how many of
    these are at the point itself, or −1 in a run without rows.
    """
    starts, lengths, ahead, equal = rows.runs()
    free = equal == 0
    here, where = np.repeat(rows.counts, rows.counts), np.repeat(rows.points, rows.counts)
    every = np.arange(rows.size, dtype=np.int64)
    nth = every - np.repeat(np.cumsum(rows.counts) - rows.counts, rows.counts)
    sizes = _ceil((nth + 1) * parts, here) - _ceil(nth * parts, here)
    some = sizes > 0
    return (
        np.concatenate([starts[free], where[some]]),
        np.concatenate([lengths[free] * parts, sizes[some]]),
        np.concatenate([ahead[free], every[some]]),
        np.concatenate([np.full(int(free.sum()), -1, dtype=np.int64), nth[some]]),
    )


def _ceil(top: Whole, bottom: Whole) -> Whole:
    return -(-top // bottom)


def _split(rows: Rows, place: int, own: int) -> tuple[Rows, Rows]:
    """The rows below `place` and `own` of those at it; the others."""
    at = int(np.searchsorted(rows.points, place))
    here = at < rows.points.size and int(rows.points[at]) == place
    lower, upper = rows.counts[: at + here].copy(), rows.counts[at:].copy()
    if here:
        lower[-1], upper[0] = own, upper[0] - own
    down, up = lower > 0, upper > 0
    return (
        Rows(rows.points[: at + here][down], lower[down], rows.low, place),
        Rows(rows.points[at:][up], upper[up], place, rows.high),
    )


def _rising(levels: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    if not 1 <= len(levels) <= _MOST:
        raise Refusal(f"expected 1 to {_MOST} levels, got {len(levels)}")
    for first, second in pairwise(levels):
        if not first < second:
            raise Refusal(f"expected rising levels, got {shown(first, str)} before {shown(second, str)}")
    if math.lcm(*(level.denominator for level in levels)) > FINEST:
        raise Refusal(
            f"expected levels with a common denominator of at most 2^20, got {shown(levels)}", hint="round them"
        )
    return levels
