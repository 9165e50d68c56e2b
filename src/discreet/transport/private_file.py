"""SQLite file for its owner's eyes, of a collector or of a device: what was committed is on the disk."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from discreet.ledger.file_access import Called, connect, had, unusable

# One at a time in this process, and nobody while it forks: a child then inherits no file that is open.
ALONE = threading.RLock()
os.register_at_fork(before=ALONE.acquire, after_in_parent=ALONE.release, after_in_child=ALONE.release)


class PrivateFile:
    """A SQLite file for its owner's eyes, opened for each transaction and closed after it.

    What was committed is on the disk, and what was deleted is overwritten.
    """

    def __init__(self, path: Path, called: Called, schema: str) -> None:
        self._path, self._called, self._schema = path, called, schema

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept."""
        return self._path.exists()

    @contextmanager
    def transaction(self, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """The file to oneself: all that is done inside is kept, or nothing is. `new`: it may be made here."""
        with self.reading(new=new) as file:
            file.execute("BEGIN IMMEDIATE")
            if new:
                for statement in self._schema.split(";")[:-1]:
                    file.execute(statement)
            yield file
            file.execute("COMMIT")

    @contextmanager
    def reading(self, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """The file as it is. What SQLite has to say is about a file, never about what is in it."""
        try:
            with ALONE:
                if new and not self.exists:
                    os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
                with closing(connect(self._path, self._called)) as file:
                    file.execute("PRAGMA secure_delete = ON")
                    yield file
            had(self._path)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as broken:  # the last is of words in a damaged schema
            raise unusable(broken, self._path, self._called) from None
