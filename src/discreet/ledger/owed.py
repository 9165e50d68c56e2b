"""Holds that are owed: closed populations of which the ledger could not be told yet."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from discreet import durable


class Owed:
    """What this process owes, and what any process does: an empty file beside the ledger, for a disk that is full."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._own: dict[str, int] = {}  # populations, and how many entries there were

    def __bool__(self) -> bool:
        return bool(self._own) or any(self._ledger.parent.glob(f"{self._ledger.name}.hold.*"))

    def note(self, population: str, size: int) -> None:
        """Owe a hold, here and, if there is room for a name, for everybody to see."""
        self._own[population] = size
        with suppress(OSError):
            os.close(os.open(self._mark(population), os.O_WRONLY | os.O_CREAT, 0o600))
            durable.sync(self._ledger.parent)

    def marked(self, population: str) -> bool:
        """Whether anybody left a mark."""
        return self._mark(population).exists()

    def since(self, population: str) -> int | None:
        """After how many entries this process came to owe it; None if it does not."""
        return self._own.get(population)

    def forget(self, population: str) -> None:
        """It is written."""
        self._mark(population).unlink(missing_ok=True)
        self._own.pop(population, None)

    def _mark(self, population: str) -> Path:
        digest = hashlib.sha256(population.encode(errors="replace")).hexdigest()
        return self._ledger.with_name(f"{self._ledger.name}.hold.{digest}")
