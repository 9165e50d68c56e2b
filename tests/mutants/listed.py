"""All careless edits, a file a room."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mutants.mutant import Mutant


def _read(path: Path) -> list[Mutant]:
    edits = tomllib.loads(path.read_text(encoding="utf-8"))["edit"]
    return [Mutant(**{**edit, "tests": tuple(edit.get("tests", ()))}) for edit in edits]


MUTANTS = tuple(mutant for path in sorted(Path(__file__).parent.glob("*.toml")) for mutant in _read(path))
