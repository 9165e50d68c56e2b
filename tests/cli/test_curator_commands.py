"""The curator's commands as a person meets them: clear sentences, exit codes, and nothing charged by a refusal."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import sys
from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from commandline import discreet

from discreet.cli import main
from discreet.curator import Curator
from discreet.privacy import Approximate

ADD = ["--unit", "patient", "--max-rows", "8", "--epsilon", "3", "--delta", "1e-8", "--bounds", "cost=0:500"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("desk")
    for arguments in (["demo", "--write", "visits.parquet"], ["init"], ["add", "visits", "visits.parquet", *ADD]):
        done = discreet(place, *arguments)
        assert done.returncode == 0, done.stderr
    return place


def spent(folder: Path) -> Approximate:
    found = Curator(folder / "discreet-home").budget("patient").spent
    assert isinstance(found, Approximate)
    return found


def test_a_budget_as_json_has_its_promised_names(folder: Path) -> None:
    (row,) = json.loads(discreet(folder, "budget", "--format", "json").stdout)
    assert {"population", "total", "spent", "left"} <= set(row)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["query", "SELECT nothing FROM visits"], "nothing"),
        (["query", "SELECT count(*) FROM visits", "--epsilon", "0"], "epsilon=0"),
        (["query", "SELECT count(*) FROM visits", "--epsilon", "nan"], "nan"),
        (["query", "SELECT count(*) FROM visits", "--epsilon", "99"], "this costs epsilon 99, and "),
        (["query", "SELECT * FROM visits"], "rows of people"),
        (["add", "more", "missing.parquet", *ADD], "no file 'missing.parquet'"),
        (["add", "more", "visits.parquet", "--unit", "nobody", "--epsilon", "1"], "no column 'nobody'"),
        (["add", "more", "visits.parquet", *ADD, "--bounds", "cost"], "COLUMN=VALUE"),
        (["add", "visits", "visits.parquet", *ADD], "already"),
        (["tables", "nowhere"], "no table 'nowhere'"),
        (["budget", "nobody"], "no population 'nobody'"),
        (["init"], "is a home already"),
        (["query", "SELECT count(*) FROM visits", "--home", "elsewhere"], "discreet init"),
        (["user", "revoke", "eve"], "no user 'eve'"),
        (["ledger", "prove", "99"], "no entry 99"),
        (["ledger", "verify", "--head", "nowhere.json"], "no text file 'nowhere.json'"),
    ],
)
def test_refusals_exit_2_with_a_sentence_and_charge_nothing(
    folder: Path,
    arguments: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, mask = spent(folder), os.umask(0o022)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DISCREET_HOME", raising=False)
    monkeypatch.setattr(sys, "argv", ["discreet", *arguments])
    try:
        with pytest.raises(SystemExit) as ended:
            main()  # what a process of its own would do, without waiting for sixteen of them
    finally:
        os.umask(mask)
    done = capsys.readouterr()
    assert (ended.value.code, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert spent(folder) == before


def test_a_broken_declaration_names_its_line(tmp_path: Path) -> None:
    assert discreet(tmp_path, "init").returncode == 0
    (tmp_path / "discreet-home" / "discreet.toml").write_text("version = 1\n[table.x\n", encoding="utf-8")
    done = discreet(tmp_path, "tables")
    assert done.returncode == 2
    assert "line 2" in done.stderr


def test_answers_in_three_forms(folder: Path) -> None:
    sql = "SELECT count(*) AS n FROM visits WHERE cost > 100"
    table = discreet(folder, "query", sql, "--epsilon", "0.1", "--intervals")
    assert re.search(r"\d ± \d", table.stdout)
    assert "cost epsilon 0.1" in table.stderr
    as_json = json.loads(discreet(folder, "query", sql, "--epsilon", "0.1", "--format", "json").stdout)
    as_csv = discreet(folder, "query", sql, "--epsilon", "0.1", "--format", "csv")
    assert as_json["columns"] == ["n", "n_low", "n_high"]
    number, low, high = as_json["rows"][0]
    assert low < number < high
    assert as_csv.stdout == f"n,n_low,n_high\n{number},{low},{high}\n"
    bare = discreet(folder, "query", sql, "--epsilon", "0.1", "--format", "csv", "--no-intervals")
    assert bare.stdout == f"n\n{number}\n"
    assert "free: answered before" in as_csv.stderr


def test_what_is_left_is_used_where_that_was_asked_for(tmp_path: Path) -> None:
    clinic.home(tmp_path / "discreet-home", epsilon=3, delta="1e-6")
    assert discreet(tmp_path, "query", clinic.COUNT, "--epsilon", "0.2").returncode == 0
    arguments = ["query", f"{clinic.COUNT} WHERE cost > 300", "--epsilon", "2.9", "--format", "json"]
    refused = discreet(tmp_path, *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert spent(tmp_path).epsilon == Fraction("0.2")
    answered = discreet(tmp_path, *arguments, "--within")
    assert answered.returncode == 0, answered.stderr
    assert len(json.loads(answered.stdout)["rows"]) == 1
    assert spent(tmp_path).epsilon == 3


def test_explanations_in_two_forms(folder: Path) -> None:
    sql = "SELECT count(*) AS n, avg(cost) AS a FROM visits"
    as_json = json.loads(discreet(folder, "explain", sql, "--epsilon", "0.1", "--format", "json").stdout)
    as_csv = discreet(folder, "explain", sql, "--epsilon", "0.1", "--format", "csv").stdout
    head, *rows = list(csv.reader(as_csv.splitlines()))
    assert head == ["what", "column", "value"]
    assert rows[0] == ["price", "", as_json["price"]]
    assert {name: value for what, name, value in rows if what == "error"} == as_json["error"]
    assert [value for what, _, value in rows if what == "measure"] == as_json["plan"]


def test_a_token_stands_alone_on_the_last_line(folder: Path) -> None:
    done = discreet(folder, "user", "add", "ada", "--role", "analyst", "--allowance", "0.5", "--grant", "visits")
    assert re.fullmatch(r"[A-Za-z0-9_-]{24,}", done.stdout.strip().splitlines()[-1])
    assert "ada" in discreet(folder, "user", "list").stdout
    assert discreet(folder, "user", "revoke", "ada").returncode == 0


def test_the_ledger_is_verified_and_exported(folder: Path) -> None:
    head = discreet(folder, "ledger", "head").stdout
    (folder / "head.json").write_text(head, encoding="utf-8")
    assert "holds" in discreet(folder, "ledger", "verify", "--head", "head.json").stdout
    assert discreet(folder, "ledger", "export", "out.jsonl").returncode == 0
    assert json.loads((folder / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])["entry"]["number"] == 1
    (folder / "bad.json").write_text(head.replace('"size": ', '"size": 1'), encoding="utf-8")
    done = discreet(folder, "ledger", "verify", "--head", "bad.json")
    assert done.returncode == 2
    assert "does not hold" in done.stderr


def test_the_doctor_finds_a_home_in_order_and_one_that_is_not(folder: Path, tmp_path: Path) -> None:
    rows = json.loads(discreet(folder, "doctor", "--format", "json").stdout)
    assert {"what": "home", "how it is": "its owner's alone"} in rows
    assert next(row["how it is"] for row in rows if row["what"] == "ledger").startswith("holds")
    assert discreet(tmp_path, "init").returncode == 0
    for mode in (0o640, 0o604, 0o620):
        (tmp_path / "discreet-home" / "ledger.db").chmod(mode)
        done = discreet(tmp_path, "doctor")
        assert done.returncode == 2
        assert "open to others: ledger.db" in done.stdout


def test_error_bars_are_as_long_as_the_confidence_that_was_asked_for(tmp_path: Path) -> None:
    clinic.home(tmp_path / "discreet-home", epsilon=3, delta="1e-6", max_groups=1)
    asked = ["query", "SELECT count(DISTINCT patient) AS n FROM visits", "--epsilon", "1"]
    for confidence, error in (("0.5", 1), ("0.95", 3), ("0.99", 4)):  # the least k with 2q^(k+1)/(1+q) ≤ 1 − confidence
        q = math.exp(-1)
        assert 2 * q ** (error + 1) / (1 + q) <= 1 - float(confidence) < 2 * q**error / (1 + q)
        told = discreet(tmp_path, *asked, "--confidence", confidence, "--format", "json").stdout
        ((number, low, high),) = json.loads(told)["rows"]
        assert (low, high) == (number - error, number + error)
        shown = discreet(tmp_path, *asked, "--confidence", confidence, "--intervals").stdout
        assert f"{number} ± {error} " in f"{shown} "


def test_what_a_command_writes_is_its_owner_s_alone(tmp_path: Path) -> None:
    assert discreet(tmp_path, "demo", "--write", "visits.parquet").returncode == 0
    assert discreet(tmp_path, "init").returncode == 0
    assert discreet(tmp_path, "add", "visits", "visits.parquet", *ADD).returncode == 0
    written = [path for path in tmp_path.rglob("*") if path.name != "discreet-home"]
    assert len(written) > 5
    assert [path.name for path in written if path.stat().st_mode & 0o077] == []
