"""Homes made before, made again: their rows are copied as they were ingested, and everything else is done anew.

A ledger, its key and its head outside belong to one home, so none of these is ever copied: the copy has its own, with
the same events in it. What two homes from one template share is the secret by which rows beyond a cap are chosen.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from discreet.curator import catalogue
from discreet.curator.custody import found_home
from discreet.ledger import Event, open_ledger

_MADE: dict[str, Template] = {}
_KEPT = Path(tempfile.mkdtemp(prefix="discreet-templates-"))
atexit.register(shutil.rmtree, _KEPT, ignore_errors=True)


@dataclass(frozen=True)
class Template:
    """What a home had when it was made."""

    events: Sequence[Event]
    declared: str
    tables: Path

    def made(self, folder: Path) -> None:
        """Another home like it."""
        found_home(folder)
        open_ledger(folder).append_all(self.events)
        (folder / "tables").mkdir(mode=0o700)
        for file in self.tables.iterdir():
            shutil.copy(file, folder / "tables")  # with its mode
        catalogue.write(folder, self.declared)
        (folder / ".lock").touch(mode=0o600)  # custody leaves it, and a test may ask what changed


def _taken(folder: Path, kept: Path) -> Template:
    kept.mkdir()
    for file in (folder / "tables").glob("*.duckdb"):
        shutil.copy(file, kept)
    events = [entry.event for entry in open_ledger(folder).entries()]
    return Template(events, (folder / catalogue.FILE).read_text(encoding="utf-8"), kept)


def home(folder: Path, make: Callable[[Path], object], *said: object) -> Path:
    """A home as `make` makes it from what is said: tables of rows, and values that show all there is to them."""
    key = hashlib.sha256()
    for each in said:
        key.update(_bytes(each) if isinstance(each, pa.Table) else repr(each).encode())
    name = key.hexdigest()
    if name in _MADE:
        _MADE[name].made(folder)
    else:
        make(folder)
        _MADE[name] = _taken(folder, _KEPT / name)
    return folder


def _bytes(table: pa.Table) -> bytes:
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return bytes(written.getvalue())
