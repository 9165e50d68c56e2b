"""A plan as a person reads it: which rows, in which groups, which numbers of them on which grid, and what is left above.

Relations stand in the order in which rows pass through them, from a table downwards; what is beside them is indented.
Words stand here, not the names of classes, so that a golden file outlives those. A type is written only where it does
not follow from what is written already. Every field of every part of a plan is asked for by name: a part or a field
that is not known here is an error, never left out in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

from discreet.sql.aggregate import Aggregate
from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.plan import GroupKey, Measurement, Rank, Statistic
from discreet.sql.question import Part, Question
from discreet.sql.range import Grid
from discreet.sql.rows import (
    Among,
    Capped,
    Filter,
    Inline,
    Joined,
    Kept,
    Lookup,
    Order,
    PerUnit,
    Project,
    Rows,
    Scan,
    Summary,
    Union,
    Windowed,
)
from discreet.sql.schema import Column, Schema, Table, Type

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


def _all(value: Any, *names: str) -> tuple[Any, ...]:
    """The fields of a value; these must be all that it has."""
    known = tuple(each.name for each in fields(value))
    if known != names:
        raise Unknown(f"{type(value).__name__} has the fields {known}, and only {names} are written")
    return tuple(getattr(value, name) for name in names)


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


# questions ------------------------------------------------------------------------------------------------------------


def question_text(question: Question) -> str:
    """A whole question."""
    return "\n".join(_question(question))


def _question(question: Question) -> Iterator[str]:
    parts, above, public, columns, direct, first, partial = _all(
        question, "parts", "above", "public", "columns", "direct", "first", "partial"
    )
    for place, each in enumerate(first):
        yield f"first {place}"
        yield from _indented(_question(each))
    for part in parts:
        yield from part_lines(part)
    yield f"above {above.sql(dialect='duckdb')}"
    shown = [_name(c) + ("" if d is None else f" = {d[0]}.{_name(d[1])}") for c, d in zip(columns, direct, strict=True)]
    yield f"gives {', '.join(shown)}"
    if public:
        yield f"reads public {', '.join(sorted(map(_name, public)))}"
    for sentence in partial:
        yield f"says {sentence}"


def part_lines(part: Part) -> Iterator[str]:
    """One noisy table."""
    name, measurement, aggregates = _all(part, "name", "measurement", "aggregates")
    yield f"{name} of one {_name(measurement.shape.population)} each"
    yield from _indented(measurement_lines(measurement))
    places = {statistic: place for place, statistic in enumerate(measurement.statistics)}
    for aggregate in aggregates:
        yield f"  {_aggregate(aggregate, places)}"


def _aggregate(aggregate: Aggregate, places: Mapping[Statistic | Rank, int]) -> str:
    name, kind, statistics, sample, moment = _all(aggregate, "name", "kind", "statistics", "sample", "moment")
    of = ", ".join(f"s{places[statistic]}" for statistic in statistics)
    return f"{_name(name)} = {kind} of {of}" + (" by n − 1" if sample else "") + (f", a {moment.value}" if moment else "")


def measurement_lines(measurement: Measurement) -> Iterator[str]:
    """What is measured of rows."""
    rows, keys, statistics, max_rows, max_groups = _all(
        measurement, "rows", "keys", "statistics", "max_rows", "max_groups"
    )
    yield from _rows(rows)
    columns = _columns(rows)
    for key in keys:
        yield _key(key, columns)
    most = "any number of rows" if max_rows is None else f"{max_rows} rows"
    yield f"a person has at most {most} and {max_groups} groups"
    for place, statistic in enumerate(statistics):
        yield f"s{place} = {_statistic(statistic, columns)}"


def _key(key: GroupKey, columns: Columns) -> str:
    name, expression, values = _all(key, "name", "expression", "values")
    text = f"by {_name(name)} = {_expression(expression, columns)}"
    if values is None:
        return f"{text}, undeclared"
    return f"{text} in {', '.join(_value(value) for value in values) or 'nothing'}"


def _statistic(statistic: Statistic | Rank, columns: Columns) -> str:
    if isinstance(statistic, Rank):
        quantile, expression, grid = _all(statistic, "quantile", "expression", "grid")
        bought = "with an interval" if statistic.bracketed else "without an interval"
        return f"quantile {quantile} of {_expression(expression, columns)} {_grid(grid)}, {bought}"
    kind, expression, grid = _all(statistic, "kind", "expression", "grid")
    text = kind if expression is None else f"{kind} of {_expression(expression, columns)}"
    return text if grid is None else f"{text} {_grid(grid)}, {_far(kind, grid)}"


def _grid(grid: Grid) -> str:
    low, high, step = _all(grid, "low", "high", "step")
    return f"on {low}..{high} × {_number(step)}"


def _far(kind: str, grid: Grid) -> str:
    """How far one row moves a statistic, in steps."""
    far = {
        "total": f"|x| ≤ {grid.reach}",
        "centred": f"|x − {grid.middle}| ≤ {grid.half}",
        "squares": f"(x − {grid.middle})² ≤ {grid.half}²",
    }
    if kind not in far:
        raise Unknown(f"what a row adds to {kind!r} on a grid")
    return far[kind]


# rows -----------------------------------------------------------------------------------------------------------------


def _rows(rows: Rows) -> Iterator[str]:  # noqa: C901, PLR0912  # one case a kind
    match rows:
        case Scan():
            (table,) = _all(rows, "table")
            yield f"{_name(table.name)}"
        case Inline():
            yield _inline(rows)
        case Filter():
            source, predicate = _all(rows, "source", "predicate")
            yield from _rows(source)
            yield f"where {_expression(predicate, _columns(source))}"
        case Project():
            source, columns = _all(rows, "source", "columns")
            yield from _rows(source)
            yield f"columns {_projected(columns, _columns(source))}"
        case PerUnit():
            source, keys, summaries = _all(rows, "source", "keys", "summaries")
            yield from _rows(source)
            yield f"one row of a person for each {_named(keys, _columns(source))}"
            for name, summary in summaries:
                yield f"  {_name(name)} = {_summary(summary, _columns(source))}"
        case Windowed():
            yield from _window(rows)
        case Joined():
            left, right, condition, kind = _all(rows, "left", "right", "condition", "kind")
            yield from _rows(left)
            yield f"{kind} join of rows of one person{_on(condition, {**_columns(left), **_columns(right)})} with"
            yield from _indented(_rows(right))
        case Capped():
            source, most, letters = _all(rows, "source", "most", "letters")
            yield from _rows(source)
            yield f"at most {most} rows of a person" + ("" if letters is None else f", of {letters} letters")
        case Lookup():
            source, public, condition, kind = _all(rows, "source", "public", "condition", "kind")
            yield from _rows(source)
            yield f"{kind} lookup{_on(condition, {**_columns(source), **_columns(public)})} in"
            yield from _indented(_rows(public))
        case Kept():
            source, others, condition, negated = _all(rows, "source", "others", "condition", "negated")
            yield from _rows(source)
            there = "there is no such row" if negated else "there is such a row"
            yield f"kept where {there}{_on(condition, {**_columns(source), **_columns(others)})}"
            yield from _indented(_rows(others))
        case Among():
            source, value, public, negated = _all(rows, "source", "value", "public", "negated")
            yield from _rows(source)
            yield f"kept where {_expression(value, _columns(source))} is {'not ' if negated else ''}one of"
            yield from _indented(_rows(public))
        case Union():
            (sources,) = _all(rows, "sources")
            for place, source in enumerate(sources):
                yield "all of" if not place else "and of"
                yield from _indented(_rows(source))
        case _:
            raise Unknown(f"rows of the kind {type(rows).__name__}")


def _inline(rows: Inline) -> str:
    columns, cells, tables = _all(rows, "columns", "cells", "tables")
    names = ", ".join(f"{_name(name)} {kind.value}" for name, kind in columns)
    content = "; ".join(", ".join(map(_value, row)) for row in cells)
    return f"computed from {', '.join(_name(table.name) for table in tables)}: ({names}) {content}"


def _window(rows: Windowed) -> Iterator[str]:
    source, name, summary, partition, order, frame = _all(
        rows, "source", "name", "summary", "partition", "order", "frame"
    )
    columns = _columns(source)
    yield from _rows(source)
    text = f"window {_name(name)} = {_summary(summary, columns)}"
    if partition:
        text += f" within {', '.join(_expression(each, columns) for each in partition)}"
    if order:
        text += f" by {', '.join(_order(each, columns) for each in order)}"
    if frame is not None:
        before, after = ("all" if end is None else str(end) for end in frame)
        text += f" over {before} rows before and {after} after"
    yield text


def _order(order: Order, columns: Columns) -> str:
    by, descending, nulls_first = _all(order, "by", "descending", "nulls_first")
    ends = f"{'down' if descending else 'up'}, null {'first' if nulls_first else 'last'}"
    return f"{_expression(by, columns)} ({ends})"


def _summary(summary: Summary, columns: Columns) -> str:
    kind, type_, value, grid, offset = _all(summary, "kind", "type", "value", "grid", "offset")
    text = kind if value is None else f"{kind} of {_expression(value, columns)}"
    if grid is not None:
        text += f" {_grid(grid)}"
    if offset != 1 or kind in ("lag", "lead"):
        text += f", {offset} away"
    usual = Type.BIGINT if value is None or kind in ("present", "distinct") else value.type
    return text + _typed(type_, Type.DOUBLE if kind == "average" else usual)


def _on(condition: Expression | None, columns: Columns) -> str:
    return "" if condition is None else f" on {_expression(condition, columns)}"


def _projected(columns: Sequence[tuple[str, Expression]], below: Columns) -> str:
    """Columns; all that there are, as they are or behind one prefix, in a word."""
    names = [value.name if isinstance(value, Field) and value.type is below[value.name] else "" for _, value in columns]
    prefix = columns[0][0].removesuffix(names[0]) if columns and names[0] else None
    if names == list(below) and prefix is not None and [f"{prefix}{name}" for name in names] == [n for n, _ in columns]:
        return f"{prefix}*"
    return _named(columns, below)


def _named(columns: Sequence[tuple[str, Expression]], below: Columns) -> str:
    texts = [(_name(name), _expression(value, below)) for name, value in columns]
    return ", ".join(name if name == text else f"{name} = {text}" for name, text in texts)


def _columns(rows: Rows) -> Columns:
    """The names of a relation's columns and their types, by their place."""
    match rows:
        case Scan(table):
            return {column.name: column.type for column in table.columns}
        case Inline(columns, _, _):
            return dict(columns)
        case Project(_, columns):
            return {name: value.type for name, value in columns}
        case PerUnit(_, keys, summaries):
            return {name: value.type for name, value in (*keys, *summaries)}
        case Windowed(source, name, summary):
            return {**_columns(source), name: summary.type}
        case Joined(left, right):
            return {**_columns(left), **_columns(right)}
        case Lookup(source, public):
            return {**_columns(source), **_columns(public)}
        case Union(sources):
            return _columns(sources[0])
        case Filter() | Capped() | Kept() | Among():
            return _columns(rows.source)
        case _:
            raise Unknown(f"columns of the kind {type(rows).__name__}")


