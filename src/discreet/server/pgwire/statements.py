"""From text to statements: which there are, and what each asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from discreet.server.errors import NOT_PRIVATE, UNSUPPORTED, WireError
from discreet.server.pgwire.commands import (
    ALL,
    CloseCursor,
    Copy,
    Deallocate,
    Declare,
    Discard,
    Explain,
    Fetch,
    Nothing,
    Reset,
    Set,
    Show,
    Statement,
    Transact,
)
from discreet.server.pgwire.lexer import SHORT, Word, matching, split
from discreet.server.pgwire.preparing import execute, prepare
from discreet.server.pgwire.reader import ASKING, Reader, refused


def statements(text: str) -> list[Statement]:
    """What a text asks for, one after the other."""
    return list(_recent(text) if len(text) <= SHORT else _read(text))


def _read(text: str) -> tuple[Statement, ...]:
    return tuple(_statement(text, listed) for listed in split(text))


_recent = lru_cache(maxsize=512)(_read)


def _statement(text: str, listed: Sequence[Word]) -> Statement:
    reader = Reader(text, listed)
    if listed[0].upper in ASKING:
        return reader.question()
    read = _READERS.get(listed[0].upper)
    if read is None:
        raise refused(listed[0])
    reader.take()
    found = read(reader)
    reader.end()
    return found


def _explain(reader: Reader) -> Statement:
    if reader.accept("("):
        closing = matching(reader.words, reader.at - 1)
        options = {word.upper for word in reader.words[reader.at : closing]}
        reader.at = closing + 1
    else:
        options = set()
        while reader.peek() in ("ANALYZE", "ANALYSE", "VERBOSE"):
            options.add(reader.take().upper)
    if options & {"ANALYZE", "ANALYSE"}:
        raise WireError(UNSUPPORTED, "EXPLAIN ANALYZE is not supported", hint="EXPLAIN tells price and error, free")
    return Explain(execute(reader) if reader.accept("EXECUTE") else reader.question())


def _copy(reader: Reader) -> Statement:
    if not reader.accept("("):
        raise WireError(
            NOT_PRIVATE,
            "COPY of a table would return rows of people",
            hint="COPY (SELECT …) TO STDOUT, with aggregates",
        )
    closing = matching(reader.words, reader.at - 1)
    question = reader.question(closing)
    reader.expect(")")
    if not reader.accept("TO", "STDOUT"):
        raise WireError(UNSUPPORTED, "a copy goes to the client only", hint="COPY (SELECT …) TO STDOUT")
    reader.accept("WITH")
    if reader.accept("("):
        form, header = _copy_options(reader)
        reader.expect(")")
    else:
        form = reader.take().name if reader.peek() in ("BINARY", "CSV") else "text"
        header = reader.accept("HEADER")
    if form not in ("text", "binary", "csv"):
        raise WireError(UNSUPPORTED, "a copy is text, binary or csv")
    return Copy(question, form, header)


def _copy_options(reader: Reader) -> tuple[str, bool]:
    form, header = "text", False
    while True:
        if reader.accept("FORMAT"):
            form = reader.take().name
        elif reader.accept("HEADER"):
            header = reader.peek() not in ("FALSE", "OFF")
            if reader.peek() in ("TRUE", "FALSE", "ON", "OFF"):
                reader.take()
        elif reader.accept("ENCODING"):
            reader.take()
        else:
            raise reader.error()
        if not reader.accept(","):
            return form, header


def _declare(reader: Reader) -> Statement:
    name = reader.name()
    while reader.peek() in ("BINARY", "INSENSITIVE", "ASENSITIVE", "NO", "SCROLL"):
        if reader.take().upper == "BINARY":
            raise WireError(UNSUPPORTED, "a cursor gives the format that its reader asks for", hint="leave BINARY out")
    reader.expect("CURSOR")
    if reader.accept("WITH", "HOLD"):
        raise WireError(UNSUPPORTED, "a cursor ends with its transaction", hint="leave WITH HOLD out")
    reader.accept("WITHOUT", "HOLD")
    reader.expect("FOR")
    return Declare(name, reader.question())


def _fetch(reader: Reader) -> Statement:
    count = 1
    if reader.accept("ALL"):
        count = ALL
    elif not reader.accept("NEXT"):
        forward = reader.accept("FORWARD")
        if forward and reader.accept("ALL"):
            count = ALL
        elif not reader.over and reader.words[reader.at].text.isdecimal():
            count = min(ALL, int(reader.take().text[:12]))
        elif reader.peek() in ("PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "BACKWARD"):
            raise WireError(UNSUPPORTED, "a cursor only goes forward")
    _ = reader.accept("FROM") or reader.accept("IN")
    return Fetch(reader.name(), count)


def _all_or_name(reader: Reader) -> str | None:
    return None if reader.accept("ALL") else reader.name()


def _deallocate(reader: Reader) -> Statement:
    reader.accept("PREPARE")
    return Deallocate(_all_or_name(reader))


def _setting(reader: Reader) -> str:
    parts = [reader.name()]
    while reader.accept("."):
        parts.append(reader.name())
    return ".".join(parts)


def _set(reader: Reader) -> Statement:
    if reader.accept("SESSION", "CHARACTERISTICS") or reader.accept("TRANSACTION") or reader.accept("CONSTRAINTS"):
        reader.at = len(reader.words)  # there is one way to isolate: nothing is written
        return Nothing("SET")
    local = reader.accept("LOCAL")
    _ = local or (reader.peek(1) not in ("TO", "=", "AUTHORIZATION") and reader.accept("SESSION"))
    if reader.accept("TIME", "ZONE"):
        return Set("timezone", _value(reader), local)
    if reader.accept("NAMES"):
        return Set("client_encoding", _value(reader), local)
    if reader.accept("ROLE") or reader.accept("SESSION", "AUTHORIZATION"):
        if reader.take().name not in ("none", "default"):
            raise WireError(NOT_PRIVATE, "nobody asks in another's name", hint="connect as that user")
        return Nothing("SET")
    name = _setting(reader)
    if not (reader.accept("=") or reader.accept("TO")):
        raise reader.error()
    return Set(name, _value(reader), local)


def _value(reader: Reader) -> str | None:
    """A value, or several behind commas; None for DEFAULT."""
    if reader.accept("DEFAULT"):
        return None
    listed = []
    while True:
        sign = "-" if reader.accept("-") else ""
        word = reader.take()
        if word.kind not in ("word", "quoted", "string", "number"):
            reader.at -= 1
            raise reader.error()
        listed.append(sign + (word.text if word.kind == "word" else word.name))
        if not reader.accept(","):
            return ", ".join(listed)


def _show(reader: Reader) -> Statement:
    for phrase, name in _PHRASES.items():
        if reader.accept(*phrase.split()):
            return Show(name)
    return Show(None if reader.accept("ALL") else _setting(reader))


_PHRASES = {
    "TIME ZONE": "timezone",
    "TRANSACTION ISOLATION LEVEL": "transaction_isolation",
    "SESSION AUTHORIZATION": "session_authorization",
}


def _reset(reader: Reader) -> Statement:
    if reader.accept("TIME", "ZONE"):
        return Reset("timezone")
    if reader.accept("ROLE") or reader.accept("SESSION", "AUTHORIZATION"):
        return Nothing("RESET")
    return Reset(None if reader.accept("ALL") else _setting(reader))


def _discard(reader: Reader) -> Statement:
    what = reader.take().upper
    if what not in ("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY"):
        reader.at -= 1
        raise reader.error()
    return Discard(what)


def _begin(reader: Reader) -> Statement:
    tag = "BEGIN"
    if reader.words[0].upper == "START":
        reader.expect("TRANSACTION")
        tag = "START TRANSACTION"
    reader.at = len(reader.words)  # isolation level, read only: there is one way
    return Transact("BEGIN", tag)


def _finish(step: str) -> Callable[[Reader], Statement]:
    def read(reader: Reader) -> Statement:
        _ = reader.accept("WORK") or reader.accept("TRANSACTION")
        reader.accept("AND", "NO", "CHAIN")
        if step == "ROLLBACK" and reader.accept("TO"):
            reader.accept("SAVEPOINT")
            return Transact("ROLLBACK TO", "ROLLBACK", reader.name())
        return Transact(step, step)

    return read


def _savepoint(step: str) -> Callable[[Reader], Statement]:
    def read(reader: Reader) -> Statement:
        if step == "RELEASE":
            reader.accept("SAVEPOINT")
        return Transact(step, step, reader.name())

    return read


def _unlisten(reader: Reader) -> Statement:
    reader.take()
    return Nothing("UNLISTEN")


_READERS: dict[str, Callable[[Reader], Statement]] = {
    "EXPLAIN": _explain,
    "COPY": _copy,
    "DECLARE": _declare,
    "FETCH": _fetch,
    "CLOSE": lambda reader: CloseCursor(_all_or_name(reader)),
    "PREPARE": prepare,
    "EXECUTE": execute,
    "DEALLOCATE": _deallocate,
    "SET": _set,
    "SHOW": _show,
    "RESET": _reset,
    "DISCARD": _discard,
    "BEGIN": _begin,
    "START": _begin,
    "COMMIT": _finish("COMMIT"),
    "END": _finish("COMMIT"),
    "ROLLBACK": _finish("ROLLBACK"),
    "ABORT": _finish("ROLLBACK"),
    "SAVEPOINT": _savepoint("SAVEPOINT"),
    "RELEASE": _savepoint("RELEASE"),
    "UNLISTEN": _unlisten,
}
