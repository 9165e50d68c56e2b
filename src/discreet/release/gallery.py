"""Which pictures a release gets, and what is said under each: how it was drawn, and what it does not show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.release.axis import NumberAxis, Side
from discreet.release.histogram import Histogram
from discreet.release.marginals.released import Marginals
from discreet.release.paper import plain
from discreet.release.picture import NARROW, WIDE, Drawn, Ruler, bars, curve, histogram
from discreet.release.plane import Plane, heat
from discreet.release.release import Release
from discreet.release.splits import Reals

MOST_BARS = 64  # of a histogram: more would be thinner than a line on a narrow screen
MOST_KEYS = 24  # bars with a label each
MOST_POINTS = 256  # of a curve
MOST_FIELDS = 40  # along a side of a plane
MOST_PLANES = 6

Line = Callable[[list[int]], tuple[Reals, Reals | None]]  # sums between cuts along a line, and their standard errors

_WHISKERS = "The thin lines reach two standard errors to either side."
_NO_ERRORS = "How far off these may be is not known."
_LARGEST = (
    "Drawn are the {drawn} largest of {all:,}, which the noise may have made look larger; the others have {rest} "
    "records together."
)


@dataclass(frozen=True)
class Picture:
    """A picture for wide and for narrow screens, and what is said under it."""

    title: str
    note: str
    wide: str
    narrow: str


def pictures(release: Release) -> list[Picture]:
    """Those of a release."""
    told, sides = release.content, release.axes
    if isinstance(told, Marginals):
        return _of_tables(told, {side.column: side for side in sides})
    if len(sides) == 2:
        return [_plane(sides[0], sides[1], told.counts)]
    found = [_along(sides[0], told.counts, _line(told))]
    return [*found, _shares(sides[0], told)] if isinstance(sides[0], NumberAxis) and len(sides[0]) > 2 else found


def _of_tables(told: Marginals, sides: dict[str, Side]) -> list[Picture]:
    """Each column alone, then pairs that were counted together."""
    columns = [name for name in told.columns if any(name in table for table in told.tables)]
    found = [_along(sides[name], told.table((name,)), _margin(told, name)) for name in columns]
    pairs = list(dict.fromkeys(pair for table in told.tables for pair in combinations(table, 2)))
    drawn = [_plane(sides[one], sides[two], told.table((one, two))) for one, two in pairs[:MOST_PLANES]]
    if len(pairs) > MOST_PLANES:
        left = f" {len(pairs) - MOST_PLANES:,} more pairs of columns were counted, and are not drawn."
        drawn[-1] = replace(drawn[-1], note=drawn[-1].note + left)
    return [*found, *drawn]


def _line(told: Histogram) -> Line:
    return lambda cuts: told.ranges(np.array(cuts[:-1]), np.array(cuts[1:]))


def _margin(told: Marginals, name: str) -> Line:
    def sums(cuts: list[int]) -> tuple[Reals, Reals | None]:
        size = told.table((name,)).size
        weights = [[float(low <= place < high) for place in range(size)] for low, high in pairwise(cuts)]
        found = [told.query((name,), each) for each in weights]
        return np.array([each.value for each in found]), np.array([each.error or 0.0 for each in found])

    return sums


# along one side -------------------------------------------------------------------------------------------------------


def _along(side: Side, counts: NDArray[np.generic], line: Line) -> Picture:
    title = f"Records by {side.column}"
    if isinstance(side, NumberAxis):
        cuts = _cuts(len(side), MOST_BARS)
        values, errors = line(cuts)
        ruler = _merged(side, cuts)
        note = [_WHISKERS if errors is not None else _NO_ERRORS]
        if not ruler.even:
            note.append("The area of a bar is its count, because the bins are not equally wide.")
        note += _together(len(side), cuts, "bar", "bins")
        return _picture(histogram, Drawn(title, " ".join(note), ruler, _plain(values), _errors(errors)))
    values, errors = line(list(range(len(side) + 1)))
    note = [_WHISKERS if errors is not None else _NO_ERRORS]
    shown = list(range(len(side)))
    if len(side) > MOST_KEYS:
        shown = sorted(np.argsort(-values, kind="stable")[:MOST_KEYS].tolist())
        rest = float(np.sum(counts)) - float(values[shown].sum())
        note.append(_LARGEST.format(drawn=MOST_KEYS, all=len(side), rest=plain(round(rest))))
    ruler = Ruler(side.column, labels=tuple(_label(side.labels[place]) for place in shown))
    drawn = Drawn(
        title, " ".join(note), ruler, _plain(values[shown]), None if errors is None else _errors(errors[shown])
    )
    return _picture(bars, drawn)


def _shares(side: NumberAxis, told: Histogram) -> Picture:
    cuts = _cuts(len(side), MOST_POINTS)
    shares, errors = told.cdf(np.array(cuts[1:]))
    note = ["How many of all records lie below each value, as a share."]
    note += ["The band reaches two standard errors to either side."] if errors is not None else [_NO_ERRORS]
    if len(cuts) - 1 < len(side):
        note.append(f"{len(cuts):,} of {len(side) + 1:,} edges are drawn, and straight lines between them.")
    drawn = Drawn(
        f"Records up to each {side.column}",
        " ".join(note),
        _merged(side, cuts),
        _plain(shares),
        _errors(errors),
    )
    return _picture(curve, drawn)


def _picture(draw: Callable[[Drawn, int], str], drawn: Drawn) -> Picture:
    return Picture(drawn.title, drawn.note, draw(drawn, WIDE), draw(drawn, NARROW))


# on two sides ---------------------------------------------------------------------------------------------------------


def _plane(one: Side, two: Side, counts: NDArray[np.generic]) -> Picture:
    """The first column stands upright."""
    rows, columns = _cuts(len(one), MOST_FIELDS), _cuts(len(two), MOST_FIELDS)
    sums = np.add.reduceat(np.add.reduceat(counts, rows[:-1], axis=0), columns[:-1], axis=1)
    plane = Plane(
        f"Records by {one.column} and {two.column}",
        " ".join(
            [
                "The stronger a field, the more records it has; those without colour have none, or by the noise less.",
                *_together(len(one), rows, f"field along {one.column}", "cells"),
                *_together(len(two), columns, f"field along {two.column}", "cells"),
            ]
        ),
        _merged(one, rows),
        _merged(two, columns),
        tuple(_plain(row) for row in sums),
    )
    plane = plane if plane.even else replace(plane, note=f"{plane.note} {_SIZES}")
    return Picture(plane.title, plane.note, heat(plane, WIDE), heat(plane, NARROW))


_SIZES = "Fields are not equally large, so their colour stands for records per size."


# thinning -------------------------------------------------------------------------------------------------------------


def _cuts(cells: int, most: int) -> list[int]:
    """Where to cut a line such that at most so many parts are left: equal ones if that leaves half of them or more."""
    least = -(-cells // most)
    every = next((size for size in range(least, 2 * least + 1) if cells % size == 0), least)
    return [*range(0, cells, every), cells]


def _together(cells: int, cuts: Sequence[int], mark: str, many: str) -> Iterator[str]:
    if len(cuts) - 1 < cells:
        yield f"Each {mark} has up to {cuts[1] - cuts[0]:,} of the {cells:,} {many} together."


def _merged(side: Side, cuts: Sequence[int]) -> Ruler:
    if isinstance(side, NumberAxis):
        return Ruler(side.column, edges=_plain(side.edges[list(cuts)]))
    names = [_label(label) for label in side.labels]
    labels = tuple(
        names[low] if high - low == 1 else f"{names[low]} … {names[high - 1]}" for low, high in pairwise(cuts)
    )
    return Ruler(side.column, edges=tuple(map(float, cuts)), labels=labels)


def _label(text: str) -> str:
    return text or "(empty)"


def _plain(values: NDArray[np.generic]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _errors(values: Reals | None) -> tuple[float, ...] | None:
    return None if values is None else _plain(values)