# expressions ----------------------------------------------------------------------------------------------------------


def _expression(expression: Expression, columns: Columns) -> str:
    match expression:
        case Literal():
            return _literal(expression)
        case Field():
            name, kind = _all(expression, "name", "type")
            return f"{_name(name)}{_typed(kind, columns.get(name))}"
        case Call():
            return _call(expression, columns)
        case Case():
            return _case(expression, columns)
        case _:
            raise Unknown(f"an expression of the kind {type(expression).__name__}")


def _case(case: Case, columns: Columns) -> str:
    branches, otherwise, kind = _all(case, "branches", "otherwise", "type")
    tests = [f"when {_expression(test, columns)} then {_expression(value, columns)}" for test, value in branches]
    kinds = {value.type for _, value in branches} | {otherwise.type}
    usual = otherwise.type if len(kinds) == 1 else Type.DOUBLE
    return f"case {' '.join(tests)} else {_expression(otherwise, columns)} end{_typed(kind, usual)}"


def _literal(literal: Literal) -> str:
    value, kind, stage = _all(literal, "value", "type", "stage")
    text = f"{_value(value)}{_typed(kind, _NATURAL.get(type(value)))}"
    if isinstance(value, str) and kind in (Type.DATE, Type.TIMESTAMP):
        text = f"{kind.value} {_value(value)}"
    return text if stage is None else f"first {stage} ({text})"


