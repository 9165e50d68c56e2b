"""Between which numbers an expression lies, given its columns."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.declared.key import Type, number
from discreet.sql.dates import NUMBERS, ranged_moment, years
from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.functions import FUNCTIONS
from discreet.sql.range import Range, greatest, least, union

_PARTS = {
    "year": (1, 9999), "quarter": (1, 4), "month": (1, 12), "week": (1, 53), "day": (1, 31), "hour": (0, 23),
    "minute": (0, 59), "dow": (0, 6), "isodow": (1, 7), "doy": (1, 366),
}  # fmt: skip


def ranged(expression: Expression, columns: Mapping[str, Range]) -> Range:
    """The range of an expression; of what is not a number, no ends."""
    match expression:
        case Field():
            return columns[expression.name]
        case Literal():
            return _of_constant(expression)
        case Case():
            values = [value for _, value in expression.branches] + [expression.otherwise]
            known = [value for value in values if not (isinstance(value, Literal) and value.value is None)]
            return union([ranged(value, columns) for value in known]) if known else Range()
        case Call():
            return _of_call(expression, columns)


def _of_constant(literal: Literal) -> Range:
    if literal.type in NUMBERS and literal.value is not None and literal.stage is None:
        moment = number(literal.value, literal.type, "a constant")
        return Range(moment, moment)
    if isinstance(literal.value, bool) or not isinstance(literal.value, (int, float)) or literal.stage is not None:
        return Range()
    value = Fraction(str(literal.value))
    return Range(value, value)


def _of_call(call: Call, columns: Mapping[str, Range]) -> Range:
    ranges = [ranged(argument, columns) for argument in call.arguments]
    if call.function in ("least", "greatest") and call.type.ordered:
        sure = [isinstance(a, Literal) and a.value is not None for a in call.arguments]
        return (least if call.function == "least" else greatest)(ranges, sure)
    if call.function.startswith("extract "):
        return _of_part(call.function.removeprefix("extract "), call.arguments[0].type, ranges[0])
    if call.type in NUMBERS and call.function not in ("coalesce", "nullif"):
        return ranged_moment(call, ranges)
    if call.function == "cast":
        return _of_cast(call.arguments[0].type, call.type, ranges[0])
    if call.function not in FUNCTIONS or not call.type.ordered:
        return Range()
    between = FUNCTIONS[call.function].ranging(ranges)
    return between.whole() if call.type is Type.BIGINT else between  # a quotient of whole numbers is cut to one


def _of_part(part: str, kind: Type, own: Range) -> Range:
    if part == "year":
        return years(own, kind)
    low, high = _PARTS[part]
    return Range(Fraction(low), Fraction(high))


def _of_cast(old: Type, new: Type, own: Range) -> Range:
    if old is Type.BOOLEAN:
        own = Range(Fraction(0), Fraction(1))
    if old in NUMBERS or not new.numeric:
        return Range()
    return own.whole() if new is Type.BIGINT else own
