"""`discreet test`: paid like any run, free when asked again, and only of rows that are independent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import discreet

import discreet as dp


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home: Path = tmp_path_factory.mktemp("tests") / "home"
    db = dp.create(home)
    rows: dict[str, Any] = {
        "person": list(range(400)),
        "smokes": ["yes", "no", "no", "no"] * 100,
        "region": ["north", "south"] * 200,
        "cost": [50.0, 10.0, 11.0, 9.0] * 100,
    }
    keys = {"smokes": ["yes", "no"], "region": ["north", "south"]}
    db.add("visits", rows, unit="person", epsilon=100_000, max_rows=1, keys=keys, bounds={"cost": (0, 100)})
    twice = {"person": [1, 1], "smokes": ["yes", "no"]}
    db.add("twice", twice, unit="person", population="person", max_rows=2, keys={"smokes": ["yes", "no"]})
    return home


def told(home: Path, *words: str) -> dict[str, Any]:
    done = discreet(home.parent, "test", *words, "--home", str(home), "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = json.loads(done.stdout)
    return dict(row)


def test_each_finds_what_is_there(home: Path) -> None:
    smokes = ("visits", "--column", "smokes", "--key", "yes", "--epsilon", "500")
    share = told(home, "binomial", *smokes, "--share", "0.1", "--people", "400")
    assert share["p_value"] < 1e-6
    assert share["statistic"] == pytest.approx(100, abs=1)
    assert told(home, "binomial", *smokes, "--share", "0.25", "--people", "400")["p_value"] > 0.3
    assert told(home, "chi-square", "visits", "--columns", "smokes,region", "--epsilon", "500")["p_value"] == 0.001
    shares = ("--columns", "smokes", "--shares", "1/4,3/4", "--epsilon", "500")
    assert told(home, "chi-square", "visits", *shares)["p_value"] > 0.5
    cost = ("visits", "--column", "cost", "--epsilon", "500")
    assert told(home, "permutation", *cost, "--by", "smokes")["p_value"] < 1e-6
    assert told(home, "t", *cost, "--by", "smokes")["p_value"] < 1e-6
    assert told(home, "t", *cost, "--mean", "20")["p_value"] > 0.01
    mean = told(home, "mean", *cost)
    assert mean["low"] < 20 < mean["high"]
    part = told(home, "share", *smokes)
    assert part["low"] < 0.25 < part["high"]
    assert part["confidence"] == 0.95


def test_the_same_test_again_is_free(home: Path) -> None:
    words = ("mean", "visits", "--column", "cost", "--epsilon", "1", "--home", str(home))
    first, again = (discreet(home.parent, "test", *words) for _ in range(2))
    assert first.stdout == again.stdout
    assert first.stderr.startswith("cost epsilon 1;")
    assert again.stderr.startswith("free")


def test_an_epsilon_beyond_all_sense_is_refused_before_it_is_paid(home: Path) -> None:
    spent = dp.open(home).budget("person").spent
    words = ("t", "visits", "--column", "cost", "--epsilon", "2000", "--home", str(home))
    done = discreet(home.parent, "test", *words)
    assert (done.returncode, "epsilon=2000" in done.stderr) == (2, True)
    assert dp.open(home).budget("person").spent == spent


def test_rows_of_one_person_are_not_independent(home: Path) -> None:
    words = ("share", "twice", "--column", "smokes", "--key", "yes", "--epsilon", "1", "--home", str(home))
    done = discreet(home.parent, "test", *words)
    assert (done.returncode, "may have 2" in done.stderr) == (2, True)
    assert discreet(home.parent, "test", *words, "--max-rows", "1").returncode == 0
