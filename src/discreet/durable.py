"""Durable files: what these functions write is whole and on the disk, name and content, when they return."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def sync(path: Path) -> None:
    """Put a file's content, or the names in a folder, on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner may open, unless it is there; and those above it that are missing.

    What is synced in a folder is lost with the folder's own name, so that is synced too.
    """
    new = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in new:
        sync(each.parent)


def create(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Make a new file, by default for its owner alone. Only its name may still be lost: `sync` its folder."""
    with os.fdopen(os.open(path, _NEW, mode), "wb") as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            path.unlink()  # half of a file is worse than none
            raise


def move(aside: Path, path: Path) -> None:
    """Put what was written aside in place of a file, in one step."""
    aside.replace(path)
    sync(path.parent)


def replace(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all, in place of any other of its name."""
    aside = _beside(path)
    create(aside, content)
    try:
        move(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def keep(path: Path, content: bytes) -> None:
    """Write a file unless there is one already: of two writers the first one's stays, and it is whole."""
    aside = _beside(path)
    create(aside, content)
    try:
        with suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink()
    sync(path.parent)


def _beside(path: Path) -> Path:
    """A name that nobody else takes, in the same folder: a file is put in place only within one disk."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")
