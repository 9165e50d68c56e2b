"""How a file that several programs write is waited for, one at a time, and what is said when it cannot be used.

The sentences are constants: they name no place in somebody's file system, and every door may repeat them.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from discreet.errors import Busy, Refusal

Glimpse = tuple[int, int, int, int, int, bytes]

PATIENCE = 5.0  # seconds to wait for another program's transaction; each lasts milliseconds
_LEAST = 0.05  # seconds that even who comes late waits
_PAUSE = 0.001  # seconds between two looks whether it is over
_RECENT = 2.0  # seconds for which what was found is still true
_SINCE: dict[Path, tuple[float, float]] = {}  # since when another program was found to have a file, and when last
_OUTSIDE = {  # what is wrong around the file, and not with it
    sqlite3.SQLITE_PERM: "it is not permitted",
    sqlite3.SQLITE_READONLY: "it may only be read",
    sqlite3.SQLITE_IOERR: "the disk fails",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
}
# One at a time in this process, and nobody while it forks: a child then inherits no file that is open, no SQLite
# lock that it does not have, and no lock of ours that nobody would release.
ALONE = threading.RLock()


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
            status, header = os.fstat(file), os.read(file, 100)
        finally:
            os.close(file)
    except OSError:
        return None
    if os.path.exists(journal):  # noqa: PTH110  # begun meanwhile: its counter may be rolled back, and counted again
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, header


def patience(path: Path) -> float:
    """The seconds to wait. Threads wait one after the other, so all of them together have the patience of one."""
    since, last = _SINCE.get(path, (0.0, 0.0))
    now = time.monotonic()
    return PATIENCE if now - last > _RECENT else max(_LEAST, since + PATIENCE - now)


def waited(path: Path, seconds: float = 0.0) -> None:
    """Note that another program has a file, and how long it was waited for already."""
    now = time.monotonic()
    since, last = _SINCE.get(path, (0.0, 0.0))
    _SINCE[path] = (now - seconds if now - last > _RECENT else since), now


def had(path: Path) -> None:
    """Note that it has not any more."""
    _SINCE.pop(path, None)


@dataclass(frozen=True)
class Called:
    """What people call a file, what did not happen if it cannot be used, and what helps if it is damaged."""

    name: str
    nothing: str
    remedy: str
    see: str = "see discreet doctor"


LEDGER = Called("the ledger", "nothing was charged", "put the newest copy of it back, then run discreet ledger verify")


def busy(file: Called = LEDGER) -> Busy:
    """Another program has it."""
    return Busy(f"{file.name} is in use by another program; {file.nothing}", hint="try again in a minute")


def damaged(file: Called = LEDGER) -> Refusal:
    """What is in the file is not what was written there."""
    return Refusal(f"{file.name} cannot be read: its file is damaged", hint=file.remedy)


def unusable(error: sqlite3.Error | OSError | UnicodeDecodeError, path: Path, file: Called = LEDGER) -> Refusal:
    """What is said of an error."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of it tells why in detail
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        waited(path, PATIENCE)
        return busy(file)
    if isinstance(error, OSError) or code in _OUTSIDE:
        why = error.strerror if isinstance(error, OSError) else _OUTSIDE[code]
        return Refusal(f"{file.name} cannot be read or written: {why}", hint=file.see)
    return damaged(file)


os.register_at_fork(before=ALONE.acquire, after_in_parent=ALONE.release, after_in_child=ALONE.release)


def connect(path: Path, file: Called = LEDGER) -> sqlite3.Connection:
    """The file that the path names now. It is never made here: an empty ledger in place of a lost one is a refill."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        timeout=patience(path),
        isolation_level=None,
        check_same_thread=False,
    )
    with ExitStack() as failing:
        failing.callback(connection.close)  # what cannot be set up is not left open
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        if mode != "delete":
            raise Refusal(f"another program holds {file.name} open in a way of its own", hint="close it and try again")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")
        failing.pop_all()
    return connection


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone among all processes.

    SQLite's own lock is lost when anything in this process closes the file, as a copy of the home does. This one lies
    on a file of its own, and belongs to the descriptor that took it.
    """
    lock = path.with_name(f"{path.name}.lock")
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
        take(file.fileno(), lock)
        yield


def take(handle: int, lock: Path) -> None:
    """Have a lock, which belongs to an open file, as soon as nobody else has it; after a while, say that others do."""
    end = time.monotonic() + patience(lock)
    while not _taken(handle):
        waited(lock)
        if time.monotonic() > end:
            raise busy()
        time.sleep(_PAUSE)
    had(lock)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
