"""What the commands say beside the numbers: before paying, after it, and of what was bought as advice."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import clinic
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.privacy import Omission, account


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", max_rows=5)


def run(*arguments: str) -> tuple[str, str]:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def test_a_doubt_comes_before_the_answer_and_what_is_left_out_after_it(home: Path) -> None:
    sql = "SELECT diagnosis, count(*) AS n FROM visits WHERE region = 'West' GROUP BY diagnosis"
    _, told = run("query", sql, "--epsilon", "1", "--home", str(home))
    doubt, cost, left_out = told.strip().splitlines()
    assert doubt.startswith("notice: 'West' is none of the declared keys of region")
    assert cost.startswith("cost epsilon 1")
    assert left_out.startswith("Error bars cover the noise. They do not cover what is left out before it. Groups with")
    assert "A person with more than 5 rows counts with 5 of them" in left_out
    explained, _ = run("explain", sql, "--epsilon", "1", "--home", str(home), "--format", "json")
    assert [notice.split()[0] for notice in json.loads(explained)["notices"]] == ["'West'", "Groups"]
    lines = list(csv.reader(run("explain", sql, "--home", str(home), "--format", "csv")[0].splitlines()))
    assert [row[0] for row in lines][-4:] == ["notice", "notice", "notice", "left out"]  # the third: no price was named
    assert json.loads(explained)["bounding"] == left_out
    assert f"\nleft out {left_out}\n" in run("explain", sql, "--epsilon", "1", "--home", str(home))[0]


def test_explain_says_in_every_form_which_columns_have_no_error_bar(home: Path) -> None:
    sql = "SELECT max(cost) AS most, count(*) AS n FROM visits"
    asked = ("explain", sql, "--epsilon", "1", "--home", str(home))
    assert "error    most: no error bar" in run(*asked)[0].splitlines()
    assert json.loads(run(*asked, "--format", "json")[0])["error"] == {"n": "30", "most": "no error bar"}
    assert "error,most,no error bar" in run(*asked, "--format", "csv")[0].splitlines()


def test_a_column_without_an_error_bar_in_some_rows_is_named(home: Path) -> None:
    sql = "SELECT region, 1.0 * sum(cost) / (count(*) FILTER (WHERE region = 'north')) AS s FROM visits GROUP BY region"
    _, told = run("query", sql, "--epsilon", "900", "--home", str(home))
    assert told.splitlines()[0] == "no error bar in some rows: s"


def test_advice_prints_what_it_cost_and_what_is_left(home: Path) -> None:
    for arguments in (("caps", "visits"), ("bounds", "visits", "cost")):
        (line,) = json.loads(run(*arguments, "--epsilon", "50", "--home", str(home), "--format", "json")[0])
        assert line["cost"] == "epsilon 50"
        assert line["left"].startswith("epsilon 9")
        shares = [value for name, value in line.items() if name.endswith((", low", ", high"))]
        assert len(shares) == 4
        assert all(0 <= share <= 1 for share in shares)
        again, _ = run(*arguments, "--epsilon", "50", "--home", str(home), "--format", "csv")
        head, row = csv.reader(again.splitlines())
        assert dict(zip(head, row, strict=True))["cost"] == "free: bought before"
        shown = run(*arguments, "--epsilon", "50", "--home", str(home))[0].split()
        assert {"free:", "bought", "left", "cost"} <= set(shown)


def test_the_account_says_which_theorem_does_not_apply_and_why() -> None:
    totals, told = run("account", "--gaussian", "1e-6x1", "--delta", "1e-6", "--format", "csv")
    silent: list[Omission] = []
    account(gaussian=[("1e-6", 1)], delta="1e-6", omitted=silent.append)
    assert told.strip().splitlines() == [f"{one.theorem} does not apply: {one.reason}" for one in silent]
    assert len(silent) == 3
    assert "Gaussian privacy (Dong, Roth & Su 2022)" in totals
