"""Where a person has one row by the way rows are made, a cap of more rows or groups changes nothing."""

from __future__ import annotations

from dataclasses import replace

import clinic
import pytest

from discreet.declared.table import Caps, Schema
from discreet.sql.bounding import row_cap
from discreet.sql.excluded_rows import left_out
from discreet.sql.plan import Part
from discreet.sql.split_at_noise import question

EACH = "SELECT patient, count(*) AS n, max(diagnosis) AS d FROM visits GROUP BY patient"
ONE = [
    f"SELECT avg(n) FROM ({EACH}) AS t",
    f"SELECT d, count(*), count(DISTINCT patient) FROM ({EACH}) AS t WHERE n > 1 GROUP BY d",
    "SELECT count(*) FROM (SELECT DISTINCT patient FROM visits) AS t",
    f"SELECT sum(t.n) FROM ({EACH}) AS t JOIN ({EACH}) AS s ON t.patient = s.patient",
    f"SELECT count(*) FROM ({EACH}) AS t LEFT JOIN ({EACH}) AS s ON t.patient = s.patient AND s.n > 2",
]
MORE = [
    "SELECT count(*) FROM visits",
    "SELECT count(*) FROM (SELECT DISTINCT patient, region FROM visits) AS t",
    f"SELECT count(*) FROM ({EACH}) AS t FULL JOIN ({EACH}) AS s ON t.patient = s.patient AND s.n > 2",
    f"SELECT count(*) FROM ({EACH}) AS t JOIN visits AS v ON t.patient = v.patient",
]


def measured(sql: str, caps: Caps, schema: Schema | None = None) -> Part:
    (part,) = question(sql, schema or clinic.schema(), caps).parts
    return part


@pytest.mark.parametrize("sql", ONE)
def test_a_cap_that_cannot_bind_adds_no_noise(sql: str) -> None:
    own, capped = (measured(sql, caps) for caps in (Caps(), Caps(10, 10)))
    assert capped == own
    assert (own.measurement.max_rows, own.measurement.max_groups) == (1, 1)
    assert not any("counts with" in said or "counts in" in said for said in left_out(own.measurement))


@pytest.mark.parametrize("sql", MORE)
def test_a_cap_that_may_bind_is_the_one_that_was_set(sql: str) -> None:
    assert row_cap(measured(sql, Caps(7, 5)).measurement) == 7


def test_rows_that_are_their_own_unit_are_one_row() -> None:
    schema = clinic.schema()
    alone = replace(schema.tables["visits"], unit=None, population="visits", max_rows=None)
    part = measured("SELECT region, count(*) FROM visits GROUP BY region", Caps(9, 9), Schema({"visits": alone}))
    assert (part.measurement.max_rows, part.measurement.max_groups) == (1, 1)
