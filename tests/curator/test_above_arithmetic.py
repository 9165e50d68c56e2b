"""Numbers that noise made never make a paid answer fail, and none of them is infinite."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import clinic
import pytest

from discreet.curator import postprocessing
from discreet.sql.split_at_noise import question

LARGE = 1 << 62


@pytest.mark.parametrize(
    ("expression", "cells"),
    [
        # Postgres raises at each of these; DuckDB said inf, -inf or nan, and a sum of inf stayed in other columns
        ("1.0 * count(*) / count(cost)", [400 / 7, -1.0, None, None]),
        ("1.0 / count(cost)", [1 / 7, -1.0 / LARGE, None, None]),
        ("count(*) * 1.0 / (count(cost) - count(cost))", [None, None, None, None]),
        ("count(*) / 0.0", [None, None, None, None]),
        ("(1 + count(*)) / (2.5 * count(cost))", [401 / 17.5, (1 + LARGE) / (-2.5 * LARGE), None, None]),
        ("coalesce(1.0 * count(*) / count(cost), 5.0)", [400 / 7, -1.0, 5.0, 5.0]),
        ("power(count(cost), -1)", [1 / 7, -1.0 / LARGE, None, None]),
        ("exp(count(*) + 0.0)", [5.221469689764144e173, None, 1.0, None]),
        # a whole number beyond 64 bits made the answer fail after it was paid
        ("count(*) * count(*)", [160_000, None, 0, None]),
        ("count(*) + count(*) + count(*)", [1200, None, 0, None]),
        ("count(*) - count(cost)", [393, None, 0, LARGE]),
        ("count(*) * 4", [1600, None, 0, None]),
        ("count(*) * 4 / 8", [200, None, 0, None]),
        ("count(*) % count(cost)", [1, 0, None, None]),
        ("mod(count(*), count(cost) - 7)", [None, LARGE, 0, 4]),
        ("-count(*)", [-400, -LARGE, 0, -LARGE]),
    ],
)
def test_what_has_no_answer_is_null(expression: str, cells: list[float | None]) -> None:
    sql = f"SELECT {expression}, count(*), count(cost) FROM visits GROUP BY urgent, diagnosis"
    found = postprocessing.rehearse(question(sql, clinic.schema()), {})
    (part,) = found.question.parts
    numbers = {"rows": [400, LARGE, 0, LARGE], "present": [7, -LARGE, 0, 0]}
    kinds = [aggregate.statistics[0].kind for aggregate in part.aggregates]  # type: ignore[union-attr]
    rows = [[numbers[kind][i] for kind in kinds] for i in range(4)]
    groups = [(True, "a"), (False, "a"), (True, "b"), (False, "b")]
    told = postprocessing.run(found, {"#0": postprocessing.noisy_table(part, groups, rows)}, {}).rows
    assert [row[0] for row in told] == [cell if cell is None else pytest.approx(cell, rel=1e-12) for cell in cells]


def test_a_day_is_still_so_many_days_after_another() -> None:
    sql = "SELECT day + (1 + 2), count(*) FROM visits GROUP BY day"
    found = postprocessing.rehearse(question(sql, clinic.schema()), {})
    assert found.columns[0][1] == "date"


@pytest.mark.parametrize("operator", ["/", "*", "-"])
def test_a_query_that_gives_one_number_is_combined_with_whole_ones(operator: str) -> None:
    sql = f"SELECT 7 + count(*) {operator} (SELECT count(*) FROM visits WHERE urgent) FROM visits"
    found = postprocessing.rehearse(question(sql, clinic.schema()), {})
    assert found.columns[0][1] == "bigint"


DAY = dt.timedelta(days=1)
FIRST, START = dt.datetime(1970, 1, 1), dt.datetime(2024, 1, 1)  # noqa: DTZ001
DAYS = (400, 2_914_000, 3_000_000, -800_000, 2_000_000_000, 0, LARGE, -LARGE)  # the second is still in the year 9999


@pytest.mark.parametrize(
    ("expression", "moved"),
    [
        ("DATE '2024-01-01' + count(*)::int", lambda n: (START + n * DAY).date()),
        ("count(*)::int + DATE '2024-01-01'", lambda n: (START + n * DAY).date()),
        ("DATE '2024-01-01' - count(*)::int", lambda n: (START - n * DAY).date()),
        ("(DATE '2024-01-01' + count(*)::int) - count(*)::int", lambda n: START.date() if START + n * DAY else None),
        ("DATE '2024-01-01' + INTERVAL '1 day' * count(*)", lambda n: START + n * DAY),
        ("count(*) * INTERVAL '1 hour' + TIMESTAMP '2024-01-01'", lambda n: START + n * DAY / 24),
        ("DATE '2024-01-01' - count(*) * INTERVAL '1 day' / 2", lambda n: START - n * DAY / 2),
        ("to_timestamp(count(*))", lambda n: FIRST + dt.timedelta(seconds=n)),
        ("(count(*)::text || '-01-01')::date", lambda n: dt.date(n, 1, 1)),
        ("extract(year FROM DATE '2024-01-01' + count(*)::int)", lambda n: (START + n * DAY).year),
        ("max(DATE '2024-01-01' + count(*)::int) OVER (PARTITION BY diagnosis)", lambda n: (START + n * DAY).date()),
        ("to_timestamp((SELECT count(*) FROM visits) + count(*))", lambda n: FIRST + dt.timedelta(seconds=n)),
    ],
)
def test_a_day_that_is_in_no_calendar_is_null(expression: str, moved: Callable[[int], object]) -> None:
    sql = f"SELECT diagnosis, {expression} FROM visits GROUP BY diagnosis"
    found = postprocessing.rehearse(question(sql, clinic.schema()), {})
    groups = [(str(place),) for place in range(len(DAYS))]
    tables = {
        part.name: postprocessing.noisy_table(part, groups, [[n] for n in DAYS])
        if part.measurement.keys
        else postprocessing.noisy_table(part, [()], [[0]])
        for part in found.question.parts
    }
    told = {row[0]: row[1] for row in postprocessing.run(found, tables, {}).rows}
    assert [told[str(place)] for place in range(len(DAYS))] == [_or_none(moved, n) for n in DAYS]


def _or_none(moved: Callable[[int], object], n: int) -> object:
    try:
        return moved(n)
    except (OverflowError, ValueError):
        return None


def test_a_span_of_time_that_is_longer_than_the_calendar_is_null() -> None:
    sql = "SELECT diagnosis, INTERVAL '1 day' * count(*) FROM visits GROUP BY diagnosis"
    found = postprocessing.rehearse(question(sql, clinic.schema()), {})
    groups, numbers = [("a",), ("b",), ("c",)], [-3, 10**9, LARGE]
    table = postprocessing.noisy_table(found.question.parts[0], groups, [[n] for n in numbers])
    assert sorted(row for row in postprocessing.run(found, {"#0": table}, {}).rows) == [
        ("a", -3 * DAY), ("b", None), ("c", None),
    ]  # fmt: skip
