"""Rows on their way in: typed as declared, each with its owner, sorted by it. What does not fit its type is NULL."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.sql.aggregates import grid_of
from discreet.sql.expression import Field
from discreet.sql.owned_rows import Scan
from discreet.sql.relation_facts import shape
from discreet.sql.render import as_type, code_name, quoted, steps_name, stored_steps

Unread = Callable[[tuple[str, ...]], None] | None  # who sits at this machine; None, where a door leads in
_TEXT = "VARCHAR"

MOST_CODES = 1 << 16
# This optimizer moves a TRY_CAST into the reader of a file and makes an error of what should be NULL (seen in
# DuckDB 2.0).
SAFE = "SET disabled_optimizers = 'type_pushdown'"


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
            [unread] = connection.execute(f"SELECT {', '.join(tests)} FROM {rows}").fetchall()
        except duckdb.Error as broken:
            raise unreadable(table, broken) from None
    return tuple(column.name for column, lost in zip(columns, unread, strict=True) if lost)


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


def copy_rows(connection: duckdb.DuckDBPyConnection, table: Table, given: object, owners: Path | None) -> None:
    """Copy a source into the table `rows` of a new file. `owners` is the file that a link leads to."""
    columns = [column for column in table.columns if not _materialised(column, table)]
    items = ", ".join(f"{typed(column, table)} AS {quoted(column.name)}" for column in columns)
    try:
        source = f"SELECT {items} FROM {read_source(connection, given)}"
    except duckdb.Error as broken:
        raise unreadable(table, broken) from None
    if owners is not None and table.link is not None and table.unit is not None:
        source = _linked(connection, source, table, owners)
    try:
        _write(connection, table, source)
        connection.execute("CREATE TABLE salt AS SELECT CAST(? AS UBIGINT) AS salt", [secrets.randbits(64)])
    except duckdb.Error as broken:
        raise unreadable(table, broken) from None


def _write(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> None:
    """Rows sorted by the unit, and beside them what makes questions quick: steps of numbers, codes of texts."""
    # plain types: a column that kept its source's collation would take different texts, and people, for the same
    declared = ", ".join(f"{quoted(column.name)} {column.type.value}" for column in table.columns)
    names = ", ".join(quoted(column.name) for column in table.columns)
    order = f" ORDER BY {quoted(table.unit)}" if table.unit else ""
    if table.public:
        connection.execute(f"CREATE TABLE rows ({declared})")
        connection.execute(f"INSERT INTO rows SELECT {names} FROM ({source})")
        return
    connection.execute(f"CREATE TEMP TABLE staged ({declared})")
    connection.execute(f"INSERT INTO staged SELECT {names} FROM ({source})")
    connection.execute("CREATE TABLE codes (name VARCHAR, code USMALLINT, value VARCHAR)")
    coded = [column.name for column in table.columns if _has_codes(column, table) and _code(connection, column.name)]
    stepped = _steps(table)
    ours = [*(f"{quoted(name)} INTEGER" for name in stepped), *(f"{quoted(code_name(n))} USMALLINT" for n in coded)]
    books = [
        f' LEFT JOIN (SELECT code AS "#code_{i}", value AS "#value_{i}" FROM codes WHERE name = {_text(name)})'
        f' ON {quoted(name)} IS NOT DISTINCT FROM "#value_{i}"'
        for i, name in enumerate(coded)
    ]
    items = ", ".join([names, *stepped.values(), *(f'"#code_{i}"' for i in range(len(coded)))])
    connection.execute(f"CREATE TABLE rows ({', '.join([declared, *ours])})")
    connection.execute(f"INSERT INTO rows SELECT {items} FROM staged{''.join(books)}{order}")
    connection.execute("DROP TABLE staged")


def _has_codes(column: Column, table: Table) -> bool:
    return column.type is Type.VARCHAR and column.name != table.unit


def _code(connection: duckdb.DuckDBPyConnection, column: str) -> bool:
    """Give each text of a column a code, if there are not too many."""
    texts = f"SELECT DISTINCT {quoted(column)} AS value FROM staged"
    [(number,)] = connection.execute(f"SELECT count(*) FROM ({texts} LIMIT {MOST_CODES + 1})").fetchall()
    if number > MOST_CODES:
        return False
    numbered = "SELECT ?, row_number() OVER (ORDER BY value NULLS LAST) - 1, value"
    connection.execute(f"INSERT INTO codes {numbered} FROM ({texts})", [column])
    return True


def _steps(table: Table) -> dict[str, str]:
    """Names and contents of the steps of columns that can be summed. Too many are refused when they are asked for."""
    steps_by_name = {}
    for column in table.columns:
        with suppress(Refusal):
            grid = grid_of(Field(column.name, column.type), shape(Scan(table)), exp.column(column.name))
            steps = stored_steps(column.name, grid)
            if steps is not None:
                steps_by_name[steps_name(column.name, grid)] = steps
    return steps_by_name


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def unreadable(table: Table, broken: duckdb.Error) -> Refusal:
    """What the engine said about a source that it could not read."""
    first = str(broken).split("\n", maxsplit=1)[0][:200]
    return Refusal(f"table {table.name!r} could not be read: {first}")


def _materialised(column: Column, table: Table) -> bool:
    """Whether a column is found through the link rather than in the source."""
    return table.link is not None and column.name == table.unit


def typed(column: Column, table: Table) -> str:
    """A cell of the source as its column was declared; NULL if it does not fit."""
    cast = as_type(quoted(column.name), column.type)
    if column.name != table.unit or column.type is not Type.BIGINT:
        return cast
    # '1.4' and '01' are not person 1: a name that a whole number does not spell exactly is no name
    said = f"regexp_replace(CAST({quoted(column.name)} AS VARCHAR), '\\.0+$', '')"
    return f"(CASE WHEN CAST({cast} AS VARCHAR) = {said} THEN {cast} END)"


def _linked(connection: duckdb.DuckDBPyConnection, source: str, table: Table, owners: Path) -> str:
    """Each row with the owner that its link leads to; rows that lead to nobody are dropped.

    A key that leads to two people is refused: dropping its rows would let one of them take away the other's.
    """
    if table.link is None or table.unit is None:
        return source
    own, _, key = table.link
    file = str(owners).replace("'", "''")
    connection.execute(f"ATTACH '{file}' AS owners (READ_ONLY)")
    unit = quoted(table.unit)
    people = (
        f'SELECT {quoted(key)} AS "#key", min({unit}) AS {unit}, max({unit}) AS "#other" FROM owners.rows'
        f" WHERE {quoted(key)} IS NOT NULL AND {unit} IS NOT NULL GROUP BY {quoted(key)}"
    )
    if connection.execute(f'SELECT 1 FROM ({people}) WHERE {unit} <> "#other" LIMIT 1').fetchall():
        raise Refusal(
            f"the link leads through {key!r}, and one of its values belongs to two people",
            hint="link through a key that is unique, or bring the unit in as a column",
        )
    return f'SELECT * FROM ({source}) JOIN ({people}) ON "#key" = {quoted(own)}'


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


def read_columns(source: object, columns: Sequence[str]) -> pa.Table:
    """Some columns of a source as they stand there; of a file of text, as text."""
    with duckdb.connect() as connection:
        try:
            text = read_source(connection, source)
            known = [str(row[0]) for row in connection.execute(f"DESCRIBE SELECT * FROM {text}").fetchall()]
            missing = [name for name in columns if name not in known]
            if missing:
                hint = f"these are wanted: {list(columns)}"
                raise Refusal(f"there is no column {missing[0]!r} in {str(source)!r}", hint=hint)
            return connection.sql(f"SELECT {', '.join(map(quoted, columns))} FROM {text}").to_arrow_table()
        except duckdb.Error:
            raise Refusal(f"{str(source)!r} cannot be read", hint="use .parquet, .csv or FILE.duckdb::TABLE") from None


Progress = Callable[[float], None]  # hears a share, from 0 to 1
_GLANCE = 0.1  # seconds between two looks


@contextmanager
def watched(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> Iterator[None]:
    """Tell how far a connection's work is, from a thread of its own. Whatever goes wrong there stays there."""
    if progress is None:
        yield
        return
    connection.execute("SET enable_progress_bar = true")
    connection.execute("SET enable_progress_bar_print = false")
    done = threading.Event()

    def watch() -> None:
        furthest = 0.0  # between two statements the engine says -1
        with suppress(Exception):
            while not done.wait(_GLANCE):
                furthest = max(furthest, min(connection.query_progress() / 100, 1.0))
                progress(furthest)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()  # it must not look at a connection that is closed
    with suppress(Exception):
        progress(1.0)
