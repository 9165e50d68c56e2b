"""Public tables as a question sees them while it is planned. Nobody's data is read here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from discreet.curator import above_noise
from discreet.engines import DuckStore
from discreet.errors import Refusal
from discreet.sql.expression import Expression, Value
from discreet.sql.key import canonical
from discreet.sql.question import Question
from discreet.sql.rows import Inline, Rows
from discreet.sql.schema import Schema, Type

MOST_ROWS = 10_000  # of a public result that is used beside private rows

_TYPES = {kind.value: kind for kind in Type} | {"integer": Type.BIGINT, "hugeint": Type.BIGINT, "decimal": Type.DOUBLE}
_READ: dict[Type, Callable[[object], Value]] = {
    Type.BOOLEAN: bool,
    Type.BIGINT: lambda cell: int(str(cell)),
    Type.DOUBLE: lambda cell: float(str(cell)),
    Type.VARCHAR: str,
    Type.DATE: lambda cell: canonical(cell, Type.DATE),
    Type.TIMESTAMP: lambda cell: canonical(cell, Type.TIMESTAMP),
}


@dataclass(frozen=True)
class PublicTables:
    """The public tables of a home."""

    store: DuckStore
    schema: Schema
    allow: Callable[[set[str]], None]  # refuses tables that the asker may not read

    def values(self, rows: Rows, column: str) -> tuple[object, ...]:
        """The values of a column, in their own order."""
        return self.store.values(rows, column)

    def alike(self, rows: Rows, values: tuple[Expression, ...]) -> int:
        """The largest number of rows that have the same values; of no values, all rows."""
        if isinstance(rows, Inline) and not values:
            return len(rows.cells)
        return self.store.alike(rows, values)

    def answered(self, query: exp.Query) -> Inline:
        """The answer to a question about public tables alone, as rows."""
        names = tuple(query.named_selects)
        named = {cte.alias_or_name for cte in query.find_all(exp.CTE)}
        read = {table.name for table in query.find_all(exp.Table)} - named
        tables = tuple(self.schema.table(name) for name in sorted(read))
        for table in tables:
            if not table.public:
                raise Refusal(f"table {table.name!r} is not public", hint="aggregate its rows first")
            self.allow({table.name})
        asked = Question((), query, frozenset(table.name for table in tables), names, tuple(None for _ in names))
        found = above_noise.run(
            above_noise.upper(asked), {}, {table.name: str(self.store.checked(table)) for table in tables}
        )
        if len(found.rows) > MOST_ROWS:
            raise Refusal(
                f"a public query has more than {MOST_ROWS} rows", hint="add its result as a public table of its own"
            )
        kinds = [(name, _TYPES.get(kind.split("(")[0])) for name, kind in found.columns]
        columns = tuple((name, kind) for name, kind in kinds if kind is not None)
        if len(columns) < len(kinds):
            raise Refusal("a public query has a column of a type that is not known here", hint="cast it")
        cells = tuple(
            tuple(None if cell is None else _READ[kind](cell) for cell, (_, kind) in zip(row, columns, strict=True))
            for row in found.rows
        )
        return Inline(columns, cells, tables)
