"""What made-up questions once found, each by itself: numbers that plain DuckDB has and an answer had not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.exact import Number

NAN = float("nan")
ROWS = pa.table(
    {
        "person": [1, 1, 2, 2, 3],
        "income": [227255840.45, 1.5, 10.25, 999999999.99, 3.0],
        "age": [1, 2, 4, 4, 9],
        "weight": [-20, 10, 10, None, None],
        "size": [1e-6, 5e-7, 3e-7, 0.0, 0.0],
        "share": [NAN, 0.5, 0.25, NAN, NAN],
        "odd": [True, False, True, False, None],
    }
)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    home: Path = tmp_path_factory.mktemp("found") / "home"
    found_home(home)
    bounds: dict[str, tuple[Number, Number]] = {
        "income": (0, 10**9),
        "age": (0, 10),
        "weight": (-20, 20),
        "size": (0, "1e-6"),
        "share": (0, 1),
    }
    said = Declared(unit="person", epsilon="1e30", delta="1e-3", max_rows=4, max_groups=4, bounds=bounds)
    Custody(home).add("visits", ROWS, replace(said, steps={"size": "1e-7"}))
    return dp.open(home)


@pytest.mark.parametrize(
    ("sql", "truth"),
    [
        # a filter lost the step of its column: sums were rounded to hundreds, and the error bar was a point
        ("SELECT sum(income) FILTER (WHERE odd) FROM visits", 227255850.70),
        ("SELECT avg(income) FILTER (WHERE NOT odd) FROM visits", 500000000.745),
        ("SELECT sum(CASE WHEN odd THEN income ELSE 0 END) FROM visits", 227255850.70),
        # quotients of tiny numbers were rounded to the step of whole ones
        ("SELECT sum(size / 4.0) FROM visits", 4.5e-7),
        # each person's average was rounded to the step of the column
        ("SELECT sum(t) FROM (SELECT person, avg(age) AS t FROM visits GROUP BY person) AS q", 14.5),
        # the variance of a sample ended at the largest of a whole population
        ("SELECT variance(weight) FROM visits WHERE person = 1", 450.0),
        ("SELECT stddev_samp(weight) FROM visits WHERE person = 1", 450.0**0.5),
        # what is no number was a value
        ("SELECT count(share) FROM visits", 2),
        ("SELECT count(DISTINCT share) FROM visits", 2),
        ("SELECT sum(n) FROM (SELECT person, count(share) AS n FROM visits GROUP BY person) AS q", 2),
        ("SELECT sum(n) FROM (SELECT person, count(DISTINCT share) AS n FROM visits GROUP BY person) AS q", 2),
        ("SELECT count(*) FROM (SELECT person, max(share) AS m FROM visits GROUP BY person) AS q WHERE m IS NULL", 1),
        ("SELECT count(*) FROM (SELECT person, min(share) AS m FROM visits GROUP BY person) AS q WHERE m > 0.3", 1),
    ],
)
def test_the_error_bar_of_an_answer_holds_the_truth(db: Curator, sql: str, truth: float) -> None:
    answer = db.query(sql, epsilon="1e20", confidence="0.999999999")
    [[value]], [[span]] = answer.rows, answer.spans
    assert value == pytest.approx(truth, rel=1e-9)
    assert span is not None
    assert span[0] - 1e-9 * abs(truth) <= truth <= span[1] + 1e-9 * abs(truth)
