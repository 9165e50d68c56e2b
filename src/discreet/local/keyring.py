"""The key that signs a home's tasks and results, and how it is changed without a moment at which none is right."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet import durable
from discreet.errors import Refusal
from discreet.ledger.head import public_part, signing_key
from discreet.local.seal import Handover, handed_over, read_handover


class Keyring:
    """The key in a file. Which one it must be, the store's handovers say, or the first task if there are none.

    A new key is written beside the old one, then the handover is committed, then the new takes the old one's place.
    Whoever stops in between, the next use finishes or undoes it.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._aside = path, path.with_name(f"{path.name}.next")

    def current(self, file: sqlite3.Connection) -> Ed25519PrivateKey:
        """The key that signs now; made at the first use."""
        known = self._known(file)
        if known is not None:
            self.settle(known)
        if known is not None and (not self._path.exists() or public_part(signing_key(self._path)) != known):
            raise Refusal(f"{self._path.name} is not the key that signs here", hint="put it back from a copy")
        return signing_key(self._path)

    def rotate(self, file: sqlite3.Connection) -> Handover:
        """A new key, which the present one vouches for. `settle` puts it in place when that is committed."""
        old = self.current(file)
        self._aside.unlink(missing_ok=True)  # of one that was never committed
        found = handed_over(old, signing_key(self._aside))
        file.execute("INSERT INTO handover (document) VALUES (?)", (json.dumps(found.body),))
        return found

    def settle(self, known: str) -> None:
        """Finish a change of keys, if one was cut off after it had been committed."""
        if self._aside.exists() and public_part(signing_key(self._aside)) == known:
            with suppress(FileNotFoundError):  # another process was faster
                durable.move(self._aside, self._path)

    def handovers(self, file: sqlite3.Connection) -> list[Handover]:
        """From the first key to the present one."""
        return [read_handover(text) for (text,) in file.execute("SELECT document FROM handover ORDER BY number")]

    def _known(self, file: sqlite3.Connection) -> str | None:
        changed = self.handovers(file)
        if changed:
            return changed[-1].new
        first = file.execute("SELECT document FROM task LIMIT 1").fetchone()
        return None if first is None else str(json.loads(first[0])["key"])
