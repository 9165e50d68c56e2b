"""Parts that a user's machine may lack, and the machine where changes are checked may not."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def program(*names: str, package: str) -> str:
    """Where a program is that goes by one of these names."""
    for name in names:
        if (found := shutil.which(name)) is not None:
            return found
    return missing(names[0], f"apt-get install {package}")


def missing(what: str, how: str) -> NoReturn:
    """Leave the test out and say what it lacks; where changes are checked (`CI=true`), fail."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing: {how}", pytrace=False)
    pytest.skip(f"{what} is missing: {how}")
