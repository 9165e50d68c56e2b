"""SQL above the noise: it runs on noisy tables, in a database that never saw a private row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.curator.answer import Estimate
from discreet.curator.noisy_database import database, fill, show
from discreet.curator.provenance import ROW, Side, traced
from discreet.errors import Exceeded, Fault, Refusal
from discreet.sql import date_arithmetic, postgres_forms
from discreet.sql.division import written_out
from discreet.sql.plan import GroupKey
from discreet.sql.question import Part, Question
from discreet.sql.schema import Key, Type

Cell = bool | int | float | str | None | object
Named = tuple[tuple[str, str], ...]  # (name, SQL type)
Table = tuple[Named, tuple[tuple[Cell, ...], ...]]  # columns, rows


@dataclass(frozen=True)
class Result:
    """Columns with their SQL types, rows, and the hidden cells of each row, which say where its numbers come from."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]
    hidden: tuple[tuple[Cell, ...], ...]


def noisy_table(part: Part, groups: Sequence[tuple[Key, ...]], rows: Sequence[Sequence[Estimate]]) -> Table:
    """A part's table: its keys, its values, and the numbers of its rows."""
    columns = [(key.name, key.expression.type.value) for key in part.measurement.keys]
    columns += [(aggregate.name, aggregate.type.value) for aggregate in part.aggregates]
    cells = tuple((*group, *row, place) for place, (group, row) in enumerate(zip(groups, rows, strict=True)))
    return (*columns, (ROW, "bigint")), cells


@dataclass(frozen=True)
class Upper:
    """The upper half of a question as the database above the noise reads it."""

    question: Question
    text: str
    sides: tuple[Side, ...]  # what its columns are; none where that is not known
    hidden: int  # columns at the end of a row that are not the answer's
    columns: tuple[tuple[str, str], ...] = ()  # of the answer, once it was rehearsed

    @property
    def noisy(self) -> tuple[bool, ...]:
        """Which columns have noise in them: of what is not known, all."""
        width = len(self.question.columns)
        if not self.sides:
            return (bool(self.question.parts),) * width
        return tuple(any(side.noisy[i] for side in self.sides) for i in range(width))

    @property
    def unbarred(self) -> Upper:
        """The same, none of whose numbers has an error bar."""
        return replace(self, sides=tuple(side.without_formulas for side in self.sides))


def rehearse(question: Question, public: Mapping[str, str]) -> Upper:
    """Run the upper half of a question on made-up tables: what does not work out is refused before it is paid.

    On a few rows of ordinary numbers, which meet what only fails on rows, and on none where there may be none. All of
    it depends on public facts alone, so what went well once is not tried again.
    """
    found = upper(question)
    names: Named = ()
    try:
        for tables in _turns(question):
            names = _executed(found.text, dict(tables), public)[0] if public else _tried(found.text, tables)
    except Fault:
        raise _unworkable() from None
    return replace(found, columns=_columns(found, names))


@lru_cache(maxsize=256)
def _tried(text: str, tables: tuple[tuple[str, Table], ...]) -> Named:
    """The columns that come of made-up tables. Most questions differ below the noise, and are alike above it."""
    return _executed(text, dict(tables), {})[0]


_NUMBERS = (0, 1, 1_000_003, -7)
_KEYS: dict[Type, tuple[Key, ...]] = {
    Type.BOOLEAN: (False, True, None, True),
    Type.BIGINT: (0, 1, 1_000_003, -7),
    Type.VARCHAR: ("a", "b", None, ""),
    Type.DATE: ("2024-02-29", "2025-01-01", None, "2025-01-01"),
    Type.TIMESTAMP: ("2024-02-29 12:00:00", "2025-01-01 00:00:00", None, "2025-01-01 00:00:00"),
}


def _turns(question: Question) -> Iterator[tuple[tuple[str, Table], ...]]:
    """The tables to try. Where parts have all numbers at once, one turn is enough, and perhaps one without."""
    parts = question.parts
    if parts:
        for first in (0,) if all(len(_groups(part)) == len(_NUMBERS) for part in parts) else (0, 2):
            yield tuple((part.name, _made_up(part, first)) for part in parts)
    if not all(_has_rows(part) for part in parts) or not parts:
        yield tuple((part.name, noisy_table(part, [], [])) for part in parts)


