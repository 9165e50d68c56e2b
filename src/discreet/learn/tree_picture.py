"""Picture of a decision tree: an outline, one side of a split a line, with a bar at each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.pictures import Picture
from discreet.pictures.charts import NARROW, WIDE
from discreet.pictures.svg import INK, cut, line, rect, svg, text

_LINE, _INDENT, _BAR = 22, 16, 90


@dataclass(frozen=True)
class Line:
    """One side of a split: how deep, in words, and what is said there if it is a leaf."""

    depth: int
    told: str
    values: tuple[float, ...] | None


def tree_picture(title: str, note: str, lines: Sequence[Line], said: Sequence[tuple[str, float]]) -> Picture:
    """The outline for wide and narrow screens; beside each line words and the length of a bar, from 0 to 1."""
    return Picture(title, note, *(_drawn(title, note, lines, said, width) for width in (WIDE, NARROW)))


def _drawn(title: str, note: str, lines: Sequence[Line], said: Sequence[tuple[str, float]], width: int) -> str:
    marks, room = [], _BAR if width > NARROW else _BAR // 2
    words = 110 if width > NARROW else 90
    for i, (each, (label, share)) in enumerate(zip(lines, said, strict=True)):
        left, top = 8 + _INDENT * each.depth, _LINE * i
        marks.append(text((left, top + 15), cut(each.told, width - left - room - words - 16), colour=INK))
        if each.depth:
            marks.append(line((left - 8, top, left - 8, top + _LINE)))
        if label:
            marks.append(rect((width - room - words, top + 5, room * share, _LINE - 10), 0.55, f"{each.told}: {label}"))
            marks.append(text((width - words + 6, top + 15), cut(label, words - 8), kind="number"))
    return svg(title, note, (width, max(1, len(lines)) * _LINE + 6), marks)
