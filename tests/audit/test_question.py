"""A question is audited from SQL to rows: what is told with a person's rows, and without."""

from __future__ import annotations

import clinic
import pyarrow as pa
import pytest

from discreet.audit import audit, questioned
from discreet.curator.custody import Declared
from discreet.errors import Refusal
from discreet.privacy import Approximate, Pure

ROWS = clinic.table(
    [
        (1, "north", "d1", 900.0, clinic.START, True),
        (1, "north", "d2", 900.0, clinic.START, True),
        (2, "south", "d1", 10.0, clinic.START, False),
    ]
)
SAID = Declared(
    unit="patient",
    max_rows=2,
    max_groups=1,
    bounds={"cost": (0, 500)},
    keys={"region": clinic.REGIONS},
    steps={"cost": 1},
)
COUNT = "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY region"


def test_all_that_is_told_is_an_output_and_each_run_is_a_new_draw() -> None:
    with questioned(clinic.COUNT, "visits", ROWS, SAID, unit=1, epsilon="0.1", runs=20) as question:
        assert question.privacy == Pure("0.1")
        told = [question(side) for side in ("with", "without") for _ in range(6)]
    assert len({each["rows"] for each in told}) > 2
    assert {each["columns"] for each in told} == {("n",)}
    assert all(each["spans"] for each in told)
    assert not any("entry" in each for each in told)


def test_it_pays_what_it_claims_and_the_rows_of_one_unit_are_what_differs() -> None:
    with questioned(COUNT, "visits", ROWS, SAID, unit=1, epsilon=40, delta="1e-9", runs=20) as question:
        assert question.privacy == Approximate(40, "1e-9")
        assert "visits with and without the rows of 1" in question.pairs()[0].why
        told = {side: question(side)["rows"] for side in ("with", "without")}
    assert told == {
        "with": (("east", 0), ("north", 2), ("south", 1)),
        "without": (("east", 0), ("north", 0), ("south", 1)),
    }


def test_a_question_that_is_refused_gives_that_as_its_output() -> None:
    with (
        questioned("SELECT cost FROM visits", "visits", ROWS, SAID, unit=1, epsilon=1, runs=5) as question,
        pytest.raises(Refusal, match="every run raised Refusal"),
    ):
        audit(question, samples=40)


@pytest.mark.slow
@pytest.mark.parametrize("sql", [clinic.COUNT, COUNT, "SELECT sum(cost) AS s FROM visits"])
def test_a_question_keeps_its_price_and_would_be_found_out(sql: str) -> None:
    """The second claim is false: the noise is that of ε = 12."""
    with questioned(sql, "visits", ROWS, SAID, unit=1, epsilon=1, runs=4000) as question:
        assert not audit(question, samples=400, alpha="1e-9").refuted
    with questioned(sql, "visits", ROWS, SAID, unit=1, epsilon=12, runs=4000) as question:
        assert audit(question, claim=Pure(1), samples=200, alpha="1e-9").refuted


def test_rows_that_no_neighbour_can_be_made_of_are_refused() -> None:
    for said, unit, named in (
        (SAID, 77, "no row has 77"),
        (Declared(unit="somebody"), 1, "'somebody'"),
    ):
        with (
            pytest.raises(Refusal, match=named),
            questioned(clinic.COUNT, "visits", ROWS, said, unit=unit, epsilon=1, runs=5),
        ):
            pass


def test_rows_whose_unit_is_missing_are_in_both() -> None:
    rows = pa.concat_tables([ROWS, clinic.table([(None, "north", "d1", 1.0, clinic.START, True)])])
    with questioned(clinic.COUNT, "visits", rows, SAID, unit=2, epsilon=40, runs=5) as question:
        assert question("without")["rows"] == ((2,),)  # rows of nobody do not count
