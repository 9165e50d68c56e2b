"""`discreet validity bound`: which numbers are told, and which of them has a theorem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import discreet

from discreet.privacy import AddRemove, Guarantee, Pure, Replace
from discreet.validity import adaptive_error, after_selection, in_expectation, splitting


def told(folder: Path, *words: str) -> list[dict[str, object]]:
    done = discreet(folder, "validity", "bound", *words, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    lines: list[dict[str, object]] = json.loads(done.stdout)
    return lines


def test_splitting_stands_first_and_what_has_no_theorem_says_so(tmp_path: Path) -> None:
    lines = told(tmp_path, "--n", "10000", "--questions", "500")
    assert lines[0]["value"] == pytest.approx(float(splitting(10_000, 500)))
    assert lines[1]["value"] == pytest.approx(float(adaptive_error(10_000, 500).error))
    assert [line["what"] for line in lines if str(line["theorem"]).startswith("none")] == [
        "error, exact answers from all rows"
    ]


@pytest.mark.parametrize(("words", "neighbours"), [((), Replace()), (("--neighbours", "add-remove"), AddRemove())])
def test_an_analysis_of_known_loss(tmp_path: Path, words: tuple[str, ...], neighbours: AddRemove | Replace) -> None:
    lines = told(tmp_path, "--n", "10000", "--epsilon", "0.01", "--p-value", "0.001", *words)
    promise = Guarantee(Pure("0.01"), neighbours)
    values = {line["what"]: line["value"] for line in lines}
    assert values["error on average"] == pytest.approx(float(in_expectation(promise)))
    assert values["p-value 0.001, corrected"] == pytest.approx(float(after_selection("0.001", promise, 10_000)))


def test_with_a_delta_no_more_is_said_than_is_proven(tmp_path: Path) -> None:
    lines = told(tmp_path, "--n", "1000", "--epsilon", "0.1", "--delta", "1e-6")
    assert lines[-1]["value"] == 1
    assert str(lines[-1]["theorem"]).startswith("none")


@pytest.mark.parametrize(("questions", "advice"), [("10", "split the sample"), ("100", "noise beats splitting")])
def test_people_are_told_which_is_better(tmp_path: Path, questions: str, advice: str) -> None:
    assert advice in discreet(tmp_path, "validity", "bound", "--n", "10000", "--questions", questions).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--n", "5"), "say what to bound"),
        (("--n", "0", "--questions", "3"), "n >= 1"),
        (("--n", "5", "--questions", "3", "--p-value", "0.1"), "--p-value needs --epsilon"),
        (("--n", "5", "--epsilon", "x"), "--epsilon"),
        (("--n", "5", "--questions", "3", "--confidence", "95"), "confidence < 1"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = discreet(tmp_path, "validity", "bound", *words)
    assert done.returncode == 2
    assert says in done.stderr
