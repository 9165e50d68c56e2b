"""Our trees as SQL text for DuckDB. Nothing else writes SQL that touches private rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.sql.expression import Call, Case, Expression, Field, Literal, Value
from discreet.sql.functions import FUNCTIONS, once, within
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
from discreet.sql.relation_facts import shape
from discreet.sql.row_cap import Choice, Room

UNIT = "#unit"  # no column can be called so: it is where the owner of a row travels
_OTHER = "#other"  # and the owner of its partner
_EXACT = 1 << 53  # below it a double holds every whole number
_WIDEST = (1 << 31) - 1  # what an INTEGER holds, which is added up twice as fast as a BIGINT


@dataclass(frozen=True)
class Located:
    """Where an engine keeps a table's rows, and what columns of ours lie there, of each table."""

    where: Callable[[Table], str]
    stored: Mapping[str, frozenset[str]] = field(default_factory=dict)
    salt: int = 0  # secret: by it a unit's rows are chosen where it has too many


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def constant(value: object, kind: Type) -> str:
    """A literal of a type."""
    if value is None:
        return f"CAST(NULL AS {kind.value})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"CAST({value} AS {kind.value})"
    text = str(value).replace("'", "''")
    return f"CAST('{text}' AS {kind.value})"


def as_type(text: str, kind: Type) -> str:
    """A value in a type, NULL if it does not fit. Dates lie in years 1 to 9999, where nothing done to them fails."""
    cast = f"TRY_CAST({text} AS {kind.value})"
    if kind not in (Type.DATE, Type.TIMESTAMP):
        return cast
    return once(cast, lambda name: within(name, kind.value))


def expression(tree: Expression) -> str:  # noqa: PLR0911  # one case a kind
    """An expression over one row."""
    match tree:
        case Literal(value, kind):
            return constant(value, kind)
        case Field(name, _):
            return quoted(name)
        case Case(branches, otherwise, kind):
            tests = " ".join(f"WHEN {expression(c)} THEN {_as(v, kind)}" for c, v in branches)
            return f"(CASE {tests} ELSE {_as(otherwise, kind)} END)"
        case Call("cast", (value,), Type.VARCHAR) if value.type is Type.DOUBLE:
            return _spelled(expression(value))
        case Call("cast", (value,), kind):
            return as_type(expression(value), kind)
        case Call(function, (value,), _) if function.startswith(("extract ", "date_trunc ")):
            name, part = function.split(" ")
            inner = f"{'date_part' if name == 'extract' else name}('{part}', {expression(value)})"
            return f"TRY_CAST({inner} AS {tree.type.value})"
        case Call(function, arguments, kind):
            return FUNCTIONS[function].printing([expression(argument) for argument in arguments], kind)


def _spelled(text: str) -> str:
    """A double as text. Equal numbers are spelled alike: which of them a unit keeps may hang on other units."""
    return f"regexp_replace(CAST({text} AS VARCHAR), '^-(0\\.0|nan)$', '\\1')"


def _as(tree: Expression, kind: Type) -> str:
    return expression(tree) if tree.type is kind else as_type(expression(tree), kind)


def steps(tree: Expression, grid: Grid) -> str:
    """A number as whole steps, clamped; NULL if it is not a number at all."""
    if tree.type is Type.BIGINT and grid.reach > _WIDEST and grid.short:
        return _whole_steps(expression(tree), grid)
    value = f"CAST({expression(tree)} AS DOUBLE)"
    scaled = f"round({value} / {float(grid.step)!r})"
    kind = "INTEGER" if grid.reach <= _WIDEST else "BIGINT"
    inside = f"least(greatest({scaled}, {grid.low}), {grid.high})"
    if grid.reach >= _EXACT:  # a double that is near an end may lie beyond it, so the end is kept in whole numbers
        ends = f"least(greatest({scaled}, {float(grid.low)!r}), {float(grid.high)!r})"
        inside = f"least(greatest(CAST({ends} AS BIGINT), {grid.low}), {grid.high})"
    return f"CAST(CASE WHEN NOT isnan({value}) THEN {inside} END AS {kind})"


def _whole_steps(value: str, grid: Grid) -> str:
    """A whole number as steps in whole numbers: a double would lose the last digits. Halves go away from zero."""
    top, bottom = grid.step.numerator, grid.step.denominator
    whole = f"CAST({value} AS HUGEINT)"
    if grid.step != 1:
        whole = f"({2 * bottom} * {whole} + sign({value}) * {top}) // {2 * top}"
    inside = f"least(greatest({whole}, {grid.low}), {grid.high})"
    return f"CAST(CASE WHEN {value} IS NOT NULL THEN {inside} END AS BIGINT)"


