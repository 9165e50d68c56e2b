"""Rows as COPY sends them are read back as they were, whatever stands in them."""

from __future__ import annotations

import csv
import io

from hypothesis import example, given
from hypothesis import strategies as st

from discreet.server.pgwire.commands import Copy, Question
from discreet.server.pgwire.copying import copied
from discreet.server.pgwire.types import TEXT, field

FIELDS = [field(name, TEXT) for name in ('with "quotes"', "plain")]
LETTERS = st.text(st.sampled_from('",\n\r\t\\\b\f\vN. ab'), max_size=6)
CELLS = st.lists(st.tuples(st.none() | LETTERS, st.none() | LETTERS), max_size=4)
UNESCAPED = {"\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}  # the manual of COPY


def sent(form: str, rows: list[tuple[str | None, str | None]]) -> list[str]:
    """The bodies of the messages that hold data."""
    copy = Copy(Question("SELECT 1", 0), form, header=True)
    return [message[5:].decode() for message in copied(copy, FIELDS, rows) if message[:1] == b"d"]


def unescaped(cell: str) -> str | None:
    if cell == "\\N":
        return None
    letters = iter(cell)
    return "".join(UNESCAPED[next(letters)] if letter == "\\" else letter for letter in letters)


@given(CELLS)
@example([('say "hi"', 'a,"b'), ("", None), ("two\nlines", "\\N")])
def test_csv_is_read_back_by_any_reader_of_it(rows: list[tuple[str | None, str | None]]) -> None:
    head, *lines = csv.reader(io.StringIO("".join(sent("csv", rows)), newline=""), strict=True)
    assert head == ['with "quotes"', "plain"]
    assert [tuple(line) for line in lines] == [tuple(cell or "" for cell in row) for row in rows]
    assert [line == ",\n" for line in sent("csv", rows)[1:]] == [row == (None, None) for row in rows]


@given(CELLS)
def test_text_is_read_back_by_the_manual(rows: list[tuple[str | None, str | None]]) -> None:
    lines = [line.removesuffix("\n").split("\t") for line in sent("text", rows)[1:]]
    assert [tuple(map(unescaped, line)) for line in lines] == rows
