"""A glimpse of a ledger's file: whether anybody wrote since it was last read, without reading it."""

from __future__ import annotations

import os
from pathlib import Path

Glimpse = tuple[int, int, int, int, int, bytes]


def glimpse(path: Path) -> Glimpse | None:
    """What changes with every commit, wherever it was made; None while one is under way, or was cut off.

    The header of a SQLite file has a counter of commits. Whoever writes keeps a journal beside the file until all of it
    is written. So without a journal, a counter that is still the same stands for pages that are still the same, and a
    file put in place of another has another inode or other times.
    """
    journal = f"{path}-journal"
    if os.path.exists(journal):  # noqa: PTH110  # a path is made slowly, and every question looks several times
        return None
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found, header = os.fstat(file), os.read(file, 100)
        finally:
            os.close(file)
    except OSError:
        return None
    if os.path.exists(journal):  # noqa: PTH110  # begun meanwhile: its counter may be rolled back, and counted again
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, header
