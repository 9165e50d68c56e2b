"""Answers what clients ask about tables, columns and types, from what is declared. Free, and without a private row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.desk import Desk, Visitor
from discreet.lru_cache import LruCache
from discreet.sandbox import Facts
from discreet.server.catalogue import bounded
from discreet.server.catalogue.bounded import Answer, Tables
from discreet.server.catalogue.scope import Columns

DATABASES = 8  # that are kept: one for each set of tables that somebody may see
ANSWERS = 128  # that are kept of each
ROWS, LETTERS = 200, 20_000  # that one of them may have; each cell counts as some letters itself
_CELL = 8
TEXTS, SHORT = 1024, 4_000  # of which something is remembered, and the letters of each


@dataclass(frozen=True)
class _Kept:
    """What a visitor may see, and what was asked about it lately by whom: it never changes, so neither do answers."""

    tables: Facts[Tables]
    answers: LruCache[tuple[str, str], Answer] = field(default_factory=lambda: LruCache(ANSWERS))


class Catalogue:
    """The catalogue of each visitor's tables. Every method may be called from any thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._sandbox = desk, desk.sandbox
        self._kept: LruCache[Tables, _Kept] = LruCache(DATABASES)
        self._handled: LruCache[str, bool] = LruCache(TEXTS)

    def remembered(self, sql: str) -> bool | None:
        """Whether a text asks about the catalogue only, if that was found out lately; None else."""
        return self._handled.get(sql)

    def handles(self, visitor: Visitor, sql: str) -> bool:
        """Whether a text asks about the catalogue only, or about nothing but constants."""
        known = self.remembered(sql)
        if known is None:
            known = self._sandbox.call(visitor.name, bounded.handled, sql)
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
        answer, timed = self._sandbox.call(visitor.name, bounded.answered, *asked, facts=kept.tables)
        columns, rows = answer
        short = len(sql) <= SHORT and len(rows) <= ROWS and _letters(rows) <= LETTERS
        if short and not values and not timed:
            kept.answers.put((visitor.name, sql), (columns, list(rows)))
        return answer

    def described(self, visitor: Visitor, sql: str) -> tuple[list[int], Columns]:
        """The types of a question's parameters, and its columns; nothing is looked up."""
        return self._sandbox.call(visitor.name, bounded.described, sql, facts=self._of(visitor).tables)

    def _of(self, visitor: Visitor) -> _Kept:
        """What a visitor may see now: something else when a declaration or a grant has changed."""
        tables = tuple(sorted(self._desk.tables(visitor), key=lambda table: table.name))
        return self._kept.made(tables, lambda: _Kept(Facts(tables)))


def _letters(cells: Sequence[object]) -> int:
    """The letters of all cells, also of those in arrays and in rows."""
    return sum(_CELL + _letters(cell) if isinstance(cell, (list, tuple)) else _written(cell) for cell in cells)


def _written(cell: object) -> int:
    return _CELL + (len(cell) if isinstance(cell, (str, bytes)) else 0)
