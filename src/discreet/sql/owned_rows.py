"""Relations of rows. In a private one each row has one owner, who travels along unseen; a public one has none.

Whatever a node does to the rows of one owner depends on that owner's rows and on public tables alone. So a relation is
the union of what it is for each owner by himself, and taking an owner away takes away his rows and changes no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass

from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.declared.table import Table, distinct_names
from discreet.errors import Refusal
from discreet.sql.expression import Expression, Value

LATER = "later"  # marks a field that plans did not have at first: where it is None, they are described as they were
_FIRST_CALLED = {"PublicJoin": "Lookup", "Ordering": "Order"}  # names that keys of stored answers are made of
LARGEST = 2000  # relations in a plan, each as often as it is read
DEEPEST = 200  # relations above each other


class _Relation:
    """What all of them share: a plan that is read twice is written twice, and may not grow without end."""

    def __post_init__(self) -> None:
        parts = below(self)  # type: ignore[arg-type]
        size, depth = 1 + sum(part.size for part in parts), 1 + max((part.depth for part in parts), default=0)
        if size > LARGEST or depth > DEEPEST:
            raise Refusal(
                f"this question reads the same rows too many times over: {size} steps, {depth} deep",
                hint="split it",
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "depth", depth)

    size: int
    depth: int


@dataclass(frozen=True)
class Scan(_Relation):
    """The rows of a table."""

    table: Table


@dataclass(frozen=True)
class Inline(_Relation):
    """Public rows that the question itself computed from public tables."""

    columns: tuple[tuple[str, Type], ...]
    cells: tuple[tuple[Value, ...], ...]
    tables: tuple[Table, ...]  # what they were computed from


@dataclass(frozen=True)
class Filter(_Relation):
    """Those rows for which a condition holds. It looks at one row at a time."""

    source: Rows
    predicate: Expression


@dataclass(frozen=True)
class Project(_Relation):
    """Each row with other columns."""

    source: Rows
    columns: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        distinct_names([name for name, _ in self.columns])


@dataclass(frozen=True)
class Summary:
    """One value of several rows of one owner. Numbers are added on a grid: whole numbers add up alike in any order.

    rows, present, distinct, total, average, least, greatest; of a window also row_number, rank, dense_rank, lag, lead
    and first.
    """

    kind: str
    type: Type
    value: Expression | None = None
    grid: Grid | None = None
    offset: int = 1  # of lag and lead


@dataclass(frozen=True)
class PerUnit(_Relation):
    """One row for each owner and each value of the keys among his rows."""

    source: Rows
    keys: tuple[tuple[str, Expression], ...]
    summaries: tuple[tuple[str, Summary], ...]


@dataclass(frozen=True)
class Ordering:
    """One column to order by."""

    by: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Windowed(_Relation):
    """Each row with one more column: a summary of rows of the same owner around it.

    Where the order leaves two rows level, their other columns decide, so that no other owner's rows do.
    """

    source: Rows
    name: str
    summary: Summary
    partition: tuple[Expression, ...]
    order: tuple[Ordering, ...]
    frame: tuple[int | None, int | None] | None = None  # rows before and after, None: all of them; or the usual frame


@dataclass(frozen=True)
class Joined(_Relation):
    """Pairs of rows of one owner for which a condition holds; `left` and `full` keep rows without a partner."""

    left: Rows
    right: Rows
    condition: Expression | None
    kind: str  # inner, left, full


@dataclass(frozen=True)
class Capped(_Relation):
    """At most so many rows of each owner, chosen by salted hash: a join of many with many must end.

    `letters` is how many bytes of text they may hold together, where a join repeats them.
    """

    source: Rows
    most: int
    letters: int | None = field(default=None, metadata={LATER: True})


@dataclass(frozen=True)
class PublicJoin(_Relation):
    """Each row with every public row that fits; `left` keeps rows that fit none."""

    source: Rows
    public: Rows
    condition: Expression
    kind: str  # inner, left


@dataclass(frozen=True)
class Kept(_Relation):
    """Those rows for whose owner (or, if the others are public, for which) there is another row that fits, or none."""

    source: Rows
    others: Rows
    condition: Expression | None
    negated: bool


@dataclass(frozen=True)
class Among(_Relation):
    """Those rows whose value is in a public column, or not in it, as SQL's IN has it."""

    source: Rows
    value: Expression
    public: Rows  # of one column
    negated: bool


@dataclass(frozen=True)
class Union(_Relation):
    """The rows of all of them, columns by place."""

    sources: tuple[Rows, ...]


Rows = Scan | Inline | Capped | Filter | Project | PerUnit | Windowed | Joined | PublicJoin | Kept | Among | Union


def below(tree: Rows) -> tuple[Rows, ...]:
    """The relations that a relation is made of."""
    match tree:
        case Scan() | Inline():
            return ()
        case Filter() | Project() | PerUnit() | Windowed() | Capped():
            return (tree.source,)
        case Joined():
            return tree.left, tree.right
        case PublicJoin() | Among():
            return tree.source, tree.public
        case Kept():
            return tree.source, tree.others
        case Union():
            return tree.sources


def scanned(tree: Rows) -> tuple[Table, ...]:
    """Every table that is read, once, by name."""
    if isinstance(tree, Scan):
        return (tree.table,)
    if isinstance(tree, Inline):
        return ()
    tables = {table.name: table for part in below(tree) for table in scanned(part)}
    return tuple(tables[name] for name in sorted(tables))


def described(value: object) -> str:
    """The text of a plan, or of a part of one. Texts and numbers are written so that nothing can pass for another."""
    if isinstance(value, Table):
        names = tuple(column.name for column in value.columns)
        return f"Table{(value.name, value.version, value.population, value.unit, value.link, names)!r}"
    if isinstance(value, Grid):
        return f"Grid(low={value.low}, high={value.high}, step={value.step!r})"
    if isinstance(value, tuple):
        return f"({''.join(f'{described(part)}, ' for part in value)})"
    if is_dataclass(value) and not isinstance(value, type):
        told = [
            each.name for each in fields(value) if not each.metadata.get(LATER) or getattr(value, each.name) is not None
        ]
        parts = ", ".join(f"{name}={described(getattr(value, name))}" for name in told)
        kind = type(value).__name__
        return f"{_FIRST_CALLED.get(kind, kind)}({parts})"
    return repr(value)
