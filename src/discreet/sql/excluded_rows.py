"""What a measurement leaves out before any noise: told from the plan alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from discreet.declared.grid import MOST_STEPS, Grid
from discreet.declared.group_key import Type, written
from discreet.exact import spoken
from discreet.sql.expression import Call, Case, Expression, Field, Literal, is_numbered, parts
from discreet.sql.expression_facts import ranged, step_of
from discreet.sql.functions import LONGEST_TEXT
from discreet.sql.group_keys import answered
from discreet.sql.owned_rows import Capped, Filter, Joined, PerUnit, PublicJoin, Rows, Windowed, below
from discreet.sql.owned_rows import scanned as tables_of
from discreet.sql.plan import GroupKey, Measurement, Rank, Statistic
from discreet.sql.relation_facts import Shape, one_row, shape
from discreet.sql.unmatched_constants import expressions
from discreet.sql.value_range import Range


def left_out(measurement: Measurement) -> tuple[str, ...]:
    """One sentence for each thing that is left out, or held within a limit."""
    return tuple(
        dict.fromkeys([
            *_caps(measurement),
            *_brought(measurement.rows),
            *_held(measurement),
            *_ranked(measurement),
            *_cut_texts(measurement),
            *(sentence for key in measurement.keys for sentence in _keys(key, measurement.shape)),
            *_answered(measurement.rows),
            *_owners(measurement.rows),
            *_partners(measurement.rows),
        ])
    )  # fmt: skip


def rows_left_out(rows: Rows, max_rows: int) -> tuple[str, ...]:
    """The same of rows that are measured as they are."""
    own = None if one_row(rows) else max_rows
    told = [*_row_caps(rows, own), *_brought(rows), *_answered(rows), *_owners(rows), *_partners(rows)]
    return tuple(dict.fromkeys(told))


def column_name(name: str, known: Shape) -> str:
    """What a column is called where it was declared; else as the question names it."""
    column = known.columns.get(name)
    origin = column.origin if column is not None else None
    return origin[1] if origin is not None else name.rpartition(".")[2] if name.startswith("#") else name


def called(expression: Expression, known: Shape) -> str:
    """A column by its name; anything else by the columns that it is made of."""
    if isinstance(expression, Field):
        return column_name(expression.name, known)
    if is_numbered(expression):
        return called(expression.arguments[0], known)
    fields = (column_name(part.name, known) for part in parts(expression) if isinstance(part, Field))
    names = list(dict.fromkeys(fields))
    return f"what is computed from {_listed(names)}" if names else "a constant"


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


# caps -----------------------------------------------------------------------------------------------------------------


def _caps(measurement: Measurement) -> Iterator[str]:
    single = one_row(measurement.rows)
    counts_rows = any(statistic != Statistic("units") for statistic in measurement.statistics)
    yield from _row_caps(measurement.rows, measurement.max_rows if counts_rows and not single else None)
    if measurement.keys and not single and not measurement.every_group:
        most = measurement.max_groups
        groups = "1 group counts in 1 of them" if most == 1 else f"{most} groups counts in {most} of them"
        yield f"A person in more than {groups}."


def _row_caps(rows: Rows, own: int | None) -> Iterator[str]:
    for most in sorted({*_inner_caps(rows), *([] if own is None else [own])}):
        many = "1 row counts with 1 of them" if most == 1 else f"{most} rows counts with {most} of them"
        yield f"A person with more than {many}, chosen at random once per table version."


def _inner_caps(rows: Rows) -> Iterator[int]:
    if isinstance(rows, Capped):
        yield rows.most
    for source in below(rows):
        yield from _inner_caps(source.source if isinstance(rows, PublicJoin) and isinstance(source, Capped) else source)


def _brought(rows: Rows) -> Iterator[str]:
    """How many rows of a person are joined with public rows that make several of one."""
    if isinstance(rows, PublicJoin) and isinstance(rows.source, Capped):
        most, letters = rows.source.most, rows.source.letters
        yield f"Of a person with more than {most:,} rows, {most:,} are joined with {_tables(rows.public)}."
        if letters is not None:
            yield f"Of one with more than {letters:,} bytes of text in them, those that hold no more are joined."
    for source in below(rows):
        yield from _brought(source)


def _cut_texts(measurement: Measurement) -> Iterator[str]:
    """That texts which are put together end somewhere; of two that the question writes, nobody needs to be told."""
    joined = [
        part
        for expression, _ in expressions(measurement)
        for part in parts(expression)
        if isinstance(part, Call) and part.function == "||" and any(isinstance(each, Field) for each in parts(part))
    ]
    if joined:
        yield f"What || puts together is cut after {LONGEST_TEXT:,} characters."


# values ---------------------------------------------------------------------------------------------------------------


def _held(measurement: Measurement) -> Iterator[str]:
    """Of each number that is added up: between which ends it is held, and that NULL is none."""
    limits: dict[tuple[str, Grid | None], tuple[Expression, Shape]] = {}
    for expression, grid, known in _added(measurement):
        value = _chosen(expression)
        limits.setdefault((called(value, known), grid), (value, known))
    told = {name for name, grid in limits if grid is not None}
    for (name, grid), (value, known) in limits.items():
        if grid is not None and _binds(value, grid, known):
            low, high = (_said(end * grid.step, value) for end in (grid.low, grid.high))
            yield f"Values of {name} below {low} count as {low}, and above {high} as {high}."
        if grid is not None and _rounds(value, grid, known):
            yield f"Values of {name} are rounded to steps of {spoken(grid.step)}."
        if not _never_null(value) and not _closed(value) and (grid is not None or name not in told):
            yield f"Rows in which {name} is NULL do not count for it."


def _ranked(measurement: Measurement) -> Iterator[str]:
    """That a quantile is not one of the values, as PERCENTILE_DISC, MIN and MAX are elsewhere."""
    for statistic in measurement.statistics:
        if isinstance(statistic, Rank):
            name = called(statistic.expression, measurement.shape)
            yield f"A quantile of {name} need not be a value that a row has."


def _added(measurement: Measurement) -> Iterator[tuple[Expression, Grid | None, Shape]]:
    """Everything that is counted or added up: for each person first, then of all people."""
    yield from _summed(measurement.rows)
    for statistic in measurement.statistics:
        if statistic.expression is not None:
            yield statistic.expression, statistic.grid, measurement.shape


def _summed(rows: Rows) -> Iterator[tuple[Expression, Grid | None, Shape]]:
    for source in below(rows):
        yield from _summed(source)
    if isinstance(rows, PerUnit):
        for _, summary in rows.summaries:
            if summary.value is not None and summary.grid is not None:
                yield summary.value, summary.grid, shape(rows.source)
    if isinstance(rows, Windowed) and rows.summary.value is not None and rows.summary.grid is not None:
        yield rows.summary.value, rows.summary.grid, shape(rows.source)


def _chosen(expression: Expression) -> Expression:
    """What is added up under FILTER, or a CASE without ELSE: which rows that are, the asker said."""
    match expression:
        case Case(((_, value),), Literal(None, _), _):
            return value
        case _:
            return expression


def _rounds(value: Expression, grid: Grid, known: Shape) -> bool:
    """Whether digits that a value may have are lost, by a step that is not as fine as doubles are there."""
    if value.type is Type.BIGINT:
        return grid.step != 1 and not is_numbered(value)
    return 10 * grid.reach < MOST_STEPS and step_of(value, dict.fromkeys(known.columns)) is None


def _said(end: Fraction, value: Expression) -> str:
    """An end as a person would write it: days and moments are measured as numbers."""
    return written(end, value.arguments[0].type) if is_numbered(value) else spoken(end)


def _binds(expression: Expression, grid: Grid, known: Shape) -> bool:
    """Whether a value could lie beyond the grid: a CASE of constants, or a LEAST of a GREATEST, cannot."""
    sure = ranged(expression, dict.fromkeys(known.columns, Range())).bounded
    ends = (Fraction(grid.low) * grid.step, Fraction(grid.high) * grid.step)
    return sure is None or sure[0] < ends[0] or sure[1] > ends[1]


def _never_null(expression: Expression) -> bool:
    match expression:
        case Literal(value, _):
            return value is not None
        case Case(branches, otherwise, _):
            return all(_never_null(value) for value in (*(value for _, value in branches), otherwise))
        case Call("coalesce" | "least" | "greatest", arguments, _):
            return any(_never_null(argument) for argument in arguments)
        case Call("is null" | "is" | "is distinct from" | "digest", _, _):
            return True  # only keys have a digest, and NULL is told apart from it
        case _:
            return False


# groups ---------------------------------------------------------------------------------------------------------------


def _keys(key: GroupKey, known: Shape) -> Iterator[str]:
    """Rows of no group, where the groups are declared."""
    if key.values is None or _closed(key.expression):
        return
    name, many = called(key.expression, known), len([value for value in key.values if value is not None])
    null = "" if None in key.values or _never_null(key.expression) else "NULL"
    other = (
        ""
        if key.expression.type is Type.BOOLEAN
        else "none of its declared keys"
        if many != 1
        else "not its only declared key"
    )
    if null or other:
        yield f"Rows in which {name} is {' or '.join(word for word in (null, other) if word)} are in no group."


def _answered(rows: Rows) -> Iterator[str]:
    """Rows of no group, where groups were counted of the rows."""
    for source in below(rows):
        yield from _answered(source)
    key = answered(rows.predicate) if isinstance(rows, Filter) else None
    if isinstance(rows, Filter) and key is not None:
        yield from _keys(key, shape(rows.source))


def _closed(expression: Expression) -> bool:
    """Whether all its values are written in the question."""
    match expression:
        case Literal():
            return True
        case Case(branches, otherwise, _):
            return all(_closed(value) for value in (*(value for _, value in branches), otherwise))
        case _:
            return False


# owners and partners --------------------------------------------------------------------------------------------------


def _owners(rows: Rows) -> Iterator[str]:
    for table in tables_of(rows):
        if table.public or table.unit is None:
            continue
        if table.link is not None:
            yield f"Rows of {table.name} whose {table.link[0]} leads to nobody are left out."
        else:
            yield f"Rows of {table.name} in which {table.unit} is NULL are left out."


def _partners(rows: Rows) -> Iterator[str]:
    """Rows that a join drops because nothing fits them."""
    match rows:
        case Joined(left, right, _, "inner"):
            yield f"Rows of {_tables(left)} and {_tables(right)} without a partner in the join are left out."
        case Joined(left, right, _, "left"):
            yield f"Rows of {_tables(right)} without a partner in {_tables(left)} are left out."
        case PublicJoin(source, public, _, "inner"):
            yield f"Rows of {_tables(source)} that fit no row of {_tables(public)} are left out."
        case _:
            pass
    for source in below(rows):
        yield from _partners(source)


def _tables(rows: Rows) -> str:
    return _listed(sorted(shape(rows).tables)) if shape(rows).tables else "the rows given"
