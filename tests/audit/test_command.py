"""`discreet audit` as a person meets it."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from discreet.cli.audit import app
from discreet.errors import Refusal


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    if isinstance(done.exception, Refusal):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_specimen_is_refuted_in_words() -> None:
    text = said("zoo:strict", "--samples", "2000")
    assert text.startswith("claimed Pure(epsilon=1); proven ε ≥ ")
    assert "refuted" in text
    assert "event: the exception is 'ValueError'" in text


def test_json_and_csv_say_the_same() -> None:
    whole = json.loads(said("zoo:half-sensitivity", "--samples", "4000", "--format", "json"))
    assert whole["refuted"] is True
    assert whole["epsilon"] > whole["promised"] == 1
    assert (whole["alpha"], whole["samples"]) == (1e-6, 4000)
    (row,) = csv.DictReader(io.StringIO(said("zoo:half-sensitivity", "--samples", "4000", "--format", "csv")))
    assert set(row) == set(whole)
    assert row["refuted"] == "True"


def test_a_registered_mechanism_is_rebuilt_from_its_parameters() -> None:
    whole = json.loads(said("laplace", "--parameters", '{"scale": "1/2"}', "--samples", "2000", "--format", "json"))
    assert (whole["claim"], whole["refuted"]) == ("Pure(epsilon=2)", False)


@pytest.mark.parametrize(
    ("claim", "spoken"),
    [
        ("epsilon=1", "Pure(epsilon=1)"),
        ("epsilon=0.1, delta=1e-6", "Approximate(epsilon=0.1, delta=0.000001)"),
        ("rho=1/2", "Concentrated(rho=0.5, delta=0)"),
        ("mu=2", "Gaussian(mu_squared=4)"),
    ],
)
def test_a_claim_is_read_exactly(claim: str, spoken: str) -> None:
    assert json.loads(said("zoo:own-keys", "--claim", claim, "--samples", "400", "--format", "json"))["claim"] == spoken


def test_a_function_of_a_module_is_audited_on_given_pairs() -> None:
    """`json:dumps` adds no noise to anything."""
    text = said("json:dumps", "--pair", "[0, 1]", "--pair", "[2, 2]", "--claim", "epsilon=1", "--samples", "1000")
    assert "refuted" in text
    assert "event: output is '" in text


def test_a_time_may_be_given_instead() -> None:
    whole = json.loads(said("zoo:svt-5", "--budget", "0.5m", "--samples", "400", "--format", "json"))
    assert whole["refuted"] is True


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["zoo:unicorn"], "unicorn"),
        (["nothing"], "no mechanism called 'nothing'"),
        (["no.such.module:name"], "cannot find 'no.such.module:name'"),
        (["json:nothing"], "cannot find 'json:nothing'"),
        (["json:JSONDecoder"], "expected 'json:JSONDecoder' to be a mechanism"),
        (["json:dumps"], "names no neighbouring inputs"),
        (["json:dumps", "--pair", "[0, 1]"], "claims nothing"),
        (["json:dumps", "--pair", "0"], "--pair takes two inputs"),
        (["json:dumps", "--pair", "x"], "--pair takes JSON"),
        (["json:dumps", "--parameters", "{}"], "--parameters is for registered"),
        (["laplace", "--parameters", "[]"], "JSON object"),
        (["laplace", "--parameters", '{"scale": "-1"}'], "scale"),
        (["zoo:svt-4", "--claim", "epsilon=-1"], "epsilon=-1"),
        (["zoo:svt-4", "--claim", "epsilon=1,epsilon=2"], "--claim cannot be read"),
        (["zoo:svt-4", "--claim", "sigma=1"], "--claim cannot be read"),
        (["zoo:svt-4", "--claim", "epsilon"], "epsilon must be a finite number"),
        (["zoo:svt-4", "--budget", "soon"], "--budget takes a time"),
        (["zoo:svt-4", "--alpha", "2"], "alpha=2"),
        (["zoo:svt-4", "--samples", "3"], "samples=3"),
    ],
)
def test_nonsense_is_refused_by_name(arguments: list[str], named: str) -> None:
    with pytest.raises(Refusal, match=named):
        said(*arguments)