def steps_name(column: str, grid: Grid) -> str:
    """The column in which an engine may keep another's steps, clamped. Both may be edited, so the name says them."""
    return f"#clamped {grid.step} {grid.low}:{grid.high} {column}"


def code_name(column: str) -> str:
    """The column in which an engine may keep a code for each text of another."""
    return f"#code {column}"


def stored_steps(column: str, grid: Grid) -> str | None:
    """What lies in that column, clamped as its name says; None if an INTEGER does not hold it."""
    return steps(Field(column, Type.DOUBLE), grid) if grid.reach <= _WIDEST else None


def summand(tree: Expression, grid: Grid, source: Rows, located: Located) -> str:
    """A number of a relation's rows as whole steps, from where they are kept if they are."""
    kept = None
    if isinstance(tree, Field):
        kept = kept_column(source, tree.name, lambda column, stored: _kept_steps(column, grid, stored), located)
    if kept is None:
        return steps(tree, grid)
    own, clamped = quoted(kept), stored_grid(kept)
    tests = [f"WHEN {own} < {grid.low} THEN {grid.low}"] if clamped.low < grid.low else []
    tests += [f"WHEN {own} > {grid.high} THEN {grid.high}"] if clamped.high > grid.high else []
    return f"(CASE {' '.join(tests)} ELSE {own} END)" if tests else own  # LEAST would make a number of NULL


def is_steps(name: str) -> bool:
    """Whether a column of ours holds steps."""
    return name.startswith("#clamped ")


def stored_grid(name: str) -> Grid:
    """The grid in the name of a column of steps."""
    _, step, ends, _ = name.split(" ", 3)
    low, high = map(int, ends.split(":"))
    return Grid.of_steps(low, high, Fraction(step))


def _kept_steps(column: str, grid: Grid, stored: Iterable[str]) -> str | None:
    """The column of steps that was clamped no closer than to a grid: what was cut off further out is cut off anyway."""
    for name in stored:
        if is_steps(name) and name.split(" ", 3)[3] == column:
            wide = stored_grid(name)
            if wide.step == grid.step and wide.low <= grid.low and grid.high <= wide.high:
                return name
    return None


def kept_code(column: str, stored: Iterable[str]) -> str | None:
    """The column of codes that goes with a column of a table that has these columns of ours."""
    return code_name(column) if code_name(column) in stored else None


def kept_column(
    tree: Rows, name: str, kept: Callable[[str, Iterable[str]], str | None], located: Located
) -> str | None:
    """The column of ours that goes with a column, if that is a table's own and the relation still has ours."""
    match tree:
        case Scan(table):
            return kept(name, located.stored.get(table.name, ()))
        case Project(source, columns):
            value = dict(columns)[name]
            return kept_column(source, value.name, kept, located) if isinstance(value, Field) else None
        case Filter() | Kept() | Among():
            return kept_column(tree.source, name, kept, located)
        case _:
            return None


def _kept_columns(tree: Rows, located: Located) -> list[str]:
    """The columns of ours that a relation still has."""
    match tree:
        case Scan(table):
            return [quoted(name) for name in sorted(located.stored.get(table.name, ()))]
        case Project() | Filter() | Kept() | Among():
            return _kept_columns(tree.source, located)
        case _:
            return []


