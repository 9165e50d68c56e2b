"""Parser of statements: which there are in a text, and what each asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from discreet.exact import shown
from discreet.server.errors import NOT_PRIVATE, SYNTAX, UNSUPPORTED, WireError
from discreet.server.pgwire import statement_kinds
from discreet.server.pgwire.lexer import SHORT, Word, WordReader, matching, split
from discreet.server.pgwire.parameter_types import named

_ASKING = ("SELECT", "WITH", "VALUES", "TABLE", "(")
_COMMANDS = frozenset({
    "ALTER", "ANALYZE", "ANALYSE", "CALL", "CHECKPOINT", "CLUSTER", "COMMENT", "CREATE", "DELETE", "DO", "DROP",
    "GRANT", "IMPORT", "INSERT", "LISTEN", "LOAD", "LOCK", "MERGE", "MOVE", "NOTIFY", "REASSIGN", "REFRESH",
    "REINDEX", "REVOKE", "SECURITY", "TRUNCATE", "UPDATE", "VACUUM",
})  # fmt: skip


def parsed(text: str) -> list[statement_kinds.Statement]:
    """What a text asks for, one after the other."""
    return list(_recent(text) if len(text) <= SHORT else _read(text))


def _read(text: str) -> tuple[statement_kinds.Statement, ...]:
    return tuple(_statement(text, listed) for listed in split(text))


_recent = lru_cache(maxsize=512)(_read)


def _statement(text: str, listed: Sequence[Word]) -> statement_kinds.Statement:
    reader = WordReader(text, listed)
    if listed[0].upper in _ASKING:
        return _question(reader)
    read = _READERS.get(listed[0].upper)
    if read is None:
        raise _refused(listed[0])
    reader.take()
    statement = read(reader)
    reader.end()
    return statement


def _question(reader: WordReader, until: int | None = None) -> statement_kinds.Query:
    """What is left, up to the word of an index, as a question."""
    listed = reader.words[reader.at : until]
    if not listed:
        raise reader.error()
    if listed[0].upper not in _ASKING:
        raise _refused(listed[0])
    reader.at = len(reader.words) if until is None else until
    return statement_kinds.Query(reader.text[listed[0].start : listed[-1].end], listed[0].start)


def _refused(word: Word) -> WireError:
    """Why a statement that begins so is none of ours."""
    if word.upper in _COMMANDS:
        return WireError(
            UNSUPPORTED,
            f"only SELECT is answered here, got {word.upper}",
            hint="ask with SELECT … FROM …",
            position=word.start,
        )
    return WireError(SYNTAX, f"{word.text[:40]!r} begins no statement", position=word.start)


def _explain(reader: WordReader) -> statement_kinds.Statement:
    if reader.accept("("):
        closing = matching(reader.words, reader.at - 1)
        options = {word.upper for word in reader.words[reader.at : closing]}
        reader.at = closing + 1
    else:
        options = set()
        while reader.peek() in ("ANALYZE", "ANALYSE", "VERBOSE"):
            options.add(reader.take().upper)
    if options & {"ANALYZE", "ANALYSE"}:
        raise WireError(
            UNSUPPORTED,
            f"EXPLAIN {' '.join(sorted(options))} is not supported",
            hint="EXPLAIN tells price and error, free",
        )
    return statement_kinds.Explain(_execute(reader) if reader.accept("EXECUTE") else _question(reader))


def _copy(reader: WordReader) -> statement_kinds.Statement:
    if not reader.accept("("):
        raise WireError(
            NOT_PRIVATE,
            f"COPY of {reader.rest()} would return rows of people",
            hint="COPY (SELECT …) TO STDOUT, with aggregates",
        )
    closing = matching(reader.words, reader.at - 1)
    question = _question(reader, closing)
    reader.expect(")")
    if not reader.accept("TO", "STDOUT"):
        raise WireError(
            UNSUPPORTED, f"a copy goes to the client only, got {reader.rest()}", hint="COPY (SELECT …) TO STDOUT"
        )
    reader.accept("WITH")
    if reader.accept("("):
        form, header = _copy_options(reader)
        reader.expect(")")
    else:
        form = reader.take().name if reader.peek() in ("BINARY", "CSV") else "text"
        header = reader.accept("HEADER")
    if form not in ("text", "binary", "csv"):
        raise WireError(UNSUPPORTED, f"a copy is text, binary or csv, got {shown(form)}")
    return statement_kinds.Copy(question, form, header)


def _copy_options(reader: WordReader) -> tuple[str, bool]:
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


def _declare(reader: WordReader) -> statement_kinds.Statement:
    name = reader.name()
    while reader.peek() in ("BINARY", "INSENSITIVE", "ASENSITIVE", "NO", "SCROLL"):
        if reader.take().upper == "BINARY":
            raise WireError(
                UNSUPPORTED, f"cursor {shown(name)} gives the format that its reader asks for", hint="leave BINARY out"
            )
    reader.expect("CURSOR")
    if reader.accept("WITH", "HOLD"):
        raise WireError(UNSUPPORTED, f"cursor {shown(name)} ends with its transaction", hint="leave WITH HOLD out")
    reader.accept("WITHOUT", "HOLD")
    reader.expect("FOR")
    return statement_kinds.Declare(name, _question(reader))


def _fetch(reader: WordReader) -> statement_kinds.Statement:
    count = 1
    if reader.accept("ALL"):
        count = statement_kinds.ALL
    elif not reader.accept("NEXT"):
        forward = reader.accept("FORWARD")
        if forward and reader.accept("ALL"):
            count = statement_kinds.ALL
        elif not reader.over and reader.words[reader.at].text.isdecimal():
            count = min(statement_kinds.ALL, int(reader.take().text[:12]))
        elif reader.peek() in ("PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "BACKWARD"):
            raise WireError(UNSUPPORTED, f"a cursor only goes forward, got {reader.peek()}")
    _ = reader.accept("FROM") or reader.accept("IN")
    return statement_kinds.Fetch(reader.name(), count)


def _all_or_name(reader: WordReader) -> str | None:
    return None if reader.accept("ALL") else reader.name()


def _deallocate(reader: WordReader) -> statement_kinds.Statement:
    reader.accept("PREPARE")
    return statement_kinds.Deallocate(_all_or_name(reader))


def _setting(reader: WordReader) -> str:
    parts = [reader.name()]
    while reader.accept("."):
        parts.append(reader.name())
    return ".".join(parts)


def _set(reader: WordReader) -> statement_kinds.Statement:
    if reader.accept("SESSION", "CHARACTERISTICS") or reader.accept("TRANSACTION") or reader.accept("CONSTRAINTS"):
        reader.at = len(reader.words)  # there is one way to isolate: nothing is written
        return statement_kinds.Nothing("SET")
    local = reader.accept("LOCAL")
    _ = local or (reader.peek(1) not in ("TO", "=", "AUTHORIZATION") and reader.accept("SESSION"))
    if reader.accept("TIME", "ZONE"):
        return statement_kinds.Set("timezone", _value(reader), local)
    if reader.accept("NAMES"):
        return statement_kinds.Set("client_encoding", _value(reader), local)
    if reader.accept("ROLE") or reader.accept("SESSION", "AUTHORIZATION"):
        other = reader.take().name
        if other not in ("none", "default"):
            raise WireError(
                NOT_PRIVATE, f"nobody asks in another's name, as {shown(other)}", hint="connect as that user"
            )
        return statement_kinds.Nothing("SET")
    name = _setting(reader)
    if not (reader.accept("=") or reader.accept("TO")):
        raise reader.error()
    return statement_kinds.Set(name, _value(reader), local)


def _value(reader: WordReader) -> str | None:
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


def _show(reader: WordReader) -> statement_kinds.Statement:
    for phrase, name in _PHRASES.items():
        if reader.accept(*phrase.split()):
            return statement_kinds.Show(name)
    return statement_kinds.Show(None if reader.accept("ALL") else _setting(reader))


_PHRASES = {
    "TIME ZONE": "timezone",
    "TRANSACTION ISOLATION LEVEL": "transaction_isolation",
    "SESSION AUTHORIZATION": "session_authorization",
}


def _reset(reader: WordReader) -> statement_kinds.Statement:
    if reader.accept("TIME", "ZONE"):
        return statement_kinds.Reset("timezone")
    if reader.accept("ROLE") or reader.accept("SESSION", "AUTHORIZATION"):
        return statement_kinds.Nothing("RESET")
    return statement_kinds.Reset(None if reader.accept("ALL") else _setting(reader))


def _discard(reader: WordReader) -> statement_kinds.Statement:
    what = reader.take().upper
    if what not in ("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY"):
        reader.at -= 1
        raise reader.error()
    return statement_kinds.Discard(what)


def _begin(reader: WordReader) -> statement_kinds.Statement:
    tag = "BEGIN"
    if reader.words[0].upper == "START":
        reader.expect("TRANSACTION")
        tag = "START TRANSACTION"
    reader.at = len(reader.words)  # isolation level, read only: there is one way
    return statement_kinds.Transact("BEGIN", tag)


def _finish(step: str) -> Callable[[WordReader], statement_kinds.Statement]:
    def read(reader: WordReader) -> statement_kinds.Statement:
        _ = reader.accept("WORK") or reader.accept("TRANSACTION")
        reader.accept("AND", "NO", "CHAIN")
        if step == "ROLLBACK" and reader.accept("TO"):
            reader.accept("SAVEPOINT")
            return statement_kinds.Transact("ROLLBACK TO", "ROLLBACK", reader.name())
        return statement_kinds.Transact(step, step)

    return read


def _savepoint(step: str) -> Callable[[WordReader], statement_kinds.Statement]:
    def read(reader: WordReader) -> statement_kinds.Statement:
        if step == "RELEASE":
            reader.accept("SAVEPOINT")
        return statement_kinds.Transact(step, step, reader.name())

    return read


def _unlisten(reader: WordReader) -> statement_kinds.Statement:
    reader.take()
    return statement_kinds.Nothing("UNLISTEN")


def _prepare(reader: WordReader) -> statement_kinds.Prepare:
    """PREPARE name (types) AS SELECT …."""
    name = reader.name()
    oids = tuple(_type(listed) for listed in _listed(reader))
    reader.expect("AS")
    return statement_kinds.Prepare(name, oids, _question(reader))


def _execute(reader: WordReader) -> statement_kinds.Execute:
    """EXECUTE name (constants)."""
    name = reader.name()
    return statement_kinds.Execute(name, tuple(_constant(listed) for listed in _listed(reader)))


def _listed(reader: WordReader) -> Iterator[Sequence[Word]]:
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
        got = " ".join(each.text for each in listed)[:40]
        raise WireError(
            SYNTAX, f"EXECUTE takes constants, got {got}", hint="write each value out", position=listed[0].start
        )
    if word.kind in ("string", "number"):
        return sign + word.name
    if word.upper in ("TRUE", "FALSE", "NULL"):
        return None if word.upper == "NULL" else word.name
    raise WireError(
        SYNTAX, f"EXECUTE takes constants, got {word.text[:40]}", hint="write each value out", position=word.start
    )


_READERS: dict[str, Callable[[WordReader], statement_kinds.Statement]] = {
    "EXPLAIN": _explain,
    "COPY": _copy,
    "DECLARE": _declare,
    "FETCH": _fetch,
    "CLOSE": lambda reader: statement_kinds.CloseCursor(_all_or_name(reader)),
    "PREPARE": _prepare,
    "EXECUTE": _execute,
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
