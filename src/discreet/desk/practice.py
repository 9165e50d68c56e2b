"""Questions tried out on made-up rows: free, as often as one likes, and of the same form as the real ones."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path

from discreet.curator import Answer, Curator
from discreet.curator.catalogue import Catalogue
from discreet.curator.practice import found_practice
from discreet.errors import OverBudget


class Practice:
    """A practice home for the newest declarations; another one when they change, or when its budgets are spent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: tuple[Catalogue, Curator] | None = None

    def asked(self, real: Curator, sql: str, terms: dict[str, object]) -> Answer:
        """The answer to a question on made-up rows."""
        terms = {**terms, "fresh": True, "within": False}
        try:
            return self._curator(real).query(sql, **terms)
        except OverBudget:
            return self._curator(real, anew=True).query(sql, **terms)

    def _curator(self, real: Curator, *, anew: bool = False) -> Curator:
        with self._lock:
            known = real.declared()
            if anew or self._state is None or self._state[0] is not known:
                folder = Path(tempfile.mkdtemp(prefix="discreet-practice-"))
                found_practice(folder / "home", known, real.public_files())
                curator = Curator(folder / "home")
                weakref.finalize(curator, shutil.rmtree, folder, ignore_errors=True)
                self._state = known, curator
            return self._state[1]
