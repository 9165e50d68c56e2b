"""The plan of a question: what is measured of private rows, how long that is when written out, and what is above."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sqlglot import exp

from discreet.declared.grid import Grid
from discreet.declared.group_key import Key, Type
from discreet.declared.table import check_caps
from discreet.errors import Refusal
from discreet.sql.expression import Call, Case, Expression, Field, Literal, is_numbered
from discreet.sql.functions import DECLARED, DECLARED_OR_NULL
from discreet.sql.owned_rows import (
    Among,
    Filter,
    Inline,
    Joined,
    Kept,
    PerUnit,
    Project,
    PublicJoin,
    Rows,
    Union,
    Windowed,
    below,
    described,
)
from discreet.sql.relation_facts import Shape, shape

EDGE = Fraction(1, 1 << 20)  # MIN and MAX are the outermost quantiles that have a row beyond them
VERSION = "3"  # of the meaning of a plan; a stored answer belongs to one


@dataclass(frozen=True)
class GroupKey:
    """A column to group by, and its values if they are declared."""

    name: str
    expression: Expression
    values: tuple[Key, ...] | None


@dataclass(frozen=True)
class Statistic:
    """One whole number for each group.

    rows, units, present (not NULL), distinct (values), total, centred (about the middle), squares (about it).
    """

    kind: str
    expression: Expression | None = None
    grid: Grid | None = None


@dataclass(frozen=True)
class Rank:
    """One quantile for each group, chosen by a mechanism of its own."""

    quantile: Fraction
    expression: Expression
    grid: Grid

    @property
    def bracketed(self) -> bool:
        """Whether an interval is bought with it.

        MIN and MAX have none, nor what is asked for still further out, and of days and moments none is shown.
        """
        return EDGE <= self.quantile <= 1 - EDGE and not is_numbered(self.expression)


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
        narrow(self.rows)
        columns = weigh(self.rows)
        expressions = [key.expression for key in self.keys] + [s.expression for s in self.statistics if s.expression]
        for expression in expressions:
            light(weight(expression, columns))

    @cached_property
    def shape(self) -> Shape:
        """What is public about the rows."""
        return shape(self.rows)

    @property
    def declared(self) -> bool:
        """Whether every key's values are declared: then all of them are answered, and nobody's presence shows."""
        return all(key.values is not None for key in self.keys)

    @property
    def every_group(self) -> bool:
        """Whether a unit may be in every group there is, so that the cap on groups leaves nothing out."""
        return self.declared and math.prod(len(key.values or ()) for key in self.keys) <= self.max_groups

    @cached_property
    def question(self) -> str:
        """The key under which an answer is stored: the plan with its literals, caps, data versions and what it uses."""
        return hashlib.sha256(f"discreet-plan {VERSION}\n{described(self)}".encode()).hexdigest()

    def needs_rows_cap(self, what: str) -> int:
        """The cap on a unit's rows, which `what` cannot do without."""
        if self.max_rows is None:
            table = min(self.shape.tables)
            raise Refusal(
                f"{what} needs to know how many rows one unit may have",
                hint=f"declare it with --max-rows on table {table!r}, or SET discreet.max_rows for this question",
            )
        return self.max_rows


HEAVIEST = 20_000  # names, constants and functions, as often as an engine may meet them
BROADEST = 200_000  # columns of all relations, and cells of rows that the question computed

# What an engine meets twice where a column stands there: a long expression is bound to a name (`functions.once`).
_TWICE = (
    "days after", "days before", "later month", "later second", "width_bucket", "power", "/", "%", "ln", "nullif",
    "moment of seconds", "moment by format",
)  # fmt: skip


def weight(expression: Expression, columns: Mapping[str, int]) -> int:
    """How many parts an expression has when every column is written out too."""
    match expression:
        case Field(name, _):
            return columns.get(name, 1)
        case Literal():
            return 1
        case Case(branches, otherwise, _):
            nested = [part for branch in branches for part in branch]
            return 1 + sum(weight(part, columns) for part in (*nested, otherwise))
        case Call(function, (value, *_), _) if function in (DECLARED, DECLARED_OR_NULL):
            return 2 * weight(value, columns)  # keys are as many as were declared, and written once
        case Call(function, arguments, kind):
            each = 1 + sum(weight(argument, columns) for argument in arguments)
            dated = function == "cast" and kind in (Type.DATE, Type.TIMESTAMP)
            again = arguments[-1] if function in ("/", "%") else arguments[0]
            bare = weight(again, columns) if isinstance(again, Field) else 0
            return each + bare + 1 if dated or function in _TWICE else each


