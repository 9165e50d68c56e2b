"""What a statement comes to: columns and rows, or only a word, and what else is to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.server.pgwire.commands import Copy
from discreet.server.pgwire.frames import Field

Rows = Sequence[Sequence[object]]


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


def counted(tag: str, rows: int) -> str:
    """What the client is told: some statements count."""
    return f"{tag} {rows}" if tag in ("SELECT", "FETCH", "COPY") else tag
