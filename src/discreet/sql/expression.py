"""Expressions over one row: our own tree, so that nothing a user wrote is ever handed to an engine.

Every operation is total: what would be an error in an engine is NULL here, whatever the row holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from discreet.declared.group_key import Type

Value = bool | int | float | str | None

A_DAY = 86_400  # seconds
NUMBERS = {Type.DATE: "day number", Type.TIMESTAMP: "second number"}  # what days and moments are measured as
_NUMBERED = {Type.DATE: Type.BIGINT, Type.TIMESTAMP: Type.DOUBLE}


@dataclass(frozen=True)
class Literal:
    """A constant. Dates and timestamps are held as ISO text."""

    value: Value
    type: Type
    stage: int | None = None  # which question was answered first to know it


@dataclass(frozen=True)
class Field:
    """A column of the relation below."""

    name: str
    type: Type


@dataclass(frozen=True)
class Call:
    """A total function of its arguments; which functions there are is the table in `functions`."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type


@dataclass(frozen=True)
class Case:
    """The first branch whose condition is true, else the other value."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    type: Type


Expression = Literal | Field | Call | Case


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it."""
    yield expression
    match expression:
        case Call():
            for argument in expression.arguments:
                yield from parts(argument)
        case Case():
            for condition, value in expression.branches:
                yield from parts(condition)
                yield from parts(value)
            yield from parts(expression.otherwise)
        case _:
            pass


def substituted(expression: Expression, values: dict[str, Expression]) -> Expression:
    """The expression with each field replaced by what stands for it below."""
    match expression:
        case Field():
            return values[expression.name]
        case Call():
            arguments = tuple(substituted(argument, values) for argument in expression.arguments)
            return Call(expression.function, arguments, expression.type)
        case Case():
            branches = tuple((substituted(c, values), substituted(v, values)) for c, v in expression.branches)
            return Case(branches, substituted(expression.otherwise, values), expression.type)
        case Literal():
            return expression


def numbered(value: Expression) -> Expression:
    """A day or a moment as its number; anything else as it is."""
    return Call(NUMBERS[value.type], (value,), _NUMBERED[value.type]) if value.type.dated else value


def is_numbered(value: Expression) -> TypeGuard[Call]:
    """Whether it is a day or a moment as its number."""
    return isinstance(value, Call) and value.function in NUMBERS.values()


def seconds(value: Expression) -> Expression:
    """The seconds since 1970 began, of a day or a moment."""
    if value.type is Type.TIMESTAMP:
        return numbered(value)
    return Call("*", (numbered(value), Literal(A_DAY, Type.BIGINT)), Type.BIGINT)
