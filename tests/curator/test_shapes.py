"""The questions analysts write, each equal to plain DuckDB on the same rows where no cap binds.

The numbers are the rows of the survey of query suites: twenty-four shapes that a curator should answer. A text stands
under the first shape it needs; what the survey does not number (windows, semi-joins, stages) has a name instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import duckdb
import hospital
import pytest

from discreet.curator import Curator
from discreet.privacy import Approximate

PER_PATIENT = "(SELECT patient, sum(cost) AS s, count(*) AS n FROM visits GROUP BY patient) t"
ORDERED = "OVER (PARTITION BY patient ORDER BY day)"
BOTH = "visits v JOIN patients p ON v.patient = p.patient"

TEXTS = f"""
-- 1 count
SELECT count(*) FROM visits;
SELECT count(1) AS n FROM labs;
SELECT count(cost) FROM visits;
-- 2 count units
SELECT count(DISTINCT patient) FROM visits;
SELECT region, count(DISTINCT patient) FROM visits GROUP BY region ORDER BY region;
-- 3 count distinct
SELECT count(DISTINCT diagnosis) FROM visits;
SELECT count(DISTINCT ward), count(DISTINCT region) FROM visits WHERE urgent;
SELECT region, count(DISTINCT diagnosis), count(*) FROM visits GROUP BY region ORDER BY region;
SELECT count(DISTINCT extract(year FROM day)) FROM visits;
-- 4 sum
SELECT sum(cost) FROM visits;
SELECT sum(age), count(age) FROM patients;
SELECT sum(cost) - 100 * count(*), sum(2 * cost + 1) FROM visits;
SELECT test, sum(value) FROM labs GROUP BY test ORDER BY test;
-- 5 avg
SELECT avg(cost) FROM visits;
SELECT avg(age), avg(age) FILTER (WHERE sex = 'f') FROM patients;
SELECT test, avg(value) AS mean FROM labs GROUP BY test ORDER BY test;
-- 6 var
SELECT variance(cost), var_pop(cost), stddev(cost), stddev_samp(cost) FROM visits;
SELECT test, var_samp(value), stddev_pop(value) FROM labs GROUP BY test ORDER BY test;
-- 9 known keys
SELECT region, count(*), sum(cost), avg(cost) FROM visits GROUP BY region ORDER BY region;
SELECT sex, region, count(*), avg(age) FROM patients WHERE sex IS NOT NULL GROUP BY sex, region ORDER BY 1, 2;
SELECT urgent, region AS r, count(*) FROM visits GROUP BY urgent, r ORDER BY urgent, r;
SELECT upper(region), count(*) FROM visits GROUP BY upper(region) ORDER BY 1;
-- 10 unknown keys
SELECT diagnosis, count(*), sum(cost), avg(cost) FROM visits GROUP BY diagnosis ORDER BY diagnosis;
SELECT diagnosis, region, count(*) AS n FROM visits GROUP BY 1, 2 HAVING count(*) > 10 ORDER BY 1, 2;
SELECT DISTINCT diagnosis FROM visits WHERE diagnosis IS NOT NULL ORDER BY diagnosis;
SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward ORDER BY ward;
-- 11 where
SELECT count(*) FROM visits WHERE cost > 100;
SELECT sum(cost) FROM visits WHERE cost BETWEEN 10.5 AND 900 AND NOT urgent OR diagnosis IN ('d1', 'd2');
SELECT count(*) FROM visits WHERE day >= DATE '2024-03-01' AND day < DATE '2024-03-01' + INTERVAL '1' YEAR;
SELECT count(*) FROM visits WHERE diagnosis IS NULL OR ward LIKE 'w_' AND diagnosis NOT LIKE '%5';
SELECT count(*) FROM labs WHERE taken BETWEEN TIMESTAMP '2024-05-01 12:00:00' AND '2025-01-01';
SELECT count(*) FROM patients WHERE coalesce(age, 40) >= 40 AND born > '1950-06-01';
SELECT count(*) FROM visits WHERE diagnosis IS NOT NULL;
SELECT count(*) FROM visits WHERE diagnosis NOT LIKE '%5';
SELECT count(*) FROM visits WHERE ward IS DISTINCT FROM 'w1' AND cost NOT BETWEEN 5 AND 100;
-- 12 having
SELECT region, count(*) AS n FROM visits GROUP BY region HAVING count(*) > 130 ORDER BY region;
SELECT diagnosis FROM visits GROUP BY diagnosis HAVING avg(cost) > 480 AND count(*) > 20 ORDER BY 1;
-- 13 order and limit
SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY n DESC, region LIMIT 2;
SELECT diagnosis, sum(cost) FROM visits GROUP BY diagnosis ORDER BY sum(cost) DESC LIMIT 3 OFFSET 1;
SELECT test, avg(value) FROM labs GROUP BY test ORDER BY 2 DESC NULLS LAST FETCH FIRST 2 ROWS ONLY;
-- 14 derived table
SELECT sum(c) FROM (SELECT cost AS c, urgent FROM visits WHERE cost > 50) t WHERE NOT urgent;
SELECT r, count(*) FROM (SELECT * FROM (SELECT region AS r, cost FROM visits) a WHERE cost > 9) b GROUP BY r ORDER BY
r;
SELECT max(n) - min(n), avg(n) FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) t;
-- 15 cte
WITH u AS (SELECT region AS r, cost FROM visits WHERE urgent) SELECT r, sum(cost) FROM u GROUP BY r ORDER BY r;
WITH a AS (SELECT * FROM visits WHERE cost > 9), b(who, c) AS (SELECT patient, cost FROM a) SELECT count(*),
count(DISTINCT who), sum(c) FROM b;
WITH t AS (SELECT region, count(*) AS n FROM visits GROUP BY region) SELECT region, n, n / sum(n) OVER () FROM t ORDER
BY region;
WITH u AS (SELECT patient FROM visits WHERE urgent) SELECT a.n, b.n FROM (SELECT count(*) AS n FROM u) a, (SELECT
count(DISTINCT patient) AS n FROM u) b;
-- 16 per unit
SELECT avg(s) FROM {PER_PATIENT};
SELECT avg(LEAST(GREATEST(s, 0), 3000)), count(*) FROM {PER_PATIENT};
SELECT count(*), sum(n) FROM {PER_PATIENT} WHERE s > 1500 AND n < 8;
SELECT n, count(*) FROM {PER_PATIENT} GROUP BY n HAVING count(*) > 3 ORDER BY n;
SELECT avg(n) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient HAVING count(*) >= 3) t;
WITH t AS (SELECT patient, max(cost) AS top, min(day) AS first FROM visits GROUP BY patient) SELECT avg(top), count(*)
FROM t WHERE first < '2024-06-01';
SELECT r, avg(m), count(*) FROM (SELECT patient, region AS r, avg(cost) AS m FROM visits GROUP BY patient, region) t
GROUP BY r ORDER BY r;
SELECT count(*) FROM (SELECT patient, count(DISTINCT diagnosis) AS k FROM visits GROUP BY patient) t WHERE k > 2;
SELECT avg(a - b) FROM (SELECT patient, max(value) AS a, min(value) AS b FROM labs GROUP BY patient) t;
-- 16 distinct that keeps the unit
SELECT count(*) FROM (SELECT DISTINCT patient, diagnosis FROM visits) t;
SELECT diagnosis, count(*) FROM (SELECT DISTINCT patient, diagnosis FROM visits) t GROUP BY 1 ORDER BY 1;
-- 17 case and filter
SELECT sum(CASE WHEN urgent THEN 1 ELSE 0 END), sum(CASE WHEN cost > 500 THEN cost END) FROM visits;
SELECT avg(CASE region WHEN 'north' THEN 1.0 WHEN 'south' THEN 0.5 ELSE 0 END) FROM visits;
SELECT region, count(*) FILTER (WHERE urgent), sum(cost) FILTER (WHERE NOT urgent) FROM visits GROUP BY region ORDER
BY region;
SELECT count(*) FILTER (WHERE urgent) * 1.0 / count(*) FROM visits;
SELECT count(CASE WHEN urgent THEN cost END), count(DISTINCT patient) FILTER (WHERE urgent) FROM visits;
-- 18 arithmetic above the noise
SELECT 1 + count(*) FROM visits;
SELECT round(sum(cost) / count(*), 2), CASE WHEN count(*) > 100 THEN 'many' ELSE 'few' END FROM visits;
SELECT region, rank() OVER (ORDER BY count(*) DESC) AS k FROM visits GROUP BY region ORDER BY k, region;
SELECT region, 100.0 * count(*) / sum(count(*)) OVER () FROM visits GROUP BY region ORDER BY region;
-- 19 grouping by an expression
SELECT ceil(cost / 250), count(*) FROM visits WHERE cost IS NOT NULL GROUP BY 1 HAVING count(*) > 20 ORDER BY 1;
SELECT date_trunc('quarter', day) AS q, count(*) FROM visits GROUP BY q ORDER BY q;
SELECT extract(year FROM day) AS y, extract(month FROM day) AS m, count(*) FROM visits GROUP BY y, m ORDER BY 1, 2;
SELECT CASE WHEN cost < 300 THEN 'low' WHEN cost < 700 THEN 'mid' ELSE 'high' END AS band, count(*), sum(cost) FROM
visits GROUP BY band ORDER BY band;
SELECT round(cost, -2), count(*) FROM visits WHERE cost > 0 GROUP BY 1 HAVING count(*) > 20 ORDER BY 1;
SELECT 20 * CAST(floor(age / 20.0) AS BIGINT) AS decade, count(*) FROM patients WHERE age < 100 GROUP BY decade ORDER
BY decade;
SELECT region IN ('north', 'south') AS inland, count(*) FROM visits GROUP BY inland ORDER BY inland;
SELECT coalesce(ward, '?'), count(*) FROM visits GROUP BY 1 ORDER BY 1;
SELECT date_trunc('year', taken), test, count(*) FROM labs GROUP BY 1, 2 ORDER BY 1, 2;
-- 19 grouping sets
SELECT region, urgent, count(*) FROM visits GROUP BY ROLLUP (region, urgent) ORDER BY 1 NULLS LAST, 2 NULLS LAST;
SELECT region, region, count(*) FROM visits GROUP BY ROLLUP (region) ORDER BY 1 NULLS LAST;
SELECT region, urgent, sum(cost) FROM visits GROUP BY CUBE (region, urgent) ORDER BY 1 NULLS LAST, 2 NULLS LAST;
SELECT region, urgent, count(*), avg(cost) FROM visits GROUP BY GROUPING SETS ((region), (urgent), ()) ORDER BY 1
NULLS LAST, 2 NULLS LAST;
SELECT test, count(*) FROM labs GROUP BY ROLLUP (test) HAVING count(*) > 10 ORDER BY test NULLS FIRST;
-- 20 join with a public table
SELECT count(*) FROM visits JOIN wards USING (ward);
SELECT w.floor, count(*), sum(v.cost) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor ORDER BY 1;
SELECT count(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward WHERE w.ward IS NULL;
SELECT sum(LEAST(GREATEST(beds, 0), 100)) FROM visits v LEFT JOIN wards w ON w.ward = v.ward;
SELECT count(*) FROM visits v, wards w, regions r WHERE v.ward = w.ward AND r.region = v.region AND area > 100.5;
SELECT r.region, avg(v.cost) FROM regions r JOIN visits v ON r.region = v.region GROUP BY r.region ORDER BY 1;
SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor = 1);
SELECT count(*) FROM visits v JOIN (SELECT ward, max(beds) AS b FROM wards GROUP BY ward) w USING (ward) WHERE b > 20;
-- 21 join on the unit
SELECT count(*), sum(v.cost) FROM {BOTH} WHERE p.age > 50;
SELECT p.sex, count(*), avg(cost) FROM {BOTH} WHERE sex IS NOT NULL GROUP BY p.sex ORDER BY p.sex;
SELECT count(*), count(DISTINCT patient) FROM visits JOIN labs USING (patient);
SELECT count(*) FROM visits v, patients p WHERE p.patient = v.patient AND v.region = p.region AND age < 60;
SELECT count(*), count(p.age) FROM visits v LEFT JOIN patients p ON v.patient = p.patient;
SELECT count(*) FROM visits a JOIN visits b ON a.patient = b.patient AND a.day < b.day WHERE b.urgent;
SELECT test, count(*), avg(s) FROM labs JOIN (SELECT patient, sum(cost) AS s FROM visits GROUP BY patient) t USING
(patient) GROUP BY test ORDER BY test;
SELECT floor, count(DISTINCT v.patient) FROM visits v JOIN patients p ON v.patient = p.patient JOIN wards w ON v.ward
= w.ward WHERE p.age < 70 GROUP BY floor ORDER BY floor;
-- 21 semi- and anti-join on the unit
SELECT count(*) FROM visits WHERE patient IN (SELECT patient FROM labs WHERE test = 'iron');
SELECT count(*), avg(age) FROM patients WHERE patient NOT IN (SELECT patient FROM visits);
SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND l.value > 150);
SELECT count(*) FROM patients p WHERE NOT EXISTS (SELECT * FROM labs WHERE labs.patient = p.patient);
SELECT count(*) FROM patients WHERE age > 20 AND patient IN (SELECT patient FROM visits GROUP BY patient HAVING
count(*) > 4);
-- 22 union all
SELECT count(*), count(DISTINCT patient) FROM (SELECT patient FROM visits UNION ALL SELECT patient FROM labs) t;
SELECT k, count(*), sum(x) FROM (SELECT patient, 'visit' AS k, cost AS x FROM visits WHERE urgent UNION ALL SELECT
patient, 'lab', value FROM labs UNION ALL SELECT patient, 'age', age FROM patients) t GROUP BY k ORDER BY k;
-- 24 public keys
SELECT w.ward, count(v.patient) FROM wards w LEFT JOIN visits v ON w.ward = v.ward GROUP BY w.ward ORDER BY w.ward;
SELECT wards.ward, count(DISTINCT visits.patient), coalesce(sum(visits.cost), 0) FROM visits RIGHT JOIN wards ON
visits.ward = wards.ward GROUP BY wards.ward ORDER BY wards.ward;
SELECT r.region, count(p.patient) FROM regions r LEFT JOIN patients p ON r.region = p.region AND p.age > 30 GROUP BY
r.region ORDER BY r.region;
-- windows
SELECT avg(LEAST(GREATEST(gap, 0), 365)) FROM (SELECT patient, day - lag(day) {ORDERED} AS gap FROM visits) t;
SELECT count(*), sum(cost) FROM (SELECT *, row_number() {ORDERED} AS k FROM visits) t WHERE k = 1;
SELECT count(*) FROM (SELECT patient, cost, sum(cost) OVER (PARTITION BY patient ORDER BY day ROWS BETWEEN UNBOUNDED
PRECEDING AND CURRENT ROW) AS running FROM visits) t WHERE running > 800;
SELECT count(*) FROM (SELECT urgent, lead(urgent) {ORDERED} AS next FROM visits) t WHERE urgent AND NOT next;
SELECT avg(share) FROM (SELECT LEAST(cost / nullif(max(cost) OVER (PARTITION BY patient), 0), 1) AS share FROM visits
WHERE cost > 1) t;
SELECT region, count(*) FROM (SELECT region, row_number() OVER (PARTITION BY patient ORDER BY day DESC) AS k FROM
visits WHERE cost > 5) t WHERE k <= 2 GROUP BY region ORDER BY region;
-- noisy tables joined
SELECT a.region, a.n, b.m, a.n * 1.0 / b.m FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) a JOIN
(SELECT region, count(*) AS m FROM patients GROUP BY region) b ON a.region = b.region ORDER BY 1;
SELECT t.region, n / area FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) t JOIN regions USING
(region) ORDER BY 1;
SELECT (SELECT count(*) FROM visits) - (SELECT count(*) FROM labs);
SELECT region, count(*), count(*) * 1.0 / (SELECT count(*) FROM visits) FROM visits GROUP BY region ORDER BY region;
SELECT 'visits' AS what, count(*) AS n FROM visits UNION ALL SELECT 'labs', count(*) FROM labs ORDER BY what;
WITH n AS (SELECT region, count(*) AS n FROM visits GROUP BY region) SELECT region FROM n WHERE n = (SELECT max(n)
FROM n);
-- 16 of the refusals, as a paid first stage
SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits);
SELECT region, count(*) FROM visits WHERE cost < 0.5 * (SELECT avg(cost) FROM visits WHERE urgent) GROUP BY region
ORDER BY region;
WITH m AS (SELECT avg(age) AS a FROM patients) SELECT count(*) FROM patients WHERE age > (SELECT a FROM m);
"""


ANSWERED = hospital.listed(TEXTS)
# Equal up to the grid: these divide, so each row is rounded to a step before it is summed.
ROUNDED = {"SELECT avg(share)": 1e-2, "avg(m), count(*)": 1e-4}
# Not in DuckDB, but in the standard that analysts know: what it means, said in DuckDB's words.
TRANSLATED = {
    "SELECT width_bucket(cost, 0, 1000, 4) AS b, count(*) FROM visits WHERE cost < 1000 GROUP BY b HAVING count(*) > 0 ORDER BY b": (  # noqa: E501
        "SELECT 1 + CAST(floor(cost / 250) AS BIGINT), count(*) FROM visits WHERE cost < 1000 GROUP BY 1 ORDER BY 1"
    ),
}
# 7 and 8: the text, the column and its rows, the share of rows below the answer.
QUANTILES = [
    ("SELECT median(cost) FROM visits", "cost FROM visits", 0.5),
    ("SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY cost) FROM visits", "cost FROM visits", 0.95),
    ("SELECT percentile_disc(0.1) WITHIN GROUP (ORDER BY value) FROM labs", "value FROM labs", 0.1),
    (
        "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY cost) FROM visits WHERE urgent",
        "cost FROM visits WHERE urgent",
        0.25,
    ),
    ("SELECT median(age) FROM patients WHERE sex = 'f'", "age FROM patients WHERE sex = 'f'", 0.5),
    (f"SELECT median(s) FROM {PER_PATIENT}", f"s FROM {PER_PATIENT}", 0.5),
    (f"SELECT median(v.cost) FROM {BOTH} WHERE p.age > 40", f"cost FROM {BOTH} WHERE p.age > 40", 0.5),
    ("SELECT min(cost) FROM visits", "cost FROM visits", 0.0),
    ("SELECT max(value) FROM labs WHERE test = 'tsh'", "value FROM labs WHERE test = 'tsh'", 1.0),
    (
        "SELECT max(s) FROM (SELECT patient, sum(cost) AS s FROM visits GROUP BY patient) t",
        f"s FROM {PER_PATIENT}",
        1.0,
    ),
]
CASES = [pytest.param(sql, id=f"{shape}: {sql[:60]}") for shape, texts in ANSWERED.items() for sql in texts]

Asked = tuple[Curator, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with hospital.beside() as plain:
        yield Curator(hospital.home(tmp_path_factory.mktemp("shapes") / "home")), plain


@pytest.mark.parametrize("sql", CASES)
def test_the_answer_is_that_of_plain_duckdb(asked: Asked, sql: str) -> None:
    curator, plain = asked
    within = next((error for part, error in ROUNDED.items() if part in sql), hospital.EXACT)
    theirs = plain.execute(sql).fetchall()
    assert theirs, "the text compares nothing"
    assert not hospital.unlike(hospital.exactly(curator, sql), theirs, within)


@pytest.mark.parametrize("sql", TRANSLATED)
def test_the_answer_is_what_the_standard_means(asked: Asked, sql: str) -> None:
    curator, plain = asked
    assert not hospital.unlike(hospital.exactly(curator, sql), plain.execute(TRANSLATED[sql]).fetchall())


@pytest.mark.parametrize(("sql", "cells", "share"), QUANTILES)
def test_a_quantile_has_the_rank_it_was_asked_for(asked: Asked, sql: str, cells: str, share: float) -> None:
    curator, plain = asked
    ((found,),) = hospital.exactly(curator, sql)
    column, _, rest = cells.partition(" FROM ")
    counted = f"SELECT count(*) FILTER (WHERE {column} < ?), count(*) FILTER (WHERE {column} <= ?), count({column})"
    below, upto, rows = plain.execute(f"{counted} FROM {rest}", [found, found]).fetchall()[0]
    assert below - 1 <= share * rows <= upto + 1


def test_quantiles_of_groups_have_their_ranks(asked: Asked) -> None:
    curator, plain = asked
    for region, found in hospital.exactly(curator, "SELECT region, median(cost) FROM visits GROUP BY region"):
        counted = "SELECT count(*) FILTER (WHERE cost < ?), count(*) FILTER (WHERE cost <= ?), count(cost) FROM visits"
        cells = plain.execute(f"{counted} WHERE region = ?", [found, found, region]).fetchall()[0]
        assert cells[0] - 1 <= cells[2] / 2 <= cells[1] + 1


@pytest.mark.parametrize("sql", ANSWERED["19 grouping sets"])
def test_all_grouping_sets_have_one_price(asked: Asked, sql: str) -> None:
    assert asked[0].explain(sql, epsilon=1).price == Approximate(1)


@pytest.mark.parametrize("sql", ANSWERED["24 public keys"] + ANSWERED["9 known keys"])
def test_known_keys_need_no_delta(asked: Asked, sql: str) -> None:
    assert asked[0].explain(sql, epsilon=1).price == Approximate(1)


def test_a_sub_aggregate_that_occurs_twice_is_measured_once(asked: Asked) -> None:
    sql = "SELECT a.n, b.n FROM (SELECT count(*) AS n FROM visits) a, (SELECT count(*) AS n FROM visits) b"
    ((one, two),) = asked[0].query(sql, epsilon="0.01").rows
    assert one == two


def test_both_stages_are_paid_out_of_what_was_asked(asked: Asked) -> None:
    answer = asked[0].query(ANSWERED["16 of the refusals, as a paid first stage"][0], epsilon=1, fresh=True)
    assert answer.cost == Approximate(1)


@pytest.fixture(scope="module")
def baited(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    content, bait = hospital.rows(), hospital.bait()
    return Curator(
        hospital.home(
            tmp_path_factory.mktemp("bait") / "home",
            {name: data + bait.get(name, []) for name, data in content.items()},
        )
    )


@pytest.mark.parametrize("shape", ANSWERED)
def test_no_cell_of_one_patient_makes_a_shape_fail(asked: Asked, baited: Curator, shape: str) -> None:
    sql = ANSWERED[shape][-1]
    one, two = (curator.query(sql, epsilon=hospital.DEAR, delta="1e-9", fresh=True) for curator in (asked[0], baited))
    assert (one.columns, one.types, one.cost) == (two.columns, two.types, two.cost)
    assert all(math.isfinite(cell) for row in two.rows for cell in row if isinstance(cell, float))


@pytest.mark.parametrize(
    "column", ["value FROM labs", "cost FROM visits WHERE region = 'north'", "LEAST(value, 9) FROM labs"]
)
def test_a_mean_is_the_sum_over_the_count_whatever_the_cells(baited: Curator, column: str) -> None:
    cell, rows = column.split(" FROM ", 1)
    ((total, count, mean),) = hospital.exactly(baited, f"SELECT sum({cell}), count({cell}), avg({cell}) FROM {rows}")
    assert isinstance(total, float)
    assert isinstance(count, int)
    assert mean == pytest.approx(total / count)
