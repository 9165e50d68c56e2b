"""Folders of releases that were asked for lately, in memory.

A certificate is signed anew whenever its folder is made: who fetches one file after another gets those of one folder.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.desk import Desk, Visitor
from discreet.errors import Refusal

MOST = 16
LARGEST = 1 << 26  # bytes of all of them together; a folder above it is made each time

Files = Mapping[str, bytes]


class Shelf:
    """What a desk published, for whoever may read it. Every method may be called from any thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Files] = OrderedDict()

    def files(self, visitor: Visitor, entry: int) -> Files:
        """The files of a release by their names. Whether a visitor may read them is looked up each time."""
        readable = any(each.entry == entry for each in self._desk.releases(visitor))
        with self._lock:
            known = self._kept.get(entry)
        if readable and known is not None:
            return known
        made = self._made(visitor, entry)
        self._keep(entry, made)
        return made

    def file(self, visitor: Visitor, entry: int, name: str) -> bytes:
        """One of them."""
        found = self.files(visitor, entry)
        if name not in found:
            raise Refusal(f"release {entry} has no file of this name", hint=f"it has {sorted(found)}")
        return found[name]

    def _made(self, visitor: Visitor, entry: int) -> Files:
        """The desk refuses who may not read it."""
        with TemporaryDirectory(prefix="discreet-release-") as aside:
            folder = Path(aside) / "release"
            self._desk.certified(visitor, entry, folder)
            return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}

    def _keep(self, entry: int, made: Files) -> None:
        with self._lock:
            self._kept[entry] = made
            self._kept.move_to_end(entry)
            while len(self._kept) > MOST or sum(map(_size, self._kept.values())) > LARGEST:
                self._kept.popitem(last=False)


def _size(files: Files) -> int:
    return sum(map(len, files.values()))
