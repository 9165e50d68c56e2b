"""What made-up questions once found, each by itself: numbers that plain DuckDB has and an answer had not."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import pvariance, stdev

import pyarrow as pa
import pytest

import discreet as dp
from discreet.client import Database
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
        "points": [899607498900471, 836340173442365, 80942359325376, 277306365703355, 478235224041866],
        "far": [4 * 10**15 + more for more in (399, 443, 622, 780, 785)],
        "huge": [4 * 10**18, 3 * 10**18, 1000, 0, 2 * 10**18],
    }
)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Database:
    home: Path = tmp_path_factory.mktemp("found") / "home"
    found_home(home)
    bounds: dict[str, tuple[Number, Number]] = {
        "income": (0, 10**9),
        "age": (0, 10),
        "weight": (-20, 20),
        "size": (0, "1e-6"),
        "share": (0, 1),
        "points": (0, 10**15),
        "far": (4 * 10**15, 4 * 10**15 + 1000),
        "huge": (0, 4 * 10**18),
    }
    said = Declared(unit="person", epsilon="1e30", delta="1e-3", max_rows=4, max_groups=4, bounds=bounds)
    Custody(home).add("visits", ROWS, replace(said, steps={"size": "1e-7", "huge": 1000}))
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
def test_the_error_bar_of_an_answer_holds_the_truth(db: Database, sql: str, truth: float) -> None:
    answer = db.query(sql, epsilon="1e20", confidence="0.999999999")
    [[value]], [[span]] = answer.rows, answer.spans
    assert value == pytest.approx(truth, rel=1e-9)
    assert span is not None
    assert span[0] - 1e-9 * abs(truth) <= truth <= span[1] + 1e-9 * abs(truth)


ROOTS = [math.sqrt(age) for age in (1, 2, 4, 4, 9)]
POINTS = ROWS["points"].to_pylist()
LESS = [Fraction(str(one)) - two for one, two in zip(ROWS["income"].to_pylist(), POINTS, strict=True)]


@pytest.mark.parametrize(
    ("sql", "truth", "reach"),
    [
        # what has no step that a double counts was rounded to a 2^28th of its range, and the error bar was a point
        ("SELECT sum(income - points) FROM visits", float(sum(LESS)), 5e15),
        ("SELECT avg(income - points) FROM visits", float(sum(LESS) / 5), 1e15),
        ("SELECT sum(sqrt(age)) FROM visits", math.fsum(ROOTS), 20),
        ("SELECT avg(sqrt(age)) FILTER (WHERE odd) FROM visits", (ROOTS[0] + ROOTS[2]) / 2, 4),
        ("SELECT var_pop(sqrt(age)) FROM visits", pvariance(ROOTS), 4**2),
        ("SELECT sum(z * 2) FROM (SELECT person, sqrt(age) AS z FROM visits) AS q", 2 * math.fsum(ROOTS), 40),
        (
            "SELECT sum(t) FROM (SELECT person, avg(points) AS t FROM visits GROUP BY person) AS q",
            (sum(POINTS[:4]) + 2 * POINTS[4]) / 2,
            3e15,
        ),
        (
            "SELECT sum(t) FROM (SELECT person, sum(sqrt(age)) AS t FROM visits GROUP BY person) AS q",
            math.fsum(ROOTS),
            4 * 20,
        ),
        # a person's total that no whole number holds was refused, and of what it was told of, nothing was true
        (
            "SELECT stddev(t) FROM (SELECT person, sum(huge) AS t FROM visits GROUP BY person) AS q",
            stdev([7e18, 1e3, 2e18]),
            16e18,
        ),
    ],
)
def test_what_is_worked_out_is_rounded_as_doubles_are(db: Database, sql: str, truth: float, reach: float) -> None:
    answer = db.query(sql, epsilon="1e25", confidence="0.999999999")
    [[value]], [[span]] = answer.rows, answer.spans
    assert value == pytest.approx(truth, rel=1e-14, abs=1e-14 * reach)
    assert span is not None
    assert span[1] - span[0] <= 1e-14 * reach


def test_an_average_far_from_zero_is_the_double_next_to_the_quotient(db: Database) -> None:
    far = ROWS["far"].to_pylist()
    nearest = float(Fraction(sum(far), len(far)))
    assert math.fsum(far) / len(far) != nearest  # a sum that is rounded before it is divided
    assert db.query("SELECT avg(far) FROM visits", epsilon="1e20").rows == ((nearest,),)
