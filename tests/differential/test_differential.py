"""Made-up tables and questions at an enormous price: every answer is plain DuckDB's, up to its own error bar."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from differential.asking import Report, asked, opened, question_of, run
from differential.compare import Differs, compare
from differential.families import FAMILIES
from differential.question import Cell, Key, Question
from differential.refusals import allowed
from differential.told import told
from differential.world import LARGEST, made

QUICK = ((26, 1), (5, 3), (14, 150), (30, 1500))  # seeds and rows: CSV and Parquet, under ε and under ρ
SLOW = range(100, 140)
TWICE = 2 * len(FAMILIES)  # questions: two of each family


def sound(report: Report) -> None:
    """Nothing is amiss, and questions were answered, not refused."""
    assert not report.troubles, "\n".join(told(trouble) for trouble in report.troubles[:3])
    assert report.seldom_answered() == []


@pytest.mark.parametrize(("seed", "rows"), [pytest.param(*QUICK[0], marks=pytest.mark.slow), *QUICK[1:]])
def test_every_answer_is_that_of_plain_duckdb(seed: int, rows: int) -> None:
    sound(run(seed, len(FAMILIES), rows))


@pytest.mark.slow
def test_every_answer_about_many_rows_is_that_of_plain_duckdb() -> None:
    sound(run(36, len(FAMILIES), LARGEST))


@pytest.mark.slow
@pytest.mark.parametrize("first", SLOW[::8])
def test_more_answers_are_those_of_plain_duckdb(first: int) -> None:
    report = Report()
    for seed in range(first, first + 8):
        report.add(run(seed, TWICE))
    sound(report)


# what is made up ------------------------------------------------------------------------------------------------------


def test_a_world_and_its_questions_follow_from_a_seed() -> None:
    assert made(3) == made(3)
    assert [question_of(made(3), i) for i in range(40)] == [question_of(made(3), i) for i in range(40)]


def test_many_rows_are_of_many_people() -> None:
    sheet = made(36, 9_000).sheets["main"]
    weights = {
        unit: weight for unit, weight in zip(sheet.columns["unit"], sheet.columns["weight"], strict=True) if unit
    }
    assert all(
        weights[unit] == weight
        for unit, weight in zip(sheet.columns["unit"], sheet.columns["weight"], strict=True)
        if unit is not None
    )
    assert len(weights) > 2 * len(set(sheet.columns["unit"][:3_000]))


def test_fewer_rows_are_asked_the_same() -> None:
    few, many = made(5, 4), made(5, 60)
    assert {role: sheet.fields for role, sheet in few.sheets.items()} == {
        role: sheet.fields for role, sheet in many.sheets.items()
    }


def test_worlds_hold_what_breaks_things() -> None:
    worlds = [made(seed, 60) for seed in range(60)]
    fields = [each for world in worlds for sheet in world.sheets.values() for each in sheet.fields]
    cells = [cell for world in worlds for column in world.sheets["main"].columns.values() for cell in column]
    assert {each.kind for each in fields} == {"whole", "real", "decimal", "text", "flag", "date", "moment"}
    assert any(" " in each.name for each in fields)
    assert any(each.name != each.name.lower() for each in fields)
    assert any(not each.name.isascii() for each in fields)
    assert {type(cell) for cell in cells} >= {int, float, str, bool, dt.date, dt.datetime, type(None)}
    assert any(isinstance(cell, float) and cell != cell for cell in cells)  # noqa: PLR0124  # NaN
    assert any(each.bounds and each.span > 10**15 for each in fields)
    assert any(each.bounds and each.span < 10**-5 for each in fields)
    assert {sheet.source for world in worlds for sheet in world.sheets.values()} == {"csv", "parquet"}
    assert {world.measure for world in worlds} == {"epsilon", "rho"}
    keys = [(world.sheets["main"].field("key").keys or (), world.sheets["main"].columns["key"]) for world in worlds]
    assert any(set(column) - {None, *known} for known, column in keys)


def test_questions_say_everything() -> None:
    worlds = [made(seed, 20) for seed in range(8)]
    texts = "\n".join(question_of(world, number).ours for world in worlds for number in range(4 * len(FAMILIES)))
    said = (
        "count(*)", "count(DISTINCT", "sum(", "avg(", "var_samp(", "var_pop(", "stddev(", "median(", "percentile_cont(",
        "min(", "max(", "FILTER (WHERE", "CASE WHEN", "date_trunc(", "extract(", "ROLLUP (", "HAVING", "ORDER BY",
        "LIMIT", " IN (", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", "DATE '", "TIMESTAMP '", "LEFT JOIN",
        "UNION ALL", "EXISTS (", "NOT EXISTS (", "100.0 *", "OVER (PARTITION BY", "WITH w AS", "SELECT DISTINCT",
    )  # fmt: skip
    assert [word for word in said if word not in texts] == []


# what the suite must notice -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """An answer that somebody made up."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    spans: tuple[tuple[object, ...], ...]


def told_of(rows: list[tuple[object, ...]], spans: list[tuple[object, ...]]) -> Said:
    return Said((), tuple(rows), tuple(spans))


COUNT = Question("", "", "", (Cell("count"),))
AVERAGE = Question("", "", "", (Cell("avg", 100.0),))
MEDIAN = Question("", "", "", (Cell("rank", 100.0, 0.01),))
GROUPS = Question("", "", "", (Cell("count"),), (Key("", ("a", "b")),))
OPEN = Question("", "", "", (Cell("count"),), (Key(""),))


