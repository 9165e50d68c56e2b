"""The repository as files, without what was built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
_BUILT = {line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.endswith("/")} | {".git"}


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file that a person wrote."""
    for path in sorted(folder.iterdir()):
        if path.name in _BUILT or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def pages() -> list[Path]:
    """Every page of documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
