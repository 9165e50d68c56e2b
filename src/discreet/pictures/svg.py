"""SVG parts of a picture: scales, marks and numbers, as text in which no label can be more than text."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

ACCENT, INK = "var(--d-accent,#0f766e)", "var(--d-ink,#15211f)"
MUTED, LINE = "var(--d-muted,#56655f)", "var(--d-line,#dfe5e3)"
LETTER = 6.6  # about the width of one, at the size of 12
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they reorder others
_NO_LETTER = "\ufffd"


def safe(text: str) -> str:
    """A text for HTML and SVG: nothing in it is markup, and no letter is one that a page may not hold or that hides."""
    return escape("".join(letter if _printable(letter) else _NO_LETTER for letter in text))


def _printable(letter: str) -> bool:
    """XML knows neither control characters, nor halves of characters, nor the last two of a plane."""
    if unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} or letter in _TURNING:
        return False
    return ord(letter) & 0xFFFE != 0xFFFE and not 0xFDD0 <= ord(letter) <= 0xFDEF


@dataclass(frozen=True)
class AxisScale:
    """Numbers from `low` to `high` as places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a number is."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int) -> list[float]:
        """Round numbers on it: steps of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


# numbers --------------------------------------------------------------------------------------------------------------


def plain(value: float) -> str:
    """A number as people write it: at most six digits that count, in groups of three from ten thousand on."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-6:
        return f"{value:.3g}".replace("-", "−")
    digits = max(0, 5 - math.floor(math.log10(size))) if size else 0
    text = f"{value:,.{digits}f}" if size >= 1e4 else f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def rounded(value: float, error: float | None) -> str:
    """A count to the last digit that its error leaves it."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    if error is None or error <= 0:
        return plain(round(value, 1))
    text = f"{value:,.{min(max(0, 1 - math.floor(math.log10(error))), 6)}f}"
    return ("0" if not text.strip("-0.,") else text).replace("-", "−")


def figure(value: float, error: float | None, errors: float) -> str:
    """A count and what is to be added to it or taken from it."""
    return rounded(value, error) if error is None else f"{rounded(value, error)} ± {rounded(errors * error, error)}"


# marks ----------------------------------------------------------------------------------------------------------------


def svg(title: str, note: str, size: tuple[float, float], marks: Iterable[str]) -> str:
    """A picture of these marks, which says what it is to those who do not see it."""
    width, height = (digits(side) for side in size)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="system-ui,sans-serif" font-size="12"'
    told = f"<title>{safe(title)}</title><desc>{safe(note)}</desc>"
    return f'{head} role="img" {font}>{told}{"".join(marks)}</svg>'


def digits(place: float) -> str:
    """A place, to a hundredth of a point."""
    text = f"{place:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def rect(box: tuple[float, float, float, float], shade: float, says: str = "") -> str:
    """A box: left, top, width, height. It may say something to who points at it."""
    x, y, width, height = map(digits, box)
    body = f"<title>{safe(says)}</title></rect>" if says else "</rect>"
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{ACCENT}" fill-opacity="{shade:.2g}">{body}'


def line(ends: tuple[float, float, float, float], colour: str = LINE, kind: str = "") -> str:
    """A straight line from a place to another."""
    x1, y1, x2, y2 = map(digits, ends)
    named = f' class="{kind}"' if kind else ""
    return f'<line{named} x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def text(place: tuple[float, float], words: str, anchor: str = "start", colour: str = MUTED, kind: str = "") -> str:
    """Words at a place."""
    named = f' class="{kind}"' if kind else ""
    x, y = map(digits, place)
    return f'<text{named} x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{safe(words)}</text>'


def reach(words: str) -> float:
    """About how wide some words are."""
    return sum(LETTER * (1.8 if unicodedata.east_asian_width(letter) in "WF" else 1.0) for letter in words)


def cut(words: str, room: float) -> str:
    """As much of some words as fits."""
    if reach(words) <= room:
        return words
    kept = ""
    for letter in words:
        if reach(kept + letter + "…") > room:
            break
        kept += letter
    return f"{kept}…"
