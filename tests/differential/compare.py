"""Whether an answer is what plain DuckDB says, up to its own error bar."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

from differential.question import Cell, Question
from differential.sheet import Value

WIDEST = 1e-6  # of the range: how wide a half error bar may be at an enormous price
BARRED = {"count", "sum", "avg", "variance", "stddev"}  # numbers that never come without an error bar
FLOATING = 1e-12  # of the range: what doubles may lose
DIGITS = 4  # of the last digit of a double: what plain DuckDB loses in a sum and its quotient, and rounding one of ours
CROWD = 2  # at an enormous price a group of so many people is named

Row = Sequence[Value]


class Said(Protocol):
    """What is looked at of an answer."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> tuple[tuple[Value, ...], ...]: ...
    @property
    def spans(self) -> tuple[tuple[object, ...], ...]: ...


class Differs(Exception):
    """An answer is not what it should be."""


def compare(question: Question, answer: Said, plain: Sequence[Row], rows: int) -> None:
    """Raise Differs unless each number is equal up to its error bar. `rows` is the number of rows that were read."""
    if question.names and answer.columns != question.names:
        raise Differs(f"columns {answer.columns} instead of {question.names}")
    if question.caps is not None:
        _within_caps(question, answer, plain)
    elif question.ordered:
        _ordered(question, answer, plain, rows)
    else:
        _grouped(question, answer, plain, rows)


def _ordered(question: Question, answer: Said, plain: Sequence[Row], rows: int) -> None:
    many = len(question.keys)
    ours = [_group(row[:many]) for row in answer.rows]
    theirs = [_group(row[:many]) for row in plain]
    if ours != theirs:
        raise Differs(f"rows {ours} instead of {theirs}")
    for row, spans, expected in zip(answer.rows, answer.spans, plain, strict=True):
        _same_row(question, row, spans, expected, rows)


def _grouped(question: Question, answer: Said, plain: Sequence[Row], rows: int) -> None:
    many = len(question.keys)
    ours = {_group(row[:many]): (row, spans) for row, spans in zip(answer.rows, answer.spans, strict=True)}
    if len(ours) != len(answer.rows):
        raise Differs("a group is named twice")
    theirs = {_group(row[:many]): row for row in plain}
    missing: set[tuple[Value, ...]] = set()
    if question.named:
        expected = _expected(question)
        if set(ours) != expected:
            raise Differs(f"groups {_few(set(ours) - expected)} too many, {_few(expected - set(ours))} too few")
    else:
        expected = {group for group in theirs if _admitted(question, group)}
        large = {group for group in expected if int(str(theirs[group][-1])) >= CROWD}
        missing = large - set(ours)
        if missing or set(ours) - expected:
            raise Differs(f"groups {_few(set(ours) - expected)} too many, {_few(missing)} too few")
    for group, (row, spans) in ours.items():
        _same_row(question, row, spans, theirs.get(group), rows)


def _few(groups: set[tuple[Value, ...]]) -> str:
    return f"{len(groups)}: {sorted(groups, key=str)[:3]}"


def _expected(question: Question) -> set[tuple[Value, ...]]:
    """Every combination of declared keys; with ROLLUP also those that are summed up from the right."""
    lists = [key.values or () for key in question.keys]
    depths = range(len(lists) + 1) if question.rollup else [len(lists)]
    rest = len(lists)
    return {
        _group((*chosen, *[None] * (rest - depth))) for depth in depths for chosen in itertools.product(*lists[:depth])
    }


def _admitted(question: Question, group: tuple[Value, ...]) -> bool:
    return all(key.values is None or cell in _group(key.values) for key, cell in zip(question.keys, group, strict=True))


def _group(cells: Sequence[Value]) -> tuple[Value, ...]:
    """Keys as values that are equal where they mean the same: a day is its midnight, True is not 1."""
    return tuple(_key(cell) for cell in cells)


def _key(cell: Value) -> Value:
    if isinstance(cell, bool):
        return ("truth", cell)
    if isinstance(cell, dt.datetime):
        return cell
    if isinstance(cell, dt.date):
        return dt.datetime.combine(cell, dt.time())
    return cell


# numbers --------------------------------------------------------------------------------------------------------------


def _same_row(question: Question, row: Row, spans: Sequence[object], expected: Row | None, rows: int) -> None:
    many = len(question.keys)
    for place, cell in enumerate(question.cells):
        truth = None if expected is None else expected[many + place]
        span = spans[many + place]
        try:
            _same(cell, row[many + place], span, truth, rows)
        except Differs as differs:
            raise Differs(f"n{place} of {row[:many]}: {differs}") from None


def _same(cell: Cell, ours: Value, span: object, truth: Value, rows: int) -> None:
    if cell.kind == "rank":
        _same_rank(cell, ours, span, truth)
        return
    if truth is None or (isinstance(truth, float) and math.isnan(truth)):
        if cell.kind not in ("count", "sum"):
            _nothing(cell, ours)  # of no rows
            return
        truth = 0
    if isinstance(ours, bool) or not isinstance(ours, (int, float)):
        raise Differs(f"{ours!r} instead of {truth!r}")
    expected, reach = float(str(truth)), _range(cell, rows)
    free = FLOATING * reach + DIGITS * math.ulp(expected)
    if span is None:
        if cell.kind in BARRED and not cell.staged:
            raise Differs(f"{ours!r} has no error bar")
        wide = WIDEST * reach
    else:
        assert isinstance(span, tuple)
        low, high = span
        wide = (high - low) / 2
        if not (wide <= WIDEST * reach + free):
            raise Differs(f"the error bar {low!r} to {high!r} is wider than {WIDEST} of {reach:g}, truth {truth!r}")
        if not low - free <= expected <= high + free:
            raise Differs(f"{ours!r} with the error bar {low!r} to {high!r} for {truth!r}")
    if not abs(ours - expected) <= 2 * wide + free:
        raise Differs(f"{ours!r} instead of {truth!r}")


