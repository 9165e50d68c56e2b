"""`discreet audit` as a person meets it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

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


def test_a_question_is_audited_on_made_up_rows(tmp_path: Path) -> None:
    """Forty runs prove nothing; that they were made, and at which price, is what is shown."""
    rows = tmp_path / "visits.csv"
    rows.write_text("patient,cost\n1,10\n2,20\n2,30\n")
    declared = ["--rows", str(rows), "--unit", "patient", "--max-rows", "2", "--bounds", "cost=0:50"]
    sql = "sql:SELECT sum(cost) AS s FROM visits"
    whole = json.loads(
        said(sql, *declared, "--without", "2", "--claim", "epsilon=1", "--samples", "40", "--format", "json")
    )
    assert whole["neighbours"] == "visits with and without the rows of 2"
    assert (whole["claim"], whole["samples"], whole["refuted"]) == ("Pure(epsilon=1)", 40, False)
    for arguments, named in (
        ([sql, "--claim", "epsilon=1"], "made-up rows"),
        ([sql, *declared, "--without", "2"], "needs a price"),
        ([sql, *declared, "--without", "9", "--claim", "epsilon=1"], "no row has '9'"),
        (["zoo:strict", "--rows", str(rows)], "--rows is for questions"),
        ([sql, "--rows", "no.csv", "--unit", "a", "--without", "1", "--claim", "epsilon=1"], "cannot read 'no.csv'"),
    ):
        with pytest.raises(Refusal, match=named):
            said(*arguments)


def test_a_model_is_trained_once() -> None:
    model = ["model:LogisticRegression", "--parameters", '{"epsilon": 1, "bounds": [0, 1], "classes": [0, 1]}']
    arguments = [*model, "--claim", "epsilon=1", "--canaries", "40"]
    whole = json.loads(said(*arguments, "--format", "json"))
    assert (whole["canaries"], whole["guesses"], whole["refuted"]) == (40, 40, False)
    assert "guesses about 40 canaries were right" in said(*arguments)
    for wrong, named in (
        (model, "a model needs a claim"),
        ([*arguments, "--canaries", "1"], "from 2 to 4096, got 1"),
        (["model:Unicorn", "--claim", "epsilon=1"], "no estimator 'Unicorn'"),
        (["model:LogisticRegression", "--parameters", '{"horn": 1}', "--claim", "epsilon=1"], "horn"),
    ):
        with pytest.raises(Refusal, match=named):
            said(*wrong)


def test_time_is_looked_at_until_it_refutes() -> None:
    whole = json.loads(said("zoo:own-keys", "--time", "--budget", "1m", "--samples", "2000", "--format", "json"))
    assert whole["refuted"] is True
    with pytest.raises(Refusal, match="--time needs --budget"):
        said("zoo:own-keys", "--time")


def test_mechanisms_of_every_room_have_a_name() -> None:
    for name, parameters in (
        ("optimized-unary", {"epsilon": 1, "choices": 3}),
        ("tree-counter", {"scale": 2, "horizon": 2}),
    ):
        arguments = ["--parameters", json.dumps(parameters), "--samples", "400", "--format", "json"]
        assert json.loads(said(name, *arguments))["refuted"] is False


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