def _has_rows(part: Part) -> bool:
    """Whether a part's table has rows whatever is in the data: one, or one for each of its declared keys."""
    return all(key.values for key in part.measurement.keys)


def _made_up(part: Part, first: int) -> Table:
    """A table such as the noise could make."""
    groups = _groups(part)
    numbers = [_NUMBERS[(first + i) % len(_NUMBERS)] for i in range(len(groups))]
    return noisy_table(part, groups, [[number for _ in part.aggregates] for number in numbers])


def _groups(part: Part) -> list[tuple[Key, ...]]:
    """As many groups as there are numbers, if there may be that many: no two are alike."""
    keys = part.measurement.keys
    return list(dict.fromkeys(tuple(_key(key, i) for key in keys) for i in range(len(_NUMBERS))))


def _key(key: GroupKey, place: int) -> Key:
    if key.values:
        return key.values[place % len(key.values)]
    return _KEYS[key.expression.type][place]


def _unworkable() -> Refusal:
    hint = "check the types of what is combined, and the columns that are named"
    return Refusal("this question does not work out above its aggregates", hint=hint)


def upper(question: Question) -> Upper:
    """What to run above the noise: one SELECT, whatever the text tries to be."""
    above = question.above.copy()
    for cast in list(above.find_all(exp.Cast)):
        if type(cast) is exp.Cast:  # what cannot be cast is NULL: it was paid for, and must not fail
            cast.replace(exp.TryCast(this=cast.this, to=cast.args["to"]))
    sides, hidden = traced(above, question)
    written_out(above)
    postgres_forms.written_out(above)
    date_arithmetic.written_out(above)
    text = above.sql(dialect="duckdb")
    _refuse_other_statements(text)
    return Upper(question, text, sides, hidden)


@lru_cache(maxsize=256)
def _refuse_other_statements(text: str) -> None:
    try:
        with database() as empty:
            kinds = [statement.type for statement in empty.connection.extract_statements(text)]
    except duckdb.Error:
        raise _unworkable() from None
    if kinds != [duckdb.StatementType.SELECT]:
        raise Refusal("this is not one SELECT", hint="see what may be asked in the docs")


def run(above: Upper, tables: Mapping[str, Table], public: Mapping[str, str]) -> Result:
    """Run the upper half of a question. `public` says in which file a public table is kept."""
    names, rows = _executed(above.text, tables, public)
    columns = _columns(above, names)
    width, noisy = len(columns), above.noisy
    told = (tuple(map(_finite, row[:width], noisy)) for row in rows)
    return Result(columns, tuple(told), tuple(row[width:] for row in rows))


def _finite(cell: Cell, noisy: bool) -> Cell:  # noqa: FBT001  # one cell, of one column
    """A cell as it is told: what noise made infinite, or no number, has no answer."""
    return None if noisy and isinstance(cell, float) and not math.isfinite(cell) else cell


def _executed(
    text: str, tables: Mapping[str, Table], public: Mapping[str, str]
) -> tuple[Named, list[tuple[Cell, ...]]]:
    try:
        with database() as given:
            for name, file in public.items():
                show(given, name, file)
            for name, (columns, rows) in tables.items():
                fill(given, name, columns, rows)
            found = given.connection.execute(text)
            names = tuple((column[0], str(column[1]).lower()) for column in found.description or [])
            return names, found.fetchall()
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise Exceeded from None
    except (duckdb.Error, pa.ArrowException, OverflowError):
        if tables:
            raise Fault from None
        raise _unworkable() from None


def _columns(above: Upper, names: Named) -> Named:
    """The columns of an answer, without the hidden ones."""
    width = len(names) - above.hidden
    if width != len(above.question.columns):  # a star under a name of its own
        raise _unworkable()
    return tuple(_typed(names[:width], above.question))


def _typed(names: Named, question: Question) -> list[tuple[str, str]]:
    """COUNT is bigint, SUM and AVG double, whatever the upper database called them."""
    kinds = {
        (part.name, aggregate.name): aggregate.type.value for part in question.parts for aggregate in part.aggregates
    }
    return [
        (label, kinds.get(source, kind) if source else kind)
        for (_, kind), source, label in zip(names, question.direct, question.columns, strict=True)
    ]
