"""A plan as a person reads it: which rows, in which groups, which numbers on which grid, and what is left above.

Relations stand in the order in which rows pass through them, from a table downwards; what is beside them is indented.
Words stand here, not the names of classes, so that a golden file outlives those. A type is written only where it does
not follow from what is written already. Every field of every part of a plan is asked for by name: a part or a field
that is not known here is an error, never left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sql.expression_text import Columns, Unknown, all_of, expression_text, name_text, number_text, typed, value_text

from discreet.declared.column import Column
from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.sql.expression import Expression, Field
from discreet.sql.owned_rows import (
    Among,
    Capped,
    Filter,
    Inline,
    Joined,
    Kept,
    Ordering,
    PerUnit,
    Project,
    PublicJoin,
    Rows,
    Scan,
    Summary,
    Union,
    Windowed,
)
from discreet.sql.plan import AggregateColumn, GroupKey, Measurement, Part, Question, Rank, Statistic


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


# questions ------------------------------------------------------------------------------------------------------------


def question_text(question: Question) -> str:
    """A whole question."""
    return "\n".join(_question(question))


def _question(question: Question) -> Iterator[str]:
    parts, above, public, columns, direct, first, partial = all_of(
        question, "parts", "above", "public", "columns", "direct", "first", "partial"
    )
    for place, each in enumerate(first):
        yield f"first {place}"
        yield from _indented(_question(each))
    for part in parts:
        yield from part_lines(part)
    yield f"above {above.sql(dialect='duckdb')}"
    shown = [
        name_text(c) + ("" if d is None else f" = {d[0]}.{name_text(d[1])}")
        for c, d in zip(columns, direct, strict=True)
    ]
    yield f"gives {', '.join(shown)}"
    if public:
        yield f"reads public {', '.join(sorted(map(name_text, public)))}"
    for sentence in partial:
        yield f"says {sentence}"


def part_lines(part: Part) -> Iterator[str]:
    """One noisy table."""
    name, measurement, aggregates = all_of(part, "name", "measurement", "aggregates")
    yield f"{name} of one {name_text(measurement.shape.population)} each"
    yield from _indented(measurement_lines(measurement))
    places = {statistic: place for place, statistic in enumerate(measurement.statistics)}
    for aggregate in aggregates:
        yield f"  {_aggregate(aggregate, places)}"


def _aggregate(aggregate: AggregateColumn, places: Mapping[Statistic | Rank, int]) -> str:
    name, kind, statistics, sample, moment = all_of(aggregate, "name", "kind", "statistics", "sample", "moment")
    of = ", ".join(f"s{places[statistic]}" for statistic in statistics)
    text = f"{name_text(name)} = {kind} of {of}{' by n − 1' if sample else ''}"
    return text if moment is None else f"{text}, a {moment.value}"


def measurement_lines(measurement: Measurement) -> Iterator[str]:
    """What is measured of rows."""
    rows, keys, statistics, max_rows, max_groups = all_of(
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
    name, expression, values = all_of(key, "name", "expression", "values")
    text = f"by {name_text(name)} = {expression_text(expression, columns)}"
    if values is None:
        return f"{text}, undeclared"
    return f"{text} in {', '.join(value_text(value) for value in values) or 'nothing'}"


def _statistic(statistic: Statistic | Rank, columns: Columns) -> str:
    if isinstance(statistic, Rank):
        quantile, expression, grid = all_of(statistic, "quantile", "expression", "grid")
        bought = "with an interval" if statistic.bracketed else "without an interval"
        return f"quantile {quantile} of {expression_text(expression, columns)} {_grid(grid)}, {bought}"
    kind, expression, grid = all_of(statistic, "kind", "expression", "grid")
    text = kind if expression is None else f"{kind} of {expression_text(expression, columns)}"
    return text if grid is None else f"{text} {_grid(grid)}, {_far(kind, grid)}"


def _grid(grid: Grid) -> str:
    _, _, step = all_of(grid, "lower", "upper", "step")
    return f"on {grid.low}..{grid.high} × {number_text(step)}"


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


def _rows(rows: Rows) -> Iterator[str]:  # noqa: C901, PLR0912, PLR0915  # one case a kind
    match rows:
        case Scan():
            (table,) = all_of(rows, "table")
            yield f"{name_text(table.name)}"
        case Inline():
            yield _inline(rows)
        case Filter():
            source, predicate = all_of(rows, "source", "predicate")
            yield from _rows(source)
            yield f"where {expression_text(predicate, _columns(source))}"
        case Project():
            source, columns = all_of(rows, "source", "columns")
            yield from _rows(source)
            yield f"columns {_projected(columns, _columns(source))}"
        case PerUnit():
            source, keys, summaries = all_of(rows, "source", "keys", "summaries")
            yield from _rows(source)
            yield f"one row of a person for each {_named(keys, _columns(source))}"
            for name, summary in summaries:
                yield f"  {name_text(name)} = {_summary(summary, _columns(source))}"
        case Windowed():
            yield from _window(rows)
        case Joined():
            left, right, condition, kind = all_of(rows, "left", "right", "condition", "kind")
            yield from _rows(left)
            yield f"{kind} join of rows of one person{_on(condition, {**_columns(left), **_columns(right)})} with"
            yield from _indented(_rows(right))
        case Capped():
            source, most, letters = all_of(rows, "source", "most", "letters")
            yield from _rows(source)
            yield f"at most {most} rows of a person" + ("" if letters is None else f", of {letters} letters")
        case PublicJoin():
            source, public, condition, kind = all_of(rows, "source", "public", "condition", "kind")
            yield from _rows(source)
            yield f"{kind} lookup{_on(condition, {**_columns(source), **_columns(public)})} in"
            yield from _indented(_rows(public))
        case Kept():
            source, others, condition, negated = all_of(rows, "source", "others", "condition", "negated")
            yield from _rows(source)
            there = "there is no such row" if negated else "there is such a row"
            yield f"kept where {there}{_on(condition, {**_columns(source), **_columns(others)})}"
            yield from _indented(_rows(others))
        case Among():
            source, value, public, negated = all_of(rows, "source", "value", "public", "negated")
            yield from _rows(source)
            yield f"kept where {expression_text(value, _columns(source))} is {'not ' if negated else ''}one of"
            yield from _indented(_rows(public))
        case Union():
            (sources,) = all_of(rows, "sources")
            for place, source in enumerate(sources):
                yield "all of" if not place else "and of"
                yield from _indented(_rows(source))
        case _:
            raise Unknown(f"rows of the kind {type(rows).__name__}")


def _inline(rows: Inline) -> str:
    columns, cells, tables = all_of(rows, "columns", "cells", "tables")
    names = ", ".join(f"{name_text(name)} {kind.value}" for name, kind in columns)
    content = "; ".join(", ".join(map(value_text, row)) for row in cells)
    return f"computed from {', '.join(name_text(table.name) for table in tables)}: ({names}) {content}"


def _window(rows: Windowed) -> Iterator[str]:
    source, name, summary, partition, order, frame = all_of(
        rows, "source", "name", "summary", "partition", "order", "frame"
    )
    columns = _columns(source)
    yield from _rows(source)
    text = f"window {name_text(name)} = {_summary(summary, columns)}"
    if partition:
        text += f" within {', '.join(expression_text(each, columns) for each in partition)}"
    if order:
        text += f" by {', '.join(_order(each, columns) for each in order)}"
    if frame is not None:
        before, after = ("all" if end is None else str(end) for end in frame)
        text += f" over {before} rows before and {after} after"
    yield text


def _order(order: Ordering, columns: Columns) -> str:
    by, descending, nulls_first = all_of(order, "by", "descending", "nulls_first")
    ends = f"{'down' if descending else 'up'}, null {'first' if nulls_first else 'last'}"
    return f"{expression_text(by, columns)} ({ends})"


def _summary(summary: Summary, columns: Columns) -> str:
    kind, type_, value, grid, offset = all_of(summary, "kind", "type", "value", "grid", "offset")
    text = kind if value is None else f"{kind} of {expression_text(value, columns)}"
    if grid is not None:
        text += f" {_grid(grid)}"
    if offset != 1 or kind in ("lag", "lead"):
        text += f", {offset} away"
    usual = Type.BIGINT if value is None or kind in ("present", "distinct") else value.type
    return text + typed(type_, Type.DOUBLE if kind == "average" else usual)


def _on(condition: Expression | None, columns: Columns) -> str:
    return "" if condition is None else f" on {expression_text(condition, columns)}"


def _projected(columns: Sequence[tuple[str, Expression]], below: Columns) -> str:
    """Columns; all that there are, as they are or behind one prefix, in a word."""
    names = [
        value.name if isinstance(value, Field) and value.type is below.get(value.name) else "" for _, value in columns
    ]
    prefix = columns[0][0].removesuffix(names[0]) if columns and names[0] else None
    if names == list(below) and prefix is not None and [f"{prefix}{name}" for name in names] == [n for n, _ in columns]:
        return f"{prefix}*"
    return _named(columns, below)


def _named(columns: Sequence[tuple[str, Expression]], below: Columns) -> str:
    texts = [(name_text(name), expression_text(value, below)) for name, value in columns]
    return ", ".join(name if name == text else f"{name} = {text}" for name, text in texts)


def _columns(rows: Rows) -> Columns:  # noqa: PLR0911  # one case a kind
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
        case PublicJoin(source, public):
            return {**_columns(source), **_columns(public)}
        case Union(sources):
            return _columns(sources[0])
        case Filter() | Capped() | Kept() | Among():
            return _columns(rows.source)
        case _:
            raise Unknown(f"columns of the kind {type(rows).__name__}")


# what is declared -----------------------------------------------------------------------------------------------------


def schema_text(schema: Schema) -> str:
    """What is declared of tables."""
    (tables,) = all_of(schema, "tables")
    return "\n".join(line for table in tables.values() for line in _table(table))


def _table(table: Table) -> Iterator[str]:
    name, columns, population, unit, max_rows, max_groups, version, link = all_of(
        table, "name", "columns", "population", "unit", "max_rows", "max_groups", "version", "link"
    )
    whose = "of nobody" if population is None else f"of one {name_text(population)} each"
    owner = "no unit" if unit is None else f"unit {name_text(unit)}"
    led = "" if link is None else f", linked by {name_text(link[0])} to {name_text(link[1])}.{name_text(link[2])}"
    rows = "any number of rows" if max_rows is None else f"{max_rows} rows"
    yield f"table {name_text(name)} version {version}: {whose}, {owner}{led}, at most {rows} and {max_groups} groups"
    for column in columns:
        yield f"  {_column(column)}"


def _column(column: Column) -> str:
    name, kind, bounds, step, keys, description = all_of(
        column, "name", "type", "bounds", "step", "keys", "description"
    )
    text = f"{name_text(name)} {kind.value}"
    text += "" if bounds is None else f" from {number_text(bounds[0])} to {number_text(bounds[1])}"
    text += "" if step is None else f" by {number_text(step)}"
    text += "" if keys is None else f" in {', '.join(map(value_text, keys))}"
    return text + (f": {value_text(description)}" if description else "")
