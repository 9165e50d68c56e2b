"""The functions a question may use on private rows: each total, of bounded cost per row, with its interval.

Arithmetic runs in doubles, where no value of a row can raise an error; what has no answer is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.sql.range import Range, greatest, least, union
from discreet.sql.schema import Type

Ranging = Callable[[Sequence[Range]], Range]
Typing = Callable[[Sequence[Type]], Type | None]  # None: these types do not fit
Printing = Callable[[Sequence[str], Type], str]


@dataclass(frozen=True)
class Function:
    """How a function is typed, printed for DuckDB, and between which numbers it lies."""

    arity: tuple[int, int]
    typing: Typing
    printing: Printing
    ranging: Ranging = lambda _: Range()


def _number(types: Sequence[Type]) -> Type | None:
    if not all(kind.numeric for kind in types):
        return None
    return Type.BIGINT if all(kind is Type.BIGINT for kind in types) else Type.DOUBLE


def _double(types: Sequence[Type]) -> Type | None:
    return Type.DOUBLE if all(kind.numeric for kind in types) else None


def _same(types: Sequence[Type]) -> Type | None:
    return types[0] if len(set(types)) == 1 else _number(types)


def _truth(types: Sequence[Type]) -> Type | None:
    return Type.BOOLEAN if _same(types) is not None else None


def _texts(types: Sequence[Type]) -> Type | None:
    return Type.BOOLEAN if all(kind is Type.VARCHAR for kind in types) else None


def _flags(types: Sequence[Type]) -> Type | None:
    return Type.BOOLEAN if all(kind is Type.BOOLEAN for kind in types) else None


def _text(types: Sequence[Type]) -> Type | None:
    return Type.VARCHAR if types[0] is Type.VARCHAR and all(kind is Type.BIGINT for kind in types[1:]) else None


def _double_of(text: str) -> str:
    return f"CAST({text} AS DOUBLE)"


def _as(kind: Type, text: str) -> str:
    """A double back in the type it stands for; NULL if it does not fit."""
    return f"TRY_CAST({text} AS BIGINT)" if kind is Type.BIGINT else text


def _infix(operator: str) -> Printing:
    return lambda args, kind: _as(kind, f"({_double_of(args[0])} {operator} {_double_of(args[1])})")


def _divide(args: Sequence[str], kind: Type) -> str:
    quotient = f"({_double_of(args[0])} / nullif({_double_of(args[1])}, 0))"
    return f"TRY_CAST(trunc({quotient}) AS BIGINT)" if kind is Type.BIGINT else quotient


def _remainder(args: Sequence[str], kind: Type) -> str:
    return _as(kind, f"fmod({_double_of(args[0])}, nullif({_double_of(args[1])}, 0))")


def _bar(args: Sequence[str], _: Type) -> str:
    """A bar of a histogram over powers of two: 0 below 2^−20, else 21 + ⌊log₂ |x|⌋, at most 61, with the sign of x."""
    size = f"abs({_double_of(args[0])})"
    place = f"least(21 + floor(log2(greatest({size}, 1e-300))), 61)"
    return f"TRY_CAST(CASE WHEN {size} < power(2, -20) THEN 0 ELSE sign({_double_of(args[0])}) * {place} END AS BIGINT)"


def _plain(name: str) -> Printing:
    return lambda args, kind: _as(kind, f"{name}({', '.join(map(_double_of, args))})")


def _call(name: str) -> Printing:
    return lambda args, _: f"{name}({', '.join(args)})"


def _compare(operator: str) -> Printing:
    return lambda args, _: f"({args[0]} {operator} {args[1]})"


def _substring(args: Sequence[str], _: Type) -> str:
    start, length = (f"least(greatest({text}, -1000000), 1000000)" for text in args[1:])  # engines count in 32 bits
    return f"substring({args[0]}, {start}, greatest({length}, 0))"


FUNCTIONS: dict[str, Function] = {
    "+": Function((2, 2), _number, _infix("+"), lambda r: r[0] + r[1]),
    "-": Function((2, 2), _number, _infix("-"), lambda r: r[0] - r[1]),
    "*": Function((2, 2), _number, _infix("*"), lambda r: r[0] * r[1]),
    "/": Function((2, 2), _number, _divide, lambda r: union([r[0] / r[1], (r[0] / r[1]).whole()])),
    "%": Function((2, 2), _number, _remainder, lambda r: r[0] % r[1]),
    "negative": Function((1, 1), _number, lambda args, kind: _as(kind, f"(- {_double_of(args[0])})"), lambda r: -r[0]),
    "abs": Function((1, 1), _number, _plain("abs"), lambda r: abs(r[0])),
    "floor": Function((1, 1), _number, _plain("floor"), lambda r: r[0].whole()),
    "ceil": Function((1, 1), _number, _plain("ceil"), lambda r: r[0].whole()),
    "round": Function((1, 1), _number, _plain("round"), lambda r: r[0].whole()),
    "sqrt": Function(
        (1, 1), _double, lambda args, _: f"sqrt(greatest({_double_of(args[0])}, 0))", lambda r: r[0].sqrt()
    ),
    "exp": Function((1, 1), _double, _plain("exp"), lambda r: r[0].exp()),
    "bar": Function((1, 1), lambda types: Type.BIGINT if types[0].numeric else None, _bar),
    "least": Function((1, 16), _same, _call("least"), least),
    "greatest": Function((1, 16), _same, _call("greatest"), greatest),
    "coalesce": Function((1, 16), _same, _call("coalesce"), union),
    "=": Function((2, 2), _truth, _compare("=")),
    "<>": Function((2, 2), _truth, _compare("<>")),
    "<": Function((2, 2), _truth, _compare("<")),
    "<=": Function((2, 2), _truth, _compare("<=")),
    ">": Function((2, 2), _truth, _compare(">")),
    ">=": Function((2, 2), _truth, _compare(">=")),
    "and": Function((2, 2), _flags, _compare("AND")),
    "or": Function((2, 2), _flags, _compare("OR")),
    "not": Function((1, 1), _flags, lambda args, _: f"(NOT {args[0]})"),
    "is null": Function((1, 1), lambda _: Type.BOOLEAN, lambda args, _: f"({args[0]} IS NULL)"),
    "in": Function((2, 1000), _truth, lambda args, _: f"({args[0]} IN ({', '.join(args[1:])}))"),
    "like": Function((2, 2), _texts, _compare("LIKE")),
    "lower": Function((1, 1), _text, _call("lower")),
    "upper": Function((1, 1), _text, _call("upper")),
    "length": Function((1, 1), lambda types: Type.BIGINT if types[0] is Type.VARCHAR else None, _call("length")),
    "substring": Function((3, 3), _text, _substring),
}