def _range(cell: Cell, rows: int) -> float:
    """The range of a number over all tables of so many rows."""
    match cell.kind:
        case "count":
            return float(max(rows, 1))
        case "sum":
            return max(rows, 1) * cell.span
        case "variance":
            return cell.span**2
        case _:
            return cell.span


def _nothing(cell: Cell, ours: Value) -> None:
    """There is no such number: whatever is said lies within the declared range."""
    if ours is None or isinstance(ours, (int, float)):
        return
    raise Differs(f"{ours!r} as a {cell.kind} of nothing")


def _same_rank(cell: Cell, ours: Value, span: object, truth: Value) -> None:
    """A quantile lies between the values at the ranks around its own, and its error bar meets its neighbours."""
    values = [_placed(value) for value in truth if value is not None] if isinstance(truth, list) else []
    place = _placed(ours)
    if not values:
        _nothing(cell, place)
        return
    if place is None:
        raise Differs(f"{ours!r} is no quantile")
    last, rank = len(values) - 1, cell.level * len(values)
    low = values[min(last, max(0, math.floor(rank) - 2))]
    high = values[max(0, min(last, math.ceil(rank) + 1))]
    free = cell.slack + WIDEST * cell.span
    assert low is not None
    assert high is not None
    if not low - free <= place <= high + free:
        raise Differs(f"the quantile {cell.level} is {ours!r}, not between {low!r} and {high!r}")
    if span is not None:
        assert isinstance(span, tuple)
        first, final = (_placed(end) for end in span)
        if first is None or final is None or first > high + free or final < low - free:
            raise Differs(f"the quantile {cell.level} has the error bar {span}, and lies between {low!r} and {high!r}")


def _placed(value: Value) -> float | None:
    """A number; of a day or a moment, the number of days."""
    if isinstance(value, dt.datetime):
        return value.toordinal() + (value - dt.datetime.combine(value, dt.time())) / dt.timedelta(days=1)
    if isinstance(value, dt.date):
        return float(value.toordinal())
    return float(value) if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) else None


# caps -----------------------------------------------------------------------------------------------------------------


def _within_caps(question: Question, answer: Said, plain: Sequence[Row]) -> None:
    """What holds whichever rows a cap keeps: whole rows, as many as it lets, and each number of the same rows."""
    assert question.caps is not None
    most_rows, most_groups = question.caps
    admitted = [row for row in plain if not question.keys or _key(row[1]) in _group(question.keys[0].values or ())]
    owned: dict[Value, list[Row]] = defaultdict(list)
    for row in admitted:
        owned[row[0]].append(row)
    ours = {row[:-6]: [float(str(cell)) if cell is not None else 0.0 for cell in row[-6:]] for row in answer.rows}
    if question.keys and {_group(group) for group in ours} != _expected(question):
        raise Differs(f"groups {sorted(ours, key=str)}")
    for group, (count, _, people, present, total, average) in ours.items():
        there = [row for row in admitted if not question.keys or _key(row[1]) == _key(group[0])]
        most = sum(min(most_rows, int(str(row[2]))) for row in there)
        _at_most(f"rows of {group}", count, most if question.keys else most_rows * len(owned))
        _at_most(f"people of {group}", people, len({row[0] for row in there}))
        _at_most(f"values of {group}", present, count)
        _at_most(f"people of {group} beside its rows", people, count)
        if present and not math.isclose(total / present, average, rel_tol=1e-9, abs_tol=question.cells[-1].span * 1e-6):
            raise Differs(f"the average {average} of {group} is not {total} / {present}: they speak of different rows")
    if all(len(rows) <= most_groups for rows in owned.values()):
        kept = {person: min(most_rows, sum(int(str(row[2])) for row in rows)) for person, rows in owned.items()}
        _equal("rows that are kept", sum(cells[0] for cells in ours.values()), sum(kept.values()))
        weights = sum(int(float(str(rows[0][3]))) * kept[person] for person, rows in owned.items())
        _equal("weights of kept rows", sum(cells[1] for cells in ours.values()), weights)
    most_named = sum(min(most_groups, most_rows, len(rows)) for rows in owned.values())
    named = sum(cells[2] for cells in ours.values())
    _at_most("people in all groups", named, most_named)
    if all(sum(int(str(row[2])) for row in rows) <= most_rows for rows in owned.values()):
        _equal("people in all groups", named, most_named)


def _at_most(what: str, ours: float, most: float) -> None:
    if not ours <= most + WIDEST:
        raise Differs(f"{what}: {ours:g}, and there are at most {most:g}")


def _equal(what: str, ours: float, truth: float) -> None:
    if not math.isclose(ours, truth, rel_tol=1e-9, abs_tol=WIDEST):
        raise Differs(f"{what}: {ours:g} instead of {truth:g}")
