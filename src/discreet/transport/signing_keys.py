"""Keys that sign a home's tasks, and signed handovers from one to the next: what an old key signed stays signed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet import durable
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger.entry_kinds import Plain
from discreet.ledger.signed_head import genuine, is_hex, public_part, signing_key, strict_json
from discreet.transport.signed_task import signed_bytes

FORMAT = "discreet-key-1"


@dataclass(frozen=True)
class Handover:
    """The holder of the key `old` says that `new` signs from now on."""

    old: str
    new: str
    signature: str

    @property
    def signed(self) -> bytes:
        """The bytes under the signature."""
        return signed_bytes(b"discreet-key\0", self.body)

    @property
    def body(self) -> dict[str, Plain]:
        """As JSON."""
        return {"format": FORMAT, "old": self.old, "new": self.new, "signature": self.signature}

    def genuine(self) -> bool:
        """Whether the old key said so."""
        return genuine(self.old, self.signature, self.signed)


def handed_over(old: Ed25519PrivateKey, new: Ed25519PrivateKey) -> Handover:
    """From one key to the next."""
    unsigned = Handover(public_part(old), public_part(new), "")
    return Handover(unsigned.old, unsigned.new, old.sign(unsigned.signed).hex())


def read_handover(text: str) -> Handover:
    """The handover in a JSON text, if its old key signed it."""
    try:
        match strict_json(text):
            case {"format": str(form), "old": str(old), "new": str(new), "signature": str(said), **rest} if not rest:
                handover = Handover(old, new, said)
                if form == FORMAT and handover.genuine() and is_hex(new, 32):
                    return handover
    except ValueError:
        pass
    raise Refusal(f"this is not a handover from one key to the next: {shown(text)}")


def follows(trusted: str, key: str, handovers: Iterable[Handover]) -> bool:
    """Whether a key is the trusted one, or got its place from it, one signed handover after another."""
    reached = {trusted}
    for each in handovers:
        if each.old in reached and each.genuine():
            reached.add(each.new)
    return key in reached


def related(key: str, handovers: Iterable[Handover]) -> frozenset[str]:
    """All keys that genuine handovers tie to a key, forwards and backwards, and itself."""
    ties = [{each.old, each.new} for each in handovers if each.genuine()]
    keys, before = {key}, 0
    while len(keys) > before:
        before = len(keys)
        keys = keys.union(*(tie for tie in ties if tie & keys))
    return frozenset(keys)


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
        handover = handed_over(old, signing_key(self._aside))
        file.execute("INSERT INTO handover (document) VALUES (?)", (json.dumps(handover.body),))
        return handover

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
