"""From sqlglot's tree to ours. What has no line here is refused: the allow-list is this module."""

from __future__ import annotations

import calendar
import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.declared.group_key import Type, canonical
from discreet.errors import Refusal
from discreet.sql.expression import NUMBERS, Call, Case, Expression, Literal, parts, seconds
from discreet.sql.functions import DIGEST, FUNCTIONS
from discreet.sql.postgres_input_forms import OF_ARRAY
from discreet.sql.tree_rewriting import unwrapped
from discreet.sql.wording import shown

Columns = Callable[[exp.Column], Expression]

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "between", "is", "is distinct from"})
_MOST_REPEATED = 20  # parts of an expression that is written once and compared many times

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.Like: "like", exp.ILike: "ilike", exp.DPipe: "||", exp.Nullif: "nullif",
    exp.NullSafeEQ: "is", exp.NullSafeNEQ: "is distinct from", exp.Pow: "power",
}  # fmt: skip
_CALLS: dict[type[exp.Expr], str] = {
    exp.Neg: "negative", exp.Not: "not", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Round: "round",
    exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "ln", exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length",
    exp.Least: "least", exp.Greatest: "greatest", exp.Coalesce: "coalesce", exp.Substring: "substring",
    exp.Trim: "trim", exp.StrPosition: "position", exp.WidthBucket: "width_bucket", exp.Between: "between",
    exp.Left: "left", exp.Right: "right", exp.Cos: "cos", exp.Sin: "sin", exp.Atan: "atan", exp.Sign: "sign",
    exp.Trunc: "trunc", exp.RegexpLike: "matches", exp.RegexpILike: "matches in any case",
    exp.SHA2: DIGEST,  # which no question can write: `parse` refuses it
}  # fmt: skip
# What else a node may carry without meaning anything else by it. Every other argument is read, or refused.
_HARMLESS = ("typed", "safe", "ignore_nulls", "is_null", "_type", "negate")
_ARGUMENTS = (
    "this", "expression", "low", "high", "start", "length", "substr", "decimals", "min_value", "max_value",
    "num_buckets", "expressions",
)  # fmt: skip
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
_PARTS = ("year", "quarter", "month", "week", "day", "hour", "minute", "dow", "isodow", "doy")  # and epoch
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
            return _negated(_is(node, columns), node)
        case exp.In() if node.expressions and not node.args.get("query"):
            return call("in", [translate(part, columns) for part in (node.this, *node.expressions)], node)
        case exp.Extract():
            return _of_time("extract", str(node.this.name).lower(), node.expression, columns, node)
        case exp.DateTrunc() | exp.TimestampTrunc():
            return _of_time("date_trunc", str(node.args["unit"].name).lower(), node.this, columns, node)
        case exp.StrToTime() | exp.StrToDate() | exp.UnixToTime() | exp.SplitPart() | exp.TimeToStr():
            return _idiom(node, columns)
        case exp.Add() | exp.Sub() if isinstance(node.right, exp.Interval):
            return shifted(translate(node.left, columns), node.right, node)
        case _ if kind in _BINARY or kind in _CALLS:
            arguments = [translate(part, columns) for part in _arguments(node)]
            return _negated(call(_BINARY.get(kind) or _CALLS[kind], arguments, node), node)
        case _:
            raise Refusal(f"{shown(node)} cannot be used on private rows", hint="see the list of functions in the docs")


def all_of(parts: Iterable[exp.Expr], columns: Columns) -> Expression | None:
    """The condition that every part holds; None of no parts."""
    condition: Expression | None = None
    for part in parts:
        made = translate(part, columns)
        if made.type is not Type.BOOLEAN:
            raise Refusal(f"{shown(part)} is not a condition", hint="compare it with something")
        condition = made if condition is None else Call("and", (condition, made), Type.BOOLEAN)
    return condition


def _negated(made: Expression, node: exp.Expr) -> Expression:
    return call("not", [made], node) if node.args.get("negate") else made


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    """All arguments that are given, in order; an option that is set is not ours to ignore."""
    unread = [name for name, value in node.args.items() if value and name not in (*_HARMLESS, *_ARGUMENTS)]
    if unread:
        raise Refusal(f"{shown(node)} has an option that cannot be used on private rows", hint="leave the option out")
    nodes: list[exp.Expr] = []
    for name in _ARGUMENTS:
        value = node.args.get(name)
        nodes += value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []
    return nodes


