"""Figures of released counts: which pictures there are, and what is said under each of how it was drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.pictures.charts import NARROW, WIDE, Picture, Ruler, Series, bars, curve, histogram
from discreet.pictures.heatmap import Plane, heat
from discreet.pictures.svg import figure, plain
from discreet.release.axis import NumberAxis, Side
from discreet.release.estimate import MORE, TIMES, error_bar
from discreet.release.histogram import Histogram
from discreet.release.interval_tree import Reals
from discreet.release.marginals.released import Marginals

MOST_BARS = 64  # of a histogram: more would be thinner than a line on a narrow screen
MOST_KEYS = 24  # bars with a label each
MOST_POINTS = 256  # of a curve
MOST_FIELDS = 40  # along a side of a plane
MOST_PLANES = 6

Line = Callable[[list[int]], tuple[Reals, Reals | None]]  # sums between cuts along a line, and their standard errors

_WHISKERS = "The truth lies within the thin lines 19 times in 20, one bar at a time."
_SOME = "Pale bars in a broken line have no error bar: they cut through cells that were counted together."
_NO_ERRORS = "How far off these may be is not known."
_BAND = "The truth lies within the band 19 times in 20, at one value at a time."
_LARGEST = (
    "Series are the {drawn} largest of {all:,}, which the noise may have made look larger, so they are drawn without "
    "error bars; the others have {rest} records together."
)


def of_histogram(axes: Sequence[Side], told: Histogram) -> list[Picture]:
    """Its cells, and on a line of numbers the shares below each."""
    first = axes[0]
    if len(axes) == 2:
        return [_plane(first, axes[1], told.counts)]
    cells = [_along(first, _line(told))]
    return [*cells, _shares(first, told)] if isinstance(first, NumberAxis) and len(first) > 2 else cells


def of_marginals(axes: Sequence[Side], told: Marginals) -> list[Picture]:
    """Each column alone, then pairs that were counted together."""
    sides = {side.column: side for side in axes}
    columns = [name for name in told.columns if any(name in table for table in told.tables)]
    alone = [_along(sides[name], _margin(told, name)) for name in columns]
    pairs = list(dict.fromkeys(pair for table in told.tables for pair in combinations(table, 2)))
    drawn = [_plane(sides[one], sides[two], told.table((one, two))) for one, two in pairs[:MOST_PLANES]]
    if len(pairs) > MOST_PLANES:
        left = f" {len(pairs) - MOST_PLANES:,} more pairs of columns were counted, and are not drawn."
        drawn[-1] = replace(drawn[-1], note=drawn[-1].note + left)
    return [*alone, *drawn]


def of_model(
    axes: Sequence[Side], counts: Callable[[Sequence[str]], Reals], pairs: Sequence[Sequence[str]]
) -> list[Picture]:
    """Each column alone as a model has it, then pairs that were measured together."""
    sides = {side.column: side for side in axes}
    alone = [_along(side, _modelled(counts((name,)))) for name, side in sides.items()]
    return [*alone, *(_plane(sides[one], sides[two], counts((one, two))) for one, two in pairs[:MOST_PLANES])]


def _modelled(values: Reals) -> Line:
    return lambda cuts: (np.array([float(values[low:high].sum()) for low, high in pairwise(cuts)]), None)


def _line(told: Histogram) -> Line:
    return lambda cuts: told.ranges(np.array(cuts[:-1]), np.array(cuts[1:]))


def _margin(told: Marginals, name: str) -> Line:
    def sums(cuts: list[int]) -> tuple[Reals, Reals | None]:
        size = told.table((name,)).size
        weights = [[float(low <= place < high) for place in range(size)] for low, high in pairwise(cuts)]
        counts = [told.query((name,), each) for each in weights]
        errors = None if told.fitted else np.array([each.error for each in counts], dtype=np.float64)
        return np.array([each.value for each in counts]), errors

    return sums


# along one side -------------------------------------------------------------------------------------------------------


def _along(side: Side, line: Line) -> Picture:
    title = f"Records by {side.column}"
    if isinstance(side, NumberAxis):
        cuts = _cuts(side.bins, MOST_BARS)
        values, errors = line(cuts)
        ruler = _merged(side, cuts)
        note = _errors_said(errors)
        if not ruler.even:
            note.append("The area of a bar is its count, because the bins are not equally wide.")
        note += _together(side.bins, cuts, "bar", "bins")
        note += _beside(side, line)
        drawn = Series(title, " ".join(note), ruler, _plain(values), reaches=_reaches(values, errors))
        return _picture(histogram, drawn)
    values, errors = line(list(range(len(side) + 1)))
    note = _errors_said(errors) if len(side) <= MOST_KEYS else []
    shown = list(range(len(side)))
    if len(side) > MOST_KEYS:
        errors = None
        shown = sorted(np.argsort(-values, kind="stable")[:MOST_KEYS].tolist())
        rest = float(np.sum(values)) - float(values[shown].sum())
        note.append(_LARGEST.format(drawn=MOST_KEYS, all=len(side), rest=plain(round(rest))))
    ruler = Ruler(side.column, labels=tuple(_label(side.labels[place]) for place in shown))
    reaches = _reaches(values[shown], None if errors is None else errors[shown])
    return _picture(bars, Series(title, " ".join(note), ruler, _plain(values[shown]), reaches=reaches))


def _errors_said(errors: Reals | None) -> list[str]:
    """What is said of the error bars of some numbers."""
    if errors is None or np.isnan(errors).all():
        return [_NO_ERRORS]
    return [_WHISKERS, _SOME] if np.isnan(errors).any() else [_WHISKERS]


def _reaches(values: Reals, errors: Reals | None) -> tuple[float | None, ...] | None:
    """How far each error bar goes; None in all, where nothing tells one number from another."""
    if errors is None:
        return None
    pairs = zip(errors.tolist(), values.tolist(), strict=True)
    return tuple(None if np.isnan(error) else error_bar(error, value) for error, value in pairs)


def _beside(side: NumberAxis, line: Line) -> Iterator[str]:
    """What lies in no bin, and so has no place on a scale."""
    if side.other:
        values, errors = line([side.bins, len(side)])
        far = None if errors is None else error_bar(float(errors[0]), float(values[0])) / 2
        told = figure(float(values[0]), far, 2.0)
        yield f"Not drawn is the cell {side.labels[-1]}, records whose value is missing or in no bin: {told}."


def _shares(side: NumberAxis, told: Histogram) -> Picture:
    cuts = _cuts(len(side), MOST_POINTS)
    shares, errors = told.cdf(np.array(cuts[1:]))
    note = ["How many of all records lie below each value, as a share."]
    total = float(told.counts.sum())
    band = None if errors is None else _band(shares, TIMES * errors + MORE / total)
    note += [_BAND] if band is not None else [_NO_ERRORS]
    if len(cuts) - 1 < len(side):
        note.append(f"{len(cuts):,} of {len(side) + 1:,} edges are drawn, and straight lines between them.")
    drawn = Series(
        f"Records up to each {side.column}",
        " ".join(note),
        _merged(side, cuts),
        _plain(shares),
        band=band,
    )
    return _picture(curve, drawn)


def _band(shares: Reals, halves: Reals) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Around rising shares: where one has no error, from below the last that has one to above the next."""
    known = np.flatnonzero(~np.isnan(halves))
    lower, upper = np.zeros(shares.size), np.ones(shares.size)
    lower[known] = np.clip(shares[known] - halves[known], 0, 1)
    upper[known] = np.clip(shares[known] + halves[known], 0, 1)
    upper[-1] = 1.0
    return _plain(np.maximum.accumulate(lower)), _plain(np.minimum.accumulate(upper[::-1])[::-1])


