"""Questions tried out on made-up rows: free, as often as one likes, and of the same form as the real ones."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from discreet.curator import Answer, Curator
from discreet.curator.catalogue import Catalogue
from discreet.curator.practice import found_practice
from discreet.errors import OverBudget
from discreet.sandbox import DIRECT, Sandbox

T = TypeVar("T")


@dataclass(frozen=True)
class _Home:
    """A practice home, and what it was made for."""

    known: Catalogue
    folder: Path
    curator: Curator

    @property
    def touched(self) -> bool:
        """Whether anything was asked in it."""
        return bool(self.curator.history(everybody=True))


class Practice:
    """A practice home for the newest declarations; another one when they change, or when its budgets are spent."""

    def __init__(self, sandbox: Sandbox = DIRECT) -> None:
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._home: _Home | None = None

    def asked(
        self, real: Curator, sql: str, terms: Mapping[str, object], granted: Collection[str] | None = None
    ) -> Answer:
        """The answer to a question on made-up rows. What is left, and where it stands, means nothing here."""
        terms = {**{name: value for name, value in terms.items() if name != "free"}, "fresh": True}
        return replace(
            self.done(real, lambda curator: curator.within(granted).query(sql, **terms)), left=None, entry=""
        )

    def done(self, real: Curator, what: Callable[[Curator], T]) -> T:
        """Whatever a curator can do, on made-up rows."""
        home = self._found(real)
        try:
            return what(home.curator)
        except OverBudget:
            if not home.touched:
                raise
            return what(self._found(real, instead_of=home).curator)

    def _found(self, real: Curator, *, instead_of: _Home | None = None) -> _Home:
        with self._lock:
            known, home = real.declared(), self._home
            if home is None or home is instead_of or home.known is not known or not home.folder.exists():
                self._home = home = _made(real, known, self._sandbox)
            return home


def _made(real: Curator, known: Catalogue, sandbox: Sandbox) -> _Home:
    folder = Path(tempfile.mkdtemp(prefix="discreet-practice-"))
    try:
        found_practice(folder / "home", known, real.public_files())
        curator = Curator(folder / "home", sandbox=sandbox)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(curator, _removed, folder, os.getpid())
    return _Home(known, folder, curator)


def _removed(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # a child that was forked does not clear away what its parent still uses
        shutil.rmtree(folder, ignore_errors=True)
