"""What is written once is what would be written again."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from server.http.conftest import settled
from server.served import served

from discreet.curator import Answer, Curator
from discreet.privacy import Approximate
from discreet.server.http import json_values, schemas
from discreet.server.http.json_values import LARGEST, MOST, Texts

SQL = "SELECT region, count(*) AS n, avg(cost) AS c FROM visits GROUP BY region"


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    curator = Curator(clinic.home(tmp_path_factory.mktemp("texts") / "home"))
    sql = "SELECT region, count(*) AS n, avg(cost) AS c, '2024-02-29'::date AS d FROM visits GROUP BY region"
    curator.query(sql, epsilon=1)
    return curator.query(sql, epsilon=1)


def test_a_text_is_of_the_shape_that_the_door_promises(answer: Answer) -> None:
    odd = replace(answer, columns=('a"b', "ä", "c", "d"), rows=((None, float("nan"), float("-inf"), True),))
    odd = replace(odd, spans=((None, (0.5, float("inf")), None, None),), cost=Approximate("0.5", "1e-9"))
    for each in (answer, odd):
        found = json.loads(json_values.answer(each).told(each))
        assert schemas.QueryResponse.model_validate(found).model_dump(mode="json") == found
        assert list(found) == list(schemas.QueryResponse.model_fields)
    assert json.loads(json_values.answer(odd).told(odd))["rows"] == [[None, "NaN", "-Infinity", True]]
    assert [column["type"] for column in json.loads(json_values.answer(answer).told(answer))["columns"]][-1] == "date"
    assert json.loads(json_values.answer(answer).told(answer))["noisy"] == [False, True, True, False]


def test_a_cell_with_noise_and_without_an_error_bar_is_told_from_one_without_noise(answer: Answer) -> None:
    bars = (None, (1.0, 2.0), None, None)
    odd = replace(answer, rows=answer.rows[:1], spans=(bars,), noisy=(False, True, True, True))
    found = json.loads(json_values.answer(odd).told(odd))
    assert (found["noisy"], found["unbarred"]) == ([False, True, True, True], ["c", "d"])
    assert found["intervals"] == [[None, [1.0, 2.0], None, None]]


def test_what_was_written_is_found_again_with_what_is_left_now(answer: Answer) -> None:
    texts = Texts()
    assert texts.get(answer) is None
    texts.keep(answer, json_values.answer(answer))
    poorer = replace(answer, left=Approximate("1/3"))
    for each in (answer, poorer, replace(answer, left=None)):
        assert texts.get(each) == json_values.answer(each).told(each)


@pytest.mark.parametrize(
    "other",
    [
        {"columns": ("x", "n", "c", "d")},
        {"types": ("text", "bigint", "double", "date")},
        {"spans": ()},
        {"entry": "1"},
        {"bounding": ""},
        {"cost": Approximate(1)},
        {"confidence": Fraction(1, 2)},
        {"noisy": ()},
    ],
)
def test_another_answer_with_the_same_rows_is_written_anew(answer: Answer, other: dict[str, object]) -> None:
    texts = Texts()
    texts.keep(answer, json_values.answer(answer))
    assert texts.get(replace(answer, **other)) is None  # type: ignore[arg-type]


def test_answers_with_equal_rows_are_told_apart_by_their_place(answer: Answer) -> None:
    texts = Texts()
    texts.keep(answer, json_values.answer(answer))
    assert texts.get(replace(answer, rows=(*answer.rows,))) is None


def test_what_was_paid_or_is_long_is_not_kept_and_no_more_than_so_many_are(answer: Answer) -> None:
    texts = Texts()
    paid = replace(answer, cost=Approximate(1))
    texts.keep(paid, json_values.answer(paid))
    assert texts.get(paid) is None
    long = replace(answer, rows=(("x" * LARGEST, 1, 1.0, None),), spans=((None,) * 4,))
    texts.keep(long, json_values.answer(long))
    assert texts.get(long) is None
    many = [replace(answer, rows=((str(i), i, 1.0, None),), spans=((None,) * 4,)) for i in range(MOST + 3)]
    for each in many:
        texts.keep(each, json_values.answer(each))
    assert [texts.get(each) is not None for each in many] == [False] * 3 + [True] * MOST


def test_the_door_tells_what_is_left_now(tmp_path: Path) -> None:
    place = settled(tmp_path)
    asked = {"sql": SQL, "epsilon": 1}
    with served(place.home, "--rate", "1000") as server:
        told = [server.call("POST", "/api/v1/query", place.ann, asked).json for _ in range(5)]
        Curator(place.home).query(clinic.COUNT, epsilon=2)
        told += [server.call("POST", "/api/v1/query", place.cleo, asked).json for _ in range(3)]
    assert [each["cost"] is None for each in told] == [False] + [True] * 7
    assert [each["left"]["epsilon"] for each in told] == ["999"] * 5 + ["997"] * 3
    assert len({json.dumps([each["rows"], each["intervals"], each["entry"]]) for each in told}) == 1
