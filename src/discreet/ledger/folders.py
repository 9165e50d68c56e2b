"""Folders, and names in folders, that a power failure does not take away."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner may open, unless it is there; and those above it that are missing.

    What is flushed into a folder is lost with the folder's own name, so that is flushed too.
    """
    new = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in new:
        sync_folder(each.parent)
