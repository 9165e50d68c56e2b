"""`discreet session`: opened, asked, shown, listed and closed, by its number."""

from __future__ import annotations

import json
from pathlib import Path

import clinic
import pytest
from commandline import discreet

PEOPLE = "SELECT count(DISTINCT patient) FROM visits"
GIVEN = ["threshold=100", "hard=2", "questions=9", "sensitivity=50"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=1000)


def session(home: Path, *words: str) -> tuple[int, str, str]:
    done = discreet(home.parent, "session", *words, "--home", str(home))
    return done.returncode, done.stdout, done.stderr


def opened(home: Path, *params: str) -> tuple[int, str, str]:
    given = [word for param in params for word in ("--param", param)]
    return session(home, "open", "sparse-vector", "visits", *given)


def test_it_is_opened_asked_and_closed(home: Path) -> None:
    code, out, _ = opened(home, "epsilon=400", *GIVEN)
    entry = out.split()[-1]
    assert (code, "epsilon 400" in out) == (0, True)
    assert session(home, "ask", entry, PEOPLE, "--number", "1") == (
        0,
        '{"above": false}\n',
        "0 hard answers of 2, 1 questions of 9\n",
    )
    assert session(home, "ask", entry, clinic.COUNT, "--max-rows", "50")[1] == '{"above": true}\n'
    code, out, err = session(home, "ask", entry, clinic.COUNT, "--format", "json")
    assert (code, err, json.loads(out)["answer"], json.loads(out)["asked"]) == (0, "", {"above": True}, 3)
    code, out, err = session(home, "ask", entry, PEOPLE)
    assert (code, out, "2 hard answers of 2" in err) == (2, "", True)
    code, out, err = session(home, "show", entry)
    assert [line.strip().split(maxsplit=1) for line in out.splitlines()[3:6]] == [
        ["1", '{"above": false}'],
        ["2", '{"above": true}'],
        ["3", '{"above": true}'],
    ]
    assert err == "2 hard answers of 2, 3 questions of 9; closed: it is used up\n"
    (told,) = json.loads(session(home, "list", "--format", "json")[1])
    assert (told["entry"], told["mechanism"]["name"], told["loss"]) == (
        int(entry),
        "sparse-vector",
        "epsilon 400",
    )


def test_it_is_given_up(home: Path) -> None:
    entry = opened(home, "epsilon_threshold=1/3", "epsilon_questions=0.5", "threshold=1")[1].split()[-1]
    assert session(home, "close", entry)[2].endswith("; closed: closed by custodian\n")
    code, _, err = session(home, "ask", entry, PEOPLE)
    assert (code, "is closed: closed by custodian" in err) == (2, True)
    assert session(home, "list", "--format", "csv")[1].splitlines()[1].split(",")[0] == entry


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        (["epsilon=1"], "missing"),
        (["epsilon=1", "threshold=3", "much=1"], "much"),
        (["threshold=3"], "needs epsilon_threshold"),
        (["threshold"], "--param takes"),
        (["epsilon=2000", "threshold=3"], "is left"),
    ],
)
def test_what_is_refused_says_why_and_is_not_charged(home: Path, params: list[str], complaint: str) -> None:
    code, out, err = opened(home, *params)
    assert (code, out, complaint in err) == (2, "", True), err
    assert json.loads(session(home, "list", "--format", "json")[1]) == []
