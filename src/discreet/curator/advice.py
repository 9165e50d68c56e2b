"""Bounds and caps, bought: what the declared ones cut off, and which ones would cut off less.

Bounds and caps never come from data unless a mechanism paid. Here one does: a histogram over powers of two, which
needs no bounds itself, with noise on every bar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.measure import Noisy
from discreet.curator.price import Priced
from discreet.curator.till import Bought
from discreet.errors import Refusal
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.sql.aggregate import Aggregate
from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.plan import GroupKey, Measurement, Statistic
from discreet.sql.question import Part
from discreet.sql.range import Grid
from discreet.sql.rows import PerUnit, Scan, Summary
from discreet.sql.schema import Table, Type
from discreet.sql.shape import shape

# Bar 0 holds what is below 2^−20 in size, bar ±b the sizes from 2^(b−21) up to 2^(b−20), ±61 also what is beyond.
BARS = tuple(range(-61, 62))
_RARE = Fraction(1, 1000)  # how often an empty bar may stand out of the noise


@dataclass(frozen=True)
class BoundsAdvice:
    """Between which numbers nearly all values of a column lie, as far as the noise lets one see."""

    low: Fraction
    high: Fraction
    cut: float | None  # the share of values beyond the declared bounds; None where none are declared


@dataclass(frozen=True)
class CapsAdvice:
    """How many rows a unit has, as far as the noise lets one see."""

    rows: int  # 99 of 100 units have at most so many
    cut: float | None  # the share of units with more than the declared max_rows; None where none is declared


def outer(bar: int) -> Fraction:
    """The end of a bar that is farther from zero."""
    return Fraction(0) if bar == 0 else Fraction(2) ** (abs(bar) - 20) * (1 if bar > 0 else -1)


def _bar(column: Field) -> GroupKey:
    return GroupKey("key_0", Call("bar", (column,), Type.BIGINT), BARS)


def _count(statistic: Statistic) -> tuple[Aggregate, ...]:
    return (Aggregate("value_0", "count", (statistic,)),)


def bounds_parts(table: Table, column: str) -> tuple[Part, ...]:
    """What is measured to advise on bounds: a histogram of sizes, and how many values the declared bounds cut."""
    declared = table.column(column)
    if not declared.type.numeric:
        raise Refusal(f"column {column!r} is {declared.type.value}: only numbers have bounds that can be bought")
    rows, value = Scan(table), Field(declared.name, declared.type)
    below = shape(rows)
    counted = Statistic("rows")
    histogram = Measurement(rows, (_bar(value),), (counted,), below.max_rows, below.max_rows or 1)
    histogram.needs_rows_cap("advice on bounds")
    parts = [Part("#0", histogram, _count(counted))]
    if declared.bounds is not None:
        beyond = Statistic("total", _beyond(value, declared.bounds), Grid(0, 1, Fraction(1)))
        present = Statistic("present", value)
        share = Measurement(rows, (), (beyond, present), below.max_rows, below.max_groups)
        parts.append(Part("#1", share, ()))
    return tuple(parts)


def _beyond(value: Field, bounds: tuple[Fraction, Fraction]) -> Expression:
    low, high = (Literal(float(end), Type.DOUBLE) for end in bounds)
    one, none = Literal(1, Type.BIGINT), Literal(0, Type.BIGINT)
    outside = (Call("<", (value, low), Type.BOOLEAN), one), (Call(">", (value, high), Type.BOOLEAN), one)
    return Case(outside, none, Type.BIGINT)


def caps_parts(table: Table) -> tuple[Part, ...]:
    """What is measured to advise on caps: how many units have how many rows. A unit is in one bar."""
    if table.unit is None:
        raise Refusal(f"every row of {table.name!r} is its own unit, so nothing is capped")
    counted = Statistic("units")
    measurement = Measurement(
        PerUnit(Scan(table), (), (("rows", Summary("rows", Type.BIGINT)),)),
        (_bar(Field("rows", Type.BIGINT)),),
        (counted,),
        1,
        1,
    )
    return (Part("#0", measurement, _count(counted)),)


def _heights(noisy: Noisy) -> dict[int, int]:
    return {int(str(group[0])): row[0] for group, row in zip(noisy.groups, noisy.values, strict=True)}


def _visible(heights: dict[int, int], price: Priced) -> list[int]:
    """The bars that stand out of the noise."""
    mechanism = price.charge(price.part.measurement.statistics[0]).mechanism
    if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
        raise Refusal("a histogram needs additive noise")
    threshold = mechanism.error(1 - _RARE / len(heights))
    return [bar for bar, height in heights.items() if height > threshold]


def advise_bounds(histogram: Bought, share: Bought | None) -> BoundsAdvice | None:
    """Bounds that hold every bar which stands out of the noise; None if none does."""
    seen = _visible(_heights(histogram.noisy), histogram.price)
    if not seen:
        return None
    low, high = min(outer(min(seen)), Fraction(0)), max(outer(max(seen)), Fraction(0))
    cut = None
    if share is not None:
        beyond, present = share.noisy.values[0]
        cut = min(1.0, max(0, beyond) / max(1, present))
    return BoundsAdvice(low, high if high > low else low + 1, cut)


def advise_caps(sizes: Bought, declared: int | None) -> CapsAdvice:
    """The smallest number of the form 2^k − 1 that 99 of 100 units stay within."""
    heights = {bar: max(0, height) for bar, height in _heights(sizes.noisy).items() if bar > 20}
    total, running, rows = max(1, sum(heights.values())), 0, 1
    for bar in sorted(heights):
        running, rows = running + heights[bar], int(outer(bar)) - 1
        if running >= math.ceil(total * 0.99):
            break
    above = None
    if declared is not None:
        above = sum(height for bar, height in heights.items() if outer(bar) / 2 > declared) / total
    return CapsAdvice(max(1, rows), above)
