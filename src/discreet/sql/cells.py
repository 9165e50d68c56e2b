"""Rows by the cell of a table that they fall into, as SQL: what a release counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from discreet.sql.bounding import among, one_row_units
from discreet.sql.expression import Field
from discreet.sql.range import Grid
from discreet.sql.render import UNIT, Located, quoted, rows, summand
from discreet.sql.row_choice import Choice
from discreet.sql.rows import Rows
from discreet.sql.schema import Key, Type
from discreet.sql.shape import shape


@dataclass(frozen=True)
class Cut:
    """A numeric column cut at rising steps: place 0 lies below the first of them, each next one from a cut on."""

    column: str
    grid: Grid
    cuts: tuple[int, ...]


@dataclass(frozen=True)
class Keyed:
    """A column by its declared values; rows with others are left out."""

    column: str
    values: tuple[Key, ...]


Side = Cut | Keyed


def counted(tree: Rows, sides: Sequence[Side], located: Located, salt: int, cap: int) -> str:
    """For each cell with a row in it: a place or a key for each side, and how many bounded rows it has."""
    return summed(tree, (sides, ()), located, salt, cap)


def summed(
    tree: Rows, what: tuple[Sequence[Side], Sequence[tuple[str, Grid]]], located: Located, salt: int, cap: int
) -> str:
    """The same, and after the rows the sums of numeric columns in steps, as text. What is no number adds nothing."""
    sides, values = what
    kinds = {name: facts.type for name, facts in shape(tree).columns.items()}
    items = [f"{_side(side, tree, located, kinds)} AS k{i}" for i, side in enumerate(sides)]
    items += [f"{_steps(name, grid, tree, located, kinds)} AS x{i}" for i, (name, grid) in enumerate(values)]
    tests = [_falls(side, f"k{i}", kinds) for i, side in enumerate(sides)]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    coded = f"SELECT {', '.join(items or ['1 AS one'])} FROM ({bounded(tree, located, salt, cap)})"
    names = [f"k{i}" for i in range(len(sides))]
    sums = [
        "count(*) AS n",
        *(f"CAST(coalesce(sum(CAST(x{i} AS HUGEINT)), 0) AS VARCHAR) AS s{i}" for i in range(len(values))),
    ]
    by = f" GROUP BY {', '.join(names)}" if names else ""
    return f"SELECT {', '.join([*names, *sums])} FROM (SELECT * FROM ({coded}){where}){by}"


def bounded(tree: Rows, located: Located, salt: int, cap: int) -> str:
    """At most so many rows of each unit, chosen by salted hash of what they say; every column of theirs.

    Which rows a unit keeps depends on its own rows alone, and is the same for every table that is made of them. Only
    units that have more than they may are looked at closely.
    """
    source = rows(tree, located)
    if one_row_units(tree):
        return source
    names = tuple(quoted(name) for name in shape(tree).columns)
    return Choice(tree, names, salt, quoted(UNIT)).capped(source, cap)


def _side(side: Side, tree: Rows, located: Located, kinds: dict[str, Type]) -> str:
    if isinstance(side, Keyed):
        return quoted(side.column)
    return _place(_steps(side.column, side.grid, tree, located, kinds), side.cuts)


def _steps(column: str, grid: Grid, tree: Rows, located: Located, kinds: dict[str, Type]) -> str:
    return f"CAST({summand(Field(column, kinds[column]), grid, tree, located)} AS BIGINT)"


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
