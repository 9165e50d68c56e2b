"""Charts that compare: shares of two sets of rows along one side, and a square of numbers for every two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from discreet.pictures.charts import NARROW, WIDE, Picture, Ruler, below
from discreet.pictures.svg import INK, AxisScale, cut, digits, line, reach, rect, svg, text

_TOP, _ROW, _RIGHT = 26.0, 22.0, 14.0
_SHADE = 0.45  # of a bar
_WRITTEN = 16  # columns of a square in which each field says its number


@dataclass(frozen=True)
class Shares:
    """What is drawn: the share of each cell of a side among some rows, as bars, and among others, as dark lines."""

    title: str
    note: str
    side: Ruler
    bars: tuple[float, ...]
    lines: tuple[float, ...]

    def says(self, place: int) -> str:
        """One cell, in words."""
        return f"{self.side.told(place)}: {_percent(self.bars[place])}, and {_percent(self.lines[place])}"


def compared(drawn: Shares) -> Picture:
    """Both sets of shares in one picture: lying bars for keys, standing ones for bins."""
    draw = _keys if drawn.side.labels else _bins
    return Picture(drawn.title, drawn.note, draw(drawn, WIDE), draw(drawn, NARROW))


def square(title: str, note: str, names: Sequence[str], values: Sequence[Sequence[float]]) -> Picture:
    """A field for every two columns, the stronger the nearer its number is to 1."""
    return Picture(title, note, *(_square((title, note), names, values, width) for width in (WIDE, NARROW)))


def _keys(drawn: Shares, width: int) -> str:
    labels = drawn.side.labels
    room = min(max(map(reach, labels)), width * 0.36)
    most = max(*drawn.bars, *drawn.lines, 1e-9)
    x = AxisScale(0.0, most, room + 12, width - reach("100.0 %") - 16)
    marks = [text((12, 14), cut(drawn.side.column, width - 24), kind="name")]
    for place, label in enumerate(labels):
        top = _TOP + _ROW * place
        marks.append(text((room + 4, top + _ROW / 2 + 4), cut(label, room), "end", INK, "label"))
        bar = x.start, top + 4, x(drawn.bars[place]) - x.start, _ROW - 8
        marks.append(rect(bar, _SHADE, drawn.says(place)))
        at = x(drawn.lines[place])
        marks.append(line((at, top + 2, at, top + _ROW - 2), INK))
        marks.append(text((width - 4, top + _ROW / 2 + 4), _percent(drawn.bars[place]), "end", kind="number"))
    return svg(drawn.title, drawn.note, (width, _TOP + _ROW * len(labels) + 6), marks)


def _bins(drawn: Shares, width: int) -> str:
    """Of bins that are not equally wide, the area of a bar is its share."""
    side, cuts = drawn.side, drawn.side.cuts
    sizes = [1.0 if side.even else (high - low) / (cuts[-1] - cuts[0]) for low, high in pairwise(cuts)]
    tall = [[share / size for share, size in zip(shares, sizes, strict=True)] for shares in (drawn.bars, drawn.lines)]
    foot = _TOP + (180.0 if width > NARROW else 150.0)
    x, y = AxisScale(cuts[0], cuts[-1], 12, width - _RIGHT), AxisScale(0.0, max(map(max, tall)) or 1.0, foot, _TOP)
    marks, path = [], []
    for place, (low, high) in enumerate(pairwise(cuts)):
        gap = min(1.0, (x(high) - x(low)) / 8)
        bar = x(low) + gap / 2, y(tall[0][place]), x(high) - x(low) - gap, foot - y(tall[0][place])
        marks.append(rect(bar, _SHADE, drawn.says(place)))
        path += [f"{digits(x(end))},{digits(y(tall[1][place]))}" for end in (low, high)]
    marks.append(f'<polyline points="{" ".join(path)}" fill="none" stroke="{INK}" stroke-width="1.5"/>')
    marks += [line((x.start, foot, x.end, foot), INK), *below(side, x, foot)]
    return svg(drawn.title, drawn.note, (width, foot + 44), marks)


def _square(said: tuple[str, str], names: Sequence[str], values: Sequence[Sequence[float]], width: int) -> str:
    room = min(max(map(reach, names)) + 14, width * 0.3)
    size = min((width - room - 8) / len(names), 36.0)
    written = width > NARROW and len(names) <= _WRITTEN
    marks = []
    for i, one in enumerate(names):
        marks.append(text((room - 4, _TOP + size * (i + 0.5) + 4), cut(one, room - 6), "end", INK, "label"))
        for j, two in enumerate(names):
            value = values[i][j]
            box = room + size * j, _TOP + size * i, size - 1, size - 1
            marks.append(rect(box, 0.03 + 0.6 * min(1.0, value), f"{one}, {two}: {value:.3f}"))
            if written and i != j:
                at = room + size * (j + 0.5), _TOP + size * (i + 0.5) + 4
                marks.append(text(at, f"{100 * value:.0f}", "middle", INK, "number"))
    marks.append(
        text((room, 14), "columns in the same order, in hundredths" if written else "columns in the same order")
    )
    return svg(*said, (width, _TOP + size * len(names) + 6), marks)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
