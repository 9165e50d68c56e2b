"""Days and moments as numbers: a date is so many days after 1970 began, a timestamp so many seconds."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from discreet.declared.key import Type, number, written
from discreet.sql.expression import Call, Expression, Literal
from discreet.sql.range import Range

_FIRST = "1970-01-01"
A_DAY = 86_400  # seconds
_LENGTHS = {"year": 366, "quarter": 92, "month": 31, "week": 7}  # days that truncation takes away at most; else one
NUMBERS = {Type.DATE: "day number", Type.TIMESTAMP: "second number"}


def numbered(value: Expression) -> Expression:
    """A day or a moment as its number; anything else as it is."""
    return Call(NUMBERS[value.type], (value,), _KINDS[value.type]) if value.type in NUMBERS else value


def is_numbered(value: Expression) -> TypeGuard[Call]:
    """Whether it is a day or a moment as its number."""
    return isinstance(value, Call) and value.function in NUMBERS.values()


_KINDS = {Type.DATE: Type.BIGINT, Type.TIMESTAMP: Type.DOUBLE}


def seconds(value: Expression) -> Expression:
    """The seconds since 1970 began, of a day or a moment."""
    if value.type is Type.TIMESTAMP:
        return numbered(value)
    return Call("*", (numbered(value), Literal(A_DAY, Type.BIGINT)), Type.BIGINT)


def above(column: exp.Expr, kind: Type) -> exp.Expr:
    """The day or the moment that a noisy number is, as SQL above the noise."""
    if kind is Type.TIMESTAMP:  # an engine multiplies a span by no more than 2^31: in seconds, until 2038
        return exp.UnixToTime(this=exp.cast(column, "bigint"))
    beginning = exp.cast(exp.Literal.string(_FIRST), kind.value)
    return exp.Paren(this=exp.Add(this=beginning, expression=exp.cast(column, "int")))


def ranged_moment(call: Call, ranges: list[Range]) -> Range:
    """Between which days or moments a function of some lies."""
    first = call.arguments[0].type if call.arguments else call.type
    own = ranges[0]
    if call.type is Type.TIMESTAMP and first is Type.DATE:
        own = own * _exactly(A_DAY)
    match call.function.split(" "):
        case ["cast"] if first in NUMBERS:
            return own if call.type is Type.TIMESTAMP or first is Type.DATE else (own / _exactly(A_DAY)).whole()
        case ["days", "after"] | ["later", "second"]:
            return own + ranges[1]
        case ["days", "before"]:
            return own - ranges[1]
        case ["later", "month"]:
            return own + ranges[1] * Range(Fraction(28 * A_DAY), Fraction(31 * A_DAY))
        case ["date_trunc", unit]:
            return own + Range(Fraction(-_LENGTHS.get(unit, 1) * A_DAY), Fraction(0))
        case _:
            return own if call.function == "moment of seconds" else Range()


def years(own: Range, kind: Type) -> Range:
    """The years of some days or moments, if it is known between which they lie; there are those from 1 to 9999."""
    first, last = (number(f"{end:04}-01-01", kind, "a year") for end in (1, 9999))
    low = first if own.low is None else min(max(own.low, first), last)
    high = last if own.high is None else min(max(own.high, first), last)
    return Range(*(Fraction(int(written(end, kind)[:4])) for end in (low, high)))


def _exactly(value: int) -> Range:
    return Range(Fraction(value), Fraction(value))
