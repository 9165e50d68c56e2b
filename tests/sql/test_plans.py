"""Hundreds of questions, each with its plan: no plan changes unseen, and none is written with parts left out.

The plans say which rows are read, how many of one person count, and on which grid: everything that noise is scaled by.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import pytest
from sql.expression_text import Unknown
from sql.golden import FILE, Planned, planned
from sql.plan_text import measurement_lines, schema_text

from discreet.declared.column import Column
from discreet.declared.grid import Grid
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.sql.expression import Expression, Literal
from discreet.sql.owned_rows import Capped, Filter, Joined, Kept, Rows, Summary, Windowed, described
from discreet.sql.plan import GroupKey, Measurement, Question, Statistic

_HOW = "Look at every line: if all of it is meant, approve it with `python -m tests.sql.golden --write`."


@pytest.fixture(scope="module")
def golden() -> list[Planned]:
    return planned(FILE.read_text("utf-8"))


def test_every_plan_is_the_approved_one(golden: list[Planned]) -> None:
    approved, now = FILE.read_text("utf-8"), "\n".join(map(str, golden))
    if approved != now:
        lines = difflib.unified_diff(approved.splitlines(), now.splitlines(), "approved", "now", lineterm="", n=9)
        pytest.fail("\n".join([*list(lines)[:400], "", _HOW]), pytrace=False)


def test_the_pairs_are_many_and_of_every_kind(golden: list[Planned]) -> None:
    pairs = [pair for each in golden for pair in each.pairs]
    refused = sum(not isinstance(pair.plan, Question) for pair in pairs)
    assert len(pairs) >= 400
    assert 40 <= refused <= len(pairs) / 4
    met = {type(part).__name__ for pair in pairs if isinstance(pair.plan, Question) for part in _parts(pair.plan)}
    every = {kind.__name__ for kind in (*Rows.__args__, *Expression.__args__)}
    assert every <= met


# the printer ----------------------------------------------------------------------------------------------------------


def _measured(golden: list[Planned]) -> Iterator[tuple[str, Measurement]]:
    for each in golden:
        for pair in each.pairs:
            if isinstance(pair.plan, Question):
                yield from ((each.section.name, part.measurement) for part in pair.plan.every_part)


def test_two_plans_have_one_text_if_and_only_if_they_are_one(golden: list[Planned]) -> None:
    texts: dict[tuple[str, str], str] = {}
    identities: dict[tuple[str, str], str] = {}
    for name, measurement in _measured(golden):
        text, identity = "\n".join(measurement_lines(measurement)), described(measurement)
        assert texts.setdefault((name, identity), text) == text
        assert identities.setdefault((name, text), identity) == identity
    assert len(texts) > 300


def test_whatever_changes_in_a_plan_changes_its_text(golden: list[Planned]) -> None:
    """One leaf at a time, whatever it is: a number, a name, a type, a flag, an item of a list."""
    seen = set[tuple[str, ...]]()
    changed = 0
    for _, measurement in _measured(golden):
        new = {tag for part in _parts(measurement) for tag in _tags(part)} - seen
        if not new:
            continue
        seen |= new
        before, identity = _text(measurement), described(measurement)
        for other in _edits(measurement):
            assert isinstance(other, Measurement)
            assert described(other) != identity
            assert _text(other) != before, (described(measurement), described(other))
            changed += 1
    assert changed > 1000


def test_whatever_is_declared_of_a_table_is_written(golden: list[Planned]) -> None:
    changed = 0
    for table in {each.section.name: each for each in golden}["elsewhere"].section.schema.tables.values():
        before = schema_text(Schema({table.name: table}))
        for other in _edited(table):
            assert isinstance(other, Table)
            assert schema_text(Schema({table.name: other})) != before, other
            changed += 1
    assert changed > 100


def test_what_the_text_does_not_know_is_an_error(golden: list[Planned]) -> None:
    """A field that is added to a part of a plan, or a part of a new kind, is met by the first plan that has it."""

    @dataclass(frozen=True)
    class Doubled(Statistic):
        times: int = 2

    @dataclass(frozen=True)
    class Sampled(Filter):
        share: int = 2

    (plan,) = [
        pair.plan for pair in golden[0].pairs if pair.asked.sql == "SELECT count(*) FROM visits WHERE cost > 100"
    ]
    assert isinstance(plan, Question)
    measurement = plan.parts[0].measurement
    assert isinstance(measurement.rows, Filter)
    others = (
        _with(measurement, "statistics", (Doubled("rows"),)),
        _with(measurement, "rows", Sampled(measurement.rows.source, measurement.rows.predicate)),
        _with(measurement, "rows", plan),
        _with(measurement, "statistics", (Statistic("cubes", None, Grid(0, 1, Fraction(1))),)),
    )
    for other in others:
        with pytest.raises(Unknown):
            list(measurement_lines(other))  # type: ignore[arg-type]


def _text(measurement: Measurement) -> str:
    try:
        return "\n".join(measurement_lines(measurement))
    except Unknown as unknown:
        return f"unknown: {unknown}"


def _parts(value: object) -> Iterator[Any]:
    """Everything that a plan is made of, above its tables."""
    if isinstance(value, tuple):
        for each in value:
            yield from _parts(each)
    elif is_dataclass(value) and not isinstance(value, type):
        yield value
        if not isinstance(value, Table):
            for each in fields(value):
                yield from _parts(getattr(value, each.name))


def _tags(part: Any) -> Iterator[tuple[str, ...]]:  # noqa: ANN401  # any part of a plan
    """What is to be met once: each field that is there, each kind of number, each function."""
    kind = type(part).__name__
    yield from ((kind, each.name) for each in fields(part) if getattr(part, each.name) not in (None, ()))
    yield from ((kind, str(getattr(part, word))) for word in ("kind", "function") if hasattr(part, word))


_OPTIONAL: dict[type, tuple[str, ...]] = {
    Measurement: ("max_rows",),
    GroupKey: ("values",),
    Statistic: ("expression", "grid"),
    Literal: ("value", "stage"),
    Capped: ("letters",),
    Summary: ("value", "grid"),
    Windowed: ("frame",),
    Joined: ("condition",),
    Kept: ("condition",),
    Table: ("population", "unit", "max_rows", "link"),
    Column: ("bounds", "step", "keys"),
}
_PAIRS = ("frame", "link", "bounds")


def _edits(value: object) -> Iterator[object]:
    """Copies of a value in which one leaf is another; nothing checks them, as they need not make sense."""
    match value:
        case bool():
            yield not value
        case Type():
            yield Type.DATE if value is not Type.DATE else Type.TIMESTAMP
        case int() | float() | Fraction():
            yield value + 1
        case str():
            yield f"{value}x"
        case Table():
            yield _with(value, "name", f"{value.name}x")  # the rest of it stands where tables are declared
        case tuple():
            for place, each in enumerate(value):
                yield from ((*value[:place], other, *value[place + 1 :]) for other in _edits(each))
        case _ if is_dataclass(value):
            yield from _edited(value)


def _edited(value: Any) -> Iterator[object]:  # noqa: ANN401  # likewise
    for each in fields(value):
        inside = getattr(value, each.name)
        others = list(_edits(inside))
        if isinstance(inside, tuple) and inside and each.name not in _PAIRS:
            others.append(inside[:-1])
        if inside is not None and each.name in _OPTIONAL.get(type(value), ()):
            others.append(None)
        yield from (_with(value, each.name, other) for other in others)


def _with(value: Any, name: str, other: object) -> object:  # noqa: ANN401  # likewise
    made = object.__new__(type(value))
    for each in fields(value):
        object.__setattr__(made, each.name, other if each.name == name else getattr(value, each.name))
    return made