def rows(tree: Rows, located: Located) -> str:  # noqa: C901, PLR0911  # one case a kind
    """A relation; if it is private, its owner is in the column `UNIT`."""
    match tree:
        case Scan(table):
            return _scan(table, located)
        case Inline(columns, cells, _):
            return _inline(columns, cells)
        case Capped(source, most, letters):
            every = shape(tree).columns
            texts = tuple(quoted(name) for name, known in every.items() if known.type is Type.VARCHAR)
            room = None if letters is None else Room(texts, letters)
            choice = Choice(tree, tuple(map(quoted, every)), located.salt, quoted(UNIT))
            return choice.capped(rows(source, located), most, room)
        case Filter(source, predicate):
            return f"SELECT * FROM ({rows(source, located)}) WHERE {expression(predicate)}"
        case Project(source, columns):
            items = [f"{expression(value)} AS {quoted(name)}" for name, value in columns]
            ours = [*_owner(source), *_kept_columns(source, located)]
            return f"SELECT {', '.join([*ours, *items])} FROM ({rows(source, located)})"
        case PerUnit(source, keys, summaries):
            return _per_unit(rows(source, located), keys, summaries)
        case Windowed():
            return f"SELECT *, {_window(tree)} AS {quoted(tree.name)} FROM ({rows(tree.source, located)})"
        case Joined(left, right, condition, kind):
            return _joined(tree, rows(left, located), rows(right, located), condition, kind)
        case PublicJoin(source, public, condition, kind):
            on = f"{kind.upper()} JOIN ({rows(public, located)}) ON {expression(condition)}"
            return f"SELECT * FROM ({rows(source, located)}) {on}"
        case Kept(source, others, condition, negated):
            return _kept(tree, rows(source, located), rows(others, located), condition, negated=negated)
        case Among(source, value, public, negated):
            word = "NOT IN" if negated else "IN"
            return f"SELECT * FROM ({rows(source, located)}) WHERE {expression(value)} {word} ({rows(public, located)})"
        case Union(sources):
            return _union(sources, located)


def _owner(tree: Rows) -> list[str]:
    return [] if shape(tree).population is None else [quoted(UNIT)]


def _scan(table: Table, located: Located) -> str:
    names = [*(quoted(column.name) for column in table.columns), *_kept_columns(Scan(table), located)]
    if table.public:
        return f"SELECT {', '.join(names)} FROM {located.where(table)}"
    owner, present = "rowid", ""
    if table.unit is not None:
        owner, present = quoted(table.unit), f" WHERE {quoted(table.unit)} IS NOT NULL"
    return f"SELECT {', '.join([f'{owner} AS {quoted(UNIT)}', *names])} FROM {located.where(table)}{present}"


def _inline(columns: tuple[tuple[str, Type], ...], cells: tuple[tuple[Value, ...], ...]) -> str:
    names = ", ".join(quoted(name) for name, _ in columns)
    kinds = [kind for _, kind in columns]
    blank = tuple(None for _ in columns)
    listed = [
        "(" + ", ".join(constant(cell, kind) for cell, kind in zip(row, kinds, strict=True)) + ")"
        for row in cells or (blank,)
    ]
    empty = "" if cells else " WHERE FALSE"
    return f"SELECT * FROM (VALUES {', '.join(listed)}) AS listed ({names}){empty}"


def _per_unit(source: str, keys: tuple[tuple[str, Expression], ...], summaries: tuple[tuple[str, Summary], ...]) -> str:
    items = [quoted(UNIT), *(f"{expression(value)} AS {quoted(name)}" for name, value in keys)]
    inner = [f'{inputs} AS "#x{i}"' for i, (_, summary) in enumerate(summaries) if (inputs := _input(summary))]
    names = [quoted(UNIT), *(quoted(name) for name, _ in keys)]
    results = [(name, _result(summary, f'"#x{i}"', "")) for i, (name, summary) in enumerate(summaries)]
    outer = [f"{result} AS {quoted(name)}" for name, result in results]
    base = f"SELECT {', '.join([*items, *inner])} FROM ({source})"
    return f"SELECT {', '.join([*names, *outer])} FROM ({base}) GROUP BY {', '.join(names)}"


def _input(summary: Summary) -> str:
    """What is summarised, of one row: on a grid where it is added up."""
    if summary.value is None:
        return ""
    if summary.grid is not None:
        return steps(summary.value, summary.grid)
    counted = summary.kind in ("present", "distinct", "least", "greatest")
    return number_or_null(summary.value) if counted else expression(summary.value)


def number_or_null(value: Expression) -> str:
    """A value as an aggregate takes it: NaN is none."""
    text = expression(value)
    return f"(CASE WHEN NOT isnan({text}) THEN {text} END)" if value.type is Type.DOUBLE else text


