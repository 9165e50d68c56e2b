"""A population on hold is seen by its custodian, and opened again only by a decision."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import clinic
import pytest
from bare import BARE

from discreet.curator import Curator
from discreet.curator.custody import Custody
from discreet.errors import Refusal
from discreet.ledger import Hold, SqliteLedger


def discreet(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discreet", *arguments, "--home", str(home)],
        capture_output=True, encoding="utf-8", check=False, env=BARE,
    )  # fmt: skip


def state(home: Path) -> str:
    (row,) = json.loads(discreet(home, "budget", "--format", "json").stdout)
    assert list(row) == ["population", "total", "spent", "left", "state"]
    return str(row["state"])


def held(folder: Path) -> Path:
    home = clinic.home(folder / "home")
    SqliteLedger(home / "ledger.db").append(Hold("patient", held=True))
    return home


def test_a_hold_is_shown_and_lifted_and_questions_are_answered_again(tmp_path: Path) -> None:
    home = held(tmp_path)
    with pytest.raises(Refusal, match="maintenance"):
        Curator(home).query(clinic.COUNT, epsilon=1)
    assert state(home) == "on hold"
    done = discreet(home, "lift", "patient")
    assert (done.returncode, done.stdout, done.stderr) == (0, "lifted the hold of patient\n", "")
    assert state(home) == "open"
    assert Curator(home).query(clinic.COUNT, epsilon=1).cost is not None
    again = discreet(home, "lift", "patient")
    assert (again.returncode, again.stdout) == (2, "")
    assert "population 'patient' is not on hold" in again.stderr


def test_what_is_unknown_or_retired_is_not_lifted(tmp_path: Path) -> None:
    home = held(tmp_path)
    unknown = discreet(home, "lift", "nobody")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "no population 'nobody'" in unknown.stderr
    Custody(home).retire("patient")
    size = SqliteLedger(home / "ledger.db").books().size
    retired = discreet(home, "lift", "patient")
    assert (retired.returncode, retired.stdout) == (2, "")
    assert "population 'patient' is retired" in retired.stderr
    assert SqliteLedger(home / "ledger.db").books().size == size
    assert state(home) == "retired"
