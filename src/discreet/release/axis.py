"""Axes of a release: its columns as readers see them, by keys or by bins between numbers in their own unit."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.group_key import Key, Type
from discreet.declared.group_key import number as time_number
from discreet.declared.group_key import written as time_written
from discreet.errors import Refusal
from discreet.exact import exact, positive, shown
from discreet.mechanisms import Bins, Column
from discreet.mechanisms.registry import Plain
from discreet.release.bins import written
from discreet.release.interval_tree import Reals
from discreet.release.noisy_cells import MOST_CELLS

IN_OTHER, LEFT_OUT = RULES = ("other", "leave out")  # what becomes of rows that are in no cell of some column
_MOMENTS = re.compile(r"((?:[\d-]+(?:[ T]\d+:\d+(?::\d+)?)?)?):((?:[\d-]+(?:[ T][\d:]+)?)?)", re.ASCII)
_MINUTE, _MIDNIGHT = 16, " 00:00"  # letters of a moment up to the minute, and the last of them
_MANY = 4096  # bins: of more, edges that are evenly spaced are not written one by one


def times(steps: NDArray[np.int64], none: NDArray[np.bool_], kind: Type) -> pa.Array:
    """Days or moments, of days or seconds after 1970 began; nothing where there is none."""
    if kind is Type.DATE:
        return pa.array(steps.astype("datetime64[D]"), mask=none)
    return pa.array(steps.astype("datetime64[s]").astype("datetime64[us]"), mask=none)


class Other:
    """The cell of rows that are in no other: `OTHER` is how one asks for it. No declared key is equal to it."""

    def __repr__(self) -> str:
        return "OTHER"


OTHER = Other()


def read_rule(given: object) -> str:
    """What is to become of rows outside, as somebody wrote it."""
    if given == "leave-out":
        return LEFT_OUT
    if isinstance(given, str) and given in RULES:
        return given
    raise Refusal(
        f"rows that are in no cell go to 'other', or you 'leave out' them everywhere, got outside={shown(given)}"
    )


@dataclass(frozen=True)
class KeyAxis:
    """A column by its keys; where `other`, with one more cell, the last, for rows that have none of them."""

    column: str
    keys: tuple[Key, ...]
    other: bool = False

    def __len__(self) -> int:
        return len(self.keys) + self.other

    @property
    def labels(self) -> tuple[str, ...]:
        """The cells as text."""
        keys = tuple("NULL" if key is None else str(key) for key in self.keys)
        return (*keys, other_label(keys)) if self.other else keys

    @property
    def values(self) -> tuple[Key | Other, ...]:
        """What each cell is asked for by: its key, or OTHER."""
        return (*self.keys, OTHER) if self.other else self.keys

    def place(self, value: object) -> int:
        """Which cell a key is."""
        if value is OTHER and self.other:
            return len(self.keys)
        spelled = str(value) if isinstance(value, date) else value  # days are keys as text
        for place, key in enumerate(self.keys):
            if isinstance(key, bool) == isinstance(spelled, bool) and key == spelled:  # to Python, True is 1
                return place
        there = shown(list(self.values))
        raise Refusal(f"there is no key {shown(value)} of {self.column!r}", hint=f"there are {there}")

    def weights(self, asked: object) -> tuple[Reals, str]:
        """How much of each cell one key, or a list of keys, takes; and what is to be said about that."""
        taken = np.zeros(len(self))
        for key in asked if isinstance(asked, (list, tuple, set, frozenset)) else [asked]:
            taken[self.place(key)] = 1
        return taken, ""

    def asked(self, text: str) -> object:
        """What `weights` takes, from text: keys with commas between them; one that there is not is refused by it."""
        by_label = dict(zip(self.labels, self.values, strict=True))
        return [by_label.get(label, label) for label in text.split(",")]

    @property
    def plain(self) -> dict[str, Plain]:
        """As JSON can hold it."""
        return {"column": self.column, "keys": list(self.keys), **_told(other=self.other)}

    def arrays(self, places: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The keys of the cells at these places, as a column of their own type; the other cell has none, and a mark."""
        more = [None] if self.other else []
        try:
            keys = pa.array([*self.keys, *more])
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # keys of several types
            keys = pa.array([None if key is None else str(key) for key in [*self.keys, *more]], type=pa.string())
        return {self.column: keys.take(pa.array(places)), **_marked(self, places)}


