"""A home with the made-up clinic in it, and a budget of ε = 2."""

from __future__ import annotations

from pathlib import Path

import clinic
import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=2)
