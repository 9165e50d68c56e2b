"""Advice on bounds and caps, bought like an answer: what the declared ones cut off, and which ones would cut off less.

Bounds and caps never come from data unless a mechanism paid. Here one does: a histogram over powers of two, which
needs no bounds itself, with noise on every bar. Whatever is said with a share holds with 95 % confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.chosen_bars import SEEMS_EMPTY, farthest, of_bounds, of_cap, standing_out
from discreet.curator.purchase import BoughtTable
from discreet.curator.share_intervals import ShareInterval, Tails, compatible
from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.declared.table import MOST_ROWS_A_UNIT, Table
from discreet.errors import Refusal
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.owned_rows import PerUnit, Scan, Summary
from discreet.sql.plan import AggregateColumn, GroupKey, Measurement, Part, Statistic
from discreet.sql.relation_facts import shape

CONFIDENCE = Fraction(95, 100)  # of every share that is told

# Bar 0 holds 0, bar ±b the sizes above 2^(b−21) up to 2^(b−20), which bounds there hold, ±1 also those below; from ±61
# on, which holds what is above 2^40, a bar is eight doublings wide. The outermost has no end, so no bounds hold it.
_LAST = 68
BARS = tuple(range(-_LAST, _LAST + 1))
_WIDE = 60  # the last bar of one doubling
# Of squares: bar b holds numbers of rows from 2^((b−21)/2) up to 2^((b−20)/2), two bars for each doubling.
ROWS = (21, *range(23, 62))  # no number has a square of 2 or 3
_CUT = 100  # is added to the bar of a person who has more rows than max_rows
_NAMED = Tails.even(1 - CONFIDENCE)
_NEARLY_ALL = Fraction(99, 100)
_ONE, _NONE = Literal(1, Type.BIGINT), Literal(0, Type.BIGINT)


@dataclass(frozen=True)
class Bars:
    """Noisy numbers, each with independent noise of one law, by the name of their bar."""

    heights: Mapping[int, int]
    noise: LaplaceVector | GaussianVector

    @classmethod
    def of(cls, bought: BoughtTable) -> Bars:
        """The histogram that was bought: one key, one number."""
        noise = bought.price.charge(bought.price.part.measurement.statistics[0]).mechanism
        if not isinstance(noise, (LaplaceVector, GaussianVector)):
            raise Refusal(f"a histogram needs additive noise, got {type(noise).__name__}")
        rows = zip(bought.noisy.groups, bought.noisy.values, strict=True)
        return cls({int(str(group[0])): row[0] for group, row in rows}, noise)

    @property
    def visible(self) -> list[int]:
        """The bars that stand out of the noise, in order."""
        threshold = standing_out(self.noise, len(self.heights))
        return sorted(bar for bar, height in self.heights.items() if height > threshold)

    def empty(self, outside: Callable[[int], bool]) -> bool:
        """Whether all bars outside seem empty."""
        seems = standing_out(self.noise, len(self.heights), SEEMS_EMPTY)
        return all(height <= seems for bar, height in self.heights.items() if outside(bar))

    def beyond(self, outside: Callable[[int], bool], tails: Tails = _NAMED) -> ShareInterval:
        """The share of the whole in the bars outside: named beforehand, or chosen by noise, at these tails."""
        far = [height for bar, height in self.heights.items() if outside(bar)]
        near = [height for bar, height in self.heights.items() if not outside(bar)]
        if not far or not near:
            return ShareInterval(float(not near), float(not near))
        noises = (self.noise, len(far)), (self.noise, len(near))
        return compatible(sum(far), sum(near), noises, tails)


def ratio(part: int, whole: int, noise: Sequence[LaplaceVector | GaussianVector]) -> ShareInterval:
    """The share that one noisy number is of another, which it is a part of; each with its own noise."""
    one, two = noise
    return compatible(part, whole - part, ((one, 1), (two, 1)), _NAMED, part_of=True)


@dataclass(frozen=True)
class BoundsAdvice:
    """Between which numbers nearly all values of a column lie, as far as the noise lets one see."""

    low: Fraction | None  # both None: nothing stands out of the noise at this price
    high: Fraction | None
    beyond: ShareInterval | None  # the share of values beyond the suggested bounds
    cut: ShareInterval | None  # the share of values beyond the declared bounds; None where none are declared
    cost: BudgetLoss | None = None  # None: it was free
    left: BudgetLoss | None = None


@dataclass(frozen=True)
class CapsAdvice:
    """How many rows a unit has, as far as the noise lets one see."""

    rows: int | None  # nearly all units have at most so many; None: nothing stands out of the noise at this price
    beyond: ShareInterval | None  # the share of units with more than the suggested number
    cut: ShareInterval | None  # the share of units with more than the declared max_rows; None where none is declared
    cost: BudgetLoss | None = None  # None: it was free
    left: BudgetLoss | None = None


def outer(bar: int) -> Fraction:
    """The end of a bar that is farther from zero, if it has one."""
    if bar == 0:
        return Fraction(0)
    place = abs(bar)
    doublings = place - 20 if place <= _WIDE else _WIDE - 20 + 8 * (place - _WIDE)
    return Fraction(2) ** doublings * (1 if bar > 0 else -1)


def most_rows(bar: int) -> int:
    """The largest number of rows in a bar of `ROWS`: its square is below 2^(b−20)."""
    return math.isqrt((1 << (bar - 20)) - 1) if bar < ROWS[-1] else MOST_ROWS_A_UNIT


def _bar(size: Expression) -> Expression:
    return Call("bar", (size,), Type.BIGINT)


def _band(value: Expression) -> Expression:
    return Call("closed band", (value,), Type.BIGINT)


def _count(statistic: Statistic) -> tuple[AggregateColumn, ...]:
    return (AggregateColumn("value_0", "count", (statistic,)),)


def bounded(table: Table) -> Table:
    """A table of people, of whose rows something may be cut off."""
    if table.public:
        raise Refusal(f"table {table.name!r} is public: nothing of it is bounded")
    return table


def bounds_parts(table: Table, column: str) -> tuple[Part, ...]:
    """What is measured to advise on bounds: a histogram of sizes, and how many values the declared bounds cut."""
    declared = table.column(column)
    if not declared.type.numeric:
        raise Refusal(f"column {column!r} is {declared.type.value}: only numbers have bounds that can be bought")
    rows, value = Scan(table), Field(declared.name, declared.type)
    below = shape(rows)
    counted = Statistic("rows")
    key = GroupKey("key_0", _band(value), BARS)
    histogram = Measurement(rows, (key,), (counted,), below.max_rows, below.max_rows or 1)
    histogram.needs_rows_cap("advice on bounds")
    parts = [Part("#0", histogram, _count(counted))]
    if declared.bounds is not None:
        beyond = Statistic("total", _beyond(value, declared.bounds), Grid(0, 1, Fraction(1)))
        present = Statistic("present", value)
        share = Measurement(rows, (), (beyond, present), below.max_rows, below.max_groups)
        parts.append(Part("#1", share, ()))
    return tuple(parts)


def _beyond(value: Field, bounds: tuple[Fraction, Fraction]) -> Expression:
    """1 of a number beyond the bounds, else 0. NaN, which SQL takes for the largest number, is none."""
    low, high = (Literal(float(end), Type.DOUBLE) for end in bounds)
    nothing = Call("is null", (_band(value),), Type.BOOLEAN), _NONE
    outside = (Call("<", (value, low), Type.BOOLEAN), _ONE), (Call(">", (value, high), Type.BOOLEAN), _ONE)
    return Case((nothing, *outside), _NONE, Type.BIGINT)


def caps_parts(table: Table) -> tuple[Part, ...]:
    """What is measured to advise on caps: how many units have how many rows. A unit is in one bar.

    The bar in which the declared cap lies is two: who has more rows than that is counted apart.
    """
    if table.unit is None:
        raise Refusal(f"every row of {table.name!r} is its own unit, so nothing is capped")
    counted, rows, declared = Statistic("units"), Field("rows", Type.BIGINT), table.max_rows
    bar, values = _bar(Call("*", (rows, rows), Type.BIGINT)), ROWS
    if declared is not None:
        more = Call(">", (rows, Literal(declared, Type.BIGINT)), Type.BOOLEAN)
        bar = Call("+", (bar, Case(((more, Literal(_CUT, Type.BIGINT)),), _NONE, Type.BIGINT)), Type.BIGINT)
        holding = next(b for b in ROWS if most_rows(b) >= declared)
        values = (*(b for b in ROWS if b <= holding), *(b + _CUT for b in ROWS if most_rows(b) > declared))
    everybody = PerUnit(Scan(table), (), (("rows", Summary("rows", Type.BIGINT)),))
    measurement = Measurement(everybody, (GroupKey("key_0", bar, values),), (counted,), 1, 1)
    return (Part("#0", measurement, _count(counted)),)


def advise_bounds(histogram: BoughtTable, share: BoughtTable | None) -> BoundsAdvice:
    """Bounds that hold every bar which stands out of the noise."""
    bars = Bars.of(histogram)
    cut = None
    if share is not None:
        beyond, present = share.noisy.values[0]
        noises = [share.price.charge(what).mechanism for what in share.price.part.measurement.statistics]
        cut = ratio(beyond, present, [each for each in noises if isinstance(each, (LaplaceVector, GaussianVector))])
    seen = [bar for bar in bars.visible if abs(bar) < _LAST]
    if not seen:
        return BoundsAdvice(None, None, None, cut)
    first, last = min(seen[0], 0), max(seen[-1], 0)
    low, high = outer(first), outer(last)

    def outside(bar: int) -> bool:
        return not first <= bar <= last

    sides, chosen = 1 if first == 0 else 2, len({first, last} - {0} or {0})  # who is no end for standing out is bar 0
    tails = of_bounds(bars.noise, len(bars.heights), sides=sides, chosen=chosen, empty=bars.empty(outside))
    held = bars.beyond(outside, tails)
    if low == high:  # only 0 stands out: numbers up to 1 are beyond it, and within what is suggested
        return BoundsAdvice(low, low + 1, ShareInterval(0.0, held.high), cut)
    return BoundsAdvice(low, high, held, cut)


def advise_caps(sizes: BoughtTable, declared: int | None) -> CapsAdvice:
    """The smallest number at the end of a bar that 99 of 100 units which can be seen stay within."""
    bars = Bars.of(sizes)
    cut = None if declared is None else bars.beyond(lambda bar: bar > _CUT)
    seen = sorted(bars.visible, key=lambda bar: bar % _CUT)
    if not seen:
        return CapsAdvice(None, None, cut)
    total, running, last = sum(bars.heights[bar] for bar in seen), 0, seen[0]
    for last in seen:
        running += bars.heights[last]
        if running >= _NEARLY_ALL * total:
            break
    rows = most_rows(last % _CUT)
    if declared is not None and last < _CUT:  # of a bar in two, the lower half
        rows = min(rows, declared)

    def outside(bar: int) -> bool:
        return _more(bar, last)

    empty, outermost = bars.empty(outside), last == seen[-1]
    possible = 1 if outermost else _possible(bars)
    tails = of_cap(bars.noise, len(bars.heights), outermost=outermost, possible=possible, empty=empty)
    return CapsAdvice(rows, bars.beyond(outside, tails), cut)


def _possible(bars: Bars) -> int:
    """How many bars could have been the last, or more, if noise had been as far from what it is as it may be."""
    out, far = standing_out(bars.noise, len(bars.heights)), 2 * farthest(bars.noise, len(bars.heights))
    heights = [bars.heights[bar] for bar in sorted(bars.heights, key=lambda bar: (bar % _CUT, bar))]
    most = [height + far if height + far > out else 0 for height in heights]  # of what is visible
    least = [height - far if height - far > out else 0 for height in heights]
    rest = 1 - _NEARLY_ALL
    return sum(
        most[i] > 0 and sum(least[i + 1 :]) <= rest * sum(most) and sum(most[i:]) > rest * sum(least)
        for i in range(len(heights))
    )


def _more(bar: int, last: int) -> bool:
    """Whether a bar lies above another: by rows, and of a bar in two the half beyond the cap is the upper."""
    return (bar % _CUT, bar) > (last % _CUT, last)
