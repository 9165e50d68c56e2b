"""Number line of one result: an interval with its estimate, or how far down a p-value is."""

from __future__ import annotations

from collections.abc import Iterable
from math import log10

from discreet.pictures.charts import NARROW, WIDE, Picture
from discreet.pictures.svg import INK, AxisScale, cut, line, plain, reach, rect, svg, text

_SMALLEST = -4  # the power of ten at which a p-value's line ends
_TALL, _LINE = 84.0, 52.0
_SIDE = 26.0  # room beside the line, for half a number


def interval_line(title: str, name: str, span: tuple[float, float], told: tuple[float, float, float]) -> Picture:
    """An interval on the line of all that a number may be; `told` is where it begins, the estimate, where it ends."""
    low, middle, high = told
    note = "The band is the interval, and the line in it the estimate, on all that is declared as possible."

    def drawn(width: float) -> str:
        x = AxisScale(*span, _SIDE, width - _SIDE)
        left, right = (min(max(x(end), x.start), x.end) for end in (low, high))
        place = min(max(x(middle), left), right)
        band = rect((left, _LINE - 15, max(right - left, 2.0), 30), 0.4, f"{plain(low)} to {plain(high)}")
        estimate = rect((place - 1.5, _LINE - 19, 3, 38), 1.0, plain(middle))
        marks = [text((x.start, 16), cut(name, width - 2 * _SIDE), kind="name"), *_axis(x, _ticks(x, width))]
        return svg(title, note, (width, _TALL + 12), [*marks, band, estimate])

    return Picture(title, note, drawn(WIDE), drawn(NARROW))


def p_value_line(p: float) -> Picture:
    """A p-value on a line from 1 down to 0.0001, each tick a tenth of the one before; below 0.05 is shaded."""
    title = "How hard it is to believe"
    note = "The farther to the right, the more speaks against it. The shaded part is below 0.05."
    where = max(log10(max(p, 1e-300)), float(_SMALLEST))

    def drawn(width: float) -> str:
        x = AxisScale(0.0, float(_SMALLEST), _SIDE, width - _SIDE)
        ticks = [(float(power), plain(10.0**power)) for power in range(0, _SMALLEST - 1, -1)]
        shaded = rect((x(log10(0.05)), _LINE - 15, x.end - x(log10(0.05)), 30), 0.18, "below 0.05")
        marker = rect((x(where) - 2, _LINE - 19, 4, 38), 1.0, plain(p))
        ends = text((x.start - 20, 16), "nothing against it"), text((width - 6, 16), "hard to believe", "end")
        return svg(title, note, (width, _TALL + 12), [*ends, shaded, *_axis(x, ticks), marker])

    return Picture(title, note, drawn(WIDE), drawn(NARROW))


def _ticks(x: AxisScale, width: float) -> list[tuple[float, str]]:
    return [(tick, plain(tick)) for tick in x.ticks(8 if width > NARROW else 4)]


def _axis(x: AxisScale, ticks: Iterable[tuple[float, str]]) -> list[str]:
    marks = [line((x.start, _LINE, x.end, _LINE), INK)]
    for tick, word in ticks:
        marks.append(line((x(tick), _LINE, x(tick), _LINE + 20), INK))
        near = min(max(x(tick), reach(word) / 2 + 2), x.end + _SIDE - reach(word) / 2 - 2)
        marks.append(text((near, _LINE + 36), word, "middle", kind="level"))
    return marks
