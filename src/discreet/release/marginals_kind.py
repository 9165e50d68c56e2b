"""Marginals as a kind of release: tables that may be asked for, how they are counted, and what is published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import column_of
from discreet.errors import Refusal, about
from discreet.exact import Number, count, positive, share, shown
from discreet.interval_arithmetic import simpler_down
from discreet.mechanisms import Axis, Caps, Outline
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import Plain
from discreet.pictures import Picture
from discreet.privacy import AddRemove, Concentrated, concentrated_for, epsilon_at
from discreet.release import figures
from discreet.release.axis import IN_OTHER, LEFT_OUT
from discreet.release.bins import Private
from discreet.release.counting_mechanism import CellMechanism, Publication
from discreet.release.counts_release import CountedRelease
from discreet.release.estimate import Estimate
from discreet.release.histogram import EXACT, FITTED
from discreet.release.histogram_kinds import CountsWish, axes_of, fits, pure, side_of
from discreet.release.interval_tree import Reals
from discreet.release.marginals import FourierMarginals, Marginals, ResidualMarginals, WeightedMarginals
from discreet.release.marginals.consistency import can_be_whole
from discreet.release.marginals.domain import MOST_TABLES, maximal
from discreet.release.noisy_cells import MOST_CELLS
from discreet.release.release_kind import Kind, Option, Wish, listed, names_of, part, register

_LOWER = 1 - Fraction(1, 1 << 40)
_PURE = ("fourier", "mwem")  # methods that need no δ
_PARTS, _DEEP = 4096, 13  # sub-tables that are counted for cells of other values; a table of 13 columns has more
_EARLIER_EXACT = "The standard errors cover all of the error."  # as version 1 said of marginals

_WAYS = Option("All tables of so many columns; else of two.", "N", int, label="Columns in each table", usual="2")
_DELTA = Option(label="delta, for Gaussian noise in tables", usual="none")  # the command line has it for all kinds
_TABLES = Option("These tables instead.", "A+B,B+C", read=lambda text: [table.split("+") for table in text.split(",")])
_OUTSIDE = Option(
    "Rows in no cell of a column: in one of their own, or in no table.",
    "other|leave-out",
    label="Rows without a listed key, or in no bin",
    usual="count them as (other)",
    choices=lambda _: {LEFT_OUT: "leave them out of every table"},
)


@dataclass(frozen=True)
class MarginalsWish(CountsWish):
    """Contingency tables that somebody asks for: all of `ways` columns, two if nobody says, or those that are named.

    `outside` says what becomes of rows that are in no cell of a column: they are counted in a cell `other` of it, or,
    with 'leave out', left out of all tables alike.
    """

    fewest: ClassVar[int] = 2
    every: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("residual", "fourier", "mwem")
    line: ClassVar[int] = 16  # the cells of a table multiply
    plane: ClassVar[int] = 16

    delta: Number | None = part(_DELTA)  # noqa: RUF009  # a field
    ways: int | None = part(_WAYS)
    tables: tuple[tuple[str, ...], ...] = part(_TABLES, ())
    outside: str | None = part(_OUTSIDE)

    def __post_init__(self) -> None:
        tables = tuple(names_of(table, "a table") for table in listed(self.tables, "tables"))
        columns = names_of(self.columns, "columns") or tuple(dict.fromkeys(name for table in tables for name in table))
        settle(self, columns=columns, tables=tables)
        super().__post_init__()
        with about("ways"):
            settle(self, ways=None if self.ways is None else count(self.ways, "ways"))
        if self.method == "residual" and self.rho is None and self.delta is None:
            raise Refusal(
                f"residual marginals have Gaussian noise, which needs a delta beside epsilon={self.epsilon}",
                hint="say delta='1e-9', or rho instead of epsilon, or take the method fourier",
                field="method",
            )
        if self.ways is not None and self.tables:
            raise Refusal(f"tables are named, or all of so many columns, got {shown(self.tables)} and ways={self.ways}")
        if self.ways is not None and self.ways > len(self.columns):
            raise Refusal(
                f"there are {len(self.columns)} columns, and tables of ways={shown(self.ways)} were asked for",
                field="ways",
            )

    @property
    def takes_delta(self) -> bool:
        """For Gaussian noise at a price in ε."""
        return self.rho is None and self.method not in _PURE

    @classmethod
    def names_columns(cls, parts: Mapping[str, object]) -> bool:
        """The tables name them."""
        return bool(parts.get("tables"))

    def refuse_outside(self) -> None:
        """Either will do."""

    def respelled(self, spelling: Mapping[str, str]) -> dict[str, Any]:
        """Bins and tables by columns so spelled."""
        tables = tuple(tuple(spelling.get(name, name) for name in table) for table in self.tables)
        return {**super().respelled(spelling), "tables": tables}


def _planned(outline: Outline, wish: MarginalsWish) -> Publication:
    """The mechanism of a wish, for rows of which only what is declared is known."""
    columns = tuple(column_of(outline, name) for name in wish.columns)
    if private := [name for name, cut in wish.cuts.items() if isinstance(cut, Private)]:
        raise Refusal(
            f"marginals take declared bins, and those of {private[0]!r} were to be chosen privately",
            hint=f"publish a histogram of {private[0]!r} with private bins, and give its edges here",
            field=private[0],
        )
    axes, delta = axes_of(wish, columns), None if wish.delta is None else share(wish.delta, "delta")
    caps, outside = outline.caps if wish.max_rows is None else Caps(wish.max_rows), wish.outside or IN_OTHER
    mechanism = _mechanism(outline, wish, axes, caps, outside)
    return Publication(wish.kind, columns, axes, mechanism, caps, outline.neighbours, delta, outside)


def _mechanism(
    outline: Outline, wish: MarginalsWish, axes: tuple[Axis, ...], caps: Caps, outside: str
) -> CellMechanism:
    sizes = tuple(side_of(outline, axis) + (outside == IN_OTHER) for axis in axes)
    many = min(len(wish.columns), 2) if wish.ways is None else wish.ways
    tables = wish.tables or _all_of(wish.columns, many)
    known = dict(zip(wish.columns, sizes, strict=True))
    cells = sum(math.prod(known.get(name, 1) for name in table) for table in tables)
    if cells > MOST_CELLS:
        raise Refusal(f"the tables have {cells} cells, more than {MOST_CELLS}", hint="use wider bins, or fewer columns")
    if outside == IN_OTHER:
        _refuse_many(tables)
    adding = isinstance(outline.neighbours, AddRemove)
    most, added = caps.rows if adding else 2 * caps.rows, AddRemove(outline.neighbours.unit)
    gaussian = wish.rho is not None or wish.delta is not None
    method = wish.method or ("residual" if gaussian else "fourier")
    if method == "mwem":
        return WeightedMarginals(wish.columns, sizes, tables, pure(wish), most=most, neighbours=added)
    if method == "fourier":
        return FourierMarginals(wish.columns, sizes, tables, pure(wish), most=most, neighbours=added)
    return ResidualMarginals(wish.columns, sizes, tables, concentrated(wish), most=most, neighbours=added)


def _refuse_many(tables: Sequence[Sequence[str]]) -> None:
    """Refuse tables with so many sub-tables that nobody could wait: an other cell is what sub-tables have more."""
    wide = any(len(table) >= _DEEP for table in tables)
    parts = {some for table in tables for size in range(len(table)) for some in combinations(table, size) if not wide}
    if wide or len(parts) > _PARTS:
        raise Refusal(
            f"cells for other values take more than {_PARTS} counts in these tables",
            hint="ask for tables of fewer columns, or leave out rows that are in no cell: outside='leave out'",
        )


def _all_of(columns: tuple[str, ...], many: int) -> tuple[tuple[str, ...], ...]:
    """All tables of so many columns, unless nobody could wait for the list of them."""
    if math.comb(len(columns), many) > MOST_TABLES:
        wanted = f"{len(columns)} columns have {math.comb(len(columns), many)} tables of {many}"
        raise Refusal(f"{wanted}, more than {MOST_TABLES}", hint="ask for tables of fewer columns, or name some")
    return tuple(combinations(columns, many))


def concentrated(wish: Wish, lost: Fraction = Fraction(0)) -> Fraction:
    """The ρ of a wish; of one in (ε, δ) the largest whose conversion stays within both, rounded down.

    `lost` is a part of δ that the release takes besides.
    """
    if wish.rho is not None:
        return positive(wish.rho, "rho")
    epsilon, delta = positive(wish.epsilon or 0, "epsilon"), share(wish.delta or 0, "delta")
    rho = concentrated_for(epsilon, delta - lost).rho
    while epsilon_at(Concentrated(rho, lost), delta) > epsilon:  # another order of the conversion may be a hair worse
        rho = simpler_down(rho * _LOWER)
    return rho


@dataclass(frozen=True)
class MarginalsRelease(CountedRelease):
    """Published contingency tables that agree with each other, each of some of the columns."""

    content: Marginals

    @property
    def own_bounding(self) -> str:
        """Whether the errors are those of the noise."""
        return FITTED if self.content.fitted else _EARLIER_EXACT if self.earlier else EXACT

    def weighed(self, columns: Sequence[str], weights: Reals) -> Estimate:
        """A weighted sum of the cells of the table of these columns."""
        return self.content.query(columns, weights)

    def nonnegative(self) -> MarginalsRelease:
        """Near counts of which none is negative: a fit of all cells together, never a clip."""
        return replace(self, content=self.content.nonnegative())

    def whole(self) -> MarginalsRelease:
        """Whole counts, none negative, that agree; refused for tables of which none need exist."""
        return replace(self, content=self.content.counts())

    def fitted(self) -> MarginalsRelease | None:
        """The same; None where there need not be any."""
        return self.whole() if can_be_whole(maximal(self.content.sets)) else None

    def counts(self, columns: Sequence[str] | None = None) -> NDArray[Any]:
        """The counts as an array with an axis for each column, of one table; else of the first one."""
        return self.content.table(self.tables[0] if columns is None else columns)

    def errors(self, columns: Sequence[str] | None = None) -> Reals | None:
        """The standard error of each of these counts, in a table the same; None if nowhere is one."""
        names = self.tables[0] if columns is None else columns
        std = self.content.std(names)
        return None if std is None else np.full([len(self.axis(name)) for name in names], std)

    def pictures(self) -> list[Picture]:
        """Each column alone, then pairs that were counted together."""
        return figures.of_marginals(self.axes, self.content)

    def body(self) -> dict[str, Any]:
        """Axes and tables."""
        return {"axes": [axis.plain for axis in self.axes], "marginals": self.content.plain}

    @classmethod
    def read(cls, facts: Mapping[str, Plain], body: Mapping[str, Any]) -> MarginalsRelease:
        """What `body` told of."""
        content = Marginals.read(body["marginals"])
        release = cls(facts, cls.read_axes(facts, body, content.domain.sizes), content)
        for names in release.tables:
            release.counts(names)
        return release


MARGINALS = register(
    Kind(
        "marginals",
        "Tables",
        "Counts by every pair of columns, which agree with each other. Two columns or more.",
        MarginalsWish,
        _planned,
        MarginalsRelease,
        phrase="Contingency tables",
        help=(
            "Publish contingency tables that agree with each other; without columns, of all that have keys or bounds."
        ),
        fits=fits,
    )
)
