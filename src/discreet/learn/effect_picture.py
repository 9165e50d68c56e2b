"""Picture of an effect in an additive model: steps between cuts, or a bar for each key; and of coefficients as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from discreet.declared.group_key import Key
from discreet.pictures import Picture
from discreet.pictures.charts import NARROW, WIDE
from discreet.pictures.svg import ACCENT, INK, LINE, AxisScale, cut, digits, line, plain, rect, svg, text

_TALL, _TOP, _LEFT, _ROW = 150, 26, 56, 24
_NOTE = "Noise is in it; how far off it may be is not known."


class Drawable(Protocol):
    """What is drawn of an effect."""

    @property
    def name(self) -> str:
        """The feature."""
        ...

    @property
    def cuts(self) -> tuple[float, ...]:
        """Between its places."""
        ...

    @property
    def keys(self) -> tuple[Key, ...]:
        """Its places, if they are keys."""
        ...

    @property
    def values(self) -> tuple[float, ...]:
        """What it adds at each."""
        ...

    @property
    def low(self) -> float:
        """Where numbers begin."""
        ...

    @property
    def high(self) -> float:
        """Where they end."""
        ...


def effect_picture(effect: Drawable, what: str, wide: float) -> Picture:
    """Drawn on a scale from −wide to wide, for wide and narrow screens."""
    title, note = effect.name, f"What {effect.name} adds. {_NOTE}"
    if effect.keys:
        return bars_picture((title, note), what, list(zip(map(str, effect.keys), effect.values, strict=True)), wide)
    drawn = (
        svg(title, note, (width, height), marks)
        for width in (WIDE, NARROW)
        for height, marks in (_steps(effect, what, wide, width),)
    )
    return Picture(title, note, *drawn)


def coefficients_picture(title: str, what: str, features: Sequence[str], values: Sequence[float]) -> Picture:
    """A bar for each coefficient, those that are largest first."""
    order = sorted(zip(features, values, strict=True), key=lambda each: -abs(each[1]))
    wide = max((abs(value) for value in values), default=1.0) or 1.0
    return bars_picture((title, f"For one more of each feature, in its own units. {_NOTE}"), what, order, wide)


def bars_picture(said: tuple[str, str], what: str, bars: Sequence[tuple[str, float]], wide: float) -> Picture:
    """A bar for each of several numbers, on a scale from −wide to wide; `said` are a title and a note."""
    both = [(width, *_bars(bars, what, wide, width)) for width in (WIDE, NARROW)]
    return Picture(*said, *(svg(*said, (width, height), marks) for width, height, marks in both))


def _steps(effect: Drawable, what: str, wide: float, width: int) -> tuple[float, Sequence[str]]:
    ends = (min(effect.low, *effect.cuts), max(effect.high, *effect.cuts)) if effect.cuts else (0.0, 1.0)
    if ends[0] == ends[1]:
        ends = (ends[0], ends[0] + 1)
    x, y = AxisScale(*ends, _LEFT, width - 14), AxisScale(-wide, wide, _TOP + _TALL, _TOP)
    edges = [ends[0], *effect.cuts, ends[1]]
    path = [
        f"{digits(x(at))},{digits(y(value))}"
        for i, value in enumerate(effect.values)
        for at in (edges[i], edges[i + 1])
    ]
    marks = [text((4, 14), cut(what, width - 8), kind="name")]
    for level in y.ticks(4):
        marks.append(line((_LEFT, y(level), width - 14, y(level)), INK if abs(level) < wide * 1e-9 else LINE))
        marks.append(text((_LEFT - 6, y(level) + 4), plain(level), "end", kind="level"))
    ticks = x.ticks(6 if width > NARROW else 3)
    marks += [text((x(tick), _TOP + _TALL + 16), plain(tick), "middle", kind="tick") for tick in ticks]
    marks.append(f'<polyline points="{" ".join(path)}" fill="none" stroke="{ACCENT}" stroke-width="2"/>')
    return _TOP + _TALL + 26, marks


def _bars(bars: Sequence[tuple[str, float]], what: str, wide: float, width: int) -> tuple[float, Sequence[str]]:
    room = width * 0.34
    x = AxisScale(-wide, wide, room + 12, width - 60)
    marks = [text((4, 14), cut(what, width - 8), kind="name")]
    for i, (key, value) in enumerate(bars):
        top = _TOP + _ROW * i
        left, right = sorted((x(0), x(value)))
        marks.append(text((room, top + 15), cut(key, room), "end", INK))
        marks.append(rect((left, top + 4, right - left, _ROW - 8), 0.55, f"{key}: {plain(value)}"))
        marks.append(text((width - 4, top + 15), plain(round(value, 3)), "end", kind="number"))
    foot = _TOP + _ROW * len(bars)
    marks.append(line((x(0), _TOP, x(0), foot), INK))
    return foot + 6, marks
