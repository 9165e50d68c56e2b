"""Rows in the order of their owners, as SQL: for questions that can be added up while the rows go by."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.declared.key import Type
from discreet.declared.table import Table
from discreet.sql.bounding import among, plain, summands
from discreet.sql.expression import Field
from discreet.sql.plan import GroupKey, Measurement, Statistic
from discreet.sql.render import UNIT, Located, code_name, expression, kept_code, kept_column, quoted, rows
from discreet.sql.row_choice import is_plain
from discreet.sql.rows import scanned

_NAMED = (Type.VARCHAR, Type.BIGINT, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP)  # equal values are one value
_KINDS = ("rows", "units", "present", "total", "centred")


@dataclass(frozen=True)
class Stream:
    """Owners, then a column for each key, then one for each value."""

    text: str
    table: Table
    coded: tuple[str | None, ...]  # for each key the column whose codes come instead of it, if they are kept
    places: tuple[int, ...]  # for each statistic that of its value, or 0


def streamed(tree: Measurement, located: Located, farthest: int) -> Stream | None:
    """The rows of a measurement, if they come in the order in which they are kept and its numbers are near enough.

    All of its statistics are of the same kept rows, so one that a stream does not know takes the others with it.
    Files are sorted by their unit, and nothing that is plain changes the order of rows.
    """
    table = scanned(tree.rows)[0]
    grids = [s.grid for s in plain(tree) if s.grid is not None]
    if (
        not is_plain(tree.rows)
        or table.unit is None
        or table.column(table.unit).type is not Type.BIGINT
        or any(not isinstance(s, Statistic) or s.kind not in _KINDS for s in tree.statistics)
        or any(key.expression.type not in _NAMED for key in tree.keys)
        or any(grid.reach >= farthest for grid in grids)
    ):
        return None
    values = summands(tree, located)
    coded = tuple(_coded(key, tree, located) for key in tree.keys)
    keys = [
        f"{expression(key.expression) if code is None else quoted(code_name(code))} AS {key.name}"
        for key, code in zip(tree.keys, coded, strict=True)
    ]
    tests = [
        among(key.name, key.values, key.expression.type)
        for key, code in zip(tree.keys, coded, strict=True)
        if key.values is not None and code is None
    ]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    items = ", ".join([f"{quoted(UNIT)} AS u", *keys, *values.rows])
    text = f"SELECT * FROM (SELECT {items} FROM ({rows(tree.rows, located)})){where}"  # noqa: S608  # from our own trees
    return Stream(text, table, coded, tuple(values.places.get(s, 0) for s in plain(tree)))


def _coded(key: GroupKey, tree: Measurement, located: Located) -> str | None:
    """The column of the table that a key is, if its codes are kept."""
    if not isinstance(key.expression, Field):
        return None
    kept = kept_column(tree.rows, key.expression.name, kept_code, located)
    return None if kept is None else kept.removeprefix(code_name(""))


def middle(statistic: Statistic) -> int:
    """What a statistic is counted from."""
    return statistic.grid.middle if statistic.kind == "centred" and statistic.grid is not None else 0