def _result(summary: Summary, x: str, over: str) -> str:  # noqa: PLR0911  # one case a kind
    """A summary of the values `x`, over a window if one is given."""
    match summary.kind:
        case "rows":
            return f"count(*){over}"
        case "present":
            return f"count({x}){over}"
        case "distinct":
            return f"count(DISTINCT {x}){over}"
        case "total" | "average":
            if summary.type is Type.BIGINT and (summary.grid is None or summary.grid.step.denominator == 1):
                return _whole_total(f"sum({x}){over}", summary.grid)
            total = f"CAST(sum({x}){over} AS DOUBLE)"
            if summary.kind == "average":
                total = f"({total} / nullif(count({x}){over}, 0))"
            return _in_units(total, summary)
        case "least" | "greatest":
            return f"{'min' if summary.kind == 'least' else 'max'}({x}){over}"
        case "lag" | "lead":
            return f"{summary.kind}({x}, {summary.offset}){over}"
        case "first" | "last":
            return f"{summary.kind}_value({x}){over}"
        case _:
            return f"{summary.kind}(){over}"


def _in_units(total: str, summary: Summary) -> str:
    step = Fraction(1) if summary.grid is None else summary.grid.step
    scaled = f"({total} * {float(step.numerator)!r} / {float(step.denominator)!r})"
    return f"TRY_CAST({scaled} AS BIGINT)" if summary.type is Type.BIGINT else scaled


def _whole_total(total: str, grid: Grid | None) -> str:
    """A total of whole numbers, in whole numbers; beyond what a BIGINT holds, the end of that."""
    if grid is not None and grid.step != 1:
        total = f"({total} * {grid.step.numerator})"
    if grid is not None and grid.reach * grid.step < 1 << 22:  # of 2^40 rows that is not reached
        return f"CAST({total} AS BIGINT)"
    low, high = -(1 << 63), (1 << 63) - 1
    return f"CAST(CASE WHEN {total} < {low} THEN {low} WHEN {total} > {high} THEN {high} ELSE {total} END AS BIGINT)"


_UNTIED = ("row_number", "lag", "lead", "first", "last")


def _window(tree: Windowed) -> str:
    partition = ", ".join([quoted(UNIT), *(expression(key) for key in tree.partition)])
    order = [_order(each) for each in tree.order]
    if tree.summary.kind in _UNTIED or tree.frame is not None:
        order += [quoted(name) for name in shape(tree.source).columns]
    by = f" ORDER BY {', '.join(order)}" if order else ""
    frame = "" if tree.frame is None else f" ROWS BETWEEN {_ends(*tree.frame)}"
    return _result(tree.summary, _input(tree.summary), f" OVER (PARTITION BY {partition}{by}{frame})")


def _ends(before: int | None, after: int | None) -> str:
    first = "UNBOUNDED PRECEDING" if before is None else f"{before} PRECEDING"
    last = "UNBOUNDED FOLLOWING" if after is None else f"{after} FOLLOWING"
    return f"{first} AND {last}"


def _order(each: Ordering) -> str:
    direction = "DESC" if each.descending else "ASC"
    return f"{expression(each.by)} {direction} NULLS {'FIRST' if each.nulls_first else 'LAST'}"


def _joined(tree: Joined, left: str, right: str, condition: Expression | None, kind: str) -> str:
    unit, other = quoted(UNIT), quoted(_OTHER)
    names = [quoted(name) for name in shape(tree).columns]
    partner = f"SELECT * RENAME ({unit} AS {other}) FROM ({right})"
    on = f"{unit} = {other}" + ("" if condition is None else f" AND {expression(condition)}")
    owner = f"coalesce({unit}, {other}) AS {unit}" if kind == "full" else unit
    return f"SELECT {', '.join([owner, *names])} FROM ({left}) {kind.upper()} JOIN ({partner}) ON {on}"


def _kept(tree: Kept, source: str, others: str, condition: Expression | None, *, negated: bool) -> str:
    tests = [] if condition is None else [expression(condition)]
    if shape(tree.others).population is not None:
        others = f"SELECT * RENAME ({quoted(UNIT)} AS {quoted(_OTHER)}) FROM ({others})"
        tests.insert(0, f"{quoted(_OTHER)} = {quoted(UNIT)}")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    word = "NOT EXISTS" if negated else "EXISTS"
    return f"SELECT * FROM ({source}) WHERE {word} (SELECT 1 FROM ({others}){where})"


def _union(sources: tuple[Rows, ...], located: Located) -> str:
    names = list(shape(sources[0]).columns)
    sides = []
    for source in sources:
        own = [f"{quoted(old)} AS {quoted(new)}" for old, new in zip(shape(source).columns, names, strict=True)]
        sides.append(f"SELECT {', '.join([*_owner(source), *own])} FROM ({rows(source, located)})")
    return " UNION ALL ".join(sides)
