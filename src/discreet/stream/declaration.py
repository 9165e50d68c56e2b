"""What is declared of a stream: its name, whose its rows are, by which keys they count, and for how many steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet.declared.column import Column
from discreet.declared.grid import Grid
from discreet.declared.group_key import Key, Type
from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.ledger.entry_kinds import Plain

_KEYED = (Type.VARCHAR, Type.BIGINT, Type.BOOLEAN, Type.DATE)
_FARTHEST = 1 << 31  # steps of a grid from zero


@dataclass(frozen=True)
class StreamDeclaration:
    """A stream's rows, declared as those of a table are: of a unit at most `table.max_rows` count."""

    table: Table
    by: str | None = None  # the column of the keys
    value: str | None = None  # the column that is summed; none if rows are counted
    edges: tuple[Fraction, ...] = ()  # of bins, if the column of the keys has numbers: each up to the next, without it

    def __post_init__(self) -> None:
        if self.edges:
            if len(self.edges) < 2 or any(low >= high for low, high in pairwise(map(float, self.edges))):
                raise Refusal(f"bins have edges that rise, got {[spoken(edge) for edge in self.edges]}")
        elif self.by is not None:
            column = self.table.column(self.by)
            if not column.keys:
                raise Refusal(f"column {self.by!r} has no keys", hint=f"say them, as in --by {self.by}=north,south")
            if column.type not in _KEYED:
                kinds = ", ".join(kind.value for kind in _KEYED)
                raise Refusal(f"keys of type {column.type.value} are not counted by", hint=f"one of {kinds}")
        if self.value is not None and max(abs(self.grid.low), abs(self.grid.high)) >= _FARTHEST:
            raise Refusal(f"the bounds of {self.value!r} are 2^31 steps from zero or more", hint="take a larger step")

    @property
    def name(self) -> str:
        """What the stream is called."""
        return self.table.name

    @property
    def keys(self) -> tuple[str | int | bool, ...]:
        """The declared keys, none if there is one count; bins by their ends, the second of which is not in them."""
        if self.by is None:
            return ()
        if self.edges:
            return tuple(f"[{spoken(low)}, {spoken(high)})" for low, high in pairwise(self.edges))
        return tuple(key for key in self.table.column(self.by).keys or () if key is not None)

    @property
    def grid(self) -> Grid:
        """The grid of what is summed; whole ones where rows are counted."""
        if self.value is None:
            return Grid(0, 1, 1)
        column = self.table.column(self.value)
        if column.bounds is None:
            raise Refusal(f"column {self.value!r} is summed within bounds", hint=f"say --sum {self.value}=LOW:HIGH")
        return Grid(*column.bounds, column.step or _usual(max(map(abs, column.bounds))))

    @property
    def unit_type(self) -> Type | None:
        """The type of a unit's name; None where each row is its own unit."""
        return None if self.table.unit is None else self.table.column(self.table.unit).type

    @property
    def written(self) -> dict[str, Plain]:
        """As the ledger keeps it."""
        columns: list[Plain] = [_column(column) for column in self.table.columns]
        edges: dict[str, Plain] = {"edges": [str(edge) for edge in self.edges]} if self.edges else {}
        return {
            **edges,
            "population": self.table.population,
            "unit": self.table.unit,
            "by": self.by,
            "value": self.value,
            "most": self.table.max_rows,
            "columns": columns,
        }

    @classmethod
    def read(cls, name: str, written: Mapping[str, Any]) -> StreamDeclaration:
        """The declaration that was written."""
        columns = tuple(_read_column(each) for each in written["columns"])
        table = Table(name, columns, written["population"], written["unit"], written["most"])
        return cls(table, written["by"], written["value"], tuple(map(Fraction, written.get("edges", ()))))


def _usual(largest: Fraction) -> Fraction:
    """The step where none is declared: the power of ten that is a thousandth of the largest number, or just below."""
    step = Fraction(1)
    while step * 1000 > largest:
        step /= 10
    while step * 10_000 <= largest:
        step *= 10
    return step


def _column(column: Column) -> dict[str, Plain]:
    bounds: Plain = None if column.bounds is None else [str(end) for end in column.bounds]
    step = None if column.step is None else str(column.step)
    keys: Plain = None if column.keys is None else list(column.keys)
    return {"name": column.name, "type": column.type.value, "bounds": bounds, "step": step, "keys": keys}


def _read_column(written: Mapping[str, Any]) -> Column:
    bounds = written["bounds"] and tuple(map(Fraction, written["bounds"]))
    step, keys = written["step"] and Fraction(written["step"]), written["keys"]
    return Column(written["name"], Type(written["type"]), bounds, step, keys)


def key_text(key: Key) -> str:
    """A key as an engine casts it to text."""
    return str(key).lower() if isinstance(key, bool) else str(key)
