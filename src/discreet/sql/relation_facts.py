"""What is public about a relation: its columns' types, ranges and keys, whose it is, and how much one unit is in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.declared.column import Column
from discreet.declared.grid import MOST_STEPS, Grid, fine_step, usual_step
from discreet.declared.group_key import Key, Type
from discreet.declared.table import MOST_ROWS_A_UNIT, distinct_names, refuse_hidden_owners
from discreet.errors import Refusal
from discreet.sql.expression import NUMBERS, Call, Expression, Field, Literal
from discreet.sql.expression_facts import NOTHING, Origins, carried, common, ranged, shared, step_of
from discreet.sql.owned_rows import (
    Among,
    Capped,
    Filter,
    Inline,
    Joined,
    Kept,
    PerUnit,
    Project,
    PublicJoin,
    Rows,
    Scan,
    Summary,
    Union,
    Windowed,
)
from discreet.sql.value_range import Range, union

FARTHEST = Fraction(10) ** 30  # beyond it nobody sums


@dataclass(frozen=True)
class Facts:
    """What is public about a column."""

    type: Type
    range: Range = Range()
    step: Fraction | None = None
    keys: tuple[Key, ...] | None = None
    unit: bool = False  # it names the owner of the row, where it is not NULL
    optional: bool = False  # it is NULL in rows that found no partner
    full: bool = False  # it is a side of a full join: where it is NULL, the other side is not
    origin: tuple[str, str] | None = None  # the table and column that it is, untouched
    link: tuple[str, str] | None = None  # the table and column through which the table finds its owners
    carries: Origins = NOTHING  # the tables' columns whose values it is made of
    between: bool = False  # its values may lie between the steps, which its range gave it


@dataclass(frozen=True)
class Shape:
    """What is public about a relation."""

    columns: Mapping[str, Facts]
    population: str | None  # None: public
    tables: frozenset[str]
    max_rows: int | None
    max_groups: int


def shape(rows: Rows) -> Shape:
    """The shape of a relation. It is worked out once and kept beside it."""
    known: Shape | None = rows.__dict__.get("shape")
    if known is None:
        known = _shape(rows)
        object.__setattr__(rows, "shape", known)
    return known


def _shape(rows: Rows) -> Shape:  # noqa: C901, PLR0911  # one case a kind
    match rows:
        case Capped(source, most):
            below = shape(source)
            return replace(below, max_rows=most if below.max_rows is None else min(most, below.max_rows))
        case Scan():
            return _scanned(rows)
        case Inline(columns, _, tables):
            known = {name: Facts(kind) for name, kind in columns}
            return Shape(known, None, frozenset(table.name for table in tables), None, 1)
        case Filter(source, predicate):
            below = shape(source)
            return replace(below, columns=_carrying(_narrowed(below.columns, predicate), predicate))
        case Project(source, columns):
            below = shape(source)
            return replace(below, columns={name: facts(value, below) for name, value in columns})
        case PerUnit():
            return _per_unit(rows)
        case Windowed(source, name, summary):
            below = shape(source)
            return replace(below, columns=_merged(below.columns, {name: _summarised(summary, below)}))
        case Joined():
            return _joined(rows)
        case PublicJoin(source, public, condition, kind):
            below, other = shape(source), shape(public)
            partners = {name: replace(each, optional=kind == "left") for name, each in other.columns.items()}
            both = _carrying(_merged(below.columns, partners), condition)
            return replace(below, columns=both, tables=below.tables | other.tables)
        case Kept(source, others):
            return _kept(rows, shape(source), shape(others))
        case Among(source, _, others):
            return replace(shape(source), tables=shape(source).tables | shape(others).tables)
        case Union(sources):
            return _united([shape(source) for source in sources])


def _kept(rows: Kept, below: Shape, others: Shape) -> Shape:
    known = below.columns
    if rows.condition is not None:
        both = _carrying(_merged(known, others.columns), rows.condition)
        known = known if rows.negated else {name: both[name] for name in known}
    return replace(below, columns=known, tables=below.tables | others.tables)


def _scanned(scan: Scan) -> Shape:
    table = scan.table
    refuse_hidden_owners(table)
    columns = {
        column.name: Facts(
            column.type,
            Range(*(column.bounds or (None, None))),
            column.step,
            column.keys,
            column.name == table.unit,
            origin=(table.name, column.name),
            link=table.link[1:] if table.link is not None and table.link[0] == column.name else None,
            carries=frozenset({(table.name, column.name)}),
        )
        for column in table.columns
    }
    one = 1 if table.unit is None else None  # a row that is its own unit is one row in one group
    return Shape(columns, table.population, frozenset({table.name}), one or table.max_rows, one or table.max_groups)


def _per_unit(rows: PerUnit) -> Shape:
    below = shape(rows.source)
    keys = {name: facts(value, below) for name, value in rows.keys}
    made = {name: _summarised(summary, below) for name, summary in rows.summaries}
    columns = _merged(keys, made)
    if one_each(rows):
        return Shape(columns, below.population, below.tables, 1, 1)
    return replace(below, columns=columns)


def one_each(rows: PerUnit) -> bool:
    """Whether a person has one row at most: grouped by the unit alone, which is there in every row."""
    known = [facts(value, shape(rows.source)) for _, value in rows.keys]
    return all(each.unit and not each.optional for each in known)  # the unit in some rows and NULL in others makes two


def one_row(rows: Rows) -> bool:
    """Whether a person has one row at most by the way they are made, so that no cap can bind."""
    match rows:
        case Scan(table):
            return table.unit is None
        case PerUnit():
            return one_each(rows)
        case Joined(left, right, _, kind):
            return kind != "full" and one_row(left) and one_row(right)
        case Filter() | Project() | Windowed() | Kept() | Among():
            return one_row(rows.source)
        case _:
            return False


def _joined(rows: Joined) -> Shape:
    one, two = shape(rows.left), shape(rows.right)
    full = rows.kind == "full"
    left = {name: replace(each, optional=each.optional or full, full=full) for name, each in one.columns.items()}
    right = {
        name: replace(each, optional=each.optional or rows.kind != "inner", full=full)
        for name, each in two.columns.items()
    }
    # A full join keeps rows without a partner, too. Where p of m and q of n rows of a unit have one, p and q ≥ 1, there
    # are at most pq + (m − p) + (n − q) = m + n − 1 + (p − 1)(q − 1) ≤ mn rows; where none has one, m + n.
    pairs = (lambda m, n: max(m * n, m + n)) if full else int.__mul__
    most = None if one.max_rows is None or two.max_rows is None else pairs(one.max_rows, two.max_rows)
    if most is not None and most > MOST_ROWS_A_UNIT:
        raise Refusal(
            f"joined, one unit could have {most} rows, more than {MOST_ROWS_A_UNIT}",
            hint="join fewer tables, aggregate one of them by unit first, or declare a smaller --max-rows",
        )
    groups = pairs(one.max_groups, two.max_groups)
    groups = groups if most is None else min(most, groups)
    columns = _carrying(_merged(left, right), rows.condition)
    return Shape(columns, one.population, one.tables | two.tables, most, groups)


def _united(shapes: list[Shape]) -> Shape:
    columns = {}
    for i, (name, first) in enumerate(shapes[0].columns.items()):
        each = [list(other.columns.values())[i] for other in shapes]
        keys = [known.keys for known in each]
        values = None if None in keys else tuple(dict.fromkeys(key for known in keys if known for key in known))
        columns[name] = Facts(
            first.type,
            union([known.range for known in each]),
            common([known.step for known in each]),
            values,
            all(known.unit for known in each),
            any(known.optional for known in each),
            carries=NOTHING.union(*(known.carries for known in each)),
            between=any(known.between for known in each),
        )
    rows = [other.max_rows for other in shapes]
    return Shape(
        columns,
        shapes[0].population,
        frozenset().union(*(other.tables for other in shapes)),
        None if None in rows else sum(number for number in rows if number is not None),
        sum(other.max_groups for other in shapes),
    )


def _merged(left: Mapping[str, Facts], right: Mapping[str, Facts]) -> dict[str, Facts]:
    distinct_names([*left, *right])
    return {**left, **right}


def _carrying(columns: Mapping[str, Facts], condition: Expression | None) -> dict[str, Facts]:
    """The columns of rows for which a condition holds: those that it makes equal carry what either does."""
    known = shared(condition, {name: each.carries for name, each in columns.items()})
    return {name: replace(each, carries=known[name]) for name, each in columns.items()}


def _summarised(summary: Summary, below: Shape) -> Facts:
    """What is public about a summary. A cap gives it a range; what lies beyond will be clamped to it."""
    value = Facts(summary.type) if summary.value is None else facts(summary.value, below)
    cap = None if below.max_rows is None else Fraction(below.max_rows)
    match summary.kind:
        case "rows" | "row_number" | "rank" | "dense_rank":
            return Facts(summary.type, Range(Fraction(1), cap), Fraction(1))
        case "present" | "distinct":
            return Facts(summary.type, Range(Fraction(0), cap), Fraction(1))
        case "total":
            step, span = None if summary.grid is None else summary.grid.step, _times(value.range, cap)
            step = step if summary.type is Type.BIGINT else _countable(step, span)
            return Facts(summary.type, span, step, carries=value.carries)
        case "average":
            return Facts(summary.type, value.range, carries=value.carries)  # a mean of whole steps lies between them
        case _:
            return replace(value, type=summary.type, optional=True)


def _times(each: Range, cap: Fraction | None) -> Range:
    ends = each.bounded
    if ends is None or cap is None:
        return Range()
    return Range(cap * min(ends[0], Fraction(0)), cap * max(ends[1], Fraction(0)))


def facts(expression: Expression, below: Shape) -> Facts:
    """What is public about an expression over a relation. Keys and units belong to bare columns only.

    The first of several unit columns that is not NULL is the unit too: a joined row has one owner on all its sides.
    """
    if isinstance(expression, Field):
        return below.columns[expression.name]
    if isinstance(expression, Call) and expression.function in NUMBERS.values():
        inner = facts(expression.arguments[0], below)
        step = inner.step or Fraction(1)
        return Facts(expression.type, inner.range, step, origin=inner.origin, carries=inner.carries)
    carries = carried(expression, {name: column.carries for name, column in below.columns.items()})
    if isinstance(expression, Call) and expression.function == "coalesce":
        parts = [below.columns[each.name] for each in expression.arguments if isinstance(each, Field)]
        sure = any(not part.optional for part in parts) or all(part.full for part in parts)
        if len(parts) == len(expression.arguments) > 1 and all(part.unit for part in parts) and sure:
            return Facts(expression.type, unit=True, carries=carries)
    span = ranged(expression, {name: column.range for name, column in below.columns.items()})
    coarse, sure = _coarse(expression, span, below)
    return Facts(expression.type, span, coarse, carries=carries, between=not sure)


def _coarse(expression: Expression, span: Range, below: Shape) -> tuple[Fraction | None, bool]:
    """The step of an expression, unless it cuts the range finer than a double does, and whether it is sure to hold.

    Where columns declare no step, theirs follow from their ranges; the expression's own range may need a finer one.
    """
    known = {name: None if column.between else column.step for name, column in below.columns.items()}
    step = step_of(expression, known)
    if step is not None:
        return _countable(step, span), True
    usual = step_of(expression, {name: column.step or _usual(column) for name, column in below.columns.items()})
    ends = span.bounded
    return _countable(min(usual, fine_step(*ends)) if usual and ends is not None else None, span), False


def _countable(step: Fraction | None, span: Range) -> Fraction | None:
    """A step, unless a double could not tell its multiples in a range apart."""
    ends = span.bounded
    return step if step and ends is not None and max(map(abs, ends)) / step < MOST_STEPS else None


def _usual(column: Facts) -> Fraction | None:
    ends = column.range.bounded
    return usual_step(*ends) if column.type is Type.DOUBLE and ends is not None and ends[0] < ends[1] else None


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def _narrowed(columns: Mapping[str, Facts], predicate: Expression) -> Mapping[str, Facts]:
    """The columns, their ranges cut by comparisons with constants that hold for every row that is left."""
    match predicate:
        case Call("and", (one, two), _):
            return _narrowed(_narrowed(columns, one), two)
        case Call("between", (value, low, high), kind):
            both = Call(">=", (value, low), kind), Call("<=", (value, high), kind)
            return _narrowed(columns, Call("and", both, kind))
        case Call(comparison, (Field(name, _), Literal() as end), _) if comparison in _TURNED:
            return _cut(columns, name, comparison, end)
        case Call(comparison, (Literal() as end, Field(name, _)), _) if comparison in _TURNED:
            return _cut(columns, name, _TURNED[comparison], end)
        case _:
            return columns


def _cut(columns: Mapping[str, Facts], name: str, comparison: str, literal: Literal) -> Mapping[str, Facts]:
    end = ranged(literal, {}).low
    if end is None:
        return columns  # no number or moment; or what was answered first, and is noisy: no bound of ours hangs on it
    known = columns[name]
    low, high = known.range.low, known.range.high
    if comparison in (">", ">=", "="):
        low = end if low is None else max(low, end)
    if comparison in ("<", "<=", "="):
        high = end if high is None else min(high, end)
    if low is not None and high is not None and low > high:
        return columns  # no row is left; what would be a range of nothing is none
    return {**columns, name: replace(known, range=Range(low, high))}


def same_population(one: Shape, two: Shape, what: Callable[[], str]) -> None:
    """Refuse rows of two populations in one relation; `what` would combine them."""
    if one.population != two.population:
        raise Refusal(
            f"{what()} combines rows of the populations {one.population!r} and {two.population!r}",
            hint="rows are combined inside one population; ask about each by itself",
        )


def declared_grid(known: Facts, most: int = MOST_STEPS) -> Grid | None:
    """The grid that follows from what is public about numbers; None if they have no bounds, or too many steps."""
    bounds = known.range.bounded
    if not known.type.numeric or bounds is None or max(map(abs, bounds)) > FARTHEST:
        return None
    low, high = bounds
    step = known.step or (Fraction(1) if known.type is Type.BIGINT else _undeclared(known, low, high))
    first, last = math.ceil(low / step), math.floor(high / step)
    if first >= last:
        first, last = math.floor(low / step), math.floor(low / step) + 1
    return Grid.of_steps(first, last, step) if max(abs(first), abs(last)) < most else None


def column(name: str, known: Facts) -> Column:
    """A column of a SELECT, as a mechanism is told of it."""
    keys = (False, True) if known.keys is None and known.type is Type.BOOLEAN else known.keys
    grid = declared_grid(known)
    bounds, step = (None, None) if grid is None else ((grid.lower, grid.upper), grid.step)
    if known.type.dated and known.range.bounded is not None:
        low, high = map(math.floor, known.range.bounded)  # whole days, or seconds
        bounds = (Fraction(low), Fraction(high)) if low < high and max(-low, high) < MOST_STEPS else None
    return Column(name, known.type, bounds, step, keys or None)


def _undeclared(known: Facts, low: Fraction, high: Fraction) -> Fraction:
    """The step of numbers of which no step is declared: a column's fits what an engine keeps of it beforehand."""
    return usual_step(low, high) if known.origin is not None and low < high else fine_step(low, high)
