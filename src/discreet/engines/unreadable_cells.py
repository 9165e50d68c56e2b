"""Which columns of a source have cells that cannot be read as they were declared.

It is for the custodian's own eyes, at the machine on which a table is added: nothing of it is kept, counted or told
through a door.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from discreet.engines.ingest import SAFE, read_source, typed, unreadable
from discreet.sql.render import quoted
from discreet.sql.schema import Column, Table, Type

Unread = Callable[[tuple[str, ...]], None] | None  # who sits at this machine; None, where a door leads in
_TEXT = "VARCHAR"


def hear(unread: Unread, table: Table, source: object) -> None:
    """Tell whoever listens which columns cannot all be read, before anything is stored: they may refuse."""
    if unread is not None and (columns := unread_columns(table, source)):
        unread(columns)


def unread_columns(table: Table, source: object) -> tuple[str, ...]:
    """The columns with a cell that becomes NULL, or is read only in part; an empty cell is NULL and nothing else."""
    with duckdb.connect() as connection:
        connection.execute(SAFE)
        try:
            rows = read_source(connection, source)
            described = connection.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()
            own = {str(row[0]): str(row[1]) for row in described}
            columns = [column for column in table.columns if column.name in own]
            tests = [f"coalesce(bool_or({_lost(column, own[column.name], table)}), false)" for column in columns]
            if not tests:
                return ()
            [found] = connection.execute(f"SELECT {', '.join(tests)} FROM {rows}").fetchall()
        except duckdb.Error as broken:
            raise unreadable(table, broken) from None
    return tuple(column.name for column, lost in zip(columns, found, strict=True) if lost)


def _lost(column: Column, own: str, table: Table) -> str:
    """Whether a cell says something that its declared type does not hold."""
    raw, read = quoted(column.name), typed(column, table)
    if column.type is Type.VARCHAR:
        return f"{raw} IS NOT NULL AND {read} IS NULL"
    said = f"{raw} IS NOT NULL" if own != _TEXT else f"trim(coalesce({raw}, '')) <> ''"
    lost = [f"{read} IS NULL"]
    if column.type is Type.BIGINT and own in (_TEXT, "DOUBLE", "FLOAT"):  # 1.7 is read as 2
        lost.append(f"TRY_CAST({raw} AS DOUBLE) <> {read}")
    if column.type is Type.DATE and own != "DATE":  # the time of day is dropped
        lost.append(f"TRY_CAST({raw} AS TIMESTAMP) <> CAST({read} AS TIMESTAMP)")
    if column.type is Type.DOUBLE and own == _TEXT:  # what is not a number counts as little as NULL
        lost.append(f"isnan({read})")
    return f"({said}) AND ({' OR '.join(lost)})"
