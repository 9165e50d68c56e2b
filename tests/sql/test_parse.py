"""Columns that a question does not name are called as Postgres calls them, and no two alike."""

from __future__ import annotations

import clinic
import pytest

from discreet.errors import Refusal
from discreet.sql.parse import output_names, parsed
from discreet.sql.split_at_noise import question


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ("region, count(*)", ("region", "count")),
        ("count(*), count(*), COUNT(*) AS Count_2", ("count", "count_2_2", "count_2")),
        ("avg(cost)::bigint, sum(cost) * 2, -count(*)", ("avg", "column_2", "column_3")),
        ("sum(cost) AS sum, sum(cost)", ("sum", "sum_2")),
        ("sum(cost) FILTER (WHERE urgent), CASE WHEN count(*) > 1 THEN 1 END", ("sum", "case")),
        ("upper(region), median(cost)", ("upper", "median")),
    ],
)
def test_names(items: str, names: tuple[str, ...]) -> None:
    assert output_names(parsed(f"SELECT {items} FROM visits GROUP BY region", clinic.schema())) == names


def test_the_first_side_of_a_union_names_the_columns() -> None:
    sql = "SELECT count(*), 'a' AS k FROM visits UNION ALL SELECT sum(cost), 'b' FROM visits"
    assert question(sql, clinic.schema()).columns == ("count", "k")


NINES = "9" * 5000  # a text of which Python makes no number


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM visits WHERE cost > {NINES}",
        f"SELECT count(*) FROM visits GROUP BY {NINES}",
        f"SELECT count(*) FROM visits WHERE substring(region from {NINES}) = 'a'",
        f"SELECT count(*) FROM visits WHERE day > DATE '2026-01-01' + INTERVAL '{NINES}' day",
    ],
)
def test_numbers_of_thousands_of_digits_are_refused(sql: str) -> None:
    with pytest.raises(Refusal, match="a number has more than 2000 characters"):
        question(sql, clinic.schema(max_rows=1, max_groups=1))
