"""Questions are cut at the noise, and what would show a person is refused with a reason and a repair."""

from __future__ import annotations

import clinic
import pytest

from discreet.declared.table import Caps
from discreet.errors import Refusal
from discreet.sql.plan import Rank, Statistic
from discreet.sql.split_at_noise import question


def kinds(sql: str) -> list[list[str]]:
    """The statistics that a question measures, part by part."""
    return [
        [s.kind if isinstance(s, Statistic) else f"rank {s.quantile}" for s in part.measurement.statistics]
        for part in question(sql, clinic.schema()).parts
    ]


@pytest.mark.parametrize(
    ("sql", "measured"),
    [
        ("SELECT count(*) FROM visits", [["rows"]]),
        ("SELECT count(1) FROM visits", [["rows"]]),
        ("SELECT count(cost) FROM visits", [["present"]]),
        ("SELECT count(DISTINCT patient) FROM visits", [["units"]]),
        ("SELECT sum(cost) FROM visits", [["total"]]),
        ("SELECT avg(cost) FROM visits", [["present", "centred"]]),
        ("SELECT variance(cost), stddev(cost), avg(cost) FROM visits", [["present", "centred", "squares"]]),
        ("SELECT median(cost), min(cost), max(cost) FROM visits", [["rank 1/2", "rank 0", "rank 1"]]),
        ("SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY cost) FROM visits", [["rank 19/20"]]),
        ("SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY cost DESC) FROM visits", [["rank 1/20"]]),
        ("SELECT count(*) + 1, count(*) * 2 FROM visits", [["rows"]]),
        ("SELECT sum(CASE WHEN urgent THEN 1 ELSE 0 END) FROM visits", [["total"]]),
        ("SELECT region FROM visits GROUP BY region", [[]]),
        ("SELECT DISTINCT diagnosis FROM visits", [[]]),
        ("WITH a AS (SELECT cost AS c FROM visits WHERE urgent) SELECT sum(c) FROM a", [["total"]]),
        ("SELECT a.n - b.n FROM (SELECT count(*) n FROM visits) a, (SELECT count(*) n FROM visits WHERE urgent) b",
         [["rows"], ["rows"]]),
        ("SELECT sum(beds) FROM wards", []),
    ],
)  # fmt: skip
def test_each_aggregate_is_measured_once(sql: str, measured: list[list[str]]) -> None:
    assert kinds(sql) == measured


def test_what_stands_above_the_noise() -> None:
    found = question(
        "SELECT region, count(*) AS n, sum(count(*)) OVER () AS all_of_them FROM visits WHERE cost > 100 "
        "GROUP BY region HAVING count(*) > 3 ORDER BY n DESC LIMIT 2",
        clinic.schema(),
    )
    text = found.above.sql(dialect="duckdb")
    assert "visits" not in text
    assert "WHERE" in text
    assert "LIMIT 2" in text
    assert found.columns == ("region", "n", "all_of_them")
    assert found.direct == (("#0", "key_0"), ("#0", "value_0"), None)


def test_keys_are_declared_or_follow_from_what_is() -> None:
    dear = "CASE WHEN cost > 9 THEN 'dear' ELSE 'cheap' END"
    sql = f"SELECT region, urgent, upper(region), {dear}, substring(region, 1, 1) FROM visits GROUP BY 1, 2, 3, 4, 5"
    (part,) = question(sql, clinic.schema()).parts
    loud = tuple(region.upper() for region in clinic.REGIONS)
    values = [key.values for key in part.measurement.keys]
    assert values == [clinic.REGIONS, (False, True), loud, ("dear", "cheap"), None]
    assert not part.measurement.declared


def test_a_question_s_own_caps_replace_the_declared_ones() -> None:
    (part,) = question("SELECT count(*) FROM visits", clinic.schema(), Caps(max_rows=2, max_groups=1)).parts
    assert (part.measurement.max_rows, part.measurement.max_groups) == (2, 1)


def test_the_key_of_a_question_is_its_meaning() -> None:
    def key(sql: str, max_rows: int | None = None) -> str:
        return question(sql, clinic.schema(), Caps(max_rows=max_rows)).parts[0].measurement.question

    plain = key("SELECT count(*) FROM visits WHERE cost > 100")
    assert key("select   COUNT(*) as n from visits v where v.cost > 100 order by 1") == plain
    assert key("SELECT count(*) FROM visits WHERE cost > 101") != plain
    assert key("SELECT count(*) FROM visits WHERE cost > 100", max_rows=3) != plain


