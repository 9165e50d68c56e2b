"""Mechanism through a door: named by a stranger, with what is declared filled in, and run where the rows live."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from discreet.declared.grid import Grid
from discreet.declared.table import Caps, Outline, grid_of
from discreet.errors import Ground, Refusal
from discreet.exact import Number, shown
from discreet.mechanisms.mechanism import USUAL, RowPromise, Takes, loss_of_units
from discreet.mechanisms.private_rows import Relation, TableMechanism
from discreet.mechanisms.quantile import counting_stride
from discreet.mechanisms.registry import REGISTRY, Plain, completed, known, names
from discreet.noise import SECURE, Entropy
from discreet.privacy import Loss, Neighbours

T_co = TypeVar("T_co", covariant=True)

_DEEPEST = 8  # parameters in parameters: none of ours has three


class ColumnMechanism(RowPromise, Protocol[T_co]):
    """A mechanism of numbers that can look at them in a column of a relation."""

    def error(self, confidence: Number = USUAL, /) -> Fraction | int | None:
        """How far off its answer may be."""
        ...

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> T_co:
        """Its answer, of the rows that have a number in this column."""
        ...


@dataclass(frozen=True)
class OfColumn(Generic[T_co]):
    """A mechanism of numbers on a column of a relation: what it looks at is computed where the rows live.

    Guarantee: what `loss_of_units` says, when all rows of one unit change, of which the relation has at most so many.
    Proof: `over` is its call on the multiset of the column's numbers, on the declared grid; a row without a number is
        none of them. docs/proofs/run.md, "All rows of one unit".
    Source: that of the mechanism.
    """

    takes: ClassVar[Takes] = Takes.RELATION

    mechanism: ColumnMechanism[T_co]
    column: str
    caps: Caps
    neighbours: Neighbours

    @cached_property
    def privacy(self) -> Loss:
        """That of the mechanism, for as many rows as a unit has."""
        return loss_of_units(self.mechanism, self.caps.rows, self.neighbours)

    def error(self, confidence: Number = USUAL) -> Fraction | int | None:
        """That of the mechanism."""
        return self.mechanism.error(confidence)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> T_co:
        """Its answer."""
        return self.mechanism.over(relation, self.column, rng=rng)


def admitted(outline: Outline, name: str, parameters: Mapping[str, Plain]) -> TableMechanism[Any]:
    """The mechanism of this name with these parameters, over rows of which this is declared.

    Its class says by `declared` which of its parameters are facts of the data: they are taken from the outline and from
    nobody else, as are its neighbours. A class that does not say so goes through no door.
    """
    kind = known(name)
    if kind is None or getattr(kind, "declared", None) is None:
        doors = [each for each in names() if each not in REGISTRY or hasattr(REGISTRY[each], "declared")]
        why = "there is no mechanism called" if kind is None else "through no door goes"
        raise Refusal(f"{why} {shown(name)}", hint=f"there are {', '.join(doors)}", ground=Ground.VALUE)
    withheld = sorted({*kind.declared, "neighbours"} & set(parameters))
    if withheld:
        raise Refusal(f"{name} takes {', '.join(withheld)} from what is declared", hint="leave it out")
    every: dict[str, object] = {"max_rows": outline.caps.rows, "neighbours": outline.neighbours}
    if kind.takes is Takes.RELATION:
        over: TableMechanism[Any] = completed(name, parameters, {part: every[part] for part in kind.declared})
        return over
    asked = dict(parameters)
    column = _column(outline, name, asked.pop("column", None))
    grid = grid_of(outline, column)
    every |= {"lower": grid.lower, "upper": grid.upper, "step": grid.step}
    mechanism = completed(name, asked, {part: every[part] for part in kind.declared})
    if hasattr(mechanism, "refuse_costly"):
        mechanism.refuse_costly()
    return OfColumn(mechanism, column, outline.caps, outline.neighbours)


def _column(outline: Outline, name: str, asked: object) -> str:
    """The column that is asked for, or the only one that has numbers with bounds."""
    numeric = [column.name for column in outline.schema.values() if column.grid is not None]
    if asked is None and len(numeric) == 1:
        return numeric[0]
    if not isinstance(asked, str):
        raise Refusal(f"{name} needs the name of a column", hint=f"column= one of {', '.join(numeric) or 'none here'}")
    return next((each for each in outline.schema if each.lower() == asked.lower()), asked)


def rounding(mechanism: OfColumn[Any], grid: Grid) -> Fraction:
    """To what the numbers of a column with this grid are rounded before they are looked at."""
    return grid.step * (counting_stride(grid) if getattr(mechanism.mechanism, "counted", False) else 1)


def plain_parameters(parameters: Mapping[str, object]) -> dict[str, Plain]:
    """Parameters as JSON and a ledger hold them: rationals, and what people wrote with a point, as text."""
    return {name: _plain(value, name, 0) for name, value in parameters.items()}


def _plain(value: object, name: str, depth: int) -> Plain:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Fraction)):
        return str(value)
    if depth < _DEEPEST and isinstance(value, (list, tuple)):
        return [_plain(each, name, depth + 1) for each in value]
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {str(key): _plain(each, name, depth + 1) for key, each in value.items()}
    raise Refusal(f"expected {name} as JSON can hold it, got {shown(value)}", ground=Ground.VALUE)


def as_json(answer: object) -> Any:  # noqa: ANN401, PLR0911  # one form for each kind
    """An answer as JSON: fields by their names, rationals as the nearest double, whole numbers as they are."""
    if answer is None or isinstance(answer, (bool, int, str)):
        return answer
    if isinstance(answer, (float, Fraction, np.floating)):
        number = _nearest(answer)
        return number if math.isfinite(number) else str(answer)
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        return {field.name: as_json(getattr(answer, field.name)) for field in dataclasses.fields(answer)}
    if isinstance(answer, Enum):
        return answer.name
    if isinstance(answer, (np.ndarray, np.generic)):
        return as_json(answer.tolist())
    if isinstance(answer, Mapping):
        return {str(key): as_json(value) for key, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [as_json(each) for each in answer]
    return repr(answer)


def _nearest(number: float | Fraction | np.floating[Any]) -> float:
    try:
        return float(number)
    except OverflowError:  # a rational beyond all doubles
        return math.inf
