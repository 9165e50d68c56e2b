"""Constants that no declared value meets: told before anything is paid, from the plan alone.

`sex = 'male'` where the keys are F and M is answered, since rows with undeclared values may exist; but it is hardly
what was meant. So it is a notice and no refusal.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from discreet.declared.column import Column
from discreet.declared.group_key import Key, Type
from discreet.exact import spoken
from discreet.sql.expression import Call, Expression, Field, Literal, Value, parts
from discreet.sql.owned_rows import (
    Among,
    Filter,
    Joined,
    Kept,
    PerUnit,
    Project,
    PublicJoin,
    Rows,
    Windowed,
    below,
    scanned,
)
from discreet.sql.plan import Measurement
from discreet.sql.relation_facts import Shape, shape

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "is": "is"}
_TURNED["is distinct from"] = "is distinct from"
_WORDS = {"is": "=", "is distinct from": "<>"}
_MOST_SHOWN = 8  # keys in a sentence


def doubts(measurement: Measurement) -> tuple[str, ...]:
    """A sentence for each comparison that every declared value fails, or passes."""
    columns = {(table.name, column.name): column for table in scanned(measurement.rows) for column in table.columns}
    sentences = [
        sentence
        for expression, known in expressions(measurement)
        for call in parts(expression)
        if isinstance(call, Call)
        for sentence in _doubtful(call, known, columns)
    ]
    return tuple(dict.fromkeys(sentences))


def expressions(measurement: Measurement) -> Iterator[tuple[Expression, Shape]]:
    """Every expression of a plan, with the columns that it speaks of; what is measured last, conditions first."""
    yield from _of_rows(measurement.rows)
    for key in measurement.keys:
        yield key.expression, measurement.shape
    for statistic in measurement.statistics:
        if statistic.expression is not None:
            yield statistic.expression, measurement.shape


def _of_rows(rows: Rows) -> Iterator[tuple[Expression, Shape]]:
    for source in below(rows):
        yield from _of_rows(source)
    match rows:
        case Filter(source, predicate):
            yield predicate, shape(source)
        case Project(source, columns):
            yield from ((value, shape(source)) for _, value in columns)
        case PerUnit(source, keys, summaries):
            yield from ((value, shape(source)) for _, value in keys)
            yield from ((each.value, shape(source)) for _, each in summaries if each.value is not None)
        case Windowed(source, _, summary) if summary.value is not None:
            yield summary.value, shape(source)
        case Joined(_, _, condition, _) if condition is not None:
            yield condition, shape(rows)
        case PublicJoin(_, _, condition, _):
            yield condition, shape(rows)
        case Among(source, value, _, _):
            yield value, shape(source)
        case Kept(source, others, condition, _) if condition is not None:
            yield condition, _both(shape(source), shape(others))
        case _:
            pass


def _both(one: Shape, two: Shape) -> Shape:
    return Shape({**one.columns, **two.columns}, one.population, one.tables | two.tables, one.max_rows, one.max_groups)


Declared = dict[tuple[str, str], Column]


def _doubtful(call: Call, known: Shape, columns: Declared) -> Iterator[str]:
    function, arguments = call.function, call.arguments
    if function in _TURNED and isinstance(arguments[0], Literal):
        function, arguments = _TURNED[function], arguments[::-1]
    function = _WORDS.get(function, function)
    tested = _tested(arguments[0], known, columns) if arguments else None
    values = [a.value for a in arguments[1:] if isinstance(a, Literal) and a.stage is None and a.value is not None]
    if tested is None or not values or len(values) < len(arguments) - 1:
        return
    column, name, keys = tested
    if function in ("like", "ilike"):
        yield from _unlike(name, keys, str(values[0]), function)
    elif function in ("=", "<>", "in"):
        yield from _unknown(function, name, keys, column, values)
    if keys is None and column.bounds is not None and column.type.numeric:
        yield from _beyond(function, name, column.bounds, values)


def _tested(
    expression: Expression, known: Shape, columns: Declared
) -> tuple[Column, str, tuple[Key, ...] | None] | None:
    """The declared column that is compared, how the question sees it, and the keys that can be met."""
    if isinstance(expression, Call) and expression.function in ("lower", "upper") and len(expression.arguments) == 1:
        inner = _tested(expression.arguments[0], known, columns)
        if inner is None:
            return None
        change = str.lower if expression.function == "lower" else str.upper
        column, name, keys = inner
        changed = None if keys is None else tuple(change(key) if isinstance(key, str) else key for key in keys)
        return column, f"{expression.function}({name})", changed
    if not isinstance(expression, Field) or expression.name not in known.columns:
        return None
    origin = known.columns[expression.name].origin
    column_ = None if origin is None else columns.get(origin)
    return None if column_ is None else (column_, column_.name, column_.keys)


def _unknown(
    function: str, name: str, keys: tuple[Key, ...] | None, column: Column, values: Sequence[Value]
) -> Iterator[str]:
    """Constants that are no key."""
    if keys is None:
        return
    known = {_plain(key, column.type) for key in keys}
    strange = [value for value in values if _plain(value, column.type) not in known]
    if not strange:
        return
    which = ", ".join(map(_written, strange))
    are = "is none" if len(strange) == 1 else "are none"
    after = "every declared key passes" if function == "<>" else "no declared key passes"
    if function == "in" and len(strange) < len(values):
        after = "they add nothing" if len(strange) > 1 else "it adds nothing"
    yield f"{which} {are} of the declared keys of {name} ({_some(keys)}), so {after}."


def _unlike(name: str, keys: tuple[Key, ...] | None, pattern: str, function: str) -> Iterator[str]:
    if keys is None or any(_like(str(key), pattern, function) for key in keys if key is not None):
        return
    yield f"{name} {function.upper()} {_written(pattern)} fits none of the declared keys of {name} ({_some(keys)})."


def _like(text: str, pattern: str, function: str) -> bool:
    """As SQL has it: % is any text, _ any character, and a backslash takes the next one as it is written."""
    made, taken = "", iter(pattern)
    for character in taken:
        if character == "\\":
            made += re.escape(next(taken, ""))
        else:
            made += {"%": ".*", "_": "."}.get(character, re.escape(character))
    return re.fullmatch(made, text, re.DOTALL | (re.IGNORECASE if function == "ilike" else 0)) is not None


def _beyond(function: str, name: str, bounds: tuple[Fraction, Fraction], values: Sequence[Value]) -> Iterator[str]:
    """Numbers beyond the declared bounds."""
    low, high = bounds
    numbers = [
        Fraction(str(value)) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    if len(numbers) < len(values):
        return
    if function == "between":
        outside = numbers if len(numbers) == 2 and (numbers[1] < low or numbers[0] > high) else []
    else:
        outside = [number for number in numbers if not low <= number <= high]
    if not outside or function not in ("=", "<>", "in", "<", "<=", ">", ">=", "between"):
        return
    passes = function == "<>" or (function in ("<", "<=") and outside[0] > high)
    passes = passes or (function in (">", ">=") and outside[0] < low)
    which = ", ".join(spoken(number) for number in outside)
    after = "every value within them passes" if passes else "no value within them passes"
    if function == "in" and len(outside) < len(numbers):
        after = "they add nothing" if len(outside) > 1 else "it adds nothing"
    verb = "lies" if len(outside) == 1 else "lie"
    yield f"{which} {verb} beyond the declared bounds of {name} ({spoken(low)} to {spoken(high)}), so {after}."


def _plain(value: object, kind: Type) -> object:
    """A constant or a key as one compares them: dates and moments by what they mean."""
    if kind in (Type.DATE, Type.TIMESTAMP):
        try:
            return dt.datetime.fromisoformat(str(value))
        except ValueError:
            return str(value)
    return value if isinstance(value, (bool, int, float)) or value is None else str(value)


def _written(value: Value) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _some(keys: Sequence[Key]) -> str:
    named = [str(key) for key in keys if key is not None]
    return ", ".join(named[:_MOST_SHOWN]) + (", …" if len(named) > _MOST_SHOWN else "")
