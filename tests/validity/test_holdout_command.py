"""`discreet holdout`, and the same holdout over HTTP and in Python: guesses checked in SQL, and what that proves."""

from __future__ import annotations

import json
from pathlib import Path

import clinic
import pytest
from commandline import discreet

import discreet as dp
from discreet.errors import Refusal
from discreet.validity import Ladder, Thresholdout, claims

PEOPLE = "SELECT count(DISTINCT patient) FROM visits"
NEW = ("new", "visits", "--people", "1000", "--epsilon", "900", "--hard", "2", "--threshold", "5")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=2000)


def holdout(home: Path, *words: str) -> tuple[int, str, str]:
    done = discreet(home.parent, "holdout", *words, "--home", str(home))
    return done.returncode, done.stdout, done.stderr


def people(home: Path) -> int:
    """How many there are, from a question at an enormous price."""
    return int(str(dp.open(home).query(PEOPLE, epsilon=900).rows[0][0]))


def test_guesses_are_checked_and_prove_something_of_everybody(home: Path) -> None:
    code, out, err = holdout(home, *NEW)
    entry = out.split()[-1]
    assert (code, err, "a guess is off by" in out) == (0, "", True)
    true = people(home)
    code, out, _ = holdout(home, "ask", entry, PEOPLE, "--guess", str(true + 3), "--format", "json")
    assert code == 0
    (answer,) = json.loads(out)["answers"]
    assert (answer["question"], answer["answer"], answer["hard"]) == (1, true + 3, False)
    code, out, err = holdout(home, "ask", entry, PEOPLE, "--guess", "1")
    assert (code, "True" in out, "1 hard answers of 2, 2 questions of 1000" in err) == (0, True, True)
    told = json.loads(holdout(home, "show", entry, "--format", "json")[1])
    assert [each["hard"] for each in told["answers"]] == [False, True]
    session = dp.open(home).session(int(entry))
    for each, claim in zip(told["answers"], claims(session.mechanism, session.answers), strict=True):
        assert each["low"] <= claim.low <= claim.high <= each["high"]
    with pytest.raises(Refusal, match="none was given"):
        session.ask(PEOPLE)


def test_the_same_guess_with_the_same_number_is_the_same_question(home: Path) -> None:
    entry = holdout(home, *NEW)[1].split()[-1]
    first = holdout(home, "ask", entry, PEOPLE, "--guess", "1", "--number", "1", "--format", "json")
    assert holdout(home, "ask", entry, PEOPLE, "--guess", "1", "--number", "1", "--format", "json") == first
    code, _, err = holdout(home, "ask", entry, PEOPLE, "--guess", "2", "--number", "1")
    assert (code, "not the next" in err) == (2, True)


def test_a_ladder_takes_no_guess(home: Path) -> None:
    entry = holdout(home, *NEW, "--ladder")[1].split()[-1]
    assert isinstance(dp.open(home).session(int(entry)).mechanism, Ladder)
    code, _, err = holdout(home, "ask", entry, PEOPLE, "--guess", "1")
    assert (code, "checks no guesses" in err) == (2, True)
    told = json.loads(holdout(home, "ask", entry, PEOPLE, "--format", "json")[1])
    assert told["answers"][0]["hard"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("new", "visits", "--people", "0", "--epsilon", "1"), "--people >= 1"),
        (("new", "nowhere", "--people", "9", "--epsilon", "1"), "no table"),
        (("show", "77"), "no session 77"),
    ],
)
def test_what_makes_no_sense_is_refused(home: Path, words: tuple[str, ...], says: str) -> None:
    code, _, err = holdout(home, *words)
    assert (code, says in err) == (2, True)


def test_another_session_is_no_holdout(home: Path) -> None:
    entry = discreet(
        home.parent, "session", "open", "sparse-vector", "visits", "--param", "epsilon=1", "--param", "threshold=9",
        "--home", str(home),
    ).stdout.split()[-1]  # fmt: skip
    code, _, err = holdout(home, "show", entry)
    assert (code, "no holdout" in err) == (2, True)


def test_by_default_a_guess_may_be_four_roots_off(home: Path) -> None:
    code, out, err = holdout(home, "new", "visits", "--people", "900", "--epsilon", "9", "--format", "json")
    assert (code, err) == (0, "")
    (told,) = json.loads(out)
    mechanism = dp.open(home).session(told["holdout"]).mechanism
    assert list(told.values())[1:] == [mechanism.easy_error(), mechanism.hard_error()]
    assert isinstance(mechanism, Thresholdout)
    assert (mechanism.threshold, mechanism.rounding, mechanism.hard) == (120, 3, 10)
