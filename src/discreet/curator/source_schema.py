"""Columns of a source before a row of it is taken in: their names, and their types if it says any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from discreet.curator.catalogue import type_of
from discreet.declared.group_key import Type
from discreet.declared.table import distinct_names
from discreet.engines.ingest import read_source
from discreet.errors import Refusal

_MISSING = (
    "",
    "NA",
    "N/A",
    "NaN",
    "NULL",
    "null",
    "None",
    ".",
    "-",
    "?",
)  # what people write in empty cells of numbers


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source, for the custodian's eyes: its own type, or what it looks like."""

    name: str
    own: Type | None  # None: the source says none, or none that is kept here
    proposed: Type | None  # from a look at rows: never used by itself


def source_columns(source: object) -> tuple[SourceColumn, ...]:
    """The columns of a source."""
    if not untyped(source):
        return tuple(SourceColumn(name, _kept(kind, name), None) for name, kind in source_types(source))
    try:
        looks = guessed(source)
    except Refusal:  # it looks like a type that is not kept here; the person knows better
        looks = {}
    kinds = {kind.value: kind for kind in Type}
    return tuple(SourceColumn(name, None, kinds.get(looks.get(name, ""))) for name, _ in source_types(source))


def _kept(kind: str, name: str) -> Type | None:
    try:
        return type_of(kind, name)
    except Refusal:
        return None


def untyped(source: object) -> bool:
    """Whether a source does not say its types."""
    return isinstance(source, (str, Path)) and Path(str(source)).suffix.lower() in (".csv", ".tsv", ".txt")


def source_types(source: object) -> list[tuple[str, str]]:
    """The columns of a source and the types it declares itself. No row is read.

    Columns that are alike but for case are refused: an engine would give one of them another name, and say nothing.
    """
    with duckdb.connect() as connection:
        try:
            distinct_names(list(dict.fromkeys(_own_names(connection, source))))
            described = connection.execute(f"DESCRIBE SELECT * FROM {read_source(connection, source)}").fetchall()
        except duckdb.Error as broken:
            raise _unreadable(source, broken) from None
    return [(str(row[0]), str(row[1])) for row in described]


def _own_names(connection: duckdb.DuckDBPyConnection, source: object) -> list[str]:
    """The names in a source as they stand there, before an engine makes them different; of a database file, none."""
    if not isinstance(source, (str, Path)):
        names = getattr(getattr(source, "schema", None), "names", None) or getattr(source, "columns", None)
        return [str(name) for name in names] if isinstance(names, Iterable) else []
    file, suffix = str(source).replace("'", "''"), Path(str(source)).suffix.lower()
    if not Path(str(source)).exists():
        return []
    if suffix in (".parquet", ".pq"):
        rows = connection.execute(f"SELECT name, num_children FROM parquet_schema('{file}')").fetchall()
        return [] if any(children for _, children in rows[1:]) else [str(name) for name, _ in rows[1:]]
    if untyped(source):
        first = f"SELECT * FROM read_csv('{file}', all_varchar = true, header = false) LIMIT 1"  # its head
        return [str(name) for row in connection.execute(first).fetchall() for name in row if name]
    return []


def guessed(source: object) -> dict[str, str]:
    """What a CSV file looks like, whatever it writes where nothing is known. A proposal, never used by itself."""
    file = str(source).replace("'", "''")
    read = f"read_csv('{file}', header = true, nullstr = {list(_MISSING)})"
    with duckdb.connect() as connection:
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()
        except duckdb.Error as broken:
            raise _unreadable(source, broken) from None
    return {str(row[0]): type_of(str(row[1]), str(row[0])).value for row in described}


def _unreadable(source: object, broken: duckdb.Error) -> Refusal:
    """In what DuckDB says, a path is replaced before the text is cut: half of one would not be recognised later."""
    said = str(broken).splitlines()[0]
    if isinstance(source, (str, Path)) and str(source):
        said = said.replace(str(source), "the file")
    return Refusal(f"the source cannot be read: {said[:200]}")
