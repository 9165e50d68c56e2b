"""Calendar bins: where hours, days, weeks, months, quarters and years begin between two bounds, in steps.

A step is a day of a date, and a second of a timestamp, both counted from when 1970 began. The first bin begins at the
lower bound and the last one ends after the upper bound, wherever the calendar has its edges.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right

from discreet.declared.group_key import Type
from discreet.errors import Refusal
from discreet.mechanisms import Bins, Grid
from discreet.mechanisms.private_rows import MOST_UNEVEN

_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_DAYS = {"day": 1, "week": 7}
UNITS = ("hour", *_DAYS, *_MONTHS)  # the finer ones first
_A_DAY, _AN_HOUR = 86_400, 3600  # seconds
_MONDAY = 4  # the first Monday of 1970, in days after it began
_FIRST, _LAST = ((end - dt.date(1970, 1, 1)).days for end in (dt.date.min, dt.date.max))
_MOST = 1 << 20


def calendar(column: str, line: Grid, kind: Type, unit: str) -> Bins:
    """Bins of a calendar's units between the bounds."""
    if unit == "hour" and kind is Type.DATE:
        raise Refusal(f"column {column!r} has days, and hours were asked for", hint="take day, week or month")
    edges = _edges(line, kind, unit)
    if len(edges) - 1 > (MOST_UNEVEN if unit in _MONTHS else _MOST):
        raise Refusal(f"there are {len(edges) - 1:,} bins of a {unit} in {column!r}", hint="take a longer unit")
    return Bins(column, edges)


def usual_calendar(column: str, line: Grid, kind: Type, most: int) -> Bins:
    """Bins of the shortest unit of which there are not more than so many; else equal ones."""
    for unit in UNITS[kind is Type.DATE :]:
        if _fewest(line, kind, unit) <= most:
            edges = _edges(line, kind, unit)
            if len(edges) - 1 <= most:
                return Bins(column, edges)
    end = line.high + 1
    return Bins(column, tuple(line.low + i * (end - line.low) // most for i in range(most + 1)))


def _fewest(line: Grid, kind: Type, unit: str) -> float:
    """About how many there are, from below."""
    length = _AN_HOUR / _A_DAY if unit == "hour" else _DAYS[unit] if unit in _DAYS else 28 * _MONTHS[unit]
    return line.span / (length * (1 if kind is Type.DATE else _A_DAY)) - 2


def _edges(line: Grid, kind: Type, unit: str) -> tuple[int, ...]:
    low, end, scale = line.low, line.high + 1, 1 if kind is Type.DATE else _A_DAY
    if unit in _MONTHS:
        inside = _months(low // scale, -(-end // scale), _MONTHS[unit])
        starts = [day * scale for day in inside]
        return (low, *starts[bisect_right(starts, low) : bisect_right(starts, end - 1)], end)
    width = _AN_HOUR if unit == "hour" else _DAYS[unit] * scale
    start = low - (low - (_MONDAY * scale if unit == "week" else 0)) % width
    return (low, *range(start + width, end, width), end)


def _months(first: int, last: int, every: int) -> list[int]:
    """The days on which months begin of which the year has every so-manieth, from one day to another."""
    begin, end = (dt.date(1970, 1, 1) + dt.timedelta(days=min(max(day, _FIRST), _LAST)) for day in (first, last))
    months = range((begin.year * 12) // every * every, end.year * 12 + 12, every)
    dates = [dt.date(month // 12, month % 12 + 1, 1) for month in months if 12 <= month < 12 * 10_000]
    return [(date - dt.date(1970, 1, 1)).days for date in dates]
