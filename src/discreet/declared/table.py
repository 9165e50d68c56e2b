"""Tables as they are declared, and so public: names, columns, units, caps, links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from discreet.declared.caps import check_caps
from discreet.declared.column import Column
from discreet.declared.key import Type
from discreet.declared.names import RESERVED, chosen, distinct_names, fold
from discreet.errors import Ground, Refusal

_PLACE = "rowid"  # an engine's name for the place of a row, which names its owner where each row is its own unit


@dataclass(frozen=True)
class Table:
    """One table: public, or private with a unit that owns each of its rows."""

    name: str
    columns: tuple[Column, ...]
    population: str | None = None  # None: public
    unit: str | None = None  # a column, or None in a private table whose every row is its own unit
    max_rows: int | None = None
    max_groups: int = 1
    version: int = 1
    link: tuple[str, str, str] | None = None  # own column, table, its column: through them a row finds its owner

    def __post_init__(self) -> None:
        check_caps(self.max_rows, self.max_groups)
        distinct_names([column.name for column in self.columns])
        for column in self.columns:
            if column.name.startswith(RESERVED):
                raise Refusal(f"a column cannot be called {column.name!r}", hint=f"{RESERVED} at the start is ours")
        if self.unit is not None and self.column(self.unit).type not in (Type.BIGINT, Type.VARCHAR):
            raise Refusal(
                f"the unit {self.unit!r} is {self.column(self.unit).type.value}: two people could become one in it",
                hint=f"say --types {self.unit}=varchar, or bigint if they are whole numbers",
            )

    @property
    def public(self) -> bool:
        """Whether it holds nobody's data."""
        return self.population is None

    def column(self, name: str) -> Column:
        """The column of this name; upper and lower case matter only where two names differ in nothing else."""
        spelling = chosen(name, (column.name for column in self.columns))
        for column in self.columns:
            if column.name == spelling:
                return column
        raise Refusal(
            f"table {self.name!r} has no column {name!r}",
            hint=f"it has {[c.name for c in self.columns]}",
            ground=Ground.COLUMN,
        )


def refuse_hidden_owners(table: Table) -> None:
    """Refuse rows that are their own units where a column hides which row is which: its values would be the owners.

    A table that was declared so in the past can still be seen and removed.
    """
    hiding = next((column.name for column in table.columns if fold(column.name) == _PLACE), None)
    if not table.public and table.unit is None and hiding is not None:
        raise Refusal(
            f"table {table.name!r} has a column {hiding!r}, and each of its rows is its own unit: "
            "in such a table that name is ours",
            hint="rename the column and add the table anew",
        )


def linked_to(name: str, tables: Iterable[Table]) -> tuple[str, ...]:
    """The tables whose rows find their owners in the one of this name."""
    return tuple(sorted(table.name for table in tables if table.link is not None and table.link[1] == name))


@dataclass(frozen=True)
class Schema:
    """All tables that a question may name."""

    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def link_targets(self) -> frozenset[tuple[str, str]]:
        """The tables and columns through which other tables find their owners: a value there has one owner."""
        return frozenset(table.link[1:] for table in self.tables.values() if table.link is not None)

    def table(self, name: str) -> Table:
        """The table of this name, in whatever case it is written."""
        spelling = chosen(name, self.tables)
        if spelling is None:
            raise Refusal(f"there is no table {name!r}", hint=f"there are {sorted(self.tables)}", ground=Ground.TABLE)
        return self.tables[spelling]
