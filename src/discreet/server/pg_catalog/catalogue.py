"""Catalogue of each visitor: answers about tables, columns and types, from what is declared. Free, without a row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Self

from sqlglot import exp

from discreet.declared.table import Table
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.lru_cache import LruCache
from discreet.sandbox import SharedValue
from discreet.server.pg_catalog import functions, operators, query, types
from discreet.server.pg_catalog.database import CatalogueDatabase
from discreet.server.pg_catalog.parser import folded, read, relation
from discreet.server.pg_catalog.translation import Columns, Names, NameScope, Translation

Answer = tuple[Columns, list[tuple[object, ...]]]
Tables = tuple[Table, ...]  # what a visitor may see
_RULES = {**operators.RULES, **functions.RULES}  # whatever is not in it is refused


@dataclass(frozen=True)
class Translated:
    """A question for our database, its columns as Postgres would tell them, and the types of its parameters."""

    sql: str
    columns: Columns
    parameters: list[int]
    timed: bool  # whether it asks what time it is


def translated(text: str, names: Names, values: Sequence[object] | None = None) -> Translated:
    """A question in our database's words; without values for its parameters it can be described and not be asked."""
    under_way = Translation(names, values, _RULES, query.translated)
    try:
        tree, columns = under_way.query(read(text).copy(), NameScope())
    except RecursionError:
        raise Refusal("this question is nested too deeply", hint="split it") from None
    told = [(name, types.TEXT if kind == types.UNKNOWN else kind) for name, kind in columns]
    if any(kind == types.PAIR for _, kind in told):
        raise Refusal("the catalogue answers a field of _pg_expandarray, not the whole of it")
    parameters = [under_way.parameters.get(i, types.TEXT) for i in range(1, max(under_way.parameters, default=0) + 1)]
    sql = tree.sql(dialect="duckdb")
    return Translated(sql, told, parameters, timed="GETVARIABLE('now')" in sql)


class ShownNumber(int):
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
    known = functions.FUNCTIONS.keys() | functions.TABLES.keys() | functions.SPECIAL.keys() | {"all", "pg_get_keywords"}
    return bool(named) or all(str(call.this).lower() in known for call in tree.find_all(exp.Anonymous))


def described(facts: SharedValue[Tables], sql: str) -> tuple[list[int], Columns]:
    """The types of a question's parameters, and its columns; nothing is looked up."""
    question = translated(sql, _database(facts).spelled)
    return question.parameters, question.columns


def answered(facts: SharedValue[Tables], visitor: str, sql: str, values: Sequence[object]) -> tuple[Answer, bool]:
    """Columns and rows, and whether they are others at another time."""
    database = _database(facts)
    question = translated(sql, database.spelled, values)
    tellers = [_teller(kind, database) for _, kind in question.columns]
    rows = [
        tuple(None if cell is None else tell(cell) for tell, cell in zip(tellers, row, strict=True))
        for row in database.ask(question.sql, visitor)
    ]
    return (question.columns, rows), question.timed


def _database(facts: SharedValue[Tables]) -> CatalogueDatabase:
    return facts.made("database", CatalogueDatabase)


def _teller(kind: int, database: CatalogueDatabase) -> Callable[[object], object]:
    """How a value of our database becomes one of this type."""
    if kind in types.NAMED:
        return lambda cell: _shown(int(str(cell)), kind, database)
    if kind in types.VECTORS:
        return lambda cell: Vector(cell) if isinstance(cell, list) else cell
    if kind == types.TIMESTAMPTZ:
        return lambda cell: cell.replace(tzinfo=dt.UTC) if isinstance(cell, dt.datetime) else cell
    if kind == types.NUMERIC:
        return lambda cell: Decimal(str(cell))
    return lambda cell: cell


def _shown(number: int, kind: int, database: CatalogueDatabase) -> ShownNumber:
    return ShownNumber(number, database.shown.get((kind, number), "-" if number == 0 else str(number)))


DATABASES = 8  # that are kept: one for each set of tables that somebody may see
ANSWERS = 128  # that are kept of each
ROWS, LETTERS = 200, 20_000  # that one of them may have; each cell counts as some letters itself
_CELL = 8
TEXTS, SHORT = 1024, 4_000  # of which something is remembered, and the letters of each


@dataclass(frozen=True)
class _VisitorCatalogue:
    """Tables that a visitor may see, and answers about them lately: they never change, so neither do answers."""

    tables: SharedValue[Tables]
    answers: LruCache[tuple[str, str], Answer] = field(default_factory=lambda: LruCache(ANSWERS))


class PostgresCatalogue:
    """The catalogue of each visitor's tables. Every method may be called from any thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._sandbox = desk, desk.sandbox
        self._kept: LruCache[Tables, _VisitorCatalogue] = LruCache(DATABASES)
        self._handled: LruCache[str, bool] = LruCache(TEXTS)

    def remembered(self, sql: str) -> bool | None:
        """Whether a text asks about the catalogue only, if that was found out lately; None else."""
        return self._handled.get(sql)

    def handles(self, visitor: Visitor, sql: str) -> bool:
        """Whether a text asks about the catalogue only, or about nothing but constants."""
        known = self.remembered(sql)
        if known is None:
            known = self._sandbox.call(visitor.name, handled, sql)
        if len(sql) <= SHORT:
            self._handled.put(sql, known)
        return known

    def answer(self, visitor: Visitor, sql: str, values: Sequence[object] = ()) -> Answer:
        """Columns with the numbers of their types, and rows; `values` are those of parameters in the text."""
        kept = self._of(visitor)
        known = None if values else kept.answers.get((visitor.name, sql))
        if known is not None:
            return known[0], list(known[1])
        asked = visitor.name, sql, tuple(values)
        answer, timed = self._sandbox.call(visitor.name, answered, *asked, facts=kept.tables)
        columns, rows = answer
        short = len(sql) <= SHORT and len(rows) <= ROWS and _letters(rows) <= LETTERS
        if short and not values and not timed:
            kept.answers.put((visitor.name, sql), (columns, list(rows)))
        return answer

    def described(self, visitor: Visitor, sql: str) -> tuple[list[int], Columns]:
        """The types of a question's parameters, and its columns; nothing is looked up."""
        return self._sandbox.call(visitor.name, described, sql, facts=self._of(visitor).tables)

    def _of(self, visitor: Visitor) -> _VisitorCatalogue:
        """What a visitor may see now: something else when a declaration or a grant has changed."""
        tables = tuple(sorted(self._desk.tables(visitor), key=lambda table: table.name))
        return self._kept.made(tables, lambda: _VisitorCatalogue(SharedValue(tables)))


def _letters(cells: Sequence[object]) -> int:
    """The letters of all cells, also of those in arrays and in rows."""
    return sum(_CELL + _letters(cell) if isinstance(cell, (list, tuple)) else _written(cell) for cell in cells)


def _written(cell: object) -> int:
    return _CELL + (len(cell) if isinstance(cell, (str, bytes)) else 0)
