"""What a statement comes to: columns and rows, or only a word, and what else is to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.server.pgwire.commands import Copy
from discreet.server.pgwire.frames import Field

Rows = Sequence[Sequence[object]]
_CELL = 50  # bytes of a cell beside its letters


@dataclass(frozen=True)
class Notice:
    """Something to know, which is no error."""

    text: str
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """The end of a statement. Without fields it has no rows."""

    tag: str  # its first word counts rows if it is SELECT, FETCH or COPY
    fields: tuple[Field, ...] | None = None
    rows: Rows = ()
    notices: tuple[Notice, ...] = ()
    copy: Copy | None = None
    ended: str = "answered"  # for the journal: answered, or free
    entry: str | None = None  # of the ledger

    @cached_property
    def size(self) -> int:
        """Bytes that its rows take, roughly."""
        cells = len(self.rows) * (len(self.fields or ()) + 1)
        return _CELL * cells + sum(len(cell) for row in self.rows for cell in row if isinstance(cell, (str, list)))


def counted(tag: str, rows: int) -> str:
    """What the client is told: some statements count."""
    return f"{tag} {rows}" if tag in ("SELECT", "FETCH", "COPY") else tag
