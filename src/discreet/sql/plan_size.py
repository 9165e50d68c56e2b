"""How long a plan is when it is written out. A short question can be long: each level may repeat the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from discreet.declared.key import Type
from discreet.errors import Refusal
from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.functions import DECLARED, DECLARED_OR_NULL
from discreet.sql.rows import (
    Among,
    Filter,
    Inline,
    Joined,
    Kept,
    Lookup,
    PerUnit,
    Project,
    Rows,
    Union,
    Windowed,
    below,
)
from discreet.sql.shape import shape

HEAVIEST = 20_000  # names, constants and functions, as often as an engine may meet them
BROADEST = 200_000  # columns of all relations, and cells of rows that the question computed

# What an engine meets twice where a column stands there: a long expression is bound to a name (`functions.once`).
_TWICE = (
    "days after", "days before", "later month", "later second", "width_bucket", "power", "/", "%", "ln", "nullif",
    "moment of seconds", "moment by format",
)  # fmt: skip


def weight(expression: Expression, columns: Mapping[str, int]) -> int:
    """How many parts an expression has when every column is written out too."""
    match expression:
        case Field(name, _):
            return columns.get(name, 1)
        case Literal():
            return 1
        case Case(branches, otherwise, _):
            nested = [part for branch in branches for part in branch]
            return 1 + sum(weight(part, columns) for part in (*nested, otherwise))
        case Call(function, (value, *_), _) if function in (DECLARED, DECLARED_OR_NULL):
            return 2 * weight(value, columns)  # keys are as many as were declared, and written once
        case Call(function, arguments, kind):
            each = 1 + sum(weight(argument, columns) for argument in arguments)
            dated = function == "cast" and kind in (Type.DATE, Type.TIMESTAMP)
            again = arguments[-1] if function in ("/", "%") else arguments[0]
            bare = weight(again, columns) if isinstance(again, Field) else 0
            return each + bare + 1 if dated or function in _TWICE else each


def weigh(rows: Rows) -> dict[str, int]:
    """The weights of a relation's columns; refuses a relation that would be too long."""
    inner = [weigh(source) for source in below(rows)]
    columns = {name: size for each in inner for name, size in each.items()}
    for expression in _expressions(rows):
        light(weight(expression, columns))
    if isinstance(rows, Project):
        return {name: weight(value, columns) for name, value in rows.columns}
    if isinstance(rows, Union):
        heaviest = [max(sizes) for sizes in zip(*(each.values() for each in inner), strict=True)]
        return dict(zip(shape(rows).columns, heaviest, strict=True))
    return {name: columns.get(name, 1) for name in shape(rows).columns}


def narrow(rows: Rows) -> None:
    """Refuse a relation that names too many columns, each as often as it is written out."""
    names = _names(rows)
    if names > BROADEST:
        raise Refusal(
            f"this question names columns {names:,} times when it is written out, more than {BROADEST:,}",
            hint="select fewer columns in its inner queries, or split it",
        )


def _names(rows: Rows) -> int:
    own = len(rows.cells) * len(rows.columns) if isinstance(rows, Inline) else len(shape(rows).columns)
    return own + sum(_names(source) for source in below(rows))


def light(size: int) -> None:
    """Refuse what is too long."""
    if size > HEAVIEST:
        raise Refusal(
            "this question says the same thing too many times over", hint="repeat fewer expressions inside each other"
        )


def _expressions(rows: Rows) -> Iterator[Expression]:
    match rows:
        case Filter():
            yield rows.predicate
        case Project():
            yield from (value for _, value in rows.columns)
        case PerUnit():
            yield from (value for _, value in rows.keys)
            yield from (summary.value for _, summary in rows.summaries if summary.value is not None)
        case Windowed():
            yield from rows.partition
            yield from (each.by for each in rows.order)
            if rows.summary.value is not None:
                yield rows.summary.value
        case Joined() | Lookup() | Kept():
            if rows.condition is not None:
                yield rows.condition
        case Among():
            yield rows.value
        case _:
            return
