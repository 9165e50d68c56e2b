"""A home whose head is kept in a state folder of its own, and a witness elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger.kept import spend

from discreet.ledger import Opened, found_ledger, open_ledger
from discreet.privacy import AddRemove, Pure


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a user who knows of no ledger yet."""
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def home(tmp_path: Path, state: Path) -> Path:
    assert not state.exists()
    made = tmp_path / "home"
    made.mkdir()
    found_ledger(made)
    ledger = open_ledger(made)
    ledger.append(Opened("patients", Pure(1), AddRemove("patients")))
    ledger.append(spend("0.5"))
    return made


@pytest.fixture
def share(tmp_path: Path) -> Path:
    made = tmp_path / "share"
    made.mkdir()
    return made
