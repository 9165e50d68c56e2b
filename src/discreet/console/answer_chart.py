"""The picture of an answer: one bar for each group, or one dot for a single number, with where the truth may lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.curator import Answer
from discreet.curator.significant_digits import Span, is_number, key

MOST = 40  # bars that one can still tell apart
_TICKS = 6
_MARGIN = 0.25  # of an error bar, on either side of a single dot


@dataclass(frozen=True)
class Bar:
    """A number, whose it is, and between which numbers the truth lies."""

    label: str
    cell: object
    value: float
    span: Span


@dataclass(frozen=True)
class Axis:
    """From where to where a picture goes, and the round numbers in between."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Where a number lies, in per cent from the left."""
        return round(100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low))), 3)


def measures(answer: Answer, spans: Sequence[Sequence[Span]]) -> tuple[int, ...]:
    """The columns that hold numbers with an error; if no number has one, all that hold numbers."""
    numbers = [each for each, kind in enumerate(answer.types) if is_number(kind)]
    noisy = [each for each in numbers if any(row[each] is not None for row in spans)]
    return tuple(noisy or numbers)


def bars(answer: Answer, spans: Sequence[Sequence[Span]], column: int) -> tuple[Bar, ...]:
    """One bar for each row whose cell in a column is a number."""
    noisy = {place for place, has in enumerate(answer.noisy) if has}  # a day that is measured names no group
    shown = noisy | set(measures(answer, spans))
    found = []
    for row, span in zip(answer.rows, spans, strict=True):
        cell = row[column]
        if cell is None or isinstance(cell, (bool, str)) or not math.isfinite(float(str(cell))):
            continue
        names = [key(each) for place, each in enumerate(row) if place not in shown]
        found.append(Bar(" · ".join(names), cell, float(str(cell)), span[column]))
    return tuple(found)


def axis(shown: Sequence[Bar], *, from_zero: bool) -> Axis:
    """An axis that has room for every bar and its error."""
    ends = [end for bar in shown for end in (bar.value, *(bar.span or ()))]
    ends = [end for end in ends if math.isfinite(end)] or [0.0]
    low, high = min(ends), max(ends)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
    else:
        room = _MARGIN * (high - low) or abs(high) * _MARGIN or 1.0
        low, high = low - room, high + room
    if low == high:
        high = low + 1.0
    step = _round_step((high - low) / _TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    if not from_zero:
        first, last = math.ceil(low / step), math.floor(high / step)
        return Axis(low, high, tuple(each * step for each in range(first, last + 1)))
    return Axis(first * step, last * step, tuple(each * step for each in range(first, last + 1)))


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(each * power for each in (1.0, 2.0, 5.0, 10.0) if each * power >= rough * (1 - 1e-9))