def weigh(rows: Rows) -> dict[str, int]:
    """The weights of a relation's columns; refuses a relation that would be too long."""
    inner = [weigh(source) for source in below(rows)]
    columns = {name: size for each in inner for name, size in each.items()}
    for expression in _expressions(rows):
        light(weight(expression, columns))
    if isinstance(rows, Project):
        return {name: weight(value, columns) for name, value in rows.columns}
    if isinstance(rows, Union):
        heaviest = [max(sizes) for sizes in zip(*(each.values() for each in inner), strict=True)]
        return dict(zip(shape(rows).columns, heaviest, strict=True))
    return {name: columns.get(name, 1) for name in shape(rows).columns}


def narrow(rows: Rows) -> None:
    """Refuse a relation that names too many columns, each as often as it is written out."""
    names = _names(rows)
    if names > BROADEST:
        raise Refusal(
            f"this question names columns {names:,} times when it is written out, more than {BROADEST:,}",
            hint="select fewer columns in its inner queries, or split it",
        )


def _names(rows: Rows) -> int:
    own = len(rows.cells) * len(rows.columns) if isinstance(rows, Inline) else len(shape(rows).columns)
    return own + sum(_names(source) for source in below(rows))


def light(size: int) -> None:
    """Refuse what is too long."""
    if size > HEAVIEST:
        raise Refusal(
            f"this question says the same thing too many times over: written out, it has {size:,} parts",
            hint="repeat fewer expressions inside each other",
        )


def _expressions(rows: Rows) -> Iterator[Expression]:
    match rows:
        case Filter():
            yield rows.predicate
        case Project():
            yield from (value for _, value in rows.columns)
        case PerUnit():
            yield from (value for _, value in rows.keys)
            yield from (summary.value for _, summary in rows.summaries if summary.value is not None)
        case Windowed():
            yield from rows.partition
            yield from (each.by for each in rows.order)
            if rows.summary.value is not None:
                yield rows.summary.value
        case Joined() | PublicJoin() | Kept():
            if rows.condition is not None:
                yield rows.condition
        case Among():
            yield rows.value
        case _:
            return


@dataclass(frozen=True)
class AggregateColumn:
    """One aggregate of a question: what it is called above the noise, and which statistics it is made of."""

    name: str
    kind: str  # count, sum, avg, variance, stddev, rank
    statistics: tuple[Statistic | Rank, ...]
    sample: bool = False  # divide by n − 1
    moment: Type | None = None  # of which it is the number, if it is a day or a moment

    @property
    def type(self) -> Type:
        """COUNT is a bigint, everything else a double."""
        return Type.BIGINT if self.kind == "count" else Type.DOUBLE


PART = "#"  # how the names of noisy tables begin, and no name in a question does


@dataclass(frozen=True)
class Part:
    """One noisy table: its name above the noise, what is measured, and the columns made of that."""

    name: str
    measurement: Measurement
    aggregates: tuple[AggregateColumn, ...]


@dataclass(frozen=True)
class Question:
    """Parts that cost, and SQL over them that is free. `direct` says which output columns are a part's own."""

    parts: tuple[Part, ...]
    above: exp.Query
    public: frozenset[str]
    columns: tuple[str, ...]
    direct: tuple[tuple[str, str] | None, ...]  # for each output column: (part, column of the noisy table), or None
    first: tuple[Question, ...] = ()  # what must be answered before: each gives one number for a condition
    partial: tuple[str, ...] = ()  # what is to be told of the groups that it aggregates

    @property
    def every_part(self) -> tuple[Part, ...]:
        """Everything that is measured, in the order in which it is."""
        return (*(part for each in self.first for part in each.parts), *self.parts)

    @property
    def staged(self) -> bool:
        """Whether a noisy number is answered first, and put into a condition."""
        return any(each.parts for each in self.first)

    @property
    def tables(self) -> set[str]:
        """Every table that is read."""
        private = {name for part in self.every_part for name in part.measurement.shape.tables}
        return private.union(self.public, *(each.public for each in self.first))

    @property
    def public_above(self) -> set[str]:
        """The public tables that are read above the noise."""
        return {table.name for table in self.above.find_all(exp.Table)} & self.public


def direct(tree: exp.Query) -> tuple[tuple[str, str] | None, ...]:
    """Which output columns are columns of a noisy table, untouched."""
    sources: list[tuple[str, str] | None] = []
    for item in tree.selects if isinstance(tree, exp.Select) else [None] * len(tree.named_selects):
        inner = item.unalias() if item is not None else None
        if isinstance(inner, exp.Column) and inner.table.startswith(PART):
            sources.append((inner.table, inner.name))
        else:
            sources.append(None)
    return tuple(sources)
