"""Tables as they are declared, and so public: names, units, caps and links; and the outline of any rows with owners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from discreet.declared.column import Column
from discreet.declared.grid import Grid
from discreet.declared.group_key import Key, Type
from discreet.errors import Ground, Refusal
from discreet.exact import count, shown
from discreet.privacy import Neighbours

RESERVED = "#"  # names that begin so are ours
MOST_GROUPS_A_UNIT = 10_000  # an engine's list of hashes has a limit; ours lies below it, and is public
MOST_ROWS_A_UNIT = 1 << 20
_PLACE = "rowid"  # an engine's name for the place of a row, which names its owner where each row is its own unit


def fold(name: str) -> str:
    """A name without regard to upper and lower case."""
    return name.casefold()


def chosen(name: str, names: Iterable[str]) -> str | None:
    """The one of some names that is meant: the same one, or the only one that is alike but for case; else none."""
    names = tuple(names)
    if name in names:
        return name
    alike = [each for each in names if fold(each) == fold(name)]
    return alike[0] if len(alike) == 1 else None


def distinct_names(names: Sequence[str]) -> None:
    """Refuse two columns that an engine would take for one: it does not tell upper from lower case."""
    seen: dict[str, str] = {}
    for name in names:
        if not name:
            raise Refusal(f"column {len(seen) + 1} has no name", hint="give it one with AS")
        other = seen.setdefault(fold(name), name)
        if other != name:
            raise Refusal(
                f"two columns are called {other!r} and {name!r}, the same but for upper and lower case",
                hint="rename one of them",
            )
    if len(seen) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise Refusal(f"two columns are called {twice!r}", hint="rename one of them")


@dataclass(frozen=True)
class Caps:
    """How much of one unit counts: its rows, and the groups that these are in. None: nothing is said of it here."""

    max_rows: int | None = None
    max_groups: int | None = None

    def __post_init__(self) -> None:
        check_caps(self.max_rows, 1 if self.max_groups is None else self.max_groups)
        for name, cap in (("max_rows", self.max_rows), ("max_groups", self.max_groups)):
            object.__setattr__(self, name, None if cap is None else int(cap))  # also one of numpy's

    @property
    def rows(self) -> int:
        """The cap on a unit's rows, which a mechanism cannot do without."""
        if self.max_rows is None:
            raise Refusal(
                "a mechanism needs to know how many rows one unit may have",
                hint="declare --max-rows, or pass max_rows=",
                field="max_rows",
            )
        return self.max_rows


def check_caps(max_rows: int | None, max_groups: int) -> None:
    """Refuse caps that are not whole numbers of at least 1: below that, a unit could do more than it is charged for."""
    if max_rows is not None and count(max_rows, "max_rows") > MOST_ROWS_A_UNIT:
        raise Refusal(f"expected max_rows <= {MOST_ROWS_A_UNIT}, got max_rows={max_rows}", ground=Ground.VALUE)
    if count(max_groups, "max_groups") > MOST_GROUPS_A_UNIT:
        raise Refusal(f"expected max_groups <= {MOST_GROUPS_A_UNIT}, got max_groups={max_groups}", ground=Ground.VALUE)


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

    def __str__(self) -> str:
        unit = f"each row of {self.unit}" if self.unit else "each row its own unit"
        most = "" if self.max_rows is None else f", at most {self.max_rows} rows of one"
        owners = "public" if self.public else f"population {self.population}, {unit}{most}"
        return "\n".join([f"{self.name} ({owners})", *(f"  {column}" for column in self.columns)])

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


class Outline(Protocol):
    """What is public about rows with owners."""

    @property
    def schema(self) -> Mapping[str, Column]:
        """The declared columns."""
        ...

    @property
    def caps(self) -> Caps:
        """Bounds on a unit that hold for whatever is computed of the rows."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which relations differ in one unit."""
        ...


def column_of(known: Outline, name: str) -> Column:
    """What is declared of a column."""
    if name not in known.schema:
        raise Refusal(f"there is no column {shown(name)}", hint=f"there are {list(known.schema)}")
    return known.schema[name]


def keys_of(known: Outline, name: str) -> tuple[Key, ...]:
    """The declared keys of a column."""
    keys = column_of(known, name).keys
    if not keys:
        raise Refusal(f"column {name!r} has no declared keys", hint="declare them, or buy them by key selection")
    return keys


def grid_of(known: Outline, name: str) -> Grid:
    """The declared grid of a column."""
    grid = column_of(known, name).grid
    if grid is None:
        raise Refusal(f"column {name!r} has no declared bounds and step", hint="declare them: data never does")
    return grid


def line_of(known: Outline, name: str) -> Grid:
    """The steps along which a column is cut into bins."""
    column = column_of(known, name)
    return grid_of(known, name) if column.line is None else column.line
