"""Lines along a side, each in a band that covers if it has one: numbers that grow with time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.pictures.charts import NARROW, WIDE, Picture
from discreet.pictures.svg import ACCENT, INK, AxisScale, cut, line, plain, reach, rounded, svg, text

_TOP, _FOOT, _RIGHT = 26.0, 44.0, 14.0
_POINTS = 360  # of a line, at most: more are narrower than it
_COLOURS = (ACCENT, "#b5651d", "#8e4585", "#2e7d6b", "#5b6b8c", "#a23b3b", "#6b7a1f", "#3a7ca5")


@dataclass(frozen=True)
class Line:
    """Numbers at steps 1, 2, …; how far off each may be, or none; thin and in ink if they are the truth."""

    name: str
    values: tuple[float, ...]
    halves: tuple[float, ...] = ()
    truth: bool = False

    def edge(self, side: int) -> tuple[float, ...]:
        """The upper or the lower end of its band."""
        return tuple(value + side * half for value, half in zip(self.values, self.halves, strict=True))


def lines(said: tuple[str, str], drawn: Sequence[Line], sides: tuple[str, str], last: int) -> Picture:
    """Title and note, lines, what lies and what stands, and the last step there is room for."""
    wide, narrow = (_lines(said, drawn, sides, (last, width)) for width in (WIDE, NARROW))
    return Picture(*said, wide, narrow)


def _lines(said: tuple[str, str], drawn: Sequence[Line], sides: tuple[str, str], size: tuple[int, int]) -> str:
    last, width = size
    ends = [end for each in drawn for side in (-1, 1) for end in (each.edge(side) if each.halves else each.values)]
    low, high = min([0.0, *ends]), max([1.0, *ends])
    y = AxisScale(low, high, _TOP + (200 if width > NARROW else 170), _TOP)
    levels = y.ticks(4)
    words = [rounded(level, None) for level in levels]
    x = AxisScale(0.0, float(max(last, 1)), max(map(reach, words)) + 10, width - _RIGHT)
    marks = [text((4, 14), cut(sides[1], width - 8), kind="name")]
    for level, word in zip(levels, words, strict=True):
        marks.append(line((x.start, y(level), x.end, y(level))))
        marks.append(text((x.start - 6, y(level) + 4), word, "end", kind="level"))
    ticks = x.ticks(7 if width > NARROW else 4)
    marks += [text((x(tick), y.start + 18), plain(tick), "middle", kind="tick") for tick in ticks]
    marks.append(text(((x.start + x.end) / 2, y.start + 36), sides[0], "middle", kind="name"))
    for place, each in enumerate(drawn):
        marks += _one(each, INK if each.truth else _COLOURS[place % len(_COLOURS)], x, y)
    return svg(*said, (width, y.start + _FOOT), [*marks, *_names(drawn, width)])


def _one(each: Line, colour: str, x: AxisScale, y: AxisScale) -> list[str]:
    every = max(1, -(-len(each.values) // _POINTS))
    at = [*range(0, len(each.values), every)]
    if each.values and at[-1] != len(each.values) - 1:
        at.append(len(each.values) - 1)
    path = " ".join(f"{x(place + 1):.1f},{y(each.values[place]):.1f}" for place in at)
    thick = 1 if each.truth else 2
    marks = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{thick}"/>']
    if each.halves and at:
        above, beneath = each.edge(1), each.edge(-1)
        upper = [f"{x(place + 1):.1f},{y(above[place]):.1f}" for place in at]
        lower = [f"{x(place + 1):.1f},{y(beneath[place]):.1f}" for place in reversed(at)]
        marks.insert(0, f'<polygon points="{" ".join([*upper, *lower])}" fill="{colour}" fill-opacity="0.15"/>')
    return marks


def _names(drawn: Sequence[Line], width: int) -> list[str]:
    """Which line is which, at the top, from the right."""
    marks, right = [], float(width - _RIGHT)
    for place, each in reversed(list(enumerate(drawn))):
        if not each.name or right < width / 3:
            continue
        colour = INK if each.truth else _COLOURS[place % len(_COLOURS)]
        marks.append(text((right, 14), each.name, "end", colour, "label"))
        right -= reach(each.name) + 14
    return marks
