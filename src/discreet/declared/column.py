"""Column as it is declared, and so public: name, type, bounds, step and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property

from discreet.declared.grid import Grid, usual_step
from discreet.declared.group_key import Key, Type, canonical, number, written
from discreet.errors import Ground, Refusal
from discreet.exact import Number, exact, shown

Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True, init=False)
class Column:
    """One column: bounds and step if it may be summed, keys if it may be grouped by without paying for them.

    Bounds of dates are days since 1970 began, those of timestamps seconds, or days and moments as such. A column
    without a type has the one that its keys have, or else its bounds.
    """

    name: str
    type: Type
    bounds: Bounds | None
    step: Fraction | None
    keys: tuple[Key, ...] | None
    description: str

    def __init__(  # noqa: PLR0913, PLR0917  # everything that there is to say of a column
        self,
        name: str,
        type: Type | None = None,  # noqa: A002  # as custodians call it
        bounds: tuple[Number | date, Number | date] | None = None,
        step: Number | None = None,
        keys: Sequence[Key] | None = None,
        description: str = "",
    ) -> None:
        keys = None if keys is None else tuple(keys)
        kind = _type_of(name, keys, bounds) if type is None else type
        facts = {
            "name": name,
            "type": kind,
            "bounds": None if bounds is None else _bounds(name, kind, bounds),
            "step": None if step is None else _step(name, step),
            "keys": None if keys is None else _canonical(name, kind if type is not None else None, keys),
            "description": description,
        }
        for fact, value in facts.items():
            object.__setattr__(self, fact, value)

    def __str__(self) -> str:
        between = ends(self)
        bounds = "" if between is None else f", {between[0]} to {between[1]}"
        keys = "" if self.keys is None else f", {len(self.keys)} keys"
        return f"{self.name} {self.type.value}{bounds}{keys}"

    @cached_property
    def grid(self) -> Grid | None:
        """The steps on which its numbers are summed; None if it has no numbers, or no bounds."""
        if self.bounds is None or not self.type.numeric:
            return None
        return Grid(*self.bounds, self.step or (Fraction(1) if self.type is Type.BIGINT else usual_step(*self.bounds)))

    @cached_property
    def line(self) -> Grid | None:
        """The steps along which its values can be cut into bins: a number's grid, days, or the seconds of moments."""
        if self.bounds is None or not self.type.dated:
            return self.grid
        return Grid(*self.bounds, Fraction(1))


def _type_of(name: str, keys: tuple[Key, ...] | None, bounds: tuple[Number | date, Number | date] | None) -> Type:
    """The type of a column of which none is declared."""
    for key in keys or ():
        if key is not None and not isinstance(key, (str, int)):
            raise Refusal(
                f"expected keys of column {name!r} that are text, whole numbers, true or false, or None, "
                f"got {shown(key)}",
                hint="write days and numbers with digits after the point as text: '2026-01-31', '0.5'",
                ground=Ground.VALUE,
            )
    kinds = {type(key) for key in keys or () if key is not None}
    if kinds in ({bool}, {int}):
        return Type.BOOLEAN if bool in kinds else Type.BIGINT
    if bounds is not None and all(isinstance(end, date) for end in bounds):
        return Type.TIMESTAMP if any(isinstance(end, datetime) for end in bounds) else Type.DATE
    return Type.VARCHAR if bounds is None else Type.DOUBLE


def _bounds(name: str, kind: Type, bounds: tuple[Number | date, Number | date]) -> Bounds:
    low, high = (_end(end, kind, f"bounds of {name!r}") for end in bounds)
    if not kind.ordered:
        raise Refusal(f"column {name!r} is {kind.value}: only numbers and dates have bounds")
    if not low < high:
        raise Refusal(f"column {name!r} needs bounds with low < high, got {low}:{high}")
    return low, high


def _end(end: Number | date, kind: Type, what: str) -> Fraction:
    """One bound: a number; of days and moments also one of these."""
    return number(end, kind, what) if kind.dated and isinstance(end, (date, str)) else exact(end, what)  # type: ignore[arg-type]  # it looks


def _step(name: str, step: Number) -> Fraction:
    number = exact(step, f"step of {name!r}")
    if number <= 0:
        raise Refusal(f"column {name!r} needs step > 0, got {number}")
    return number


def _canonical(name: str, kind: Type | None, keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Keys in their one form, which keys without a declared type have already; none may be there twice."""
    read = keys if kind is None else tuple(canonical(key, kind, f"column {name!r}") for key in keys)
    seen: set[Key] = set()
    for key, given in zip(read, keys, strict=True):
        if key in seen:
            raise Refusal(f"column {name!r} declares the key {shown(given)} twice")
        seen.add(key)
    return read


def with_keys(column: Column, keys: Sequence[Key]) -> Column:
    """The column with other keys."""
    return Column(column.name, column.type, column.bounds, column.step, keys, column.description)


def ends(column: Column) -> tuple[str, str] | None:
    """The bounds of a column, as they are written."""
    if column.bounds is None:
        return None
    low, high = column.bounds
    return written(low, column.type), written(high, column.type)
