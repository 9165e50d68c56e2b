"""PREPARE and EXECUTE as statements: for programs that write SQL only, such as psql scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.server.errors import SYNTAX, UNSUPPORTED, WireError
from discreet.server.pgwire.commands import Execute, Prepare
from discreet.server.pgwire.inference import named
from discreet.server.pgwire.lexer import Word, matching
from discreet.server.pgwire.reader import Reader


def prepare(reader: Reader) -> Prepare:
    """PREPARE name (types) AS SELECT …."""
    name = reader.name()
    oids = tuple(_type(listed) for listed in _listed(reader))
    reader.expect("AS")
    return Prepare(name, oids, reader.question())


def execute(reader: Reader) -> Execute:
    """EXECUTE name (constants)."""
    name = reader.name()
    return Execute(name, tuple(_constant(listed) for listed in _listed(reader)))


def _listed(reader: Reader) -> Iterator[Sequence[Word]]:
    """The words of each item in parentheses, if they come next."""
    if not reader.accept("("):
        return
    closing = matching(reader.words, reader.at - 1)
    depth, first = 0, reader.at
    for index in range(reader.at, closing + 1):
        word = reader.words[index]
        if depth == 0 and (word.text == "," or index == closing):
            if index == first:
                reader.at = index
                raise reader.error()
            yield reader.words[first:index]
            first = index + 1
        depth += {"(": 1, ")": -1}.get(word.text, 0)
    reader.at = closing + 1


def _type(listed: Sequence[Word]) -> int:
    """The number of a type; 0, as for one that is not told, if it is `unknown`."""
    oid = 0 if listed[0].text.lower() == "unknown" else named([word.text.lower() for word in listed])
    if oid is None:
        shown = " ".join(word.text for word in listed)[:40]
        raise WireError(UNSUPPORTED, f"there is no type {shown!r} for a parameter here", position=listed[0].start)
    return oid


def _constant(listed: Sequence[Word]) -> str | None:
    """The text of a constant: whatever type it names, the parameter that it is for decides."""
    if listed[0].upper == "CAST" and len(listed) > 4 and listed[1].text == "(" and listed[-1].text == ")":
        cast = next((i for i, word in enumerate(listed) if word.upper == "AS"), len(listed))
        listed = listed[2:cast]
    cast = next((i for i, word in enumerate(listed) if word.text == "::"), len(listed))
    words = listed[:cast]
    while len(words) > 1 and words[0].text == "(" and words[-1].text == ")":
        words = words[1:-1]
    if len(words) > 1 and words[-1].kind == "string" and all(word.kind == "word" for word in words[:-1]):
        words = words[-1:]  # DATE '2024-01-31'
    sign = words[0].text if len(words) == 2 and words[0].text in ("-", "+") else ""
    word = words[-1] if words else listed[0]
    if len(words) != 1 + bool(sign) or (sign and word.kind != "number"):
        raise WireError(SYNTAX, "EXECUTE takes constants", hint="write each value out", position=listed[0].start)
    if word.kind in ("string", "number"):
        return sign + word.name
    if word.upper in ("TRUE", "FALSE", "NULL"):
        return None if word.upper == "NULL" else word.name
    raise WireError(SYNTAX, "EXECUTE takes constants", hint="write each value out", position=word.start)