@dataclass(frozen=True)
class NumberAxis:
    """A column of numbers, days or moments cut into bins, whose edges are whole multiples of `step`.

    A bin goes from its lower edge to before its upper one; the last one has both. Where `other`, there is one more
    cell, the last, for rows in none of the bins. Where `time` is a type, steps are days or seconds after 1970 began.
    """

    column: str
    steps: tuple[int, ...]
    step: Fraction
    closed: bool = True  # whether a value can lie at the last edge; if not, the bounds end before it
    other: bool = False
    time: Type | None = None  # date or timestamp, if its values are that

    def __len__(self) -> int:
        return self.bins + self.other

    @property
    def bins(self) -> int:
        """How many there are, without the other cell."""
        return len(self.steps) - 1

    @property
    def edges(self) -> Reals:
        """The edges as floating-point numbers."""
        return np.asarray(self.steps, dtype=np.float64) * float(self.step.numerator) / float(self.step.denominator)

    @property
    def labels(self) -> tuple[str, ...]:
        """Each bin by its edges."""
        bins = tuple(f"{low} to {high}" for low, high in pairwise(self._texts()))
        return (*bins, other_label(bins)) if self.other else bins

    def place(self, value: object) -> int:
        """Which bin a number is in."""
        if value is OTHER and self.other:
            return self.bins
        return min(bisect_right(self.steps, self._inside(value)) - 1, self.bins - 1)

    def weights(self, asked: object) -> tuple[Reals, str]:
        """How much of each bin lies from lo to before hi; and what is to be said where that cuts through a bin.

        None is the end of the axis. The upper end itself is included. OTHER is the cell of rows in no bin.
        """
        if asked is OTHER and self.other:
            return np.append(np.zeros(self.bins), 1.0), ""
        if not isinstance(asked, (list, tuple)) or len(asked) != 2:
            raise Refusal(f"expected a range of {self.column!r} as (from, to), got {shown(asked)}")
        low = Fraction(self.steps[0]) if asked[0] is None else self._inside(asked[0])
        high = Fraction(self.steps[-1]) if asked[1] is None else self._inside(asked[1])
        if low > high:
            raise Refusal(f"expected a range of {self.column!r} from less to more, got {shown(asked)}")
        taken = np.zeros(len(self))
        if low == high and not (self.closed and high == self.steps[-1]):
            return taken, ""
        first, last = bisect_right(self.steps, low) - 1, max(bisect_left(self.steps, high) - 1, 0)
        first = min(first, last)
        taken[first : last + 1] = 1
        taken[first], taken[last] = self._part(first, low, high), self._part(last, low, high)
        said = f"the range of {self.column} cuts through a bin, whose records are taken to be spread evenly"
        return taken, said if min(taken[first], taken[last]) < 1 else ""

    def within(self, asked: object) -> tuple[int, int]:
        """From which step to before which a range goes, as `weights` takes it; for all else all of the axis."""
        low, high = asked if isinstance(asked, (list, tuple)) else (None, None)
        first = self.steps[0] if low is None else math.ceil(self._inside(low))
        end = self.steps[-1] if high is None else math.ceil(self._inside(high))
        return first, end + (self.closed and end == self.steps[-1])

    def asked(self, text: str) -> object:
        """What `weights` takes, from text: FROM:TO, either of which may be left out, or the name of the other cell."""
        if self.other and text == self.labels[-1]:
            return OTHER
        low, colon, high = self._parted(text)
        if not colon:
            what = "numbers" if self.time is None else "days" if self.time is Type.DATE else "moments"
            raise Refusal(
                f"{self.column!r} has {what}, which are asked for as {self.column}=FROM:TO, got {shown(text)}"
            )
        return low or None, high or None

    def _parted(self, text: str) -> tuple[str, str, str]:
        """What is before a colon and what is after: of moments, which have colons, after one of the day or the hour."""
        if self.time is not Type.TIMESTAMP:
            return text.partition(":")
        parted = _MOMENTS.fullmatch(text.strip())
        return (parted[1].strip(), ":", parted[2].strip()) if parted else (text, "", "")

    @property
    def ruler(self) -> tuple[Reals, tuple[str, ...]]:
        """Its edges to scale, in days where it has times, and how these are written, up to the minute."""
        if self.time is None:
            return self.edges, ()
        names = [text[:_MINUTE] for text in self._texts()]
        dates = all(name.endswith(_MIDNIGHT) for name in names)
        scale = 1 if self.time is Type.DATE else 86_400
        return self.edges / scale, tuple(name.removesuffix(_MIDNIGHT) if dates else name for name in names)

    def value(self, place: float) -> float:
        """The number at a place in bins: 1.5 is the middle of the second one."""
        return float(np.interp(place, np.arange(len(self.steps)), self.edges))

    @property
    def plain(self) -> dict[str, Plain]:
        """As JSON can hold it: the edges as exact texts, or very many bins of one width by that."""
        first, second, last = self.steps[0], self.steps[1], self.steps[-1]
        own: dict[str, Plain] = {"column": self.column, "step": written(self.step), "closed": self.closed}
        own |= _told(other=self.other) | ({} if self.time is None else {"type": self.time.value})
        if self.bins > _MANY and self.steps == _even(first, second, last):
            low, high, width = (written(steps * self.step) for steps in (first, last, second - first))
            return {**own, "from": low, "to": high, "width": width}
        return {**own, "edges": [written(steps * self.step) for steps in self.steps]}

    def arrays(self, places: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The edges of the bins at these places, whole numbers where all are; the other cell has none, and a mark."""
        if self.time is not None:
            days, none, bins = np.array(self.steps), places >= self.bins, np.minimum(places, self.bins - 1)
            low, high = (times(side[bins], none, self.time) for side in (days[:-1], days[1:]))
            return {f"{self.column}_from": low, f"{self.column}_to": high, **_marked(self, places)}
        whole = self.step.denominator == 1 and max(map(abs, self.steps[:: self.bins])) * self.step < 1 << 62
        ends = np.array(self.steps, dtype=np.int64) * int(self.step) if whole else self.edges
        bins, none = np.minimum(places, self.bins - 1), places >= self.bins
        low, high = (pa.array(side[bins], mask=none) for side in (ends[:-1], ends[1:]))
        return {f"{self.column}_from": low, f"{self.column}_to": high, **_marked(self, places)}

    def spelled(self, steps: Fraction | int) -> str:
        """A place on it as people write it: a number, a day or a moment."""
        return written(steps * self.step) if self.time is None else time_written(Fraction(steps), self.time)

    def _texts(self) -> tuple[str, ...]:
        return tuple(map(self.spelled, self.steps))

    def _part(self, place: int, low: Fraction, high: Fraction) -> float:
        """The share of a bin that lies from low to before high. A last bin with both edges holds one step more."""
        start, end = Fraction(self.steps[place]), Fraction(self.steps[place + 1])
        more = 1 if self.closed and end == self.steps[-1] else 0
        last = end + more if high == end else min(high, end)
        return float((last - max(low, start)) / (end + more - start))

    def _inside(self, value: object) -> Fraction:
        """A number in steps, if it lies between the outer edges."""
        if self.time is None:
            at = exact(value, self.column) / self.step  # type: ignore[arg-type]  # it looks
        else:
            at = time_number(value, self.time, f"column {self.column!r}")
        if self.steps[0] <= at <= self.steps[-1]:
            return at
        ends = f"{self.spelled(self.steps[0])} to {self.spelled(self.steps[-1])}"
        raise Refusal(f"{shown(value, str)} is outside what was released of {self.column!r}: {ends}")


Side = KeyAxis | NumberAxis


def other_label(labels: Collection[str]) -> str:
    """What the cell of rows in no other is called: in parentheses, in more of them where a key is called so."""
    label = "(other)"
    while label in labels:
        label = f"({label})"
    return label


def _told(*, other: bool) -> dict[str, Plain]:
    """What JSON says of the other cell, where there is one."""
    return {"other": True} if other else {}


def _marked(side: Side, places: NDArray[np.int64]) -> dict[str, pa.Array]:
    """Which of these places are the other cell, as a column of its own, where there is such a cell.

    It tells that cell from one of a declared key that is NULL, or called as the label is.
    """
    return {f"{side.column}_other": pa.array(places == len(side) - 1)} if side.other else {}


def sided(column: Column, bins: Bins | None, *, other: bool = False) -> Side:
    """A column by its declared keys, or by its bins; with a cell for rows in none of them, or without."""
    if bins is not None and column.line is not None:
        time = column.type if column.type.dated else None
        return NumberAxis(column.name, bins.edges, column.line.step, bins.edges[-1] <= column.line.high, other, time)
    if column.keys is None:
        raise Refusal(f"column {column.name!r} has no declared keys", hint="declare them, or bounds and a step")
    return KeyAxis(column.name, column.keys, other)


def read_side(given: Any) -> Side:  # noqa: ANN401  # whatever a text held
    """The axis that its `plain` tells of; raises what nonsense raises."""
    column, other = given["column"], given.get("other", False)
    if not isinstance(column, str) or not isinstance(other, bool):
        raise TypeError
    if "keys" in given:
        keys = tuple(given["keys"])
        if not all(key is None or isinstance(key, (str, int, bool)) for key in keys):
            raise TypeError
        return KeyAxis(column, keys, other)
    step, closed = positive(given["step"], "step"), given["closed"]
    if not isinstance(closed, bool):
        raise TypeError
    time = Type(given["type"]) if "type" in given else None
    if time is not None and (not time.dated or step != 1):
        raise ValueError
    if "width" in given:
        low, high, width = (_whole(given[name], step) for name in ("from", "to", "width"))
        if not low < high or width <= 0 or (high - low) // width > MOST_CELLS:
            raise ValueError
        return NumberAxis(column, _even(low, low + width, high), step, closed, other, time)
    edges = Bins(column, tuple(_whole(edge, step) for edge in given["edges"])).edges
    return NumberAxis(column, edges, step, closed, other, time)


def _even(first: int, second: int, last: int) -> tuple[int, ...]:
    """Edges of bins of one width; the last bin is as wide as what is left."""
    return (*range(first, last, second - first), last)


def _whole(edge: Any, step: Fraction) -> int:  # noqa: ANN401  # whatever a text held
    places = exact(edge, "edges") / step
    if places.denominator != 1:
        raise ValueError
    return places.numerator
