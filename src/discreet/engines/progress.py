"""How far an engine is with a long piece of work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import duckdb

Progress = Callable[[float], None]  # hears a share, from 0 to 1
_GLANCE = 0.1  # seconds between two looks


@contextmanager
def watched(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> Iterator[None]:
    """Tell how far a connection's work is, from a thread of its own. Whatever goes wrong there stays there."""
    if progress is None:
        yield
        return
    connection.execute("SET enable_progress_bar = true")
    connection.execute("SET enable_progress_bar_print = false")
    done = threading.Event()

    def watch() -> None:
        furthest = 0.0  # between two statements the engine says -1
        with suppress(Exception):
            while not done.wait(_GLANCE):
                furthest = max(furthest, min(connection.query_progress() / 100, 1.0))
                progress(furthest)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()  # it must not look at a connection that is closed
    with suppress(Exception):
        progress(1.0)
