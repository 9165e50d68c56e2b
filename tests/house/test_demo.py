"""The demo runs by itself, spends a budget to the end, and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bare import BARE
from commandline import discreet

from discreet.cli.demo import people, takers, visits


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("nothing")
    command, bare = (
        [sys.executable, "-m", "discreet", "demo"],
        {**BARE, "TMPDIR": str(folder)},
    )
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=folder, env=bare)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, folder


def test_the_budget_ends_in_a_refusal_and_the_ledger_holds(told: tuple[str, Path]) -> None:
    text, _ = told
    assert re.findall(r"left ε = (\S+)", text) == ["2", "1.5", "1", "0.5", "0"]
    assert "Refused: this costs epsilon 0.5, and 0 of 3 is left." in text
    assert "The ledger holds" in text
    assert "the same rows, free" in text


def test_nothing_is_left_behind(told: tuple[str, Path]) -> None:
    assert list(told[1].iterdir()) == []


def test_the_figures_called_true_are_true() -> None:
    survey = takers().to_pydict()
    assert (len(survey["female"]), sum(survey["female"]), sum(survey["albums"])) == (400, 200, 640)
    ill = people().to_pydict()["ill"]
    assert (sum(ill[:5]), sum(ill[:4])) == (3, 2)
    owners = visits().to_pydict()["patient"]
    assert len(set(owners)) == 2000
    assert max(owners.count(patient) for patient in range(0, 2000, 50)) <= 8


def test_answers_are_noisy(told: tuple[str, Path], tmp_path: Path) -> None:
    again = discreet(tmp_path, "demo")
    assert again.returncode == 0
    assert again.stdout != told[0]  # two dozen noisy numbers agree with probability below 1e-20


def test_made_up_data_say_so(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    assert discreet(tmp_path, "demo", "--write", str(path)).returncode == 0
    assert b"made up" in pq.read_schema(path).metadata[b"source"]