REFUSED = [
    ("SELECT * FROM visits", "rows of people"),
    ("SELECT patient FROM visits", "rows of people"),
    ("SELECT cost FROM visits LIMIT 5", "LIMIT"),
    ("SELECT patient, sum(cost) FROM visits GROUP BY patient", "rows of people, each of one patient"),
    ("SELECT sum(exp(cost)) FROM visits", "no bounds"),
    ("SELECT sum(1 / (cost - 100)) FROM visits", "no bounds"),
    ("SELECT sum(CAST(diagnosis AS INT)) FROM visits", "no bounds"),
    ("SELECT sum(diagnosis) FROM visits", "only numbers"),
    ("SELECT sum(cost) OVER (PARTITION BY region) FROM visits", "window"),
    ("SELECT count(*) FROM visits a JOIN visits b ON a.region = b.region", "not on the unit"),
    ("SELECT count(*) FROM visits, wards", "no equality"),
    ("SELECT count(*) FROM visits WHERE cost IN (SELECT cost FROM visits)", "other people's rows"),
    ("SELECT count(*) FROM visits WHERE patient IN (SELECT extract(year FROM day) FROM visits)", "other people's rows"),
    (
        "SELECT count(*) FROM visits v WHERE cost > (SELECT avg(cost) FROM visits w WHERE w.day = v.day)",
        "row around it",
    ),
    ("SELECT string_agg(region, ',') FROM visits", "not supported"),
    ("SELECT array_agg(cost) FROM visits", "not supported"),
    ("SELECT random() FROM visits", "not supported"),
    ("SELECT read_csv('x')", "not supported"),
    ("SELECT pg_sleep(10)", "not supported"),
    ("SELECT count(*) FROM read_parquet('x')", "no|not"),
    ("COPY visits TO 'x'", "only SELECT"),
    ("DROP TABLE visits", "only SELECT"),
    ("SET threads = 1", "only SELECT"),
    ("SELECT 1; SELECT 2", "one question, got 2"),
    ("", "one question, got 0"),
    ("SELECT sum(cost FROM visits", "not SQL"),
    ("SELECT nothing FROM visits", "nothing"),
    ("SELECT count(*) FROM nowhere", "no table 'nowhere'"),
    ("SELECT count(*) FROM main.visits", "without a schema"),
    ("SELECT region, cost FROM visits GROUP BY region", "neither grouped nor aggregated"),
    ("SELECT count(*) FROM visits WHERE cost", "not a condition"),
    ("SELECT count(*) FROM visits WHERE region > 3", "does not take"),
    ("SELECT count(*) FROM visits WHERE day > 'yesterday'", "not a date"),
    ("SELECT count(*) FROM visits GROUP BY ROLLUP (region, patient)", "each of one patient"),
    ("SELECT count(DISTINCT (diagnosis, region)) FROM visits", "cannot be used|pairs"),
    ("SELECT regexp_replace(region, '(a+)+', '') FROM visits", "not supported"),
    ("SELECT count(*) FROM visits TABLESAMPLE BERNOULLI (10)", "not supported"),
    ("SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY cost) FROM visits", "between 0 and 1"),
    ("SELECT count(*) FROM visits UNION ALL SELECT cost FROM visits", "UNION"),
]


@pytest.mark.parametrize(("sql", "reason"), REFUSED)
def test_refusals_name_their_reason(sql: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        question(sql, clinic.schema())


def test_without_a_row_cap_only_units_are_counted() -> None:
    assert question("SELECT count(DISTINCT patient) FROM visits", clinic.schema(max_rows=None)).parts
    for aggregate in ("count(*)", "sum(cost)", "avg(cost)", "median(cost)"):
        with pytest.raises(Refusal, match="--max-rows"):
            question(f"SELECT {aggregate} FROM visits", clinic.schema(max_rows=None))


def test_a_refusal_offers_the_repair() -> None:
    with pytest.raises(Refusal, match=r"LEAST\(GREATEST\(exp\(cost\), LOW\), HIGH\)"):
        question("SELECT sum(exp(cost)) FROM visits", clinic.schema())
    repaired = "SELECT sum(LEAST(GREATEST(EXP(visits.cost), 0), 10)) FROM visits"
    (part,) = question(repaired, clinic.schema()).parts
    statistic = part.measurement.statistics[0]
    assert not isinstance(statistic, Rank)
    assert statistic.grid is not None
    assert statistic.grid.low * statistic.grid.step == 0
    assert statistic.grid.high * statistic.grid.step == 10


def test_a_condition_bounds_what_passes_it() -> None:
    for condition in ("cost BETWEEN 10 AND 20", "cost >= 10 AND 20 >= cost"):
        (part,) = question(f"SELECT sum(cost) FROM visits WHERE {condition}", clinic.schema()).parts
        (statistic,) = part.measurement.statistics
        assert statistic.grid is not None
        ends = statistic.grid.low * statistic.grid.step, statistic.grid.high * statistic.grid.step
        assert [int(end) for end in ends] == [10, 20]
    outside, every = "SELECT sum(cost) FROM visits WHERE cost NOT BETWEEN 10 AND 20", "SELECT sum(cost) FROM visits"
    (one,), (two,) = (question(sql, clinic.schema()).parts for sql in (outside, every))
    assert one.measurement.statistics == two.measurement.statistics
