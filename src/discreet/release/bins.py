"""Bins of a column of numbers: from what somebody wrote to edges on the column's grid.

Nothing here looks at data. Bins that nobody asked for follow from the declared bounds and step alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count as natural
from itertools import pairwise

from discreet.declared.group_key import Type
from discreet.declared.group_key import number as time_number
from discreet.errors import Refusal
from discreet.exact import count, exact, positive, shown
from discreet.mechanisms import Bins, Grid
from discreet.mechanisms.private_rows import MOST_UNEVEN
from discreet.release.calendar_bins import UNITS, calendar
from discreet.release.noisy_cells import MOST_CELLS

MOST_FOUND = 1024  # keys of a column
FINEST = 4096  # cells of the public grid among which private bins are chosen
_FEW = 20  # steps in a bin
_DAYS = re.compile(r"\d-\d+-\d", re.ASCII)  # that a text has days in it
USUAL = 16  # private bins, if nobody says how many


def written(number: Fraction) -> str:
    """A number as exact text: decimal digits where they end, else a fraction. `exact` reads it back."""
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest > 1:
        return str(number)
    places = max(twos, fives)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    whole = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{whole}" if number < 0 else whole


@dataclass(frozen=True)
class Equal:
    """So many bins, equal but for a step; of very many, at most so many of one width."""

    bins: int

    @property
    def plain(self) -> int | str:
        """As a wish holds it."""
        return self.bins

    def on(self, column: str, grid: Grid) -> Bins:
        """The edges, in steps."""
        room = spacious(column, grid) + 1
        if self.bins > room:
            raise Refusal(
                f"column {column!r} has {room} values between its bounds, and {shown(self.bins)} bins were asked for",
                hint=f"take at most {room} bins, or declare a smaller step",
            )
        end = _end(grid, self.bins)
        if self.bins > MOST_UNEVEN:  # all of one width, and as many as there is room for
            width = -(-(end - grid.low) // self.bins)
            return Bins(column, (*range(grid.low, end, width), end))
        return Bins(column, tuple(grid.low + i * (end - grid.low) // self.bins for i in range(self.bins + 1)))


@dataclass(frozen=True)
class Stepped:
    """Bins of one width from `lower` to `upper`; the last one is as wide as what is left."""

    lower: Fraction
    upper: Fraction
    width: Fraction

    @property
    def plain(self) -> int | str:
        """As a wish holds it."""
        return ":".join(map(written, (self.lower, self.upper, self.width)))

    def on(self, column: str, grid: Grid) -> Bins:
        """The edges, in steps."""
        if not self.lower < self.upper or (self.upper - self.lower) / self.width > MOST_CELLS:
            wanted = "lower:upper:width, from less to more and at most 2^22 bins"
            raise Refusal(f"expected bins of {column!r} as {wanted}, got {self.plain}")
        low, high, width = (_steps(edge, column, grid) for edge in (self.lower, self.upper, self.width))
        return Bins(column, (*range(low, high, width), high))


@dataclass(frozen=True)
class At:
    """Bins between these edges."""

    edges: tuple[Fraction, ...]

    @property
    def plain(self) -> int | str:
        """As a wish holds it."""
        return ",".join(map(written, self.edges))

    def on(self, column: str, grid: Grid) -> Bins:
        """The edges, in steps."""
        if any(low >= high for low, high in pairwise(self.edges)):
            raise Refusal(f"expected rising edges of bins of {column!r}, got {shown(self.plain, str)}")
        return Bins(column, tuple(_steps(edge, column, grid) for edge in self.edges))


@dataclass(frozen=True)
class Private:
    """So many bins that hold about as many records each, chosen with a part of the price."""

    bins: int = USUAL

    @property
    def plain(self) -> int | str:
        """As a wish holds it."""
        return f"private:{self.bins}"


@dataclass(frozen=True)
class Calendar:
    """Bins of days or moments by a calendar: of a day each, a week, a month."""

    unit: str

    @property
    def plain(self) -> str:
        """As a wish holds it."""
        return self.unit


@dataclass(frozen=True)
class Dates:
    """Bins of days or moments between these edges."""

    edges: tuple[str, ...]

    @property
    def plain(self) -> str:
        """As a wish holds it."""
        return ",".join(self.edges)


@dataclass(frozen=True)
class Found:
    """No bins: the keys that many have, at most so many of them, found with a part of the price."""

    keys: int = 64

    @property
    def plain(self) -> str:
        """As a wish holds it."""
        return f"found:{self.keys}"


Cut = Equal | Stepped | At | Private | Calendar | Dates | Found

_FORMS = "a number of bins, 'lower:upper:width', edges as '0,18,65', 'month', 'private' or 'private:20'"


def read_cut(value: object, column: str) -> Cut:
    """Bins as somebody wrote them: a number, a text, or numbers in a list."""
    if isinstance(value, str):
        return _read_text(value, column)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _read_list(value, column)
    if isinstance(value, int) and not isinstance(value, bool):
        return Equal(count(value, f"of bins of {column!r}"))
    raise Refusal(f"expected bins of {column!r} as {_FORMS}, got {shown(value)}")


def cut_times(cut: Cut, column: str, line: Grid, kind: Type) -> Bins:
    """The bins of days or moments."""
    if isinstance(cut, Calendar):
        return calendar(column, line, kind, cut.unit)
    if isinstance(cut, Equal):
        return cut.on(column, line)
    if not isinstance(cut, Dates):
        raise Refusal(
            f"expected bins of {column!r}, which has {kind.value}s, as {', '.join(UNITS)}, a number, or edges, "
            f"got {shown(getattr(cut, 'plain', cut))}",
            hint="write edges as 2026-01-01,2026-07-01",
        )
    edges = tuple(math.floor(time_number(edge, kind, f"an edge of {column!r}")) for edge in cut.edges)
    if any(low >= high for low, high in pairwise(edges)):
        raise Refusal(f"expected rising edges of bins of {column!r}, got {shown(cut.plain, str)}")
    return Bins(column, edges)


def _read_text(text: str, column: str) -> Cut:
    if (cut := _read_words(text.strip(), column)) is not None:
        return cut
    name, _, many = text.strip().partition(":")
    if name == "private":
        return Private(_whole(many, column)) if many else Private()
    if "," in text:
        return At(tuple(exact(part.strip(), f"an edge of {column!r}") for part in text.split(",")))
    parts = [part.strip() for part in text.split(":")]
    if len(parts) == 3:
        lower, upper = (exact(part, f"an edge of {column!r}") for part in parts[:2])
        return Stepped(lower, upper, positive(parts[2], f"the width of bins of {column!r}"))
    if len(parts) == 1:
        return Equal(_whole(text, column))
    raise Refusal(f"expected bins of {column!r} as {_FORMS}, got {shown(text)}")


def _read_words(text: str, column: str) -> Cut | None:
    """What is no number: a unit of a calendar, edges that are days, or that keys are to be found."""
    if text in UNITS:
        return Calendar(text)
    if _DAYS.search(text):
        edges = [part.strip() for part in text.split(",")]
        if len(edges) < 2:
            raise Refusal(f"expected at least two edges of bins of {column!r}, got {shown(text)}")
        return Dates(tuple(edges))
    name, _, many = text.partition(":")
    if name != "found":
        return None
    most = _whole(many, column) if many else Found().keys
    if most > MOST_FOUND:
        raise Refusal(f"at most {MOST_FOUND} keys of a column are found, got {shown(text)}")
    return Found(most)


def _read_list(values: Sequence[object], column: str) -> Cut:
    if len(values) == 2 and values[0] == "private":
        return Private(_whole(values[1], column))
    edges = tuple(exact(value, f"an edge of {column!r}") for value in values)  # type: ignore[arg-type]  # it looks
    if len(edges) < 2:
        raise Refusal(f"expected at least two edges of bins of {column!r}, got {shown(list(values))}")
    if len(edges) != 3:
        return At(edges)
    rising, stepping = edges[0] < edges[1] < edges[2], 0 < edges[2] <= edges[1] - edges[0]
    if rising and stepping:
        stepped, at = Stepped(*edges).plain, At(edges).plain
        raise Refusal(
            f"the bins {shown(list(values))} of {column!r} can be read in two ways",
            hint=f"write {stepped!r} for bins of one width, or {at!r} for these edges",
        )
    return At(edges) if rising else Stepped(edges[0], edges[1], positive(edges[2], f"the width of bins of {column!r}"))


def _whole(value: object, column: str) -> int:
    number = exact(value, f"the number of bins of {column!r}")  # type: ignore[arg-type]  # it looks
    return count(number.numerator if number.denominator == 1 else 0, f"of bins of {column!r}")


def _steps(edge: Fraction, column: str, grid: Grid) -> int:
    steps = edge / grid.step
    if steps.denominator != 1:
        raise Refusal(
            f"the edge {written(edge)} of bins of {column!r} is not on its grid",
            hint=f"take multiples of its step, {written(grid.step)}",
        )
    return steps.numerator


def spacious(column: str, grid: Grid) -> int:
    """How many steps there are between the bounds: at least one, or there is nothing to cut."""
    if grid.span < 1:
        raise Refusal(
            f"column {column!r} has one value only between its bounds: there is nothing to cut into bins",
            hint="declare wider bounds or a smaller step",
        )
    return grid.span


def usual(column: str, grid: Grid, most: int) -> Bins:
    """At most so many bins whose edges are round numbers of steps: multiples of 1, 2 or 5 times a power of ten."""
    spacious(column, grid)
    end = _end(grid, most)
    if most == 1:
        return Bins(column, (grid.low, end))
    for power in natural():
        for times in (1, 2, 5):
            width = times * 10**power
            first = (grid.low // width + 1) * width
            if len(range(first, end, width)) < most:
                return Bins(column, (grid.low, *range(first, end, width), end))
    raise AssertionError  # the powers do not end


def _end(grid: Grid, bins: int) -> int:
    """Where the last bin ends: beyond the last step where a bin has so few that one more would show."""
    return grid.high + 1 if grid.span < _FEW * bins else grid.high
