"""Histograms and ranges as kinds of release: what may be asked for, how that is counted, and what is published.

Nothing is ever taken from data: a column has the keys that are declared for it, or bins on its declared grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import NDArray

from discreet.declared.group_key import Type
from discreet.declared.table import chosen, column_of
from discreet.errors import Refusal, about
from discreet.exact import Number, positive, share, shown
from discreet.interval_arithmetic import greatest, simpler_down, sqrt
from discreet.mechanisms import Axis, Bins, Caps, Column, Outline
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.private_rows import sides
from discreet.mechanisms.registry import Plain
from discreet.pictures import Picture
from discreet.privacy import Concentrated, Pure, convert
from discreet.release import figures
from discreet.release.axis import IN_OTHER, NumberAxis, read_rule
from discreet.release.bins import FINEST, Calendar, Cut, Dates, Found, Private, cut_times, read_cut, usual
from discreet.release.calendar_bins import usual_calendar
from discreet.release.counting_mechanism import CellMechanism, Publication
from discreet.release.counting_methods import COUNTING, counting, gaussian
from discreet.release.counts_release import CountedRelease
from discreet.release.estimate import Curve, Estimate
from discreet.release.histogram import Histogram
from discreet.release.interval_tree import Reals
from discreet.release.noisy_cells import MOST_CELLS
from discreet.release.private_bins import PrivateBins
from discreet.release.release import no_line
from discreet.release.release_kind import Kind, Option, Wish, part, register
from discreet.sql.relation_facts import Facts
from discreet.sql.render import quoted

_NARROW = Fraction(1, 10**9)  # relative width of a search for ε

METHOD = Option(
    "How; by default what suits.",
    "M",
    label="Method",
    usual="as is usual",
    choices=lambda wish: {each: each for each in wish.methods},
)
BINS = Option(
    "20, 0:100:5, 0,18,65, month, private or private:20; of synthetic rows found:50. May be repeated.",
    "COL=BINS",
    many=True,
    label="Bins",
    usual="as is usual",
    tip=(
        "How many bins, or their edges as 0,18,65, or 0:100:5 for from, to and width. private:16 lets the price "
        "choose. Days are cut by day, week, month, quarter or year."
    ),
)


@dataclass(frozen=True)
class CountsWish(Wish):
    """A release of counts that somebody asks for: of one table, a histogram or ranges.

    `bins` says for a column of numbers how it is cut: a number of bins, a text `lower:upper:width`, edges as `0,18,65`,
    `private` or `private:20`; or the numbers themselves in a list. Rows that are in no cell of a column are left out.
    """

    methods: ClassVar[tuple[str, ...]] = COUNTING
    usual_method: ClassVar[str] = "identity"  # single cells are read off it
    line: ClassVar[int] = 64  # bins of a column if nobody says how many: a histogram is read cell by cell
    plane: ClassVar[int] = 64  # the same where there are two

    method: str | None = part(METHOD)
    bins: Mapping[str, object] = part(BINS, {})
    outside: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, bins=self._cut(), outside=None if self.outside is None else read_rule(self.outside))
        if self.method is not None and self.method not in self.methods:
            known = list(self.methods)
            message = f"there is no method {shown(self.method)} for {self.kind}"
            raise Refusal(message, hint=f"take one of {known}", field="method")
        self.refuse_outside()

    def refuse_outside(self) -> None:
        """Refuse a cell for other values, which one table does not have."""
        if self.outside == IN_OTHER:
            raise Refusal(
                f"{self.kind} has no cell for other values: rows that are in none are left out",
                hint="leave outside out, or publish marginals",
            )

    @property
    def cuts(self) -> dict[str, Cut]:
        """How columns of numbers are to be cut."""
        return {name: _read(value, name) for name, value in self.bins.items()}

    def respelled(self, spelling: Mapping[str, str]) -> dict[str, Any]:
        """Bins by columns so spelled."""
        return {"bins": {spelling[name]: cut for name, cut in self.bins.items()}}

    def _cut(self) -> dict[str, object]:
        """Bins by column, in the plainest form."""
        if not isinstance(self.bins, Mapping):
            raise Refusal(f"expected bins by column, got bins={shown(self.bins)}")
        given = {chosen(str(name), self.columns) or str(name): value for name, value in self.bins.items()}
        for name in given:
            if name not in self.columns:
                hint = f"the columns are {shown(list(self.columns))}"
                raise Refusal(f"bins are given for {shown(name)}, which is not published", hint=hint)
        return {name: _read(value, name).plain for name, value in given.items()}


@dataclass(frozen=True)
class RangesWish(CountsWish):
    """Counts of one table that are added up to ranges: many fine bins. A plane has as many cells as a line of 65536."""

    usual_method: ClassVar[str] = "automatic"  # long ranges are read off it
    line: ClassVar[int] = 1024
    plane: ClassVar[int] = 256


def _planned(outline: Outline, wish: CountsWish) -> Publication:
    """The mechanism of a wish, for rows of which only what is declared is known."""
    columns = tuple(column_of(outline, name) for name in wish.columns)
    caps = outline.caps if wish.max_rows is None else Caps(wish.max_rows)
    if len(columns) > 2:
        raise Refusal(
            f"{wish.kind} has one or two columns, got {len(columns)}", hint="take marginals for tables of more columns"
        )
    axes = axes_of(wish, columns)
    shape = _fitting(outline, axes)
    wanted = (wish.cuts.get(column.name) for column in columns)
    bins = tuple(
        min(cut.bins if isinstance(cut, Private) else 0, side) for cut, side in zip(wanted, shape, strict=True)
    )
    method, own = wish.method or wish.usual_method, (caps.rows, outline.neighbours)
    mechanism: CellMechanism | None = None
    if any(bins):
        mechanism = PrivateBins(pure(wish), shape, *own, bins, method=method)
    elif wish.rho is not None:
        ranges = isinstance(wish, RangesWish)
        mechanism = gaussian(method, positive(wish.rho, "rho"), shape, *own, ranges=ranges)
    mechanism = mechanism or counting(method, pure(wish), shape, *own)
    return Publication(wish.kind, columns, axes, mechanism, caps, outline.neighbours)


def axes_of(wish: CountsWish, columns: Sequence[Column]) -> tuple[Axis, ...]:
    """Keys where there are, bins where they are asked for or there are no keys; a fine grid for private bins."""
    cuts, private = wish.cuts, [column.name for column in columns if isinstance(wish.cuts.get(column.name), Private)]
    most = wish.line if len(columns) == 1 else wish.plane
    plain = {
        column.name: _axis(column, cuts.get(column.name), most) for column in columns if column.name not in private
    }
    others = math.prod(len(axis) if isinstance(axis, Bins) else len(_keys(axis, columns)) for axis in plain.values())
    room = MOST_CELLS // others if len(private) < 2 else math.isqrt(MOST_CELLS)
    finest = max(1, min(FINEST, room))
    return tuple(plain[c.name] if c.name in plain else _numbers(c, None, finest) for c in columns)


def _keys(name: str, columns: Sequence[Column]) -> Sequence[object]:
    return next(column.keys or () for column in columns if column.name == name)


def _read(value: object, column: str) -> Cut:
    with about(column):
        return read_cut(value, column)


def _axis(column: Column, cut: Cut | None, most: int) -> Axis:
    if isinstance(cut, Found):
        raise Refusal(
            f"keys of {column.name!r} are found for synthetic rows alone",
            hint=f"declare --keys {column.name}=a,b,c, or ask SELECT {quoted(column.name)}, count(*) … GROUP BY",
            field=column.name,
        )
    if cut is None and column.keys is not None:
        return column.name
    if column.line is None and column.keys is not None:
        message = f"column {column.name!r} has keys, and bins are for numbers"
        raise Refusal(message, hint="leave its bins out", field=column.name)
    return _numbers(column, cut, most)


def _numbers(column: Column, cut: Cut | None, most: int) -> Bins:
    if column.grid is None and column.line is not None:
        return _of_times(column, cut, most)
    if column.grid is None:
        raise Refusal(
            f"column {column.name!r} has neither declared keys nor bounds: there is nothing to count it by",
            hint=f"declare --keys {column.name}=a,b,c or --bounds {column.name}=low:high; data never does",
        )
    if cut is None or isinstance(cut, Private):
        return usual(column.name, column.grid, most)
    if isinstance(cut, (Calendar, Dates, Found)):
        raise Refusal(
            f"column {column.name!r} has numbers, and its bins were to be {cut.plain}",
            hint="say how many bins, or lower:upper:width",
            field=column.name,
        )
    with about(column.name):
        return cut.on(column.name, column.grid)


def _of_times(column: Column, cut: Cut | None, most: int) -> Bins:
    """Bins of days or moments, by a calendar if nobody says which."""
    line: Any = column.line
    if cut is None or isinstance(cut, Private):
        return usual_calendar(column.name, line, column.type, most)
    with about(column.name):
        return cut_times(cut, column.name, line, column.type)


def _fitting(outline: Outline, axes: Sequence[Axis]) -> tuple[int, ...]:
    """The shape, if the bins lie within the bounds and the cells are not too many."""
    shape = tuple(side_of(outline, axis) for axis in axes)
    if math.prod(shape) > MOST_CELLS:
        size = " × ".join(map(str, shape))
        raise Refusal(f"this has {size} cells, more than {MOST_CELLS}", hint="use wider bins, or fewer columns")
    return shape


def side_of(outline: Outline, axis: Axis) -> int:
    """How many cells a column has."""
    with about(axis if isinstance(axis, str) else axis.column):
        return sides(outline, [axis])[0]


def pure(wish: Wish) -> Fraction:
    """The ε of a wish; of one in ρ the largest that is ρ-concentrated, ε tanh(ε/2) ≤ ρ, rounded down."""
    if wish.rho is None:
        return positive(wish.epsilon or 0, "epsilon")
    rho = positive(wish.rho, "rho")

    def holds(epsilon: Fraction) -> bool:
        return convert(Pure(epsilon), Concentrated).rho <= rho

    low = simpler_down(sqrt(2 * rho).down, 48)  # ε tanh(ε/2) ≤ ε²/2
    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    return simpler_down(greatest(holds, low, high, _NARROW), 48)


def fits(column: str, known: Facts) -> None:
    """Refuse what has no keys and is no number: bins are of numbers."""
    if known.keys is not None or known.type.numeric or known.type is Type.BOOLEAN:
        return
    name = quoted(column)
    if known.type is Type.VARCHAR:
        raise Refusal(
            f"column {column!r} is text and has no declared keys: there is nothing to count it by",
            hint=f"declare --keys {column}=a,b,c; data never does. Synthetic rows can find them: --bins {column}=found",
        )
    if known.range.bounded is not None:
        return
    year = f"extract(year FROM {name}) AS year"
    raise Refusal(
        f"column {column!r} has {known.type.value}s, and neither declared keys nor bounds",
        hint=f"declare --bounds {column}=2026-01-01:2026-12-31, or publish a SELECT with {year}",
    )


@dataclass(frozen=True)
class HistogramRelease(CountedRelease):
    """Published counts of one table, on a line or a plane."""

    content: Histogram

    @property
    def own_bounding(self) -> str:
        """As its mechanism said."""
        return self.content.bounding

    def _asked(self, where: Mapping[str, object]) -> tuple[str, ...]:  # noqa: ARG002  # all of them
        return self.columns

    def weighed(self, columns: Sequence[str], weights: Reals) -> Estimate:  # noqa: ARG002  # all of them
        """A weighted sum of all cells."""
        return self.content.weighed(weights)

    def cell(self, /, **where: object) -> Estimate:
        """One cell: a key by its value, a bin by a number in it."""
        if set(where) != set(self.columns):
            raise Refusal(f"a cell has a value of each of {list(self.columns)}, got {sorted(where)}")
        return super().cell(**where)

    @property
    def line(self) -> str | None:
        """Its column, if it is one of numbers."""
        return self.columns[0] if self._number_axis() is not None else None

    def quantile(self, level: Number) -> Estimate:
        """The value below which this share of the records lies, straight within a bin.

        Its error bar goes from an edge of a bin to an edge: where between two edges records lie is not known.
        """
        axis = self._line()
        place = self.content.quantile(share(level, "level"))
        span = None if place.span is None else (axis.value(place.span[0]), axis.value(place.span[1]))
        return Estimate(axis.value(place.value), None, span)

    def cdf(self) -> Curve:
        """The share of all records up to the upper edge of each bin."""
        axis = self._line()
        return Curve(axis.edges[1:], *self.content.cdf())

    def nonnegative(self) -> HistogramRelease:
        """The nearest counts of which none is negative: a fit of all cells together, never a clip."""
        return replace(self, content=self.content.nonnegative())

    def whole(self) -> HistogramRelease:
        """Whole counts, none negative, that add up exactly."""
        return replace(self, content=self.content.nonnegative().whole())

    def counts(self, columns: Sequence[str] | None = None) -> NDArray[Any]:
        """The counts as an array with an axis for each column."""
        self._refuse_other(columns)
        return self.content.counts

    def errors(self, columns: Sequence[str] | None = None) -> Reals | None:
        """The standard error of each of these counts; not a number where there is none, None if nowhere is one."""
        self._refuse_other(columns)
        return self.content.cell_errors()

    def to_arrow(self) -> dict[str, Any]:
        """Its one table, named cells."""
        return {"cells": self.table()}

    def pictures(self) -> list[Picture]:
        """Its cells, and on a line of numbers the shares below each."""
        return figures.of_histogram(self.axes, self.content)

    def body(self) -> dict[str, Any]:
        """Axes and cells."""
        return {"axes": [axis.plain for axis in self.axes], "histogram": self.content.plain}

    @classmethod
    def read(cls, facts: Mapping[str, Plain], body: Mapping[str, Any]) -> HistogramRelease:
        """What `body` told of."""
        content = Histogram.read(body["histogram"])
        if content.part.size != content.counts.size:
            raise ValueError
        release = cls(facts, cls.read_axes(facts, body, content.shape), content)
        for names in release.tables:
            release.counts(names)
        return release

    def _refuse_other(self, columns: Sequence[str] | None) -> None:
        if columns is not None and tuple(columns) != self.columns:
            raise Refusal(f"this release has one table, of {list(self.columns)}, got {shown(columns)}")

    def _line(self) -> NumberAxis:
        axis = self._number_axis()
        if axis is None:
            raise no_line(self.columns)
        return axis

    def _number_axis(self) -> NumberAxis | None:
        axis = self.axes[0]
        return axis if len(self.axes) == 1 and isinstance(axis, NumberAxis) and axis.time is None else None


HISTOGRAM = register(
    Kind(
        "histogram",
        "Histogram",
        "How many there are in each bin, or of each key. One column or two.",
        CountsWish,
        _planned,
        HistogramRelease,
        phrase="A histogram",
        help="Publish the counts of one or two columns, to be read cell by cell.",
        fits=fits,
    )
)
RANGES = register(
    Kind(
        "ranges",
        "Ranges",
        "Many fine bins, made to be added up: any range, share or quantile. One column or two.",
        RangesWish,
        _planned,
        HistogramRelease,
        phrase="Counts for ranges",
        help="Publish the counts of one or two columns, to be read in ranges, shares and quantiles.",
        fits=fits,
    )
)