def call(function: str, arguments: Sequence[Expression], node: exp.Expr) -> Expression:
    """A call, typed; text beside a date is read as a date, and constants are added up exactly."""
    arguments = _coerced(arguments)
    if function in _COMPARISONS:
        arguments = _comparable(arguments)
    if (folded := _folded(function, arguments)) is not None:
        return folded
    days = _days(function, arguments)
    if days is not None:
        return days
    rule = FUNCTIONS[function]
    least, most = rule.arity
    fits = least <= len(arguments) <= most
    if fits and rule.accepts is not None and not rule.accepts(arguments):
        if rule.wants:
            raise Refusal(f"{shown(node)}: {rule.wants}", hint="write it out, or ask for each of them")
        fits = False
    kind = rule.typing([argument.type for argument in arguments]) if fits else None
    if kind is None:
        types = ", ".join(argument.type.value for argument in arguments)
        raise Refusal(
            f"{shown(node)}: {function} does not take ({types})", hint="cast one side to the type of the other"
        )
    return Call(function, tuple(arguments), kind)


_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _folded(function: str, arguments: Sequence[Expression]) -> Literal | None:
    """A sum or product of constants: 0.06 + 0.01 is 0.07, as it is written, and not what doubles make of it."""
    if function == "negative" and isinstance(arguments[0], Literal) and arguments[0].stage is None:
        value = arguments[0].value
        return Literal(-value, arguments[0].type) if isinstance(value, (int, float)) else arguments[0]
    numbers = [a.value for a in arguments if isinstance(a, Literal) and a.type.numeric and a.stage is None]
    if function not in _EXACT or len(numbers) != len(arguments) or not all(numbers):
        return None
    one, two = (Fraction(str(number)) for number in numbers)
    exactly = _EXACT[function](one, two)
    if all(argument.type is Type.BIGINT for argument in arguments):
        return Literal(int(exactly), Type.BIGINT) if abs(exactly) < 1 << 62 else None
    return Literal(float(exactly), Type.DOUBLE) if abs(exactly) < _LARGEST else None


def _days(function: str, arguments: Sequence[Expression]) -> Call | None:
    """Days between two dates, or a date so many days off."""
    types = [argument.type for argument in arguments]
    if function == "-" and types == [Type.DATE, Type.DATE]:
        return Call("days between", tuple(arguments), Type.BIGINT)
    if function in "+-" and types == [Type.DATE, Type.BIGINT]:
        return Call("days after" if function == "+" else "days before", tuple(arguments), Type.DATE)
    return None


def shifted(value: Expression, interval: exp.Interval, node: exp.Expr) -> Expression:
    """A date or timestamp so many months or seconds off."""
    word = str(interval.args["unit"].name).lower().removesuffix("s") if interval.args.get("unit") else ""
    text = str(interval.this.name) if interval.this is not None else ""
    if value.type not in (Type.DATE, Type.TIMESTAMP) or word not in _LENGTHS or not is_whole(text):
        raise Refusal(
            f"{shown(node)} cannot be used on private rows", hint="DATE '2026-01-31' + INTERVAL '3' MONTH can"
        )
    unit, size = _LENGTHS[word]
    number = int(text) * size * (-1 if isinstance(node, exp.Sub) else 1)
    if abs(number) > _FARTHEST[unit]:
        raise Refusal(f"{shown(node)} is too far off", hint="use a shorter interval")
    if isinstance(value, Literal) and value.value is not None:
        return _moved(str(value.value), unit, number)
    return Call(f"later {unit}", (value, Literal(number, Type.BIGINT)), Type.TIMESTAMP)


_LENGTHS = {
    "year": ("month", 12), "quarter": ("month", 3), "month": ("month", 1), "week": ("second", 604800),
    "day": ("second", 86400), "hour": ("second", 3600), "minute": ("second", 60), "second": ("second", 1),
}  # fmt: skip
_FARTHEST = {"month": 120_000, "second": 10**11}  # from any date nothing overflows
_LARGEST = Fraction(10) ** 300


