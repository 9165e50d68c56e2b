"""The error bars of an answer in a few lines, for who looks at rows in a terminal."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

from discreet.curator import Answer

_MOST = 12  # columns of which something is said
_UP = Context(prec=3, rounding=ROUND_CEILING)


def told(answer: Answer, names: list[str]) -> tuple[str, ...]:
    """A line for each column that has noise in it: how far off it may be, or that nobody can say."""
    lines = []
    for i, name in enumerate(names):
        spans = [row[i] for row in answer.spans]
        cells = [row[i] for row in answer.rows]
        if any(span is not None for span in spans):
            errors = [_error(cell, span) for cell, span in zip(cells, spans, strict=True) if span is not None]
            some = "" if None not in spans else "; some rows have no error bar"
            lines.append(f"{name} ± {_short(max(errors))}{' or less' if len(set(errors)) > 1 else ''}{some}")
        elif answer.noisy and answer.noisy[i] and cells:
            lines.append(f"{name}: no error bar")
    if not lines:
        return ()
    more = [f"and {len(lines) - _MOST} columns more"] if len(lines) > _MOST else []
    return (f"error bars at {100 * float(answer.confidence):g} % confidence:", *lines[:_MOST], *more)


def _error(cell: object, span: tuple[float, float]) -> float:
    """How far an interval reaches from the number that is shown."""
    value = float(str(cell))
    return max(value - span[0], span[1] - value)


def _short(error: float) -> str:
    """Three digits, rounded up; a whole number stays what it is."""
    if error == math.floor(error) and error < 10**15:
        return f"{error:.0f}"
    return f"{_UP.create_decimal(Decimal(error)):f}"
