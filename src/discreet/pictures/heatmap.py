"""Heat map of numbers on two sides: a field for each pair, the stronger the more records it has."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from discreet.pictures.charts import NARROW, WIDE, Ruler, below
from discreet.pictures.svg import INK, AxisScale, cut, reach, rect, rounded, svg, text

_TOLD = 400  # fields that say their numbers: more would make a page heavy, and nobody can point at them
_SHADES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the legend
_TOP, _RIGHT = 26.0, 14.0


@dataclass(frozen=True)
class Plane:
    """What is drawn: a row of numbers for each cell of the side that stands upright."""

    title: str
    note: str
    upright: Ruler
    lying: Ruler
    values: tuple[tuple[float, ...], ...]

    @property
    def even(self) -> bool:
        """Whether all fields have one size, so that a shade can stand for a count."""
        return self.upright.even and self.lying.even

    @property
    def dense(self) -> list[list[float]]:
        """Records for the size of each field: what the shades stand for."""
        tall = [1.0 if self.even else high - low for low, high in pairwise(self.upright.cuts)]
        wide = [1.0 if self.even else high - low for low, high in pairwise(self.lying.cuts)]
        return [
            [value / (up * along) for value, along in zip(row, wide, strict=True)]
            for row, up in zip(self.values, tall, strict=True)
        ]

    def says(self, row: int, column: int) -> str:
        """One field, in words."""
        count = rounded(self.values[row][column], None)
        return f"{self.upright.told(row)}, {self.lying.told(column)}: {count}"


def heat(plane: Plane, width: int = WIDE) -> str:
    """The fields to scale, nothing where there are no records or less, and what the shades stand for."""
    rows, columns = len(plane.upright), len(plane.lying)
    room = min(max(map(reach, _words(plane.upright))), width * 0.3)
    x = AxisScale(plane.lying.cuts[0], plane.lying.cuts[-1], room + 14, width - _RIGHT)
    foot = _TOP + max(160.0, min(26.0 * rows, 360.0 if width > NARROW else 260.0))
    ends = (_TOP, foot) if plane.upright.labels else (foot, _TOP)  # keys go down as one reads, numbers rise
    y = AxisScale(plane.upright.cuts[0], plane.upright.cuts[-1], *ends)
    dense = plane.dense
    most = max(max(row) for row in dense)
    fields = []
    for i, (low, high) in enumerate(pairwise(plane.upright.cuts)):
        for j, (left, right) in enumerate(pairwise(plane.lying.cuts)):
            shade = dense[i][j] / most if most > 0 else 0.0
            if shade <= 0 and rows * columns > _TOLD:
                continue
            box = x(left), min(y(low), y(high)), x(right) - x(left), abs(y(high) - y(low))
            fields.append(rect(box, max(shade, 0.0), plane.says(i, j) if rows * columns <= _TOLD else ""))
    marks = [text((4, 14), cut(plane.upright.column, width - 8), kind="name")]
    marks.append(f'<g class="fields" shape-rendering="crispEdges">{"".join(fields)}</g>')
    frame = x.start, _TOP, x.end - x.start, foot - _TOP
    marks += [_outline(frame), *_beside(plane.upright, y, room), *_labels(plane.lying, x, foot)]
    marks += below(plane.lying, x, foot)
    what = "records in a field" if plane.even else "records for the size of a field"
    marks += _legend(most, what, (x.start, foot + 56), x.end - x.start)
    return svg(plane.title, plane.note, (width, foot + 106), marks)


def _outline(box: tuple[float, float, float, float]) -> str:
    return rect(box, 0).replace("<rect", '<rect class="frame" stroke="var(--d-line,#dfe5e3)"')


def _words(side: Ruler) -> list[str]:
    return list(side.labels) or [word for _, word in side.ticks(AxisScale(side.cuts[0], side.cuts[-1], 0, 1), 6)]


def _beside(side: Ruler, y: AxisScale, room: float) -> list[str]:
    """Left of the fields: numbers at their height, keys beside their field, as many as fit."""
    if not side.labels:
        return [text((room + 6, y(tick) + 4), word, "end", kind="level") for tick, word in side.ticks(y, 6)]
    every = 1 + int(13 * len(side) // abs(y.end - y.start))
    return [
        text(
            (room + 6, y((side.cuts[place] + side.cuts[place + 1]) / 2) + 4),
            cut(side.labels[place], room),
            "end",
            INK,
            "label",
        )
        for place in range(0, len(side), every)
    ]


def _labels(side: Ruler, x: AxisScale, foot: float) -> list[str]:
    """Under the fields: keys below their field, as many as fit."""
    if not side.labels:
        return []
    room = (x.end - x.start) / len(side)
    every = 1 + int(34 // room)
    return [
        text(
            (x((side.cuts[place] + side.cuts[place + 1]) / 2), foot + 18),
            cut(side.labels[place], room * every - 4),
            "middle",
            INK,
            "label",
        )
        for place in range(0, len(side), every)
    ]


def _legend(most: float, what: str, place: tuple[float, float], width: float) -> list[str]:
    left, top = place
    step = min(64.0, width / len(_SHADES))
    marks = [text((left, top + 12), what, kind="legend")]
    for i, shade in enumerate(_SHADES):
        box = left + step * i, top + 20, step, 10.0
        says = "0 or less" if not shade else rounded(float(f"{shade * most:.3g}"), None)
        marks.append(rect(box, shade).replace("<rect", '<rect class="shade" stroke="var(--d-line,#dfe5e3)"'))
        marks.append(text((left + step * (i + 0.5), top + 44), says if shade or step > 50 else "≤ 0", "middle"))
    return marks