def _picture(draw: Callable[[Series, int], str], drawn: Series) -> Picture:
    return Picture(drawn.title, drawn.note, draw(drawn, WIDE), draw(drawn, NARROW))


# on two sides ---------------------------------------------------------------------------------------------------------


def _plane(one: Side, two: Side, counts: NDArray[np.generic]) -> Picture:
    """The first column stands upright. What is in no bin of numbers has no place on their scale."""
    high, wide = _drawn(one), _drawn(two)
    rows, columns = _cuts(high, MOST_FIELDS), _cuts(wide, MOST_FIELDS)
    sums = np.add.reduceat(np.add.reduceat(counts[:high, :wide], rows[:-1], axis=0), columns[:-1], axis=1)
    plane = Plane(
        f"Records by {one.column} and {two.column}",
        " ".join(
            [
                "The stronger a field, the more records it has; those without colour have none, or by the noise less.",
                *_together(high, rows, f"field along {one.column}", "cells"),
                *_together(wide, columns, f"field along {two.column}", "cells"),
                *(
                    f"Not drawn are records in the cell {side.labels[-1]} of {side.column}."
                    for side in (one, two)
                    if _drawn(side) < len(side)
                ),
            ]
        ),
        _merged(one, rows),
        _merged(two, columns),
        tuple(_plain(row) for row in sums),
    )
    plane = plane if plane.even else replace(plane, note=f"{plane.note} {_SIZES}")
    return Picture(plane.title, plane.note, heat(plane, WIDE), heat(plane, NARROW))


def _drawn(side: Side) -> int:
    """How many cells of a side have a place in a picture."""
    return side.bins if isinstance(side, NumberAxis) else len(side)


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
        edges, times = side.ruler
        return Ruler(side.column, edges=_plain(edges[list(cuts)]), names=tuple(times[cut] for cut in cuts if times))
    names = [_label(label) for label in side.labels]
    labels = tuple(
        names[low] if high - low == 1 else f"{names[low]} … {names[high - 1]}" for low, high in pairwise(cuts)
    )
    return Ruler(side.column, edges=tuple(map(float, cuts)), labels=labels)


def _label(text: str) -> str:
    return text or "(empty)"


def _plain(values: NDArray[np.generic]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
