"""Answers what clients ask about tables, columns and types, from what is declared. Free, and without a private row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Self

from sqlglot import exp

from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.server.catalogue import functions, kinds
from discreet.server.catalogue.calls import SPECIAL
from discreet.server.catalogue.database import Database
from discreet.server.catalogue.query import relation
from discreet.server.catalogue.reading import read
from discreet.server.catalogue.recent import Recent
from discreet.server.catalogue.scope import Columns, folded
from discreet.server.catalogue.translate import translated
from discreet.sql.schema import Table

DATABASES = 8  # that are kept: one for each set of tables that somebody may see
ANSWERS, SMALL = 128, 200  # that are kept of each, and the rows that one of them may have

Answer = tuple[Columns, list[tuple[object, ...]]]


class Number(int):
    """A number that Postgres shows as a name: as text it is the name, in binary the number."""

    shown: str

    def __new__(cls, value: int, shown: str) -> Self:
        """With what it is called."""
        made = super().__new__(cls, value)
        made.shown = shown
        return made

    def __str__(self) -> str:
        return self.shown


class Vector(list[object]):
    """An array that Postgres shows without braces."""

    def __str__(self) -> str:
        return " ".join(map(str, self))


@dataclass(frozen=True)
class _Kept:
    """A database, and what was asked of it lately by whom: it never changes, so neither does an answer."""

    database: Database
    answers: Recent[tuple[str, str], Answer] = field(default_factory=lambda: Recent(ANSWERS))


class Catalogue:
    """The catalogue of each visitor's tables. Every method may be called from any thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._kept: Recent[tuple[Table, ...], _Kept] = Recent(DATABASES)

    def handles(self, sql: str) -> bool:
        """Whether a text asks about the catalogue only, or about nothing but constants."""
        return _handled(sql)

    def answer(self, visitor: Visitor, sql: str, values: Sequence[object] = ()) -> Answer:
        """Columns with the numbers of their types, and rows; `values` are those of parameters in the text."""
        kept = self._of(visitor)
        known = None if values else kept.answers.get((visitor.name, sql))
        if known is not None:
            return known[0], list(known[1])
        question = translated(sql, kept.database.spelled, values)
        tellers = [_teller(kind, kept.database) for _, kind in question.columns]
        rows = [
            tuple(None if cell is None else tell(cell) for tell, cell in zip(tellers, row, strict=True))
            for row in kept.database.ask(question.sql, visitor.name)
        ]
        if not values and not question.timed and len(rows) <= SMALL:
            kept.answers.put((visitor.name, sql), (question.columns, list(rows)))
        return question.columns, rows

    def described(self, visitor: Visitor, sql: str) -> tuple[list[int], Columns]:
        """The types of a question's parameters, and its columns; nothing is looked up."""
        question = translated(sql, self._of(visitor).database.spelled, None)
        return question.parameters, question.columns

    def _of(self, visitor: Visitor) -> _Kept:
        """The database of what a visitor may see now: another one when a declaration or a grant has changed."""
        tables = tuple(sorted(self._desk.tables(visitor), key=lambda table: table.name))
        return self._kept.made(tables, lambda: _Kept(Database(tables)))


@lru_cache(maxsize=1024)
def _handled(sql: str) -> bool:
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
