"""Reading a picture back: its marks, and the numbers that somebody would read off them."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


def number(text: str | None) -> float:
    return float(str(text).replace("−", "-").replace(",", "").replace(" %", ""))


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg.encode())  # noqa: S314  # it is our own


def marks(root: ET.Element, tag: str, kind: str | None = None) -> list[ET.Element]:
    return [each for each in root.iter(SVG + tag) if each.get("class") == kind]


def at(element: ET.Element, name: str) -> float:
    return float(element.attrib[name])


def ruler(root: ET.Element, kind: str, axis: str, shift: float = 0.0) -> Callable[[float], float]:
    """From a place in the picture to the number that a reader reads there, off the two outermost ticks."""
    ticks = marks(root, "text", kind)
    (a, va), (b, vb) = ((at(tick, axis) - shift, number(tick.text)) for tick in (ticks[0], ticks[-1]))
    return lambda place: va + (place - a) / (b - a) * (vb - va)


def close(one: float, two: float, size: float) -> bool:
    """Within a hundredth of a point, which is what places are written to, of a picture some hundred points large."""
    return abs(one - two) <= 2e-4 * size
