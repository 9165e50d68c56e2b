# ruff: noqa: E501  # a question stands on one line
"""Who people are is known again under every other name, and what people share is not taken for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import clinic
import pytest

from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.errors import Refusal
from discreet.sql.split_at_noise import question

NAMED = (Column("name", Type.VARCHAR), Column("team", Type.VARCHAR, keys=("a", "b")), Column("pay", Type.BIGINT))
STAFF = Table("staff", NAMED, "name", "name", 5, 3)
LABS = Table(
    "labs",
    (Column("patient", Type.BIGINT), Column("lab", Type.BIGINT), Column("value", Type.BIGINT, (Fraction(0), Fraction(9)))),
    "patient", "patient", 9, 3,
)  # fmt: skip
TUBES = Table(
    "tubes",
    (Column("lab", Type.BIGINT), Column("colour", Type.VARCHAR), Column("patient", Type.BIGINT)),
    "patient", "patient", 9, 3, link=("lab", "labs", "lab"),
)  # fmt: skip
CODES = Table("codes", (Column("code", Type.BIGINT), Column("word", Type.VARCHAR)))


def schema() -> Schema:
    made = clinic.schema()
    return replace(made, tables={**made.tables, "staff": STAFF, "labs": LABS, "tubes": TUBES, "codes": CODES})


KEYS = [  # over visits, of which patient is the unit
    "patient", "patient + 0", "-patient", "patient * 2", "patient / 1", "0 + (patient)", "abs(patient)",
    "CAST(patient AS varchar)", "CAST(CAST(patient AS varchar) AS bigint)", "patient::double precision::bigint",
    "CAST(patient AS varchar) || ''", "'p' || CAST(patient AS varchar)", "lower(CAST(patient AS varchar))",
    "substring(CAST(patient AS varchar), 1)", "left(CAST(patient AS varchar), 99)", "trim(CAST(patient AS varchar))",
    "coalesce(patient, 0)", "nullif(patient, -1)", "greatest(patient, 0)", "least(patient, 4611686018427387903)",
    "CASE WHEN urgent THEN patient END", "CASE WHEN urgent THEN 0 ELSE patient END", "patient % 1000003",
    "CASE patient WHEN 1 THEN 2 ELSE patient END", "floor(patient)", "round(patient)", "patient - patient % 10",
    "width_bucket(patient, 0, 1000000, 1000000)", "patient + length(diagnosis)", "cast(round(patient, 0) as bigint)",
]  # fmt: skip
SHARED = [
    "patient % 10", "patient % 2 = 0", "patient > 5", "length(CAST(patient AS varchar))", "region",
    "CASE WHEN patient < 10 THEN 'few' ELSE 'many' END", "width_bucket(patient, 0, 1000, 10)",
    "LEAST(GREATEST(patient, 0), 10)", "extract(year FROM day)", "CASE WHEN patient = 1 THEN region ELSE diagnosis END",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_the_unit_is_no_key_in_any_disguise(key: str) -> None:
    nested = (
        f"SELECT {key}, count(*) FROM visits GROUP BY 1",
        f"SELECT k, count(*) FROM (SELECT {key} AS k FROM visits) t GROUP BY k",
        f"WITH w AS (SELECT {key} AS k, urgent FROM visits WHERE urgent) SELECT k, count(*) FROM w GROUP BY k",
        f"SELECT DISTINCT {key} FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) t",
    )
    for text in nested:
        with pytest.raises(Refusal, match=r"one group per person|rows of people"):
            question(text, schema())


@pytest.mark.parametrize("key", SHARED)
def test_what_people_share_is_a_key(key: str) -> None:
    assert question(f"SELECT {key}, count(*) FROM visits GROUP BY 1", schema()).parts


@pytest.mark.parametrize(
    "text",
    [
        "SELECT m, count(*) FROM (SELECT patient, min(patient) AS m FROM visits GROUP BY patient) t GROUP BY m",
        "SELECT m, count(*) FROM (SELECT patient, avg(LEAST(GREATEST(patient, 0), 99999)) AS m FROM visits GROUP BY 1) t GROUP BY 1",
        "SELECT m, count(*) FROM (SELECT patient, max(patient + 1) AS m FROM visits GROUP BY patient) t GROUP BY m",
        "SELECT k, count(*) FROM (SELECT patient, patient + 0 AS k FROM visits GROUP BY patient, patient + 0) t GROUP BY k",
        "SELECT f, count(*) FROM (SELECT lag(patient + 0) OVER (PARTITION BY patient ORDER BY day) AS f FROM visits) t GROUP BY f",
        "SELECT f, count(*) FROM (SELECT first_value(patient) OVER (PARTITION BY patient ORDER BY day) f FROM visits) t GROUP BY f",
        "SELECT k, count(*) FROM (SELECT patient AS k FROM visits UNION ALL SELECT 0 AS k FROM visits) t GROUP BY k",
        "SELECT l.lab, count(*) FROM visits v JOIN labs l ON l.patient = v.patient AND l.lab = v.patient GROUP BY l.lab",
        "SELECT c.code, count(*) FROM visits v JOIN codes c ON c.code = v.patient GROUP BY c.code",
        "SELECT c.code + 0, count(*) FROM visits v JOIN codes c ON c.code = v.patient + 0 GROUP BY 1",
        "SELECT lab, count(*) FROM labs WHERE lab = patient GROUP BY lab",
        "SELECT lab, count(*) FROM labs WHERE lab IN (patient) GROUP BY lab",
        "SELECT value, count(*) FROM labs WHERE value + 0 IS NOT DISTINCT FROM patient GROUP BY value",
        "SELECT lab, count(*) FROM labs l WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = l.patient AND l.lab = v.patient) GROUP BY lab",
        "SELECT n, count(*) FROM (SELECT lower(name) AS n FROM staff) t GROUP BY n",
        "SELECT coalesce(v.patient, l.patient), count(*) FROM visits v FULL JOIN labs l ON v.patient = l.patient GROUP BY 1",
        "SELECT v.patient + l.patient, count(*) FROM visits v JOIN labs l ON v.patient = l.patient GROUP BY 1",
        "SELECT region, patient + 0, count(*) FROM visits GROUP BY ROLLUP (region, patient + 0)",
        "SELECT count(*) FILTER (WHERE urgent), patient + 0 FROM visits GROUP BY patient + 0",
    ],
)  # fmt: skip
def test_nor_does_it_pass_through_a_query(text: str) -> None:
    with pytest.raises(Refusal, match=r"one group per person|groups of one person|rows of people"):
        question(text, schema())


@pytest.mark.parametrize("key", ["lab", "lab + 0", "CAST(lab AS varchar)", "CASE WHEN lab > 1 THEN lab END"])
@pytest.mark.parametrize("table", ["labs", "tubes"])
def test_nor_does_the_key_of_a_link(key: str, table: str) -> None:
    with pytest.raises(Refusal, match=r"groups of one person each|rows of people"):
        question(f"SELECT {key}, count(DISTINCT patient) FROM {table} GROUP BY 1", schema())


@pytest.mark.parametrize(
    "value",
    [
        "sum(LEAST(GREATEST(patient, 0), 10000))", "max(LEAST(GREATEST(patient + 1, 0), 10000))",
        "avg(CASE WHEN patient BETWEEN 0 AND 5000 THEN LEAST(GREATEST(patient, 0), 5000) END)",
        "median(LEAST(GREATEST(-patient, -9999), 0))", "stddev(LEAST(GREATEST(patient, 0), 10000))",
        "percentile_cont(0.9) WITHIN GROUP (ORDER BY LEAST(GREATEST(patient, 0), 10000))",
    ],
)  # fmt: skip
def test_who_people_are_is_not_added_up(value: str) -> None:
    with pytest.raises(Refusal, match="says who people are"):
        question(f"SELECT {value} FROM visits", schema())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(DISTINCT patient) FROM visits",
        "SELECT count(DISTINCT patient + 0), count(patient) FROM visits",
        "SELECT region, count(DISTINCT v.patient) FROM visits v JOIN labs l ON l.patient = v.patient GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE patient IN (SELECT patient FROM labs) GROUP BY region",
        "SELECT region, count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient) GROUP BY 1",
        "SELECT n, count(*) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) t GROUP BY n",
        "SELECT r, count(*) FROM (SELECT row_number() OVER (PARTITION BY patient ORDER BY day) r FROM visits) t GROUP BY r",
        "SELECT w, count(*) FROM (SELECT patient, min(region) AS w FROM visits GROUP BY patient) t GROUP BY w",
        "SELECT sum(CASE WHEN patient % 2 = 0 THEN cost ELSE 0 END) FROM visits",
        "SELECT sum(LEAST(GREATEST(patient % 7, 0), 6)) FROM visits",
        "SELECT c.word, count(*) FROM visits v JOIN codes c ON c.code = v.patient % 10 GROUP BY c.word",
    ],
)  # fmt: skip
def test_what_is_lawful_stays_so(text: str) -> None:
    assert question(text, schema()).parts