@pytest.mark.parametrize(
    ("question", "rows", "spans", "plain"),
    [
        (COUNT, [(7,)], [((7.0, 7.0),)], [(8, 3)]),
        (COUNT, [(8,)], [(None,)], [(8, 3)]),
        (COUNT, [(8,)], [((7.0, 9.0),)], [(8, 3)]),
        (COUNT, [(None,)], [((8.0, 8.0),)], [(8, 3)]),
        (AVERAGE, [(50.0,)], [((0.0, 100.0),)], [(50.0, 3)]),
        (AVERAGE, [(50.0,)], [((50.0, 50.0),)], [(50.1, 3)]),
        (AVERAGE, [(float("nan"),)], [((50.0, 50.0),)], [(50.0, 3)]),
        (MEDIAN, [(90.0,)], [(None,)], [([1.0, 2.0, 3.0, 4.0, 5.0, 90.0], 3)]),
        (MEDIAN, [(3.0,)], [((50.0, 60.0),)], [([1.0, 2.0, 3.0, 4.0, 5.0, 90.0], 3)]),
        (GROUPS, [("a", 1)], [(None, (1.0, 1.0))], [("a", 1, 1)]),
        (GROUPS, [("a", 1), ("b", 0), ("c", 2)], [(None, (1.0, 1.0))] * 3, [("a", 1, 1)]),
        (GROUPS, [("a", 1), ("b", 1)], [(None, (1.0, 1.0))] * 2, [("a", 1, 1)]),
        (OPEN, [], [], [("a", 5, 2)]),
        (OPEN, [("x", 5)], [(None, (5.0, 5.0))], [("a", 5, 1)]),
        (replace(GROUPS, ordered=True), [("b", 1), ("a", 1)], [(None, (1.0, 1.0))] * 2, [("a", 1, 9), ("b", 1, 9)]),
    ],
)
def test_it_notices(
    question: Question, rows: list[tuple[object, ...]], spans: list[tuple[object, ...]], plain: list[tuple[object, ...]]
) -> None:
    with pytest.raises(Differs):
        compare(question, told_of(rows, spans), plain, 8)


@pytest.mark.parametrize(
    ("question", "rows", "spans", "plain"),
    [
        (COUNT, [(8,)], [((8.0, 8.0),)], [(8, 3)]),
        (AVERAGE, [(50.00001,)], [((49.99997, 50.00004),)], [(50.00002, 3)]),
        (AVERAGE, [(50.0,)], [((0.0, 100.0),)], [(None, 0)]),
        (MEDIAN, [(3.4,)], [((3.0, 4.0),)], [([1.0, 2.0, 3.0, 4.0, 5.0, 90.0], 3)]),
        (
            GROUPS,
            [("a", 1), ("b", 0)],
            [(None, (1.0, 1.0)), (None, (0.0, 0.0))],
            [("a", 1, 1), (None, 4, 4), ("z", 2, 2)],
        ),
        (OPEN, [("a", 5)], [(None, (5.0, 5.0))], [("a", 5, 2), ("b", 1, 1)]),
        (OPEN, [(dt.date(2024, 1, 1), 5)], [(None, (5.0, 5.0))], [(dt.datetime(2024, 1, 1), 5, 2)]),  # noqa: DTZ001
    ],
)
def test_it_lets_pass(
    question: Question, rows: list[tuple[object, ...]], spans: list[tuple[object, ...]], plain: list[tuple[object, ...]]
) -> None:
    compare(question, told_of(rows, spans), plain, 8)


CAPPED = Question("", "", "", (Cell("count"),) * 6, (Key("", ("a", "b")),), caps=(2, 2))
OWNED = [
    (1, "a", 3, 5, 3),
    (1, "b", 1, 5, 1),
    (2, "a", 1, -2, 0),
    (2, "c", 9, -2, 9),
]  # person, group, rows, weight, values


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        ((2, 3, 2, 1, 4.0, 4.0), (1, 5, 1, 1, 2.0, 2.0), True),
        ((3, 8, 2, 2, 8.0, 4.0), (0, 0, 0, 0, 0.0, 50.0), True),
        ((1, 3, 2, 1, 4.0, 4.0), (1, 5, 1, 1, 2.0, 2.0), False),  # a row too few
        ((2, 3, 2, 1, 4.0, 4.0), (2, 10, 1, 1, 2.0, 2.0), False),  # more rows than there are
        ((2, 4, 2, 1, 4.0, 4.0), (1, 5, 1, 1, 2.0, 2.0), False),  # no whole rows
        ((2, 3, 2, 1, 4.0, 3.0), (1, 5, 1, 1, 2.0, 2.0), False),  # the average is of other rows
        ((2, 3, 3, 1, 4.0, 4.0), (1, 5, 1, 1, 2.0, 2.0), False),  # more people than there are
    ],
)
def test_it_knows_what_holds_whichever_rows_a_cap_keeps(
    one: tuple[object, ...],
    other: tuple[object, ...],
    holds: bool,  # noqa: FBT001
) -> None:
    answer = told_of([("a", *one), ("b", *other)], [(None,) * 7] * 2)
    if holds:
        compare(CAPPED, answer, OWNED, 14)
        return
    with pytest.raises(Differs):
        compare(CAPPED, answer, OWNED, 14)


def test_a_suite_of_refusals_does_not_pass() -> None:
    assert not allowed("there is no table 'visits'")
    assert allowed("x may be as large as 1E+31, which is too large to sum")
    refused = Report(answered=Counter(ratios=15), refused=Counter(ratios=5))
    assert len(refused.seldom_answered()) == 1


def test_what_fails_says_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report()
    with opened(9, 3) as place:
        monkeypatch.setattr(type(place.db), "query", lambda *_, **__: told_of([(-1,)], [((0.0, 0.0),)]))
        asked(place, 0, report)
    text = told(report.troubles[0])
    assert "python -m tests.differential --seed 9 --question 0 --rows 3" in text
    assert report.troubles[0].question.ours in text
    assert "row {" in text
