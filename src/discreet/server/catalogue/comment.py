"""What is declared about a table and a column, as the comment a client shows beside it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from discreet.declared.column import Column
from discreet.declared.table import Table
from discreet.sql.dates import ends

SHOWN = 20  # keys in a comment; a list may be long


def of_table(table: Table) -> str:
    """Whose rows these are, and how much of them one unit can be."""
    if table.public:
        return "public"
    parts = [f"private, population {table.population}", f"unit {table.unit or 'row'}"]
    if table.max_rows is not None:
        parts.append(f"at most {table.max_rows} rows a unit")
    parts.append(f"at most {table.max_groups} groups a unit")
    if table.link:
        own, other, column = table.link
        parts.append(f"{own} leads to {other}.{column}")
    return "; ".join(parts)


def of_column(table: Table, column: Column) -> str:
    """What it means, and what was declared so that it can be summed or grouped by; empty if nothing was."""
    return "; ".join(_parts(table, column))


def _parts(table: Table, column: Column) -> Iterator[str]:
    if column.description:
        yield column.description
    if column.name == table.unit:
        yield "the unit"
    if column.bounds is not None:
        low, high = map(_decimal, column.bounds) if column.type.numeric else ends(column) or ("", "")
        yield f"bounds {low} to {high}"
        if column.step is not None:
            yield f"step {_decimal(column.step)}"
    if column.keys is not None:
        shown = ", ".join("NULL" if key is None else str(key) for key in column.keys[:SHOWN])
        more = f", … {len(column.keys)} in all" if len(column.keys) > SHOWN else ""
        yield f"keys {shown}{more}"


def _decimal(value: Fraction) -> str:
    """A number as it was declared, if a short decimal says it exactly."""
    short = f"{float(value):.12g}" if abs(value) < 10**15 else ""
    return short if short and Fraction(short) == value else str(value)
