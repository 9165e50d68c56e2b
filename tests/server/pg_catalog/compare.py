"""Two answers to one question, ours and a real Postgres's, brought to one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psycopg

from discreet.desk import Visitor
from discreet.server.pg_catalog import PostgresCatalogue
from discreet.server.pg_catalog.catalogue import ShownNumber, Vector

Columns = list[tuple[str, int]]
Rows = list[tuple[object, ...]]
Describe = Callable[[str], list[int]]
Ask = Callable[[str, Sequence[object]], tuple[Columns, Rows]]

ANN = Visitor("ann", "analyst")
OWN = "SELECT relname::text, oid FROM pg_class WHERE relnamespace = 2200 AND relkind = 'r'"
MADE = """SELECT c.oid, c.relname || ' itself' FROM pg_class c WHERE c.relnamespace = 2200
    UNION ALL SELECT c.reltype, c.relname || ' rows' FROM pg_class c WHERE c.relnamespace = 2200
    UNION ALL SELECT t.typarray, c.relname || ' arrays' FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
        WHERE c.relnamespace = 2200
    UNION ALL SELECT oid, rolname::text FROM pg_roles WHERE rolname = 'ann'
    UNION ALL SELECT oid, nspname::text FROM pg_namespace WHERE nspname = 'information_schema'
    UNION ALL SELECT c.oid, c.relname || ' itself' FROM pg_class c WHERE c.relkind = 'v'
    UNION ALL SELECT t.oid, t.typname || ' type' FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
        WHERE t.oid > 10000 AND t.typnamespace <> 2200"""


@dataclass(frozen=True)
class Side:
    """Somebody who answers, the numbers of their tables, and names for every number that is theirs alone."""

    ask: Ask
    describe: Describe
    tables: Mapping[str, int]
    made: Mapping[int, str]

    def answer(self, sql: str, values: Sequence[object] = ()) -> tuple[Columns, Rows]:
        """Columns, and rows with names in the place of numbers that differ from one database to another."""
        filled = [self.filled(value) if isinstance(value, str) else value for value in values]
        columns, rows = self.ask(self.filled(sql), filled)
        return columns, [tuple(self.plain(cell) for cell in row) for row in rows]

    def parameters(self, sql: str) -> list[int]:
        """The types of a question's parameters."""
        return self.describe(self.filled(sql))

    def filled(self, text: str) -> str:
        """A text with the numbers of this side's tables in it."""
        for name, oid in self.tables.items():
            text = text.replace(f"{{{name}}}", str(oid))
        return text

    def plain(self, cell: object) -> object:
        """A value as the other side would have it."""
        if isinstance(cell, (ShownNumber, Vector)):
            return str(cell)
        if isinstance(cell, list):
            return tuple(self.plain(item) for item in cell)
        return self.made.get(cell, cell) if type(cell) is int else cell


def side(ask: Ask, describe: Describe) -> Side:
    """Somebody who answers."""
    return Side(ask, describe, dict(ask(OWN, ())[1]), dict(ask(MADE, ())[1]))  # type: ignore[arg-type]


def ours(catalogue: PostgresCatalogue) -> Side:
    """The catalogue, asked by ann."""
    return side(lambda sql, values: catalogue.answer(ANN, sql, values), lambda sql: catalogue.described(ANN, sql)[0])


def real(link: psycopg.Connection[tuple[object, ...]]) -> Side:
    """A real Postgres."""

    def ask(sql: str, values: Sequence[object]) -> tuple[Columns, Rows]:
        cursor = psycopg.RawCursor(link)
        cursor.execute(sql.encode(), values or None)
        assert cursor.description is not None
        return [(column.name, column.type_code) for column in cursor.description], cursor.fetchall()

    def describe(sql: str) -> list[int]:
        link.pgconn.prepare(b"described", sql.encode())
        found = link.pgconn.describe_prepared(b"described")
        link.execute("DEALLOCATE described")
        return [found.param_type(place) for place in range(found.nparams)]

    return side(ask, describe)
