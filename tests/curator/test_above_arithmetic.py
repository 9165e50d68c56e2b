"""Numbers that noise made never make a paid answer fail, and none of them is infinite."""

from __future__ import annotations

import clinic
import pytest

from discreet.curator import above
from discreet.sql.split import question

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
    found = above.rehearse(question(sql, clinic.schema()), {})
    (part,) = found.question.parts
    numbers = {"rows": [400, LARGE, 0, LARGE], "present": [7, -LARGE, 0, 0]}
    kinds = [aggregate.statistics[0].kind for aggregate in part.aggregates]  # type: ignore[union-attr]
    rows = [[numbers[kind][i] for kind in kinds] for i in range(4)]
    groups = [(True, "a"), (False, "a"), (True, "b"), (False, "b")]
    told = above.run(found, {"#0": above.noisy_table(part, groups, rows)}, {}).rows
    assert [row[0] for row in told] == [cell if cell is None else pytest.approx(cell, rel=1e-12) for cell in cells]


def test_a_day_is_still_so_many_days_after_another() -> None:
    sql = "SELECT day + (1 + 2), count(*) FROM visits GROUP BY day"
    found = above.rehearse(question(sql, clinic.schema()), {})
    assert found.columns[0][1] == "date"


@pytest.mark.parametrize("operator", ["/", "*", "-"])
def test_a_query_that_gives_one_number_is_combined_with_whole_ones(operator: str) -> None:
    sql = f"SELECT 7 + count(*) {operator} (SELECT count(*) FROM visits WHERE urgent) FROM visits"
    found = above.rehearse(question(sql, clinic.schema()), {})
    assert found.columns[0][1] == "bigint"