def _moved(text: str, unit: str, number: int) -> Literal:
    moment = dt.datetime.fromisoformat(text)
    try:
        if unit == "second":
            moved = moment + dt.timedelta(seconds=number)
        else:
            months = moment.year * 12 + moment.month - 1 + number
            year, month = divmod(months, 12)
            last = calendar.monthrange(year, month + 1)[1]
            moved = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
    except (ValueError, OverflowError):
        raise Refusal(f"{text} moved by {number} {unit}s is no date", hint="dates lie in the years 1 to 9999") from None
    return Literal(canonical(moved, Type.TIMESTAMP), Type.TIMESTAMP)


def _coerced(arguments: Sequence[Expression]) -> list[Expression]:
    """Constants take the type of what they stand beside: NULL any, text that of a date; dates beside timestamps."""
    others = [argument.type for argument in arguments if not _loose(argument)]
    matched = list(arguments)
    if others:
        matched = [_retyped(argument, others[0]) if _loose(argument) else argument for argument in arguments]
    if {argument.type for argument in matched} == {Type.DATE, Type.TIMESTAMP}:
        matched = [a if a.type is Type.TIMESTAMP else Call("cast", (a,), Type.TIMESTAMP) for a in matched]
    return matched


def _comparable(arguments: Sequence[Expression]) -> list[Expression]:
    """Texts beside a number or a truth value are read as one, as Postgres does: code = '01' asks for 1."""
    others = [argument.type for argument in arguments if not _loose(argument)]
    kind = Type.DOUBLE if Type.DOUBLE in others else others[0] if others else Type.VARCHAR
    if kind not in (Type.BIGINT, Type.DOUBLE, Type.BOOLEAN):
        return list(arguments)
    return [_read(a, kind) if isinstance(a, Literal) and a.type is Type.VARCHAR else a for a in arguments]


def _loose(argument: Expression) -> bool:
    return isinstance(argument, Literal) and (argument.value is None or argument.type is Type.VARCHAR)


def _retyped(argument: Expression, kind: Type) -> Expression:
    if not isinstance(argument, Literal) or argument.type is kind:
        return argument
    if argument.value is None:
        return Literal(None, kind, argument.stage)
    if kind in (Type.DATE, Type.TIMESTAMP):
        return _read(argument, kind)
    return argument


def _read(text: Literal, kind: Type) -> Literal:
    """A text as a constant of a type, in the one spelling that its keys have."""
    key = canonical(text.value, kind)
    return Literal(float(str(key)) if kind is Type.DOUBLE and key is not None else key, kind)


def _literal(node: exp.Expr) -> Literal:
    match node:
        case exp.Null():
            return Literal(None, Type.VARCHAR)
        case exp.Boolean():
            return Literal(bool(node.this), Type.BOOLEAN)
        case exp.Literal() if node.is_string:
            return Literal(str(node.this), Type.VARCHAR)
    text, stage = str(node.this), node.meta.get("stage")
    whole = is_whole(text) and abs(int(text)) < 1 << 62
    kind = Type.BIGINT if whole else Type.DOUBLE
    if stage is not None and node.meta["missing"]:
        return Literal(None, kind, stage)
    return Literal(int(text) if whole else _finite(text), kind, stage)


