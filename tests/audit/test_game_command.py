"""`discreet game` as a person meets it: by a machine, and by hand."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner, Result

from discreet.cli.game import app
from discreet.errors import Refusal


def done(*arguments: str, typed: str = "") -> Result:
    result = CliRunner().invoke(app, list(arguments), input=typed)
    if isinstance(result.exception, Refusal):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_bob_wins_every_round_against_keys_that_tell() -> None:
    whole = json.loads(done("zoo:own-keys", "--rounds", "500", "--format", "json").stdout)
    assert (whole["wins"], whole["broken"]) == (500, True)
    (row,) = csv.DictReader(io.StringIO(done("zoo:own-keys", "--rounds", "500", "--format", "csv").stdout))
    assert set(row) == set(whole)


def test_a_promise_that_is_kept_is_not_broken() -> None:
    said = done("laplace", "--parameters", '{"scale": "1"}', "--rounds", "2000").stdout
    assert "the promise allows 0.7311" in said


def test_a_person_may_be_bob() -> None:
    """Whoever always says left wins when it was left, and is told so; what is neither is not counted."""
    played = done("zoo:own-keys", "--yourself", "--rounds", "4", "--format", "json", typed="l\nup\nleft\nl\nl\n")
    whole = json.loads(played.stdout)
    assert whole["rounds"] == 4
    assert whole["wins"] == played.stderr.count("It was left")
    assert whole["allowed"] == pytest.approx(0.7311, abs=1e-4)
    assert "this round is not counted" in played.stderr
    told = done("zoo:own-keys", "--yourself", "--format", "json", typed="r\nr\nq\n")
    assert json.loads(told.stdout)["rounds"] == 2


def test_a_person_who_looks_wins() -> None:
    """The key that only one input has is told: who reads it is right every time."""
    first = done("json:dumps", "--pair", "[0, 1]", "--claim", "epsilon=1", "--yourself", "--rounds", "1", typed="l\n")
    shown_right = "1: 1" in first.stderr
    assert ("Bob won 1 of 1" in first.stdout) != shown_right


@pytest.mark.parametrize(
    ("arguments", "typed", "named"),
    [
        (["zoo:own-keys", "--yourself"], "q\n", "no round was played"),
        (["zoo:own-keys", "--rounds", "0"], "", "from 1 on, got 0"),
        (["json:dumps"], "", "names no neighbouring inputs"),
        (["nobody"], "", "no mechanism called 'nobody'"),
    ],
)
def test_nonsense_is_refused_by_name(arguments: list[str], typed: str, named: str) -> None:
    with pytest.raises(Refusal, match=named):
        done(*arguments, typed=typed)
