"""From sqlglot's tree to ours. What has no line here is refused: the allow-list is this module."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.errors import Refusal
from discreet.sql.expression import Call, Case, Expression, Literal
from discreet.sql.functions import FUNCTIONS
from discreet.sql.schema import Type

Columns = Callable[[exp.Column], Expression]

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.Like: "like",
}  # fmt: skip
_CALLS: dict[type[exp.Expr], str] = {
    exp.Neg: "negative", exp.Not: "not", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Round: "round",
    exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length",
    exp.Least: "least", exp.Greatest: "greatest", exp.Coalesce: "coalesce", exp.Substring: "substring",
}  # fmt: skip
_TYPES: dict[exp.DType, Type] = {
    exp.DataType.Type.BOOLEAN: Type.BOOLEAN,
    exp.DataType.Type.TINYINT: Type.BIGINT,
    exp.DataType.Type.SMALLINT: Type.BIGINT,
    exp.DataType.Type.INT: Type.BIGINT,
    exp.DataType.Type.BIGINT: Type.BIGINT,
    exp.DataType.Type.FLOAT: Type.DOUBLE,
    exp.DataType.Type.DOUBLE: Type.DOUBLE,
    exp.DataType.Type.DECIMAL: Type.DOUBLE,
    exp.DataType.Type.VARCHAR: Type.VARCHAR,
    exp.DataType.Type.TEXT: Type.VARCHAR,
    exp.DataType.Type.DATE: Type.DATE,
    exp.DataType.Type.TIMESTAMP: Type.TIMESTAMP,
}
_PARTS = ("year", "quarter", "month", "week", "day", "hour", "minute", "dow", "isodow", "doy")
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")


def translate(node: exp.Expr, columns: Columns) -> Expression:  # noqa: C901, PLR0911, PLR0912  # one case a kind
    """The expression that `node` writes, over the given columns."""
    kind = type(node)
    match node:
        case exp.Paren():
            return translate(node.this, columns)
        case exp.Column():
            return columns(node)
        case exp.Literal() | exp.Boolean() | exp.Null():
            return _literal(node)
        case exp.Case():
            return _case(node, columns)
        case exp.Cast() | exp.TryCast():
            return _cast(node, columns)
        case exp.Is():
            return _is(node, columns)
        case exp.In() if node.expressions and not node.args.get("query"):
            return call("in", [translate(part, columns) for part in (node.this, *node.expressions)], node)
        case exp.Between():
            value, low, high = (translate(node.args[name], columns) for name in ("this", "low", "high"))
            return call("and", [call(">=", [value, low], node), call("<=", [value, high], node)], node)
        case exp.Nullif():
            value, other = translate(node.this, columns), translate(node.expression, columns)
            return Case(((call("=", [value, other], node), Literal(None, value.type)),), value, value.type)
        case exp.Extract():
            return _of_time("extract", str(node.this.name).lower(), node.expression, columns, node)
        case exp.DateTrunc() | exp.TimestampTrunc():
            return _of_time("date_trunc", str(node.args["unit"].name).lower(), node.this, columns, node)
        case exp.Binary() if kind in _BINARY:
            return call(_BINARY[kind], [translate(node.left, columns), translate(node.right, columns)], node)
        case _ if kind in _CALLS:
            return call(_CALLS[kind], [translate(part, columns) for part in _arguments(node)], node)
        case _:
            raise Refusal(f"{shown(node)} cannot be used on private rows", hint="see the list of functions in the docs")


def shown(node: exp.Expr) -> str:
    """The part of the question that is meant, on one line."""
    text = node.sql(dialect="postgres").replace('"', "")
    return text if len(text) <= 80 else text[:77] + "…"


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    """All arguments that are given, in order; an option that is set is not ours to ignore."""
    found: list[exp.Expr] = []
    for name, value in node.args.items():
        if name in ("this", "expression", "start", "length") and isinstance(value, exp.Expression):
            found.append(value)
        elif name == "expressions" and isinstance(value, list):
            found += value
        elif isinstance(value, exp.Expression) or (value and name not in ("is_null", "ignore_nulls")):
            raise Refusal(f"{shown(node)} cannot be used on private rows with its option {name!r}")
    return found


def call(function: str, arguments: Sequence[Expression], node: exp.Expr) -> Call:
    """A call, typed; text beside a date is read as a date."""
    rule, arguments = FUNCTIONS[function], _coerced(arguments)
    least, most = rule.arity
    kind = rule.typing([argument.type for argument in arguments]) if least <= len(arguments) <= most else None
    if kind is None:
        types = ", ".join(argument.type.value for argument in arguments)
        raise Refusal(
            f"{shown(node)}: {function} does not take ({types})", hint="cast one side to the type of the other"
        )
    return Call(function, tuple(arguments), kind)


def _coerced(arguments: Sequence[Expression]) -> list[Expression]:
    """Constants take the type of what they stand beside: NULL any, text that of a date or timestamp."""
    others = [argument.type for argument in arguments if not _loose(argument)]
    if not others:
        return list(arguments)
    return [_retyped(argument, others[0]) if _loose(argument) else argument for argument in arguments]


def _loose(argument: Expression) -> bool:
    return isinstance(argument, Literal) and (argument.value is None or argument.type is Type.VARCHAR)


def _retyped(argument: Expression, kind: Type) -> Expression:
    if not isinstance(argument, Literal) or argument.type is kind:
        return argument
    if argument.value is None:
        return Literal(None, kind)
    if kind in (Type.DATE, Type.TIMESTAMP):
        return _moment(str(argument.value), kind)
    return argument


def _moment(text: str, kind: Type) -> Literal:
    try:
        read = dt.date if kind is Type.DATE else dt.datetime
        return Literal(read.fromisoformat(text).isoformat(), kind)
    except ValueError:
        raise Refusal(f"{text!r} is not a {kind.value}", hint="write it as 2026-01-31 or 2026-01-31 12:00:00") from None


def _literal(node: exp.Expr) -> Literal:
    match node:
        case exp.Null():
            return Literal(None, Type.VARCHAR)
        case exp.Boolean():
            return Literal(bool(node.this), Type.BOOLEAN)
        case exp.Literal() if node.is_string:
            return Literal(str(node.this), Type.VARCHAR)
    text = str(node.this)
    if text.isdigit() and int(text) < 1 << 62:
        return Literal(int(text), Type.BIGINT)
    return Literal(_finite(text), Type.DOUBLE)


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise Refusal(f"{text!r} is not a number") from None
    if not math.isfinite(number):
        raise Refusal(f"{text!r} is too large a number")
    return number


def _case(node: exp.Case, columns: Columns) -> Case:
    conditions = [
        exp.EQ(this=node.this.copy(), expression=branch.this.copy()) if node.this else branch.this
        for branch in node.args["ifs"]
    ]
    values = [translate(branch.args["true"], columns) for branch in node.args["ifs"]]
    default = node.args.get("default")
    values.append(translate(default, columns) if default else Literal(None, Type.VARCHAR))
    values = _coerced(values)
    kinds = {value.type for value in values}
    kind = kinds.pop() if len(kinds) == 1 else Type.DOUBLE if kinds == {Type.BIGINT, Type.DOUBLE} else None
    tests = [translate(condition, columns) for condition in conditions]
    if kind is None or any(test.type is not Type.BOOLEAN for test in tests):
        raise Refusal(f"{shown(node)} mixes types", hint="cast its branches to one type")
    return Case(tuple(zip(tests, values[:-1], strict=True)), values[-1], kind)


def _cast(node: exp.Expr, columns: Columns) -> Expression:
    kind = _TYPES.get(node.to.this) if isinstance(node, exp.Cast) else None
    value = translate(node.this, columns)
    if kind is None:
        raise Refusal(f"{shown(node)}: there is no such type here", hint=f"use one of {[t.value for t in Type]}")
    if isinstance(value, Literal) and value.type is Type.VARCHAR and kind in (Type.DATE, Type.TIMESTAMP):
        return _moment(str(value.value), kind)
    return value if value.type is kind else Call("cast", (value,), kind)


def _is(node: exp.Is, columns: Columns) -> Expression:
    value = translate(node.this, columns)
    if isinstance(node.expression, exp.Null):
        return call("is null", [value], node)
    if isinstance(node.expression, exp.Boolean) and value.type is Type.BOOLEAN:
        wanted = value if node.expression.this else call("not", [value], node)
        return call("coalesce", [wanted, Literal(value=False, type=Type.BOOLEAN)], node)
    raise Refusal(f"{shown(node)} cannot be used on private rows", hint="IS NULL, IS TRUE and IS FALSE can")


def _of_time(function: str, part: str, time: exp.Expr, columns: Columns, node: exp.Expr) -> Call:
    value = translate(time, columns)
    if part not in (_PARTS if function == "extract" else _UNITS) or value.type not in (Type.DATE, Type.TIMESTAMP):
        raise Refusal(f"{shown(node)} cannot be used on private rows", hint=f"the parts of a date are {list(_PARTS)}")
    kind = Type.BIGINT if function == "extract" else Type.TIMESTAMP
    return Call(f"{function} {part}", (value,), kind)
