"""Expressions, values and names as a person reads them, each so that no other has the same text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from discreet.declared.group_key import Type
from discreet.sql.expression import Call, Case, Expression, Field, Literal

Columns = Mapping[str, Type]

_BARE = re.compile(r"[^\W\d][\w.]*|#[\w.~]+")
_WORDS = {"null", "true", "false", "case", "not", "date", "timestamp", "first"}  # as a name, each stands in quotes
_INFIX = {
    "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "and", "or", "like", "ilike", "is",
    "is distinct from",
}  # fmt: skip
_TRUTH = {
    "=", "<>", "<", "<=", ">", ">=", "and", "or", "like", "ilike", "is", "is distinct from", "not", "is null", "in",
    "between", "declared", "declared or null",
}  # fmt: skip
_OF_ARGUMENTS = {
    "+", "-", "*", "/", "%", "negative", "abs", "floor", "ceil", "least", "greatest", "coalesce", "nullif",
}  # fmt: skip
_ALWAYS = {
    **dict.fromkeys(_TRUTH, Type.BOOLEAN),
    **dict.fromkeys(("sqrt", "exp", "ln", "power", "second number"), Type.DOUBLE),
    **dict.fromkeys(("||", "trim", "left", "lower", "upper", "substring", "digest", "part", "item"), Type.VARCHAR),
    **dict.fromkeys(("length", "position", "width_bucket", "days between", "day number"), Type.BIGINT),
    **dict.fromkeys(("days after", "days before"), Type.DATE),
    **dict.fromkeys(("later month", "later second", "moment of seconds", "moment by format"), Type.TIMESTAMP),
}
_NATURAL = {bool: Type.BOOLEAN, int: Type.BIGINT, float: Type.DOUBLE, str: Type.VARCHAR}


class Unknown(Exception):
    """Something in a plan that this text would have left out."""


def all_of(
    value: Any,  # noqa: ANN401  # any part of a plan
    *names: str,
) -> tuple[Any, ...]:
    """The fields of a value; these must be all that it has."""
    known = tuple(each.name for each in fields(value))
    if known != names:
        raise Unknown(f"{type(value).__name__} has the fields {known}, and only {names} are written")
    return tuple(getattr(value, name) for name in names)


def expression_text(expression: Expression, columns: Columns) -> str:
    match expression:
        case Literal():
            return _literal(expression)
        case Field():
            name, kind = all_of(expression, "name", "type")
            return f"{name_text(name)}{typed(kind, columns.get(name))}"
        case Call():
            return _call(expression, columns)
        case Case():
            return _case(expression, columns)
        case _:
            raise Unknown(f"an expression of the kind {type(expression).__name__}")


def _case(case: Case, columns: Columns) -> str:
    branches, otherwise, kind = all_of(case, "branches", "otherwise", "type")
    tests = [
        f"when {expression_text(test, columns)} then {expression_text(value, columns)}" for test, value in branches
    ]
    kinds = {value.type for _, value in branches} | {otherwise.type}
    usual = otherwise.type if len(kinds) == 1 else Type.DOUBLE
    return f"case {' '.join(tests)} else {expression_text(otherwise, columns)} end{typed(kind, usual)}"


def _literal(literal: Literal) -> str:
    value, kind, stage = all_of(literal, "value", "type", "stage")
    text = f"{value_text(value)}{typed(kind, _NATURAL.get(type(value)))}"
    if isinstance(value, str) and kind in (Type.DATE, Type.TIMESTAMP):
        text = f"{kind.value} {value_text(value)}"
    return text if stage is None else f"first {stage} ({text})"


def _call(call: Call, columns: Columns) -> str:
    function, arguments, kind = all_of(call, "function", "arguments", "type")
    texts = [expression_text(each, columns) for each in arguments]
    pairs = enumerate(zip(texts, arguments, strict=True))
    inner = [_inside(text, each, function, place) for place, (text, each) in pairs]
    usual = _usual(call)
    match function:
        case "cast" if len(texts) == 1:
            return f"cast({texts[0]} as {kind.value})"
        case "/" if kind is Type.BIGINT and len(texts) == 2:
            return f"{inner[0]} // {inner[1]}{typed(kind, usual)}"
        case _ if function in _INFIX and len(texts) == 2:
            text = f"{inner[0]} {function} {inner[1]}"
        case "not" if len(texts) == 1:
            text = f"not {inner[0]}"
        case "is null" if len(texts) == 1:
            text = f"{inner[0]} is null"
        case "between" if len(texts) == 3:
            text = f"{inner[0]} between {inner[1]} and {inner[2]}"
        case "in" | "declared" | "declared or null" if texts:
            text = f"{inner[0]} {function} ({', '.join(texts[1:])})"
        case _:
            return f"{function}({', '.join(texts)}){typed(kind, usual)}"
    return text if kind is usual else f"({text}){typed(kind, usual)}"


def _inside(text: str, expression: Expression, around: str, place: int) -> str:
    """A part of an expression, in parentheses where it might be read another way."""
    if not isinstance(expression, Call) or (expression.function == around and around in ("and", "or") and not place):
        return text
    open_ = expression.function in _INFIX or expression.function in _TRUTH
    return f"({text})" if open_ else text


def _usual(call: Call) -> Type | None:
    """The type of a function of such arguments, if it follows from them."""
    if call.function in _ALWAYS:
        return _ALWAYS[call.function]
    if call.function.startswith("extract "):
        return Type.BIGINT
    if call.function.startswith("date_trunc "):
        return Type.TIMESTAMP
    kinds = {argument.type for argument in call.arguments[: 1 if call.function == "round" else None]}
    if call.function in _OF_ARGUMENTS or call.function == "round":
        return kinds.pop() if len(kinds) == 1 else Type.DOUBLE
    return None


def typed(kind: Type, usual: Type | None) -> str:
    return "" if kind is usual else f"::{kind.value}"


def name_text(name: str | None) -> str:
    if name is None:
        return "nobody"
    bare = _BARE.fullmatch(name) and name not in _WORDS
    return name if bare else '"' + _printed(name).replace('"', '""') + '"'


def _printed(text: str) -> str:
    """A text on one line, from which it can be told."""
    return "".join(c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode("ascii") for c in text)


def value_text(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "'" + _printed(value).replace("'", "''") + "'"
        case int() | float():
            return repr(value)
        case _:
            raise Unknown(f"a value of the kind {type(value).__name__}")


def number_text(value: Fraction) -> str:
    """A number in digits where it has an end, else as a fraction."""
    for digits in range(40):
        if (10**digits * value).denominator == 1:
            whole = str(int(10**digits * abs(value))).rjust(digits + 1, "0")
            return ("-" if value < 0 else "") + (whole if not digits else f"{whole[:-digits]}.{whole[-digits:]}")
    return str(value)
