"""What is computed on the text of a question about the catalogue, where its memory and time are bounded."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Self

from sqlglot import exp

from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.sandbox import Facts
from discreet.server.catalogue import functions, kinds
from discreet.server.catalogue.calls import SPECIAL
from discreet.server.catalogue.database import Database
from discreet.server.catalogue.query import relation
from discreet.server.catalogue.reading import read
from discreet.server.catalogue.scope import Columns, folded
from discreet.server.catalogue.translate import translated

Answer = tuple[Columns, list[tuple[object, ...]]]
Tables = tuple[Table, ...]  # what a visitor may see


class Number(int):
    """A number that Postgres shows as a name: as text it is the name, in binary the number."""

    shown: str

    def __new__(cls, value: int, shown: str) -> Self:
        """With what it is called."""
        made = super().__new__(cls, value)
        made.shown = shown
        return made

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]  # another process makes it of both
        return int(self), self.shown

    def __str__(self) -> str:
        return self.shown


class Vector(list[object]):
    """An array that Postgres shows without braces."""

    def __str__(self) -> str:
        return " ".join(map(str, self))


def handled(sql: str) -> bool:
    """Whether a text asks about the catalogue only, or about nothing but constants."""
    try:
        tree = read(sql)
    except Refusal:
        return False
    made = {folded(part.args["alias"].this) for part in tree.find_all(exp.CTE)}
    named = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    named = [table for table in named if table.args.get("db") or folded(table.this) not in made]
    if any(relation(table) is None for table in named):
        return False
    known = functions.FUNCTIONS.keys() | functions.TABLES.keys() | SPECIAL.keys() | {"all", "pg_get_keywords"}
    return bool(named) or all(str(call.this).lower() in known for call in tree.find_all(exp.Anonymous))


def described(facts: Facts[Tables], sql: str) -> tuple[list[int], Columns]:
    """The types of a question's parameters, and its columns; nothing is looked up."""
    question = translated(sql, _database(facts).spelled, None)
    return question.parameters, question.columns


def answered(facts: Facts[Tables], visitor: str, sql: str, values: Sequence[object]) -> tuple[Answer, bool]:
    """Columns and rows, and whether they are others at another time."""
    database = _database(facts)
    question = translated(sql, database.spelled, values)
    tellers = [_teller(kind, database) for _, kind in question.columns]
    rows = [
        tuple(None if cell is None else tell(cell) for tell, cell in zip(tellers, row, strict=True))
        for row in database.ask(question.sql, visitor)
    ]
    return (question.columns, rows), question.timed


def _database(facts: Facts[Tables]) -> Database:
    return facts.made("database", Database)


def _teller(kind: int, database: Database) -> Callable[[object], object]:
    """How a value of our database becomes one of this type."""
    if kind in kinds.NAMED:
        return lambda cell: _shown(int(str(cell)), kind, database)
    if kind in kinds.VECTORS:
        return lambda cell: Vector(cell) if isinstance(cell, list) else cell
    if kind == kinds.TIMESTAMPTZ:
        return lambda cell: cell.replace(tzinfo=dt.UTC) if isinstance(cell, dt.datetime) else cell
    if kind == kinds.NUMERIC:
        return lambda cell: Decimal(str(cell))
    return lambda cell: cell


def _shown(number: int, kind: int, database: Database) -> Number:
    return Number(number, database.shown.get((kind, number), "-" if number == 0 else str(number)))
