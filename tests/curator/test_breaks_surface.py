"""What an attack on joins, per-unit queries, windows, unions and first stages found, each closed and kept closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import clinic
import duckdb
import hospital
import pytest

from discreet.curator import Curator
from discreet.errors import Refusal
from discreet.privacy import Approximate

SUM = "SELECT sum(s) FROM (SELECT patient, {} AS s FROM {} GROUP BY patient) t"
TEXTS = [
    "SELECT count(*) FROM visits a JOIN labs b JOIN patients c ON b.patient = c.patient ON a.patient = b.patient",
    "SELECT count(*) FROM visits v SEMI JOIN labs l ON v.patient = l.patient",
    "SELECT count(*) FROM visits v ANTI JOIN labs l ON v.patient = l.patient",
    """SELECT count(*) FROM patients p JOIN visits v ON p.patient = v.patient
       RIGHT JOIN labs l ON l.patient = v.patient WHERE v.cost IS NULL""",
    """SELECT count(*) FROM patients p JOIN visits v ON p.patient = v.patient
       FULL JOIN labs l ON l.patient = v.patient WHERE v.cost IS NULL""",
    """SELECT count(*) FROM visits v LEFT JOIN patients p ON v.patient = p.patient AND p.age > 60
       WHERE p.patient IN (SELECT patient FROM labs)""",
    """SELECT count(*) FROM visits v LEFT JOIN patients p ON v.patient = p.patient AND p.age > 60
       WHERE p.patient NOT IN (SELECT patient FROM labs)""",
    """SELECT count(*) FROM (SELECT p.patient, count(*) AS n FROM visits v
       LEFT JOIN patients p ON v.patient = p.patient AND p.age > 60 GROUP BY p.patient) t""",
    "SELECT count(*) FROM (SELECT DISTINCT patient, count(*) AS n FROM visits GROUP BY patient, region) t",
    """SELECT count(*) FROM patients p WHERE EXISTS
       (WITH high AS (SELECT * FROM labs WHERE value > 190) SELECT 1 FROM high WHERE high.patient = p.patient)""",
    "SELECT count(*) FROM patients p WHERE EXISTS (SELECT count(*) FROM labs l WHERE l.patient = p.patient)",
    "SELECT count(*) FROM patients p WHERE NOT EXISTS (SELECT max(value) FROM labs l WHERE l.patient = p.patient)",
    "SELECT count(*) FROM patients v WHERE EXISTS (SELECT 1 FROM labs v WHERE v.patient = v.patient AND v.value > 199)",
    """SELECT a.n FROM (WITH t AS (SELECT * FROM visits WHERE urgent) SELECT count(*) AS n FROM t) b,
       (WITH t AS (SELECT * FROM visits WHERE cost > 500) SELECT count(*) AS n FROM visits
        WHERE cost > (SELECT avg(cost) FROM t)) a""",
    "SELECT count(*) FROM visits WHERE cost > (SELECT count(*) FROM visits GROUP BY region)",
    "SELECT count(*) FROM visits WHERE cost > (SELECT 0.5 * count(*) FROM visits)",
    "SELECT count(*), (SELECT max(v.cost) FROM (SELECT beds AS cost FROM wards) v) FROM visits v",
    "SELECT count(*) FROM patients WHERE (age - 99) % 7 < 0",
    "SELECT sum(- age % 7) FROM patients",
    "SELECT sum(0.25) FROM visits",
    "SELECT sum(CASE WHEN urgent THEN 0.25 END) FROM visits",
    SUM.format("sum(0.4)", "visits"),
    "SELECT sum(greatest(CASE WHEN urgent THEN 7 END, 3)) FROM visits",
    "SELECT sum(least(CASE WHEN urgent THEN 3 END, 7)) FROM visits",
    "SELECT region, region AS r2, count(*) FROM visits GROUP BY 1, 2 ORDER BY 1",
    "SELECT region, count(*) FROM visits GROUP BY region, region ORDER BY 1",
    """SELECT w.ward, w.floor, count(v.patient) FROM wards w LEFT JOIN visits v ON v.ward = w.ward
       GROUP BY 1, 2 ORDER BY 1""",
    "SELECT count(DISTINCT x) FROM (SELECT patient, last_value(urgent) OVER (PARTITION BY patient) AS x FROM visits) t",
    """SELECT sum(a) FROM (SELECT cost AS a, 1.0 AS b FROM visits
       UNION ALL BY NAME SELECT 2.0 AS b, cost AS a FROM visits) t""",
    "SELECT count(*) FROM visits WHERE left(diagnosis, -1) = 'd'",
    """SELECT count(*) FROM (SELECT DISTINCT coalesce(v.patient, l.patient) AS who
       FROM visits v FULL JOIN labs l ON v.patient = l.patient) t""",
    """SELECT count(*) FROM patients p JOIN visits v ON p.patient = v.patient AND v.urgent
       LEFT JOIN labs l ON l.patient = p.patient AND l.value > 100 WHERE p.age > 30""",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hospital.home(tmp_path_factory.mktemp("surface") / "home")


@pytest.fixture(scope="module")
def curator(folder: Path) -> Curator:
    return Curator(folder)


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with hospital.beside() as connection:
        yield connection


@pytest.mark.parametrize("sql", TEXTS)
def test_it_is_answered_as_plain_duckdb_answers_or_not_at_all(
    curator: Curator, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    spent = curator.budget("patient").spent
    try:
        ours = hospital.exactly(curator, sql)
    except Refusal:
        assert curator.budget("patient").spent == spent
        return
    assert not hospital.unlike(ours, plain.execute(sql).fetchall(), 1e-6)


SHADOWS = [
    """WITH labs AS (SELECT ward AS test, 1.0 AS value, floor AS patient FROM wards)
       SELECT w.d, count(p.patient) FROM (SELECT test || CAST(value AS VARCHAR) AS d FROM labs GROUP BY 1) w
       LEFT JOIN patients p ON w.d = p.region GROUP BY w.d""",
    """WITH visits AS (SELECT floor AS patient, ward FROM wards) SELECT count(*) FROM patients p JOIN
       (SELECT a.ward AS d FROM visits x, wards a WHERE x.patient = 42 UNION ALL SELECT ward FROM wards) w
       ON w.d = p.region""",
    "WITH regions AS (SELECT ward AS region, 1.0 AS area FROM wards) SELECT count(*) FROM regions",
]


@pytest.mark.parametrize("sql", SHADOWS)
def test_a_query_of_with_cannot_take_a_table_s_name(curator: Curator, sql: str) -> None:
    with pytest.raises(Refusal, match="a second meaning"):
        curator.explain(sql, epsilon=1)


def test_a_public_question_inside_reads_public_tables_only(curator: Curator) -> None:
    sql = "SELECT count(*) FROM patients p JOIN (SELECT max(region) AS r FROM {} GROUP BY area) w ON w.r = p.region"
    assert curator.explain(sql.format("regions"), epsilon=1).price == Approximate(1)
    with pytest.raises(Refusal):
        curator.explain(sql.format("visits"), epsilon=1)


@pytest.mark.parametrize(
    "moved",
    ["day + INTERVAL '300000' YEAR", "day + INTERVAL '10000000000' MONTH", "day - INTERVAL '99999999999' SECOND * 10"],
)
def test_a_date_is_never_moved_so_far_that_an_engine_fails(curator: Curator, moved: str) -> None:
    sql = (
        f"SELECT count(*) FROM visits WHERE CASE WHEN patient = 42 THEN {moved} > TIMESTAMP '2024-01-01' ELSE TRUE END"
    )
    with pytest.raises(Refusal):
        curator.query(sql, epsilon="0.01")


@pytest.mark.parametrize("digits", [3_000_000_000, -3_000_000_000, 400])
def test_rounding_to_any_number_of_digits_ends(curator: Curator, digits: int) -> None:
    assert hospital.exactly(curator, f"SELECT count(*) FROM visits WHERE round(cost, {digits}) IS NULL")


ZEROS = [
    """SELECT CAST(m AS VARCHAR), count(*)
       FROM (SELECT patient, min(cost) AS m FROM visits GROUP BY patient) t GROUP BY 1""",
    "SELECT CAST(m AS VARCHAR), count(*) FROM (SELECT DISTINCT patient, cost AS m FROM visits) t GROUP BY 1",
    """SELECT CAST(power(m, -1) AS VARCHAR), count(*)
       FROM (SELECT patient, max(cost) AS m FROM visits GROUP BY patient) t GROUP BY 1""",
    """SELECT CAST(m AS VARCHAR), count(*) FROM
       (SELECT first_value(cost) OVER (PARTITION BY patient ORDER BY cost) AS m FROM visits) t GROUP BY 1""",
]


@pytest.mark.parametrize("sql", ZEROS)
def test_nought_and_minus_nought_are_one_number(tmp_path: Path, sql: str) -> None:
    day = clinic.START
    rows = [(i // 4, "north", "d", 0.0 if (i * 7) % 5 else -0.0, day, True) for i in range(4000)]
    curator = Curator(clinic.home(tmp_path / "home", clinic.table(rows), epsilon=10**30))
    found = hospital.exactly(curator, sql)
    assert len(found) == 1


STAGED = [
    """SELECT a.n + b.n FROM (SELECT count(*) AS n FROM visits WHERE cost > (SELECT avg(cost) FROM visits)) a,
       (SELECT count(*) AS n FROM visits WHERE cost > (SELECT avg(cost) FROM visits WHERE urgent)) b""",
    "SELECT avg(cost) FROM visits WHERE cost > (SELECT count(*) FROM visits WHERE cost > 900)",
]


@pytest.mark.parametrize("sql", STAGED)
@pytest.mark.parametrize("fresh", [False, True])
def test_a_question_in_stages_costs_what_was_asked(curator: Curator, sql: str, fresh: bool) -> None:  # noqa: FBT001
    before = curator.budget("patient").spent
    assert isinstance(before, Approximate)
    curator.query(sql, epsilon="0.7", fresh=fresh)
    after = curator.budget("patient").spent
    assert isinstance(after, Approximate)
    assert after.epsilon - before.epsilon <= Approximate("0.7").epsilon


def test_a_first_question_that_nothing_needs_is_refused(curator: Curator) -> None:
    unread = "WITH t AS (SELECT count(*) AS n FROM visits WHERE cost > (SELECT avg(cost) FROM visits)) SELECT 1"
    with pytest.raises(Refusal, match="never read"):
        curator.query(unread, epsilon=1)


def test_joins_that_multiply_a_person_s_rows_without_end_are_refused(curator: Curator) -> None:
    tables = " ".join(f"JOIN visits v{i} ON v0.patient = v{i}.patient" for i in range(1, 12))
    with pytest.raises(Refusal, match="more than 1048576"):
        curator.explain(f"SELECT count(*) FROM visits v0 {tables}", epsilon=1)


def test_a_join_counts_no_more_rows_of_a_person_than_both_sides_may_have(tmp_path: Path) -> None:
    day = clinic.START
    rows = [(1, "north", "d", 5.0, day, True)] * 300 + [(2, "north", "d", 5.0, day, True)]
    curator = Curator(clinic.home(tmp_path / "home", clinic.table(rows), epsilon=10**30, max_rows=3))
    sql = "SELECT count(*) FROM visits a JOIN visits b ON a.patient = b.patient"
    assert hospital.exactly(curator, sql) == [(3 * 3 + 1,)]


GROWING = [
    "WITH t0 AS (SELECT patient FROM visits), {} SELECT count(*) FROM t39",
    "SELECT count(*) FROM visits WHERE " + "power(" * 9 + "cost" + ", 8)" * 9 + " > 1",
    f"SELECT count(*) FROM visits GROUP BY CUBE({', '.join(f'cost + {i} > 0' for i in range(26))})",
    f"SELECT count(*) FROM visits GROUP BY {', '.join(f'CUBE(cost > {i})' for i in range(26))}",
]
DOUBLED = ", ".join(
    f"t{i} AS (SELECT patient FROM t{i - 1} UNION ALL SELECT patient FROM t{i - 1})" for i in range(1, 40)
)
CHAINED = ", ".join(f"t{i} AS (SELECT patient, x + 1 AS x FROM t{i - 1})" for i in range(1, 330))


@pytest.mark.parametrize(
    "sql",
    [
        GROWING[0].format(DOUBLED),
        *GROWING[2:],
        f"WITH t0 AS (SELECT patient, 1 AS x FROM visits), {CHAINED} SELECT count(*) FROM t329",
        "SELECT count() FROM visits",
        "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w, regions r WHERE r.region = v.region)",
    ],
)
def test_what_would_grow_or_break_in_planning_is_refused(curator: Curator, sql: str) -> None:
    with pytest.raises(Refusal):
        curator.explain(sql, epsilon=1)


def test_powers_of_powers_are_planned(curator: Curator) -> None:
    assert curator.explain(GROWING[1], epsilon=1).price == Approximate(1)
