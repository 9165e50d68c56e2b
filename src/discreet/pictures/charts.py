"""Charts of numbers along a side: a histogram, bars, a curve, a thumbnail. Each is SVG text that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.pictures.svg import (
    ACCENT,
    INK,
    AxisScale,
    cut,
    digits,
    figure,
    line,
    plain,
    reach,
    rect,
    rounded,
    svg,
    text,
)

WIDE, NARROW = 720, 340
ERRORS = 2.0  # standard errors to either side of a mark
_ROW = 26  # a bar of a key and the room around it
_THUMBNAIL = (240.0, 72.0)
_BARS, _FIELDS = 48, (12, 40)  # of a thumbnail, that one can still tell apart
_TOP, _BOTTOM, _RIGHT = 26.0, 44.0, 14.0  # around a frame: for the name of what stands upright, and of what lies


@dataclass(frozen=True)
class Picture:
    """A picture for wide and for narrow screens, and what is said under it."""

    title: str
    note: str
    wide: str
    narrow: str

    def _repr_svg_(self) -> str:
        """As a notebook shows it."""
        return self.wide


@dataclass(frozen=True)
class Ruler:
    """How a side of a picture is divided: a column, with its bins by their edges or its keys by their labels."""

    column: str
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of the edges, where these are days, and not numbers, to people

    def __len__(self) -> int:
        return len(self.labels) or len(self.edges) - 1

    @property
    def cuts(self) -> tuple[float, ...]:
        """Where its cells begin and end: to scale, or at whole numbers if they are keys."""
        return self.edges or tuple(float(place) for place in range(len(self.labels) + 1))

    @property
    def even(self) -> bool:
        """Whether all its cells are equally wide, but for the last digits of a float."""
        sizes = [high - low for low, high in pairwise(self.cuts)]
        return max(sizes) - min(sizes) <= 1e-9 * max(sizes)

    def told(self, place: int) -> str:
        """One cell, in words."""
        if self.labels:
            return self.labels[place]
        low, high = self.names[place : place + 2] or map(plain, self.edges[place : place + 2])
        return f"{low} to {high}"

    def ticks(self, scale: AxisScale, many: int) -> list[tuple[float, str]]:
        """What is written beside it, and where: about so many round numbers, or some of its edges by name."""
        if self.labels:
            return []
        if not self.names:
            return [(tick, plain(tick)) for tick in scale.ticks(many)]
        every = -(-len(self.edges) // many)
        return [(self.edges[place], self.names[place]) for place in range(0, len(self.edges), every)]


@dataclass(frozen=True)
class Series:
    """What is drawn along a side: numbers, and how far off they may be.

    Either all have standard errors, and their bars reach two of them; or `reaches` says how far each bar goes, None for
    a number without one, which looks different. A curve has a `band` instead, from its lower to its upper edge.
    """

    title: str
    note: str
    side: Ruler
    values: tuple[float, ...]
    errors: tuple[float, ...] | None = None
    reaches: tuple[float | None, ...] | None = None
    band: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def figure(self, place: int) -> str:
        """One of them, with its error."""
        if self.bare(place):
            return f"{rounded(self.values[place], None)}, no error bar"
        half = self.half(place)
        return figure(self.values[place], half / ERRORS if half else None, ERRORS)

    def says(self, place: int) -> str:
        """One of them, and of what."""
        return f"{self.side.told(place)}: {self.figure(place)}"

    def bare(self, place: int) -> bool:
        """Whether it has no error bar, where others may have one."""
        return self.reaches is not None and self.reaches[place] is None

    def half(self, place: int) -> float:
        """How far its error bar reaches to either side."""
        if self.reaches is not None:
            return self.reaches[place] or 0.0
        return 0.0 if self.errors is None else ERRORS * self.errors[place]

    def span(self, sizes: Sequence[float]) -> tuple[float, float]:
        """From the least to the most that is drawn, and zero is."""
        low = min((value - self.half(i)) / sizes[i] for i, value in enumerate(self.values))
        high = max((value + self.half(i)) / sizes[i] for i, value in enumerate(self.values))
        return min(low, 0.0), max(high, 0.0) if max(high, 0.0) > min(low, 0.0) else 1.0


def histogram(drawn: Series, width: int = WIDE) -> str:
    """Bars to scale: the area of one is its count. Of equally wide bins the height is the count itself."""
    side, even = drawn.side, drawn.side.even
    sizes = [1.0 if even else high - low for low, high in pairwise(side.cuts)]
    per = "day" if side.names else f"1 of {side.column}"
    x, y, frame = _frame(drawn, width, drawn.span(sizes), "records" if even else f"records per {per}")
    marks, whiskers = [], []
    for place, (left, right) in enumerate(pairwise(side.cuts)):
        height, half = drawn.values[place] / sizes[place], drawn.half(place) / sizes[place]
        top, foot = sorted((y(height), y(0)))
        gap = min(1.0, (x(right) - x(left)) / 8)
        box = x(left) + gap / 2, top, x(right) - x(left) - gap, foot - top
        marks.append(_bar(box, drawn, place))
        if half:
            middle = x((left + right) / 2)
            whiskers += _whisker((middle, y(height - half), middle, y(height + half)), (x(right) - x(left)) / 4)
    zero = line((x(side.cuts[0]), y(0), x(side.cuts[-1]), y(0)), INK)
    return svg(drawn.title, drawn.note, (width, y.start + _BOTTOM), [*frame, *marks, *whiskers, zero])


def bars(drawn: Series, width: int = WIDE) -> str:
    """A bar for each key, lying, so that its label stands beside it."""
    room = min(max(map(reach, drawn.side.labels)), width * 0.36)
    low, high = drawn.span([1.0] * len(drawn.values))
    numbers = [drawn.figure(place) for place in range(len(drawn.values))]
    x = AxisScale(low, high, room + 12, width - max(map(reach, numbers)) - 12)
    foot = _TOP + _ROW * len(numbers)
    marks = [text((12, 14), cut(drawn.side.column, width - 24), kind="name")]
    for place, value in enumerate(drawn.values):
        top, half = _TOP + _ROW * place, drawn.half(place)
        left, right = sorted((x(value), x(0)))
        middle = top + _ROW / 2
        marks.append(text((room + 4, middle + 4), cut(drawn.side.labels[place], room), "end", INK, "label"))
        marks.append(_bar((left, top + 5, right - left, _ROW - 10), drawn, place))
        if half:
            marks += _whisker((x(value - half), middle, x(value + half), middle), 4)
        marks.append(text((width - 4, middle + 4), numbers[place], "end", kind="number"))
    marks.append(line((x(0), _TOP, x(0), foot), INK))
    return svg(drawn.title, drawn.note, (width, foot + 6), marks)


def curve(drawn: Series, width: int = WIDE) -> str:
    """The share of records up to each edge, as a line in a band that covers. Between two edges it is straight."""
    x, y, frame = _frame(drawn, width, (0.0, 1.0), "share of all records")
    places = [x(cutting) for cutting in drawn.side.cuts]
    middle = [(at, y(value)) for at, value in zip(places, (0.0, *drawn.values), strict=True)]
    path = f'<polyline points="{_points(middle)}" fill="none" stroke="{ACCENT}" stroke-width="2"/>'
    shown = [path]
    if drawn.band is not None:
        lower, upper = ([(at, y(end)) for at, end in zip(places, (0.0, *ends), strict=True)] for ends in drawn.band)
        around = _points([*upper, *lower[::-1]])
        shown = [f'<polygon points="{around}" fill="{ACCENT}" fill-opacity="0.2"/>', path]
    return svg(drawn.title, drawn.note, (width, y.start + _BOTTOM), [*frame, *shown])


def _bar(box: tuple[float, float, float, float], drawn: Series, place: int) -> str:
    """A bar; one without an error bar is pale, in a broken line."""
    if not drawn.bare(place):
        return rect(box, 0.55, drawn.says(place))
    outline = f'<rect class="bare" stroke="{ACCENT}" stroke-dasharray="2 2"'
    return rect(box, 0.2, drawn.says(place)).replace("<rect", outline, 1)


def _frame(drawn: Series, width: int, span: tuple[float, float], what: str) -> tuple[AxisScale, AxisScale, list[str]]:
    """Both scales, and what stands around the marks: round numbers with thin lines, and the names of both sides."""
    tall = 200 if width > NARROW else 170
    y = AxisScale(*span, _TOP + tall, _TOP)
    levels = y.ticks(4)
    words = [f"{100 * level:.0f} %" if span == (0.0, 1.0) else rounded(level, None) for level in levels]
    x = AxisScale(drawn.side.cuts[0], drawn.side.cuts[-1], max(map(reach, words)) + 10, width - _RIGHT)
    marks = [text((4, 14), cut(what, width - 8), kind="name")]
    for level, word in zip(levels, words, strict=True):
        marks.append(line((x.start, y(level), x.end, y(level))))
        marks.append(text((x.start - 6, y(level) + 4), word, "end", kind="level"))
    marks += below(drawn.side, x, y.start)
    return x, y, marks


def below(side: Ruler, x: AxisScale, foot: float) -> list[str]:
    """Under a frame: round numbers where a side is numbers, days where it is days, and its name."""
    name = text(((x.start + x.end) / 2, foot + 36), cut(side.column, x.end - x.start), "middle", kind="name")
    room = 1.5 * max(map(reach, side.names), default=0.0) + 8
    many = int((x.end - x.start) // room) if side.names else 7 if x.end - x.start > NARROW else 4
    marks = []
    for tick, word in side.ticks(x, max(2, many)):
        at, half = x(tick), reach(word) / 2 if side.names else 0.0
        anchor = "start" if at - half < x.start else "end" if at + half > x.end + _RIGHT else "middle"
        marks.append(text((at, foot + 18), word, anchor, kind="tick"))
    return [*marks, name]


def _whisker(ends: tuple[float, float, float, float], room: float) -> list[str]:
    """An error bar, with feet if there is room for them."""
    x1, y1, x2, y2 = ends
    foot = min(4.0, room)
    marks = [line(ends, INK, "error")]
    if foot < 1.5:
        return marks
    if x1 == x2:
        return [*marks, line((x1 - foot, y1, x1 + foot, y1), INK), line((x1 - foot, y2, x1 + foot, y2), INK)]
    return [*marks, line((x1, y1 - foot, x1, y1 + foot), INK), line((x2, y1 - foot, x2, y1 + foot), INK)]


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{digits(x)},{digits(y)}" for x, y in places)


def thumbnail(numbers: NDArray[np.float64]) -> str:
    """Bars along one side, fields on two; of more sides the sums over the others."""
    if numbers.ndim == 1:
        return _drawn(_bars(_joined(numbers, 0, _BARS)))
    plane = numbers.sum(axis=tuple(range(2, numbers.ndim)))
    return _drawn(_fields(_joined(_joined(plane, 0, _FIELDS[0]), 1, _FIELDS[1])))


def _drawn(marks: list[str]) -> str:
    return svg("", "", _THUMBNAIL, marks).replace('role="img"', 'aria-hidden="true" preserveAspectRatio="none"')


def _joined(numbers: NDArray[np.float64], axis: int, most: int) -> NDArray[np.float64]:
    """Sums of neighbours, such that no more than so many are left."""
    return np.add.reduceat(numbers, np.arange(0, numbers.shape[axis], -(-numbers.shape[axis] // most)), axis=axis)


def _bars(numbers: NDArray[np.float64]) -> list[str]:
    width, height = _THUMBNAIL
    most, step = max(float(numbers.max()), 1e-9), width / numbers.size
    tall = [max(1.0, height * max(0.0, float(number)) / most) for number in numbers]
    return [rect((place * step, height - each, step * 0.88, each), 0.6) for place, each in enumerate(tall)]


def _fields(numbers: NDArray[np.float64]) -> list[str]:
    most, (rows, columns) = max(float(numbers.max()), 1e-9), numbers.shape
    width, height = _THUMBNAIL[0] / columns, _THUMBNAIL[1] / rows
    return [
        rect((column * width, row * height, width * 0.94, height * 0.9), max(0.04, float(numbers[row, column]) / most))
        for row in range(rows)
        for column in range(columns)
    ]
