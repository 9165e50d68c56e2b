"""Rows by the cell of a table that they fall into, as SQL: what a release counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from discreet.declared.grid import Grid
from discreet.declared.group_key import Key, Type
from discreet.sql.bounding import among, one_row_units
from discreet.sql.expression import Field
from discreet.sql.owned_rows import Rows
from discreet.sql.relation_facts import shape
from discreet.sql.render import UNIT, Located, quoted, rows, summand
from discreet.sql.row_cap import Choice


@dataclass(frozen=True)
class CutColumn:
    """A column of numbers, days or moments cut at rising steps: place 0 lies below the first, others from a cut on."""

    column: str
    grid: Grid
    cuts: tuple[int, ...]


@dataclass(frozen=True)
class Keyed:
    """A column by its declared values; rows with others are left out."""

    column: str
    values: tuple[Key, ...]


Side = CutColumn | Keyed
LIMB = 64  # bits of the lower part of a product


@dataclass(frozen=True)
class BoundedRows:
    """Rows of a relation, at most so many of each unit, and of those units alone that are in all of some samples."""

    tree: Rows
    cap: int
    samples: tuple[str, ...] = ()  # tables of units, in their column `unit`

    def text(self, located: Located, salt: int) -> str:
        """Every column of the rows.

        They are chosen by salted hash of what they say. Which rows a unit keeps depends on its own rows alone, and is
        the same for every table that is made of them. Only units that have more than they may are looked at closely.
        """
        source = rows(self.tree, located)
        for name in self.samples:  # of units, so it makes no difference that their rows are counted afterwards
            source = f"SELECT * FROM ({source}) WHERE {quoted(UNIT)} IN (SELECT unit FROM {name})"
        if one_row_units(self.tree):
            return source
        names = tuple(quoted(name) for name in shape(self.tree).columns)
        return Choice(self.tree, names, salt, quoted(UNIT)).capped(source, self.cap)


def summed(
    source: BoundedRows, what: tuple[Sequence[Side], Sequence[tuple[str, Grid]]], located: Located, salt: int
) -> str:
    """For each cell with a row in it: a place or a key for each side, its rows, and sums of steps, as text.

    What is no number adds nothing.
    """
    totals = [_as_text(f"sum(CAST(x{i} AS HUGEINT))", f"s{i}") for i in range(len(what[1]))]
    return _grouped(source, what, ("TRUE", totals), (located, salt))


def multiplied(
    source: BoundedRows, what: tuple[Sequence[Side], Sequence[tuple[str, Grid]]], located: Located, salt: int
) -> str:
    """The same of rows that have all the numbers, and after the sums those of products, with `limbs` of them each."""
    values = what[1]
    complete = " AND ".join(f"x{i} IS NOT NULL" for i in range(len(values))) or "TRUE"
    totals = [_as_text(f"sum(CAST(x{i} AS HUGEINT))", f"s{i}") for i in range(len(values))]
    for i, (_, one) in enumerate(values):
        for j, (_, two) in enumerate(values[i:], start=i):
            kind = "BIGINT" if one.reach * two.reach < 1 << 62 else "HUGEINT"
            product = f"CAST(x{i} AS {kind}) * CAST(x{j} AS {kind})"
            parts = [product]
            if limbs(one, two) > 1:
                parts = [f"({product}) >> {LIMB}", f"({product}) & CAST({(1 << LIMB) - 1} AS HUGEINT)"]
            totals += [_as_text(f"sum({part})", f"p{i}_{j}_{place}") for place, part in enumerate(parts)]
    return _grouped(source, what, (complete, totals), (located, salt))


def limbs(one: Grid, two: Grid) -> int:
    """In how many parts, the upper bits first, products of two numbers are added up: no table has 2^40 rows."""
    return 1 if one.reach.bit_length() + two.reach.bit_length() + 40 <= 126 else 2


def listed(source: BoundedRows, columns: Sequence[Keyed | tuple[str, Grid]], located: Located, salt: int) -> str:
    """The rows one by one, each column in steps, or as its value if that is declared and whether it is."""
    kinds, items = _kinds(source.tree), []
    for i, column in enumerate(columns):
        if isinstance(column, Keyed):
            known = among(quoted(column.column), column.values, kinds[column.column])
            items += [
                f"CASE WHEN {known} THEN {quoted(column.column)} END AS k{i}",
                f"coalesce({known}, FALSE) AS a{i}",
            ]
        else:
            items.append(f"{_steps(*column, source.tree, located, kinds)} AS x{i}")
    return f"SELECT {', '.join(items or ['1 AS one'])} FROM ({source.text(located, salt)})"


def units_by_value(source: BoundedRows, column: str, located: Located, salt: int) -> str:
    """The distinct units of each value of a column that is there."""
    name = quoted(column)
    rows_of = source.text(located, salt)
    return f"SELECT {name}, count(DISTINCT {quoted(UNIT)}) FROM ({rows_of}) WHERE {name} IS NOT NULL GROUP BY {name}"


def _grouped(
    source: BoundedRows,
    what: tuple[Sequence[Side], Sequence[tuple[str, Grid]]],
    taken: tuple[str, Sequence[str]],
    where: tuple[Located, int],
) -> str:
    """Totals over the rows of each cell that pass a test."""
    (sides, values), (test, totals), (located, salt) = what, taken, where
    kinds = _kinds(source.tree)
    items = [f"{_side(side, source.tree, located, kinds)} AS k{i}" for i, side in enumerate(sides)]
    items += [f"{_steps(name, grid, source.tree, located, kinds)} AS x{i}" for i, (name, grid) in enumerate(values)]
    tests = [test, *(_falls(side, f"k{i}", kinds) for i, side in enumerate(sides))]
    coded = f"SELECT {', '.join(items or ['1 AS one'])} FROM ({source.text(located, salt)})"
    names = [f"k{i}" for i in range(len(sides))]
    by = f" GROUP BY {', '.join(names)}" if names else ""
    picked = f"SELECT * FROM ({coded}) WHERE {' AND '.join(tests)}"
    return f"SELECT {', '.join([*names, 'count(*) AS n', *totals])} FROM ({picked}){by}"


def _as_text(total: str, name: str) -> str:
    return f"CAST(coalesce({total}, 0) AS VARCHAR) AS {name}"


def _kinds(tree: Rows) -> dict[str, Type]:
    return {name: facts.type for name, facts in shape(tree).columns.items()}


def _side(side: Side, tree: Rows, located: Located, kinds: dict[str, Type]) -> str:
    if isinstance(side, Keyed):
        return quoted(side.column)
    return _place(_steps(side.column, side.grid, tree, located, kinds), side.cuts)


def _steps(column: str, grid: Grid, tree: Rows, located: Located, kinds: dict[str, Type]) -> str:
    if kinds[column].dated:
        return _since_1970(quoted(column), kinds[column], grid)
    return f"CAST({summand(Field(column, kinds[column]), grid, tree, located)} AS BIGINT)"


def _since_1970(column: str, kind: Type, grid: Grid) -> str:
    """Whole days, or seconds, after 1970 began, within bounds; NULL of what is no day of a calendar."""
    steps = f"{column} - DATE '1970-01-01'"
    if kind is Type.TIMESTAMP:
        steps = f"epoch_us(date_trunc('second', {column})) // 1000000"
    steps = f"CAST({steps} AS BIGINT)"
    ends = f"WHEN {steps} < {grid.low} THEN {grid.low} WHEN {steps} > {grid.high} THEN {grid.high}"
    return f"(CASE WHEN isfinite({column}) THEN CASE {ends} ELSE {steps} END END)"


def _falls(side: Side, name: str, kinds: dict[str, Type]) -> str:
    """Whether a row falls into any cell along a side."""
    if isinstance(side, Keyed):
        return among(name, side.values, kinds[side.column])
    return f"{name} IS NOT NULL"


def _place(steps: str, cuts: Sequence[int]) -> str:
    """How many cuts lie at or below a number of steps; NULL of NULL."""
    widths = {high - low for low, high in pairwise(cuts[1:-1])}
    if len(widths) > 1:
        return f"(CASE WHEN {steps} IS NOT NULL THEN {_halved(steps, cuts, 0)} END)"
    ends = [(cut, place) for place, cut in ((0, cuts[0]), (1, cuts[min(1, len(cuts) - 1)]))]
    tests = [f"WHEN {steps} >= {cuts[-1]} THEN {len(cuts)}"]
    tests += [f"WHEN {steps} < {cut} THEN {place}" for cut, place in ends]
    inside = f"least(({steps} - {ends[1][0]}) // {next(iter(widths), 1)} + 2, {max(2, len(cuts) - 1)})"
    return f"(CASE {' '.join(tests)} WHEN {steps} IS NOT NULL THEN {inside} END)"


def _halved(steps: str, cuts: Sequence[int], before: int) -> str:
    """The same by halves, so that a thousand cuts are ten comparisons."""
    if not cuts:
        return str(before)
    middle = len(cuts) // 2
    low, high = _halved(steps, cuts[:middle], before), _halved(steps, cuts[middle + 1 :], before + middle + 1)
    return f"(CASE WHEN {steps} < {cuts[middle]} THEN {low} ELSE {high} END)"
