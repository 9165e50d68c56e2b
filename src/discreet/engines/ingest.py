"""Rows on their way in: typed as declared, each with its owner, sorted by it. What does not fit its type is NULL."""

from __future__ import annotations

import secrets
from pathlib import Path

import duckdb

from discreet.errors import Refusal
from discreet.sql.render import as_type, quoted
from discreet.sql.schema import Column, Table, Type


def copy_rows(connection: duckdb.DuckDBPyConnection, table: Table, given: object, owners: Path | None) -> None:
    """Copy a source into the table `rows` of a new file. `owners` is the file that a link leads to."""
    columns = [column for column in table.columns if not _materialised(column, table)]
    typed = ", ".join(f"{_typed(column, table)} AS {quoted(column.name)}" for column in columns)
    try:
        source = f"SELECT {typed} FROM {read_source(connection, given)}"
    except duckdb.Error as broken:
        raise _unreadable(table, broken) from None
    if owners is not None and table.link is not None and table.unit is not None:
        source = _linked(connection, source, table, owners)
    order = f" ORDER BY {quoted(table.unit)}" if table.unit else ""
    # plain types: a column that kept its source's collation would take different texts, and people, for the same
    declared = ", ".join(f"{quoted(column.name)} {column.type.value}" for column in table.columns)
    names = ", ".join(quoted(column.name) for column in table.columns)
    try:
        connection.execute(f"CREATE TABLE rows ({declared})")
        connection.execute(f"INSERT INTO rows SELECT {names} FROM ({source}){order}")
        connection.execute("CREATE TABLE salt AS SELECT CAST(? AS UBIGINT) AS salt", [secrets.randbits(64)])
    except duckdb.Error as broken:
        raise _unreadable(table, broken) from None


def _unreadable(table: Table, broken: duckdb.Error) -> Refusal:
    first = str(broken).split("\n", maxsplit=1)[0][:200]
    return Refusal(f"table {table.name!r} could not be read: {first}")


def _materialised(column: Column, table: Table) -> bool:
    """Whether a column is found through the link rather than in the source."""
    return table.link is not None and column.name == table.unit


def _typed(column: Column, table: Table) -> str:
    cast = as_type(quoted(column.name), column.type)
    if column.name != table.unit or column.type is not Type.BIGINT:
        return cast
    # '1.4' and '01' are not person 1: a name that a whole number does not spell exactly is no name
    said = f"regexp_replace(CAST({quoted(column.name)} AS VARCHAR), '\\.0+$', '')"
    return f"(CASE WHEN CAST({cast} AS VARCHAR) = {said} THEN {cast} END)"


def _linked(connection: duckdb.DuckDBPyConnection, source: str, table: Table, owners: Path) -> str:
    """Each row with the owner that its link leads to; rows that lead to nobody, or to several, are dropped."""
    if table.link is None or table.unit is None:
        return source
    own, _, key = table.link
    file = str(owners).replace("'", "''")
    connection.execute(f"ATTACH '{file}' AS owners (READ_ONLY)")
    unit = quoted(table.unit)
    found = (
        f"SELECT {quoted(key)} AS found, min({unit}) AS {unit} FROM owners.rows"
        f" WHERE {quoted(key)} IS NOT NULL AND {unit} IS NOT NULL"
        f" GROUP BY {quoted(key)} HAVING min({unit}) = max({unit})"
    )
    return f"SELECT * FROM ({source}) JOIN ({found}) ON found = {quoted(own)}"


def read_source(connection: duckdb.DuckDBPyConnection, source: object) -> str:
    """SQL that reads a source: a Parquet, CSV or DuckDB file, or anything that speaks Arrow."""
    if not isinstance(source, (str, Path)):
        connection.register("source", source)
        return "source"
    path = Path(source)
    name, _, inner = str(source).partition("::")
    if inner:
        path = Path(name)
    if not path.exists():
        raise Refusal(f"there is no file {str(path)!r}")
    file = str(path).replace("'", "''")
    match path.suffix.lower():
        case ".parquet" | ".pq":
            return f"read_parquet('{file}')"
        case ".csv" | ".tsv" | ".txt":
            return f"read_csv('{file}', all_varchar = true, header = true)"
        case ".duckdb" | ".db":
            connection.execute(f"ATTACH '{file}' AS source_file (READ_ONLY)")
            if not inner:
                raise Refusal(f"{path.name} holds tables", hint=f"name one: {path.name}::TABLE")
            return f"source_file.{quoted(inner)}"
        case _:
            raise Refusal(
                f"{path.name!r} is of no kind that is read here", hint="use .parquet, .csv or FILE.duckdb::TABLE"
            )