def is_whole(text: str) -> bool:
    """Whether a text is a whole number as people write it."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal()


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise Refusal(f"{text!r} is not a number") from None
    if not math.isfinite(number):
        raise Refusal(f"{text!r} is too large a number")
    return number


def _case(node: exp.Case, columns: Columns) -> Case:
    values = [translate(branch.args["true"], columns) for branch in node.args["ifs"]]
    default = node.args.get("default")
    values.append(translate(default, columns) if default else Literal(None, Type.VARCHAR))
    values = _coerced(values)
    kinds = {value.type for value in values}
    kind = kinds.pop() if len(kinds) == 1 else Type.DOUBLE if kinds == {Type.BIGINT, Type.DOUBLE} else None
    tests = [translate(branch.this, columns) for branch in node.args["ifs"]]
    if node.this:
        operand = translate(node.this, columns)
        if sum(1 for _ in parts(operand)) > _MOST_REPEATED:
            raise Refusal(
                f"CASE {shown(node.this)} WHEN compares a long expression", hint="name it in a subquery first"
            )
        tests = [call("=", [operand, test], node) for test in tests]
    if kind is None or any(test.type is not Type.BOOLEAN for test in tests):
        raise Refusal(f"{shown(node)} mixes types", hint="cast its branches to one type")
    return Case(tuple(zip(tests, values[:-1], strict=True)), values[-1], kind)


def _cast(node: exp.Expr, columns: Columns) -> Expression:
    kind = _TYPES.get(node.to.this) if isinstance(node, exp.Cast) else None
    value = translate(node.this, columns)
    if kind is None:
        raise Refusal(
            f"{shown(node)}: there is no such type here", hint=f"use one of {', '.join(t.value for t in Type)}"
        )
    if isinstance(value, Literal) and value.type is Type.VARCHAR and kind in (Type.DATE, Type.TIMESTAMP):
        return _read(value, kind)
    if (kind in NUMBERS) != (value.type in NUMBERS) and Type.VARCHAR not in (kind, value.type):
        raise Refusal(
            f"{shown(node)}: {value.type.value} never becomes {kind.value}",
            hint="EXTRACT(epoch FROM x) is a date in seconds, x - DATE '2020-01-01' one in days",
        )
    return value if value.type is kind else Call("cast", (value,), kind)


def _idiom(node: exp.Expr, columns: Columns) -> Expression:
    """A moment by its format or its seconds, or a part of a text; `idiom` has checked what must be constant."""
    value = translate(node.this, columns)
    if isinstance(node, exp.UnixToTime):
        return call("moment of seconds", [value], node)
    if isinstance(node, exp.SplitPart):
        options = [translate(node.args[name], columns) for name in ("delimiter", "part_index")]
        return call("item" if node.meta.get(OF_ARRAY) else "part", [value, *options], node)
    if isinstance(node, exp.TimeToStr):
        if not value.type.dated:
            raise Refusal(f"{shown(node)} cannot be used on private rows", hint="to_char takes a date or a timestamp")
        return Call("formatted", (value, _literal(node.args["format"])), Type.VARCHAR)
    moment = call("moment by format", [value, _literal(node.args["format"])], node)
    return moment if isinstance(node, exp.StrToTime) else Call("cast", (moment,), Type.DATE)


def _is(node: exp.Is, columns: Columns) -> Expression:
    value = translate(node.this, columns)
    if isinstance(node.expression, exp.Null):
        return call("is null", [value], node)
    if isinstance(node.expression, exp.Boolean) and value.type is Type.BOOLEAN:
        wanted = value if node.expression.this else call("not", [value], node)
        return call("coalesce", [wanted, Literal(value=False, type=Type.BOOLEAN)], node)
    raise Refusal(f"{shown(node)} cannot be used on private rows", hint="IS NULL, IS TRUE and IS FALSE can")


def _epoch(time: exp.Expr, columns: Columns, node: exp.Expr) -> Expression:
    """The seconds since 1970 began; or those between two moments."""
    inner = unwrapped(time)
    if isinstance(inner, exp.Sub) and not isinstance(inner.right, exp.Interval):
        return call("-", [_epoch(inner.left, columns, node), _epoch(inner.right, columns, node)], node)
    value = translate(time, columns)
    if value.type not in NUMBERS:
        raise Refusal(f"{shown(node)} cannot be used on private rows", hint="it takes a date or a timestamp")
    return seconds(value)


def _of_time(function: str, part: str, time: exp.Expr, columns: Columns, node: exp.Expr) -> Expression:
    if function == "extract" and part == "epoch":
        return _epoch(time, columns, node)
    value = translate(time, columns)
    if part not in (_PARTS if function == "extract" else _UNITS) or value.type not in (Type.DATE, Type.TIMESTAMP):
        raise Refusal(f"{shown(node)} cannot be used on private rows", hint=f"the parts of a date are {list(_PARTS)}")
    if node.args.get("zone"):
        raise Refusal(f"{shown(node)} names a time zone", hint="leave it out: timestamps have none here")
    kind = Type.BIGINT if function == "extract" else Type.TIMESTAMP
    return Call(f"{function} {part}", (value,), kind)
