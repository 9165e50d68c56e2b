"""A net as a kind of release: which questions it is to answer, how many rows that takes, and the rows themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.table import column_of
from discreet.errors import Refusal, about
from discreet.exact import Number, count, share
from discreet.mechanisms import Axis, Bins, Caps, Outline
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import Plain
from discreet.pictures import Picture
from discreet.release import figures
from discreet.release.bins import Private, written
from discreet.release.counting_mechanism import Publication
from discreet.release.counts_release import CountedRelease, free
from discreet.release.estimate import Estimate
from discreet.release.histogram import NONE, Histogram
from discreet.release.histogram_kinds import CountsWish, axes_of, fits, pure, side_of
from discreet.release.interval_tree import Reals
from discreet.release.net_mechanism import MOST_CELLS, Net, different, ranges_of, rows_for, tables_up_to
from discreet.release.net_rows import EVERY, NetRows
from discreet.release.release import Cell, Sheet, cell
from discreet.release.release_kind import Kind, Option, part, register

_NEAR = "0.1"  # of all records: how near the nearest table of the net is, if nobody says
_WAYS = Option(
    "Questions about up to so many columns at once; else about two. Of one column of numbers all ranges are asked.",
    "N",
    int,
    label="Columns in each question",
    usual="2",
)
_WITHIN = Option("How near the nearest table must be, as a share of all records; 0.1 if nobody says.", "SHARE")
_ROWS = Option("How many rows, instead.", "N", int, label="Rows", usual="as many as the theorem asks for")
_SAID = (
    "The rows were chosen, not counted: they answer a family of questions as nearly as they can, and each stands for "
    "as many records as the total is larger. All answers of the family together are within what is stated, 19 times "
    "in 20; about other questions nothing is known."
)


@dataclass(frozen=True)
class NetWish(CountsWish):
    """Rows that somebody asks for, chosen to answer all questions about up to `ways` columns.

    Of one column of numbers the questions are all ranges of its bins. `within` says how near the data the nearest of
    the tables that are chosen from must be, as a share of all records; from it follows how many rows there are.
    """

    methods: ClassVar[tuple[str, ...]] = ("net",)
    usual_method: ClassVar[str] = "net"
    line: ClassVar[int] = 8  # bins of a column if nobody says how many: the net grows beyond all bounds with cells
    plane: ClassVar[int] = 4

    ways: int | None = part(_WAYS)
    within: Number | None = part(_WITHIN)  # noqa: RUF009  # a field
    rows: int | None = part(_ROWS)

    def __post_init__(self) -> None:
        super().__post_init__()
        with about("ways"):
            settle(self, ways=None if self.ways is None else count(self.ways, "ways"))
        with about("within"):
            settle(self, within=None if self.within is None else written(share(self.within, "within")))
        with about("rows"):
            settle(self, rows=None if self.rows is None else count(self.rows, "rows"))
        if self.rows is not None and self.within is not None:
            raise Refusal(
                f"say how many rows, or how near they are to be, got rows={self.rows} and within={self.within}",
                field="rows",
            )
        if self.ways is not None and self.ways > len(self.columns):
            raise Refusal(
                f"there are {len(self.columns)} columns, and questions about ways={self.ways} were asked for",
                field="ways",
            )


def _planned(outline: Outline, wish: NetWish) -> Publication:
    """The mechanism of a wish, for rows of which only what is declared is known."""
    columns = tuple(column_of(outline, name) for name in wish.columns)
    if private := [name for name, cut in wish.cuts.items() if isinstance(cut, Private)]:
        raise Refusal(f"a net takes declared bins, and those of {private[0]!r} were to be chosen privately")
    caps = outline.caps if wish.max_rows is None else Caps(wish.max_rows)
    axes = axes_of(wish, columns)
    shape = tuple(side_of(outline, axis) for axis in axes)
    size = math.prod(shape)
    if not 1 < size <= MOST_CELLS:
        raise Refusal(
            f"a net is over 2 to {MOST_CELLS} cells, and this has {size}: {' × '.join(map(str, shape))}",
            hint="fewer columns, or wider bins, as bins={'age': 4}; for more cells take marginals",
        )
    queries = _family(wish, axes, shape)
    rows = wish.rows or rows_for(wish.within or _NEAR, size, different(queries, size))
    net = Net(pure(wish), shape, queries, rows, caps.rows, neighbours=outline.neighbours)
    return Publication(wish.kind, columns, axes, net, caps, outline.neighbours)


def _family(wish: NetWish, axes: Sequence[Axis], shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(axes) == 1 and isinstance(axes[0], Bins) and wish.ways is None:
        return ranges_of(shape[0])
    return tables_up_to(shape, min(2, len(shape)) if wish.ways is None else wish.ways)


@dataclass(frozen=True)
class NetRelease(CountedRelease):
    """Published rows, each of which stands for many records."""

    heading: ClassVar[str] = "What the rows stand for"

    content: NetRows

    @property
    def own_bounding(self) -> str:
        """For what there is an error bar."""
        return f"{EVERY} Beside other numbers there is none: how far off they are is not known."

    def _asked(self, where: Mapping[str, object]) -> tuple[str, ...]:  # noqa: ARG002  # all of them
        return self.columns

    def weighed(self, columns: Sequence[str], weights: Reals) -> Estimate:  # noqa: ARG002  # all of them
        """A weighted sum of all cells."""
        return self.content.weighed(weights)

    def counts(self, columns: Sequence[str] | None = None) -> NDArray[Any]:
        """How many records each cell stands for, as an array with an axis for each column."""
        if columns is not None and tuple(columns) != self.columns:
            raise Refusal(f"this release has one table, of {list(self.columns)}, got {list(columns)}")
        return self.content.counts

    def errors(self, columns: Sequence[str] | None = None) -> None:
        """There are no standard errors: what is known holds for all questions together."""

    def nonnegative(self) -> NetRelease:
        """As it is."""
        return self

    def whole(self) -> NetRelease:
        """Refused: its rows are whole, and what they stand for need not be."""
        raise Refusal("the rows of a net are whole, and each stands for a share of all records", hint="take its rows")

    def fitted(self) -> None:
        """There are no whole counts."""

    def to_arrow(self) -> dict[str, pa.Table]:
        """Its rows: a key or the edges of a bin of each column."""
        columns: dict[str, pa.Array] = {}
        places = np.unravel_index(self.content.places, self.content.shape)
        for side, place in zip(self.axes, places, strict=True):
            for name, values in side.arrays(place).items():
                columns[free(name, columns)] = values
        return {"rows": pa.table(columns)}

    def printed(self) -> list[pa.Table]:
        """The same."""
        return list(self.to_arrow().values())

    def sheet(self, table: pa.Table, most: int) -> Sheet:
        """The first rows."""
        rows = tuple(tuple(Cell(cell(value)) for value in row.values()) for row in table.slice(0, most).to_pylist())
        return Sheet(tuple(table.column_names), rows, table.num_rows)

    def exactness(self, tables: Mapping[str, pa.Table]) -> str:  # noqa: ARG002  # of all alike
        """What is known of answers, with the numbers."""
        told = self.content
        total = f"There are about {told.records:,} records, give or take {told.away:,}."
        return f"{_SAID} {total} Answers of the family are within {told.reach:,} records."

    def pictures(self) -> list[Picture]:
        """One column or two, as a histogram without error bars."""
        told = self.content
        if len(told.shape) > 2:
            return []
        return figures.of_histogram(self.axes, Histogram(told.counts, np.arange(len(told.rows)), None, NONE))

    def body(self) -> dict[str, Any]:
        """Axes and rows."""
        return {"axes": [axis.plain for axis in self.axes], "net": self.content.plain}

    @classmethod
    def read(cls, facts: Mapping[str, Plain], body: Mapping[str, Any]) -> NetRelease:
        """What `body` told of."""
        content = NetRows.read(body["net"])
        return cls(facts, cls.read_axes(facts, body, content.shape), content)


NET = register(
    Kind(
        "net",
        "Chosen rows",
        "A few rows that answer a family of questions together, for very small domains: 32 cells at most.",
        NetWish,
        _planned,
        NetRelease,
        phrase="A net of rows",
        help="Publish a few rows that answer all questions about few columns; 32 cells at most.",
        fits=fits,
    )
)
