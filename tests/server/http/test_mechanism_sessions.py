"""Sessions over HTTP: what is told of them, to whom, and that a client has what the home has."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import clinic
import pytest
from server.http.conftest import Place
from server.served import Server

import discreet as dp
from discreet.errors import OverBudget, Refusal
from discreet.mechanisms import Above, Below, SparseVector
from discreet.mechanisms.registry import described
from discreet.validity import Thresholdout

SESSIONS = "/api/v1/sessions"
PEOPLE = "SELECT count(DISTINCT patient) FROM visits"
SURE = SparseVector.of(100, 100, 2, sensitivity=50, numeric=True, questions=9)
PARAMETERS: dict[str, Any] = described(SURE)["parameters"]  # type: ignore[assignment]
ORDER: dict[str, Any] = {
    "mechanism": "sparse-vector",
    "tables": ["visits"],
    "parameters": described(SURE)["parameters"],
}


@pytest.fixture(scope="module")
def entry(place: Place, server: Server) -> int:
    made = server.call("POST", SESSIONS, place.ann, ORDER)
    assert made.status == 200, made.text
    assert (made.json["principal"], made.json["population"], made.json["tables"]) == ("ann", "patient", ["visits"])
    assert (made.json["loss"]["words"], made.json["closed"], made.json["asked"]) == ("epsilon 100", "", 0)
    return int(made.json["entry"])


def test_a_question_is_answered_once_by_its_number(place: Place, server: Server, entry: int) -> None:
    path, asked = f"{SESSIONS}/{entry}/questions", {"sql": clinic.COUNT, "number": 1}
    first = server.call("POST", path, place.ann, asked)
    assert first.status == 200, first.text
    assert first.json["answer"]["above"] is True
    assert abs(first.json["answer"]["number"] - 300) < 150
    again = server.call("POST", path, place.ann, asked)
    assert again.json == first.json
    other = server.call("POST", path, place.ann, {"sql": PEOPLE, "number": 1})
    assert (other.status, other.error["message"]) == (400, "question 1 is not the next")
    told = server.call("GET", f"{SESSIONS}/{entry}", place.ann).json
    assert told["answers"] == [first.json["answer"]]
    assert told["used"] == [
        {"name": "hard answers", "used": 1, "most": 2},
        {"name": "questions", "used": 1, "most": 9},
    ]
    lines = [line for line in server.lines() if line["path"] == f"{SESSIONS}/{{entry}}/questions"]
    assert [line["outcome"] for line in lines] == ["free", "free", "refusal"]
    assert "DISTINCT" not in server.journal.read_text()


def test_nobody_else_finds_it_but_custodians(place: Place, server: Server, entry: int) -> None:
    assert server.call("GET", SESSIONS, place.bob).json == {"sessions": []}
    for method, path, body in [
        ("GET", "", None),
        ("POST", "/questions", {"sql": clinic.COUNT}),
        ("POST", "/close", None),
    ]:
        hidden = server.call(method, f"{SESSIONS}/{entry}{path}", place.bob, body)
        absent = server.call(method, f"{SESSIONS}/99999{path}", place.bob, body)
        assert hidden.status == absent.status == 400
        assert hidden.error == {**absent.error, "message": f"there is no session {entry}"}
    assert entry in [each["entry"] for each in server.call("GET", SESSIONS, place.cleo).json["sessions"]]
    refused = server.call("POST", f"{SESSIONS}/{entry}/questions", place.cleo, {"sql": clinic.COUNT})
    assert (refused.status, "who paid for it" in refused.error["message"]) == (400, True)


@pytest.mark.parametrize(
    ("change", "status", "complaint"),
    [
        ({"mechanism": "laplace", "parameters": {"scale": "1"}}, 400, "no mechanism for a session"),
        ({"mechanism": "nothing"}, 400, "there is no mechanism called"),
        ({"parameters": {"threshold": 1}}, 400, "needs epsilon_threshold"),
        ({"tables": ["secret"]}, 400, "there is no table 'secret'"),
        ({"tables": []}, 400, "a session is about tables of people, got []"),
        ({"parameters": {**ORDER["parameters"], "hard": 10**9}}, 400, "too large"),
        ({"parameters": {**ORDER["parameters"], "epsilon_threshold": 10**6}}, 402, "is left"),
    ],
    ids=["answers once", "unknown", "missing", "table", "no table", "room", "price"],
)
def test_what_is_refused_is_not_charged(
    place: Place, server: Server, change: dict[str, Any], status: int, complaint: str
) -> None:
    before = dp.open(place.home).budget("patient").spent
    refused = server.call("POST", SESSIONS, place.ann, {**ORDER, **change})
    assert (refused.status, complaint in refused.error["message"]) == (status, True), refused.text
    assert dp.open(place.home).budget("patient").spent == before


def test_a_holdout_is_told_a_guess(place: Place, server: Server) -> None:
    session = server.connect(place.ann).open_session(Thresholdout(Fraction(100), 50, 1000, hard=1), "visits")
    assert session.ask(PEOPLE, guess=0, number=1) == session.ask(PEOPLE, guess=0, number=1)
    with pytest.raises(Refusal, match="question 1 is not the next"):
        session.ask(PEOPLE, guess=1, number=1)
    path = f"{SESSIONS}/{session.entry}/questions"
    bodies: list[tuple[dict[str, Any], str]] = [
        ({}, "none was given"),
        ({"guess": 2**63}, "guess"),
        ({"guess": 1.5}, "guess"),
    ]
    for body, says in bodies:
        refused = server.call("POST", path, place.ann, {"sql": PEOPLE, **body})
        assert (refused.status, says in refused.text) == (400, True), refused.text


def test_a_client_has_the_methods_of_a_home(place: Place, server: Server) -> None:
    there = server.connect(place.ann)
    session = there.open_session(SURE, "visits")
    assert session.ask(PEOPLE, number=1) == Below()
    assert isinstance(session.ask(clinic.COUNT, max_rows=50), Above)
    here = dp.open(place.home).session(session.entry)
    assert session.answers == here.answers
    assert session.told == here.told
    assert session.status == here.status
    assert session.mechanism == here.mechanism
    assert there.sessions()[0] == here.status
    again = there.session(session.entry)
    again.close()
    assert again.closed == here.closed == "closed by ann"
    with pytest.raises(OverBudget, match="closed by ann"):
        again.ask(PEOPLE)
    with pytest.raises(Refusal, match="no session 99999"):
        there.session(99999)
