"""Numbers as people read them: no more digits than the noise leaves a meaning to."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

Span = tuple[float, float] | None

NO_BAR = "no error bar"

_SUBTRACTED = 1 - 1e-12  # a difference of doubles may be too large by this share
_NUMBERS = frozenset({"bigint", "double"})
_EVEN = 0.1  # of an error, by which its two sides may differ and still be called one
_FURTHEST = 15  # digits before or behind the point, beyond which a power of ten is written


def is_number(kind: str) -> bool:
    """Whether cells of this type are numbers."""
    return kind in _NUMBERS


def plain(cell: object) -> str:
    """A cell without an error."""
    match cell:
        case None:
            return "no value"
        case bool():
            return "true" if cell else "false"
        case int() if abs(cell) < 10**_FURTHEST:
            return f"{cell:,}"
        case float() if not math.isfinite(cell):
            return str(cell)
        case float() | int():
            return f"{cell:,.6g}" if abs(cell) < 10**6 else _rounded(cell, 0)
        case _:
            return str(cell)


def key(cell: object) -> str:
    """A cell that names a group: 2024 is a year, not 2,024."""
    return str(cell) if isinstance(cell, int) and not isinstance(cell, bool) else plain(cell)


def error(size: float) -> str:
    """An error by itself: two digits of it."""
    return _rounded(size * _SUBTRACTED, _place(size), ROUND_CEILING) if size else "0"


def measured(cell: object, span: Span) -> tuple[str, str]:
    """A cell and its error: 12,346 and ± 120, or from where to where if its two sides differ.

    What is shown covers what was found: an error is rounded up, and an end outward.
    """
    if cell is None or isinstance(cell, (bool, str)) or span is None:
        return plain(cell), ""
    value, (low, high) = float(str(cell)), span
    if not all(map(math.isfinite, (value, low, high))):
        return plain(cell), ""
    down, up = value - low, high - value
    size = max(down, up)
    if size <= 0:
        return plain(cell), "± 0"
    place = max(0, _place(size)) if isinstance(cell, int) else _place(size)
    if min(down, up) < 0 or abs(up - down) > _EVEN * size:
        ends = _rounded(low, place, ROUND_FLOOR), _rounded(high, place, ROUND_CEILING)
        return _rounded(value, place), f"{ends[0]} to {ends[1]}"
    cut = abs(value - float(_rounded(value, place).replace(",", "")))  # what rounding takes from the number itself
    return _rounded(value, place), f"± {_rounded((size + cut) * _SUBTRACTED, place, ROUND_CEILING)}"


def _place(size: float) -> int:
    """The power of ten of an error's second digit."""
    return math.floor(math.log10(size)) - 1 if size > 0 else 0


def _rounded(value: float, place: int, way: str = ROUND_HALF_EVEN) -> str:
    """A number to a power of ten."""
    if abs(place) > _FURTHEST or abs(value) >= 10**_FURTHEST:
        return f"{value:.3g}"
    exact = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(place), way)
    text = f"{exact:,.{max(0, -place)}f}"
    return text.removeprefix("-") if not exact else text
