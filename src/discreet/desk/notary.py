"""What of the ledger goes through a door: signed heads, and entries with the proof that they are in it."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from discreet.errors import Refusal
from discreet.ledger import Answer, Event, Grant, Head, Spend, SqliteLedger, sign, signing_key, verify
from discreet.ledger.entry import Entry
from discreet.ledger.verify import Extension, Receipt, Row, extend, receipt


class Notary:
    """Signs what the ledger of a home says, after recomputing all of it."""

    def __init__(self, home: Path) -> None:
        self._key = home / "ledger.key"
        self._ledger = SqliteLedger(home / "ledger.db", new=False)

    def pepper(self) -> bytes:
        """A secret that stays the same as long as the home has its key, and tells nothing about the key."""
        raw = signing_key(self._key).private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        return hmac.digest(raw, b"what strangers are told", "sha256")

    def head(self) -> Head:
        """A head of the ledger as it is now."""
        return self._signed(self._sound())

    def extension(self, kept: Head) -> Extension:
        """That the ledger as it is now begins with all that a kept head knew. Refused if it does not."""
        rows = self._sound()
        return extend(rows, kept, self._signed(rows))

    def proof(self, reader: Grant, number: int) -> Receipt | None:
        """The receipt of an entry; None if it is not for this reader.

        An analyst reads their own payments, and answers to questions about tables that they may ask about: those they
        would get free. A custodian reads everything but how a token is recognised, which stays in the home.
        """
        if not self._readable(reader, self._ledger.entry(number).event):
            return None
        rows = self._sound()
        return receipt(rows, number, self._signed(rows))

    def entries(self) -> list[Entry]:
        """Everything that is written in the ledger: for the desk to choose from."""
        return self._ledger.entries()

    def receipt(self, number: int) -> Receipt:
        """Of an entry, under the head that the ledger had with it: the same bytes whenever it is asked for."""
        rows = self._sound()[:number]
        head = sign([stored for _, stored, _ in rows], self._ledger.entry(number).time, signing_key(self._key))
        return receipt(rows, number, head)

    def _readable(self, reader: Grant, event: Event) -> bool:
        match event:
            case Grant():
                return False
            case Spend() if event.principal == reader.principal:
                return True
            case Answer():
                paid = self._ledger.entry(event.spend).event
                return isinstance(paid, Spend) and (reader.tables is None or set(paid.tables) <= set(reader.tables))
            case _:
                return reader.role == "custodian"

    def _sound(self) -> list[Row]:
        rows = self._ledger.rows()
        if not verify(rows).holds:
            raise Refusal("the ledger does not hold", hint="a custodian runs discreet ledger verify")
        return rows

    def _signed(self, rows: list[Row]) -> Head:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return sign([stored for _, stored, _ in rows], now, signing_key(self._key))
