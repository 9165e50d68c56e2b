"""Where an engine puts rows that do not fit into memory, and how to tell whether its owner still lives."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def flocked(folder: Path, kind: int) -> Iterator[bool]:
    """A lock on a folder, shared (waited for) or alone (if it can be had at once: whether it was)."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _taken(handle, kind if kind == fcntl.LOCK_SH else kind | fcntl.LOCK_NB)
    finally:
        os.close(handle)


def _taken(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind)
    except BlockingIOError:
        return False
    return True


class Spill:
    """Where an engine puts rows that do not fit into memory. A folder for each store, locked as long as it lives.

    What a killed process left there has no lock, and whoever comes next takes it away.
    """

    def __init__(self, parent: Path) -> None:
        self._parent, self._owner, self._handle = parent, os.getpid(), -1
        self._own = parent / f"{self._owner}-{secrets.token_hex(8)}"

    def sweep(self) -> None:
        """Take away what has no living owner."""
        if not self._parent.exists():
            return
        with flocked(self._parent, fcntl.LOCK_EX) as alone:
            for left in self._parent.iterdir() if alone else ():
                with suppress(FileNotFoundError), flocked(left, fcntl.LOCK_EX) as dead:
                    if dead:
                        shutil.rmtree(left) if left.is_dir() else left.unlink()

    def folder(self) -> Path:
        """The folder, made at the first use."""
        if self._handle < 0:
            self._parent.mkdir(mode=0o700, exist_ok=True)
            with flocked(self._parent, fcntl.LOCK_SH):  # nobody sweeps before it is locked
                self._own.mkdir(mode=0o700)
                self._handle = os.open(self._own, os.O_RDONLY)
                fcntl.flock(self._handle, fcntl.LOCK_EX)
        return self._own

    def close(self) -> None:
        """Take the folder away; a forked child leaves it to its parent."""
        if self._handle >= 0 and self._owner == os.getpid():
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._handle)
            self._handle = -1
