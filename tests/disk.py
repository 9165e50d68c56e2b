"""What a power failure would leave: a disk that keeps only what was flushed, under the real file system.

Files are written, flushed and renamed as ever; beside that it is noted what had been flushed when. A flush of a file
keeps its bytes, one of a folder the names in it, and nothing else keeps anything. A name that is given to bytes which
were not flushed may be all that is left of them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_Kept = bytes | dict[str, int]  # of a file, or the names in a folder with the numbers of what they name


class Disk:
    """What was flushed below a folder, where all that lies there now was."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self._root = root
        self._kept = {path.stat().st_ino: _kept(path) for path in (root, *root.rglob("*"))}
        self.early: list[str] = []  # names of what was not flushed when it got them
        flush = os.fsync

        def flushed(handle: int) -> None:
            flush(handle)
            self._kept[os.fstat(handle).st_ino] = _kept(Path(f"/proc/self/fd/{handle}"))  # also what is only written

        patch.setattr(os, "fsync", flushed)
        for call in ("replace", "rename", "link"):
            patch.setattr(os, call, self._naming(getattr(os, call)))

    def _naming(self, call: Callable[..., None]) -> Callable[..., None]:
        def named(source: str | Path, target: str | Path, **more: Any) -> None:  # noqa: ANN401
            if not self._whole(Path(source)):
                self.early.append(Path(target).name)
            call(source, target, **more)

        return named

    def _whole(self, path: Path) -> bool:
        whole = self._kept.get(path.stat().st_ino) == _kept(path)
        return whole and (not path.is_dir() or all(map(self._whole, path.iterdir())))

    def names(self, folder: Path) -> set[str]:
        """What a folder would hold, if it was there."""
        kept = self._kept.get(folder.stat().st_ino)
        return set(kept) if isinstance(kept, dict) else set()

    def left(self, path: Path) -> bytes | None:
        """What would be read at a path if the power went now; None if nothing would be there."""
        number: int | None = self._root.stat().st_ino
        for part in path.relative_to(self._root).parts:
            names = self._kept.get(number or 0, {})
            number = names.get(part) if isinstance(names, dict) else None
        content = self._kept.get(number or 0)
        return content if isinstance(content, bytes) else None


def _kept(path: Path) -> _Kept:
    if not path.is_dir():
        return path.read_bytes()
    with os.scandir(path) as found:
        return {each.name: each.inode() for each in found}


class _Careless(sqlite3.Connection):
    """One that is as careless as SQLite can be built: what is safe, somebody has to ask for."""

    seen: dict[str, set[tuple[tuple[str, object], ...]]]

    def __init__(self, *given: Any, **more: Any) -> None:  # noqa: ANN401
        super().__init__(*given, **more)
        for name in ("synchronous", "fullfsync", "secure_delete"):
            super().execute(f"PRAGMA {name} = OFF")

    def close(self) -> None:
        (_, _, path), *_ = super().execute("PRAGMA database_list")
        names = ("journal_mode", "synchronous", "fullfsync", "secure_delete")
        said = tuple((name, super(_Careless, self).execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
        self.seen.setdefault(Path(path).name, set()).add(said)
        super().close()


def careless(patch: pytest.MonkeyPatch) -> dict[str, set[tuple[tuple[str, object], ...]]]:
    """From now on all SQLite files are opened carelessly: how each was treated when it was closed, by its name."""
    seen: dict[str, set[tuple[tuple[str, object], ...]]] = {}
    factory, connect = type("Careless", (_Careless,), {"seen": seen}), sqlite3.connect
    patch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, factory=factory))
    return seen


def holding(folder: Path, content: bytes) -> list[str]:
    """The names of all files below a folder in which some bytes stand."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path.name for path in files if content in path.read_bytes()]
