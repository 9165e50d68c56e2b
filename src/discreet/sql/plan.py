"""What is measured of private rows."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.declared.grid import Grid
from discreet.declared.key import Key
from discreet.declared.table import check_caps
from discreet.errors import Refusal
from discreet.sql.dates import is_numbered
from discreet.sql.expression import Expression
from discreet.sql.identity import described
from discreet.sql.plan_size import light, narrow, weigh, weight
from discreet.sql.rows import Rows
from discreet.sql.shape import Shape, shape

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
