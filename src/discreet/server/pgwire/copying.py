"""Rows as COPY sends them: text, CSV, or binary."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from discreet.server.pgwire import frames
from discreet.server.pgwire.commands import Copy
from discreet.server.pgwire.frames import BINARY, TEXT, Field
from discreet.server.pgwire.result import Rows
from discreet.server.pgwire.types import writers, written

_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_TRAILER = struct.pack("!h", -1)
_SPECIAL = re.compile(r'[",\s\\]')
_ESCAPES = str.maketrans({"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"})


def copied(copy: Copy, fields: Sequence[Field], rows: Rows) -> Iterator[bytes]:
    """The messages of a copy."""
    form = BINARY if copy.form == "binary" else TEXT
    yield frames.copy_out(len(fields), form)
    pieces = _binary(fields, rows) if form == BINARY else _lines(copy, fields, rows)
    yield from (frames.message(b"d", piece) for piece in pieces)
    yield frames.COPY_DONE


def _binary(fields: Sequence[Field], rows: Rows) -> Iterator[bytes]:
    """The header comes with the first row: some clients look for both in one message."""
    columns, head = writers(fields, [BINARY] * len(fields)), _HEADER
    for row in rows:
        yield head + frames.cells(written(columns, row))
        head = b""
    yield head + _TRAILER


def _lines(copy: Copy, fields: Sequence[Field], rows: Rows) -> Iterator[bytes]:
    columns = writers(fields, [TEXT] * len(fields))
    line = _csv if copy.form == "csv" else _tabs
    if copy.header:
        yield line([field.name for field in fields])
    for row in rows:
        yield line([None if cell is None else cell.decode() for cell in written(columns, row)])


def _tabs(cells: Sequence[str | None]) -> bytes:
    return ("\t".join("\\N" if cell is None else cell.translate(_ESCAPES) for cell in cells) + "\n").encode()


def _csv(cells: Sequence[str | None]) -> bytes:
    return (",".join(map(_quoted, cells)) + "\n").encode()


def _quoted(cell: str | None) -> str:
    """NULL is nothing, and an empty text is two quotes."""
    if cell is None:
        return ""
    return '"' + cell.replace('"', '""') + '"' if not cell or _SPECIAL.search(cell) else cell
