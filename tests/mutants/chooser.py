"""A plugin of pytest that runs some tests, in an order: `-p mutants.chooser`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

CHOSEN = "MUTANTS_CHOSEN"  # the variable that names the file with their list


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those of the list, as they stand in it."""
    order = {name: place for place, name in enumerate(json.loads(Path(os.environ[CHOSEN]).read_text(encoding="utf-8")))}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
    items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])
