"""A database of the catalogue alone: it holds what is public about the tables of a visitor, and never a row of them.

It reaches nothing outside, cannot be told to, and has a small memory and one thread.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Mapping, Sequence

import duckdb
import pyarrow as pa

from discreet.declared.table import Table
from discreet.errors import Exceeded, Refusal
from discreet.server.catalogue import functions, kinds
from discreet.server.catalogue.facts import CATALOGUE, facts
from discreet.server.catalogue.query import SCHEMAS
from discreet.server.catalogue.rows import names, rows
from discreet.server.catalogue.views import VIEWS, View
from discreet.sql.render import quoted

LONGEST = 5.0  # seconds
MOST_ROWS, MOST_LETTERS = 50_000, 10_000_000  # of one answer

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "128MB",
    "threads": 1,
    "python_enable_replacements": False,
}
_REPLACED = {"pg_authid": "#authid"}  # the rows below a view

Cell = object


class Database:
    """The catalogue of some tables. Any thread may ask.

    `shown` says what a number is called and `spelled` what number a name has, for every kind of thing that has both.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self._connection = duckdb.connect(config=_CONFIG)
        self._names = list(names(tables))
        self.shown = {(named.kind, named.oid): named.shown for named in self._names}
        self.spelled = {(named.kind, spelling): named.oid for named in self._names for spelling in named.spellings}
        self._fill(rows(tables))
        self._connection.execute("SET temp_directory = ''")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def ask(self, sql: str, visitor: str) -> list[tuple[Cell, ...]]:
        """The rows of a question that was translated. Whatever the database says of a broken one stays here."""
        cursor = self._connection.cursor()
        deadline = threading.Timer(LONGEST, cursor.interrupt)
        deadline.daemon = True
        deadline.start()
        try:
            cursor.execute("SET VARIABLE visitor = ?", [visitor])
            cursor.execute("SET VARIABLE now = ?", [dt.datetime.now(dt.UTC).replace(tzinfo=None)])
            (statement,) = cursor.extract_statements(sql)
            if statement.type != duckdb.StatementType.SELECT:
                raise _refused()
            return _fetched(cursor.execute(statement))
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise Exceeded from None
        except (duckdb.Error, ValueError):
            raise _refused() from None
        finally:
            deadline.cancel()
            cursor.close()

    def _fill(self, held: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
        """Every relation of Postgres, empty unless rows are known; our functions; what is made from others."""
        for schema in SCHEMAS.values():
            self._connection.execute(f"CREATE SCHEMA {schema}")
        made = {(view.schema, view.name) for view in VIEWS}
        for key, relation in facts().relations.items():
            name = _REPLACED.get(relation.name, relation.name)
            if key in made and name == relation.name:
                continue
            columns = {field.name: kinds.stored(field.type) for field in relation.fields}
            given = held.get(relation.name, []) if relation.schema == CATALOGUE else []
            self._table(f"{SCHEMAS[relation.schema]}.{quoted(name)}", columns, given)
        shown = [{"kind": named.kind, "oid": named.oid, "shown": named.shown} for named in self._names]
        self._table('pg."#names"', {"kind": "BIGINT", "oid": "BIGINT", "shown": "VARCHAR"}, shown)
        spelled = [{"kind": kind, "spelling": spelling, "oid": oid} for (kind, spelling), oid in self.spelled.items()]
        self._table('pg."#spelled"', {"kind": "BIGINT", "spelling": "VARCHAR", "oid": "BIGINT"}, spelled)
        self._table('pg."#procedures"', {"oid": "BIGINT", "arguments": "VARCHAR"}, list(_arguments(self.shown)))
        keywords = {name: kinds.stored(kind) for name, kind in functions.KEYWORDS}
        self._table('pg."#keywords"', keywords, facts().rows["pg_get_keywords"])
        below = [
            view for view in VIEWS if view.name in _REPLACED
        ]  # functions look into these, the others call functions
        above = [view for view in VIEWS if view.name not in _REPLACED]
        for statement in (*map(_view, below), *functions.macros(), *map(_view, above)):
            self._connection.execute(statement)

    def _table(self, name: str, columns: Mapping[str, str], given: Sequence[Mapping[str, object]]) -> None:
        declared = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns.items())
        self._connection.execute(f"CREATE TABLE {name} ({declared})")
        if given:
            known = [column for column in columns if column in given[0]]
            arrays = [pa.array([row.get(column) for row in given]) for column in known]
            self._connection.register("filling", pa.table(arrays, names=[f"c{i}" for i in range(len(known))]))
            casts = ", ".join(f"CAST(c{i} AS {columns[column]})" for i, column in enumerate(known))
            listed = ", ".join(quoted(column) for column in known)
            self._connection.execute(f"INSERT INTO {name} ({listed}) SELECT {casts} FROM filling")
            self._connection.unregister("filling")


def _refused() -> Refusal:
    return Refusal("the catalogue cannot answer this", hint="ask something simpler of pg_catalog or information_schema")


def _fetched(found: duckdb.DuckDBPyConnection) -> list[tuple[Cell, ...]]:
    """The rows, unless they are more than anybody reads."""
    rows: list[tuple[Cell, ...]] = []
    size = 0
    while part := found.fetchmany(1000):
        rows += part
        size += sum(len(cell) for row in part for cell in row if isinstance(cell, (str, list)))
        if len(rows) > MOST_ROWS or size > MOST_LETTERS:
            hint = "add LIMIT or a condition"
            raise Refusal(
                f"an answer of the catalogue has at most {MOST_ROWS} rows and {MOST_LETTERS} letters", hint=hint
            )
    return rows


def _view(view: View) -> str:
    """Its columns are those of the relation, in that order; what the view does not name is NULL."""
    relation = facts().relations[view.schema, view.name]
    columns = ", ".join(
        f"CAST({view.columns.get(field.name, 'NULL')} AS {kinds.stored(field.type)}) AS {quoted(field.name)}"
        for field in relation.fields
    )
    return f"CREATE VIEW {SCHEMAS[view.schema]}.{quoted(view.name)} AS SELECT {columns} FROM {view.source}"


def _arguments(shown: Mapping[tuple[int, int], str]) -> Iterator[dict[str, object]]:
    for oid, (_, _, arguments) in facts().procedures.items():
        named = [shown[kinds.REGTYPE, int(number)] for number in arguments.split()]
        yield {"oid": oid, "arguments": ", ".join(named)}
