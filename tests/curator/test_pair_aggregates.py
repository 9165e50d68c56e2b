"""CORR, COVAR_* and REGR_*: where noise is nothing they are DuckDB's, and nothing is bought twice for them."""

from __future__ import annotations

import hospital
import pytest

from discreet.curator import Curator
from discreet.errors import Refusal

WORDS = (
    "corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_count", "regr_avgx",
    "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy",
)  # fmt: skip
EVERY = ", ".join(f"{word}({{}})" for word in WORDS)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    return Curator(hospital.home(tmp_path_factory.mktemp("home") / "home"))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {EVERY.replace('{}', 'cost, cost * cost')} FROM visits",
        f"SELECT {EVERY.replace('{}', 'CASE WHEN cost < 100 THEN cost END, cost / 2')} FROM visits",
        f"SELECT region, {EVERY.replace('{}', 'cost, 7 - cost')} FROM visits GROUP BY region ORDER BY region",
        "SELECT corr(cost, -cost) FILTER (WHERE urgent), regr_slope(cost, cost * cost) FROM visits WHERE cost > 3",
        "SELECT round(regr_r2(cost, -cost), 3) + 1 FROM visits HAVING corr(cost, -cost) < 0",
        "SELECT CORR(n, m) FROM (SELECT region, count(*) AS n, avg(cost) AS m FROM visits GROUP BY region) t",
    ],
)
def test_without_noise_they_are_those_of_duckdb(curator: Curator, sql: str) -> None:
    with hospital.beside() as plain:
        truth = plain.execute(sql).fetchall()
    assert len(truth) >= 1
    assert hospital.unlike(hospital.exactly(curator, sql), truth, 1e-4) == ""


def test_no_spread_has_no_correlation(curator: Curator) -> None:
    [told] = hospital.exactly(curator, "SELECT corr(cost, cost), regr_slope(cost, cost) FROM visits WHERE cost = 1e-7")
    assert told == (None, None)


def test_one_question_buys_the_sums_once(curator: Curator) -> None:
    """All twelve words are arithmetic on what a correlation, a count and a sum of squares buy."""
    few = "corr(cost, 7 - cost), regr_count(cost, 7 - cost), regr_sxx(cost, 7 - cost), regr_syy(cost, 7 - cost)"
    some, every = (
        curator.explain(f"SELECT {words} FROM visits", epsilon=1)
        for words in (few, EVERY.replace("{}", "cost, 7 - cost"))
    )
    assert sorted(some.plan) == sorted(every.plan)


def test_a_column_is_called_as_its_word(curator: Curator) -> None:
    told = curator.query("SELECT corr(cost, -cost), REGR_R2(cost, -cost) FILTER (WHERE urgent) FROM visits", epsilon=1)
    assert told.columns == ("corr", "regr_r2")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT corr(age, weight) FROM patients", "weight"),
        ("SELECT corr(cost, cost) OVER (PARTITION BY region) FROM visits", "not supported"),
        ("SELECT corr(cost) FROM visits", ""),
        ("SELECT regr_slope(cost, patient) FROM visits", "patient"),
    ],
)
def test_what_cannot_be_summed_is_refused(curator: Curator, sql: str, said: str) -> None:
    with pytest.raises(Refusal) as refused:
        curator.explain(sql)
    assert said in str(refused.value)


def test_noise_does_not_lead_out_of_what_a_correlation_can_be(curator: Curator) -> None:
    for _ in range(20):
        sql = "SELECT corr(cost, cost), regr_r2(cost, cost) FROM visits WHERE cost < 5"
        [(told, share)] = curator.query(sql, epsilon="0.01", delta="1e-9", fresh=True).rows
        assert told is None or (-1 <= float(str(told)) <= 1 and 0 <= float(str(share)) <= 1)
