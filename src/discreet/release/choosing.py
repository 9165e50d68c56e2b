"""From a wish to a publication, by what is declared of a table and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from discreet.declared.table import column_of
from discreet.errors import Refusal
from discreet.exact import positive, share
from discreet.interval import greatest, simpler_down, sqrt
from discreet.mechanisms import Axis, Bins, Caps, Column, Outline
from discreet.mechanisms.relation import sides
from discreet.privacy import AddRemove, Concentrated, Pure, concentrated_for, convert, epsilon_at
from discreet.release.bins import FINEST, Cut, Private, usual
from discreet.release.counts import MOST_CELLS
from discreet.release.marginals import FourierMarginals, ResidualMarginals
from discreet.release.marginals.domain import MOST_TABLES
from discreet.release.method import HISTOGRAM, MARGINALS, RANGES, USUAL, counting
from discreet.release.other_cell import IN_OTHER
from discreet.release.private_bins import PrivateBins
from discreet.release.publication import Mechanism, Publication
from discreet.release.request import Wish

# Bins of a column if nobody says how many: a histogram is read cell by cell, ranges are added up, and the cells of a
# table multiply. A plane of ranges has as many cells as a line of 65536.
_LINE = {HISTOGRAM: 64, RANGES: 1024, MARGINALS: 16}
_PLANE = {HISTOGRAM: 64, RANGES: 256, MARGINALS: 16}
_NARROW = Fraction(1, 10**9)  # relative width of a search for ε
_LOWER = 1 - Fraction(1, 1 << 40)
_PARTS, _DEEP = 4096, 13  # sub-tables that are counted for cells of other values; a table of 13 columns has more


def publication(outline: Outline, wish: Wish) -> Publication:
    """The publication that a wish is, for tables of which only what is declared is known.

    Nothing is ever taken from data: a column has the keys that are declared for it, or bins on its declared grid.
    """
    columns = tuple(column_of(outline, name) for name in wish.columns)
    caps = outline.caps if wish.max_rows is None else Caps(wish.max_rows)
    if wish.kind == MARGINALS:
        axes, delta = _axes(wish, columns), None if wish.delta is None else share(wish.delta, "delta")
        outside = wish.outside or IN_OTHER
        mechanism: Mechanism = _marginals(outline, wish, axes, caps, outside)
        return Publication(wish.kind, columns, axes, mechanism, caps, outline.neighbours, delta, outside)
    if len(columns) > 2:
        raise Refusal(
            f"{wish.kind} has one or two columns, got {len(columns)}", hint="take marginals for tables of more columns"
        )
    axes = _axes(wish, columns)
    shape = _fitting(outline, axes)
    bins = tuple(min(many, side) for many, side in zip(_wanted(wish.cuts, columns), shape, strict=True))
    epsilon, method, own = _pure(wish), wish.method or USUAL[wish.kind], (caps.rows, outline.neighbours)
    if any(bins):
        mechanism = PrivateBins(epsilon, shape, *own, bins, method=method)
    else:
        mechanism = counting(method, epsilon, shape, *own)
    return Publication(wish.kind, columns, axes, mechanism, caps, outline.neighbours)


def _axes(wish: Wish, columns: Sequence[Column]) -> tuple[Axis, ...]:
    """Keys where there are, bins where they are asked for or there are no keys; a fine grid for private bins."""
    cuts, private = wish.cuts, [column.name for column in columns if isinstance(wish.cuts.get(column.name), Private)]
    if private and wish.kind == MARGINALS:
        raise Refusal(
            f"marginals take declared bins, and those of {private[0]!r} were to be chosen privately",
            hint=f"publish a histogram of {private[0]!r} with private bins, and give its edges here",
        )
    most = (_LINE if len(columns) == 1 else _PLANE)[wish.kind]
    plain = {
        column.name: _axis(column, cuts.get(column.name), most) for column in columns if column.name not in private
    }
    others = math.prod(len(axis) if isinstance(axis, Bins) else len(_keys(axis, columns)) for axis in plain.values())
    room = MOST_CELLS // others if len(private) < 2 else math.isqrt(MOST_CELLS)
    finest = max(1, min(FINEST, room))
    return tuple(plain[c.name] if c.name in plain else _numbers(c, None, finest) for c in columns)


def _keys(name: str, columns: Sequence[Column]) -> Sequence[object]:
    return next(column.keys or () for column in columns if column.name == name)


def _axis(column: Column, cut: Cut | None, most: int) -> Axis:
    if cut is None and column.keys is not None:
        return column.name
    if column.grid is None and column.keys is not None:
        raise Refusal(f"column {column.name!r} has keys, and bins are for numbers", hint="leave its bins out")
    return _numbers(column, cut, most)


def _numbers(column: Column, cut: Cut | None, most: int) -> Bins:
    if column.grid is None:
        raise Refusal(
            f"column {column.name!r} has neither declared keys nor bounds: there is nothing to count it by",
            hint=f"declare --keys {column.name}=a,b,c or --bounds {column.name}=low:high; data never does",
        )
    if cut is None or isinstance(cut, Private):
        return usual(column.name, column.grid, most)
    return cut.on(column.name, column.grid)


def _wanted(cuts: Mapping[str, Cut], columns: Sequence[Column]) -> list[int]:
    found = [cuts.get(column.name) for column in columns]
    return [cut.bins if isinstance(cut, Private) else 0 for cut in found]


def _fitting(outline: Outline, axes: Sequence[Axis]) -> tuple[int, ...]:
    """The shape, if the bins lie within the bounds and the cells are not too many."""
    shape = sides(outline, axes)
    if math.prod(shape) > MOST_CELLS:
        size = " × ".join(map(str, shape))
        raise Refusal(f"this has {size} cells, more than {MOST_CELLS}", hint="use wider bins, or fewer columns")
    return shape


def _marginals(outline: Outline, wish: Wish, axes: tuple[Axis, ...], caps: Caps, outside: str) -> Mechanism:
    sizes = tuple(sides(outline, [axis])[0] + (outside == IN_OTHER) for axis in axes)
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
    if (wish.method or ("residual" if gaussian else "fourier")) == "fourier":
        return FourierMarginals(wish.columns, sizes, tables, _pure(wish), most=most, neighbours=added)
    return ResidualMarginals(wish.columns, sizes, tables, _concentrated(wish), most=most, neighbours=added)


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


def _pure(wish: Wish) -> Fraction:
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


def _concentrated(wish: Wish) -> Fraction:
    """The ρ of a wish; of one in (ε, δ) the largest whose conversion stays within both, rounded down."""
    if wish.rho is not None:
        return positive(wish.rho, "rho")
    epsilon, delta = positive(wish.epsilon or 0, "epsilon"), share(wish.delta or 0, "delta")
    rho = concentrated_for(epsilon, delta).rho
    while epsilon_at(Concentrated(rho), delta) > epsilon:  # another order of the conversion may be a hair worse
        rho = simpler_down(rho * _LOWER)
    return rho
