"""Numbers as people read them: no more digits than the noise leaves a meaning to."""

from __future__ import annotations

import math
from decimal import Decimal

Span = tuple[float, float] | None

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
    return _rounded(size, _place(size)) if size else "0"


def measured(cell: object, span: Span) -> tuple[str, str]:
    """A cell and its error: 12,346 and ± 120, or from where to where if its two sides differ."""
    if cell is None or isinstance(cell, (bool, str)) or span is None:
        return plain(cell), ""
    value, (low, high) = float(str(cell)), span
    if not all(map(math.isfinite, (value, low, high))):
        return plain(cell), ""
    down, up = value - low, high - value
    size = max(down, up)
    if size <= 0:
        return plain(cell), "± 0"
    place = _place(size)
    if min(down, up) < 0 or abs(up - down) > _EVEN * size:
        return _rounded(value, place), f"{_rounded(low, place)} to {_rounded(high, place)}"
    return _rounded(value, place), f"± {_rounded(size, place)}"


def _place(size: float) -> int:
    """The power of ten of an error's second digit."""
    return math.floor(math.log10(size)) - 1 if size > 0 else 0


def _rounded(value: float, place: int) -> str:
    """A number to a power of ten."""
    if abs(place) > _FURTHEST or abs(value) >= 10**_FURTHEST:
        return f"{value:.3g}"
    exact = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(place))
    text = f"{exact:,.{max(0, -place)}f}"
    return text.removeprefix("-") if not exact else text