def _call(call: Call, columns: Columns) -> str:
    function, arguments, kind = _all(call, "function", "arguments", "type")
    texts = [_expression(each, columns) for each in arguments]
    inner = [_inside(text, each, function, place) for place, (text, each) in enumerate(zip(texts, arguments, strict=True))]
    usual = _usual(call)
    match function:
        case "cast" if len(texts) == 1:
            return f"cast({texts[0]} as {kind.value})"
        case "/" if kind is Type.BIGINT and len(texts) == 2:
            return f"{inner[0]} // {inner[1]}{_typed(kind, usual)}"
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
            return f"{function}({', '.join(texts)}){_typed(kind, usual)}"
    return text if kind is usual else f"({text}){_typed(kind, usual)}"


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


def _typed(kind: Type, usual: Type | None) -> str:
    return "" if kind is usual else f"::{kind.value}"


def _name(name: str | None) -> str:
    if name is None:
        return "nobody"
    return name if _BARE.fullmatch(name) and name not in _WORDS else '"' + name.replace('"', '""').replace("\n", "\\n") + '"'


def _value(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "'" + repr('"' + value)[2:-1].replace("'", "''") + "'"
        case int() | float():
            return repr(value)
        case _:
            raise Unknown(f"a value of the kind {type(value).__name__}")


def _number(value: Fraction) -> str:
    """A number in digits where it has an end, else as a fraction."""
    for digits in range(40):
        if (10**digits * value).denominator == 1:
            whole = str(int(10**digits * abs(value))).rjust(digits + 1, "0")
            return ("-" if value < 0 else "") + (whole if not digits else f"{whole[:-digits]}.{whole[-digits:]}")
    return str(value)


# what is declared -----------------------------------------------------------------------------------------------------


def schema_text(schema: Schema) -> str:
    """What is declared of tables."""
    (tables,) = _all(schema, "tables")
    return "\n".join(line for table in tables.values() for line in _table(table))


def _table(table: Table) -> Iterator[str]:
    name, columns, population, unit, max_rows, max_groups, version, link = _all(
        table, "name", "columns", "population", "unit", "max_rows", "max_groups", "version", "link"
    )
    whose = "public" if population is None else f"of {_name(population)}, {f'unit {_name(unit)}' if unit else 'each row its own unit'}"
    led = "" if link is None else f", linked by {_name(link[0])} to {_name(link[1])}.{_name(link[2])}"
    caps = "" if population is None else f", at most {'any number of' if max_rows is None else max_rows} rows, {max_groups} groups"
    yield f"table {_name(name)} version {version}: {whose}{led}{caps}"
    for column in columns:
        yield f"  {_column(column)}"


def _column(column: Column) -> str:
    name, kind, bounds, step, keys, description = _all(
        column, "name", "type", "bounds", "step", "keys", "description"
    )
    text = f"{_name(name)} {kind.value}"
    text += "" if bounds is None else f" from {_number(bounds[0])} to {_number(bounds[1])}"
    text += "" if step is None else f" by {_number(step)}"
    text += "" if keys is None else f" in {', '.join(map(_value, keys))}"
    return text + (f": {_value(description)}" if description else "")
