"""Relations of private rows, each of which has one owner, and what is measured of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import Refusal
from discreet.sql.expression import Expression, Field
from discreet.sql.range import Range
from discreet.sql.ranging import ranged
from discreet.sql.schema import Key, Table, Type, check_caps, distinct_names

VERSION = "1"  # of the meaning of a plan; a stored answer belongs to one


@dataclass(frozen=True)
class Scan:
    """The rows of a private table."""

    table: Table


@dataclass(frozen=True)
class Filter:
    """Those rows for which a condition holds. It looks at one row at a time, so owners stay."""

    source: Rows
    predicate: Expression


@dataclass(frozen=True)
class Project:
    """Each row with other columns. The owner travels along unseen."""

    source: Rows
    columns: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        distinct_names([name for name, _ in self.columns])


@dataclass(frozen=True)
class PerUnit:
    """One row for each unit: how many rows it has below, in the column `rows`."""

    source: Rows


Rows = Scan | Filter | Project | PerUnit


@dataclass(frozen=True)
class Facts:
    """What is public about a column of a private relation."""

    type: Type
    range: Range = Range()
    step: Fraction | None = None
    keys: tuple[Key, ...] | None = None
    unit: bool = False


@dataclass(frozen=True)
class Shape:
    """What is public about a private relation."""

    columns: Mapping[str, Facts]
    population: str
    tables: frozenset[str]
    max_rows: int | None
    max_groups: int


def shape(rows: Rows) -> Shape:
    """The shape of a relation."""
    match rows:
        case Scan(table):
            columns = {
                column.name: Facts(
                    column.type,
                    Range(*(column.bounds or (None, None))),
                    column.step,
                    column.keys,
                    column.name == table.unit,
                )
                for column in table.columns
            }
            one = 1 if table.unit is None else None  # a row that is its own unit is one row in one group
            return Shape(
                columns, table.population or "", frozenset({table.name}), one or table.max_rows, one or table.max_groups
            )
        case Filter(source, _):
            return shape(source)
        case Project(source, columns):
            below = shape(source)
            return Shape(
                {name: facts(value, below) for name, value in columns},
                below.population,
                below.tables,
                below.max_rows,
                below.max_groups,
            )
        case PerUnit(source):
            below = shape(source)
            return Shape({"rows": Facts(Type.BIGINT, Range(Fraction(1)))}, below.population, below.tables, 1, 1)


def facts(expression: Expression, below: Shape) -> Facts:
    """What is public about an expression over a relation. Keys and units belong to bare columns only."""
    if isinstance(expression, Field):
        return below.columns[expression.name]
    return Facts(expression.type, ranged(expression, {name: column.range for name, column in below.columns.items()}))


@dataclass(frozen=True)
class Grid:
    """Whole steps from low to high."""

    low: int
    high: int
    step: Fraction

    @property
    def middle(self) -> int:
        """The step nearest to the centre."""
        return (self.low + self.high) // 2

    @property
    def reach(self) -> int:
        """How far a value lies from zero at most."""
        return max(abs(self.low), abs(self.high))

    @property
    def half(self) -> int:
        """How far a value lies from the middle at most."""
        return max(self.high - self.middle, self.middle - self.low)


@dataclass(frozen=True)
class GroupKey:
    """A column to group by, and its values if they are declared."""

    name: str
    expression: Expression
    values: tuple[Key, ...] | None


@dataclass(frozen=True)
class Statistic:
    """One whole number for each group: rows, units, present (not NULL), total, centred (about the middle), squares."""

    kind: str
    expression: Expression | None = None
    grid: Grid | None = None


@dataclass(frozen=True)
class Rank:
    """One quantile for each group, chosen by a mechanism of its own."""

    quantile: Fraction
    expression: Expression
    grid: Grid


@dataclass(frozen=True)
class Measurement:
    """What touches the data, once: statistics of the bounded rows, group by group."""

    rows: Rows
    keys: tuple[GroupKey, ...]
    statistics: tuple[Statistic | Rank, ...]
    max_rows: int | None
    max_groups: int

    def __post_init__(self) -> None:
        check_caps(self.max_rows, self.max_groups)
        grids = [s.grid for s in self.statistics if isinstance(s, Statistic) and s.kind == "squares"]
        if any(grid.half**2 * (self.max_rows or 1) >= 1 << 61 for grid in grids if grid is not None):
            raise Refusal("the squares of these numbers do not fit", hint="declare closer bounds or a larger step")

    @property
    def shape(self) -> Shape:
        """What is public about the rows."""
        return shape(self.rows)

    @property
    def declared(self) -> bool:
        """Whether every key's values are declared: then all of them are answered, and nobody's presence shows."""
        return all(key.values is not None for key in self.keys)

    @property
    def question(self) -> str:
        """The key under which an answer is stored: the whole plan with its literals, caps and data versions."""
        return hashlib.sha256(f"discreet-plan {VERSION}\n{self!r}".encode()).hexdigest()

    def needs_rows_cap(self, what: str) -> int:
        """The cap on a unit's rows, which `what` cannot do without."""
        if self.max_rows is None:
            table = min(self.shape.tables)
            raise Refusal(
                f"{what} needs to know how many rows one unit may have",
                hint=f"declare it with --max-rows on table {table!r}, or SET discreet.max_rows for this question",
            )
        return self.max_rows
