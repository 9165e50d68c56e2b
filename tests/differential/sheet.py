"""A made-up world as values: tables, what is declared of their columns, and what their cells mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Value = object


@dataclass(frozen=True)
class Field:
    """One column: its role in questions, its name, what is declared of it, and what its cells mean."""

    role: str
    name: str
    kind: str  # whole, real, decimal, text, flag, date, moment
    bounds: tuple[Fraction, Fraction] | None = None
    step: Fraction = Fraction(1)
    said_step: bool = False
    keys: tuple[Value, ...] | None = None
    on_grid: bool = True  # whether all values are whole numbers of steps
    within: bool = True  # whether all values lie within the bounds
    between: tuple[str, str] | None = None  # bounds of days and moments

    @property
    def ends(self) -> tuple[int, int]:
        """The outermost steps that a sum holds."""
        assert self.bounds is not None
        low, high = self.bounds
        return -int(-low // self.step), int(high // self.step)

    @property
    def span(self) -> float:
        assert self.bounds is not None
        return float(self.bounds[1] - self.bounds[0])

    @property
    def reach(self) -> float:
        assert self.bounds is not None
        return float(max(map(abs, self.bounds)))


@dataclass(frozen=True)
class Sheet:
    """One table: its fields, and its rows as they are meant."""

    role: str
    name: str
    fields: tuple[Field, ...]
    columns: dict[str, list[Value]]  # by role
    source: str  # csv or parquet
    unit: str | None = None  # a role, "row", or None if it is public
    max_rows: int = 1
    max_groups: int = 1
    tiles: int = 1  # so many times the same rows, but for `unit` and `nr`
    linked: bool = False  # a row belongs to whoever the row of `main` belongs to that its `of` names

    def field(self, role: str) -> Field:
        return next(each for each in self.fields if each.role == role)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class World:
    """The tables of one home."""

    seed: int
    sheets: dict[str, Sheet]
    measure: str  # of the budget: epsilon or rho

    def field(self, role: str, sheet: str = "main") -> Field:
        return self.sheets[sheet].field(role)
