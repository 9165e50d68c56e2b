"""Messages of the Postgres protocol, version 3, as bytes and as values. Nothing here reads or writes a socket."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.server.errors import PROTOCOL, WireError, broken_frame

VERSION = 3 << 16
CANCEL, TLS, GSS = 80877102, 80877103, 80877104  # requests that come in the place of a version

STARTUP_BYTES = 10_000  # what Postgres takes
PASSWORD_BYTES = 4_096
MESSAGE_BYTES = 1 << 20  # a question has at most 20,000 characters; parameters may be longer
MOST_PARAMETERS = 2_000
TEXT, BINARY = 0, 1


class MessageReader:
    """Takes the fields of a message off its front. Whatever is not there is the client's mistake."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def take(self, size: int) -> bytes:
        """So many bytes."""
        taken = self._body[self._at : self._at + size]
        if size < 0 or len(taken) != size:
            raise broken_frame()
        self._at += size
        return taken

    def number(self, form: str) -> int:
        """A number: `h` of 16 bits, `i` of 32, `I` of 32 without sign."""
        (number,) = struct.unpack(f"!{form}", self.take(struct.calcsize(f"!{form}")))
        return int(number)

    def count(self, most: int) -> int:
        """How many of something follow."""
        many = self.number("h") & 0xFFFF
        if many > most:
            raise WireError(PROTOCOL, f"at most {most} of these go into a message")
        return many

    def string(self) -> str:
        """Text up to a zero byte."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise broken_frame()
        raw, self._at = self._body[self._at : end], end + 1
        return text_of(raw)

    def rest(self) -> bytes:
        """What is left."""
        return self.take(len(self._body) - self._at)

    def end(self) -> None:
        """Nothing is left."""
        if self._at != len(self._body):
            raise broken_frame()


def text_of(raw: bytes) -> str:
    """Bytes as text."""
    try:
        return raw.decode()
    except UnicodeDecodeError as broken:
        raise WireError("22021", f"text is sent in UTF-8, and byte {broken.start + 1} of this is not") from None


# what clients send ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParseMessage:
    """Prepare a statement."""

    name: str
    sql: str
    oids: tuple[int, ...]


@dataclass(frozen=True)
class BindMessage:
    """Give a statement its parameters."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class NamedMessage:
    """Name of a statement (S) or a portal (P) that is to be described or closed."""

    kind: bytes
    name: str


@dataclass(frozen=True)
class ExecuteMessage:
    """Run a portal, for so many rows; 0 is all."""

    portal: str
    rows: int


def startup_fields(body: MessageReader) -> dict[str, str]:
    """Who wants in, and with which settings."""
    fields: dict[str, str] = {}
    while name := body.string():
        fields[name] = body.string()
    body.end()
    return fields


def query_text(body: bytes) -> str:
    """The text of a simple query."""
    reading = MessageReader(body)
    text = reading.string()
    reading.end()
    return text


def parse(body: bytes) -> ParseMessage:
    """A Parse message."""
    reading = MessageReader(body)
    name, sql = reading.string(), reading.string()
    oids = tuple(reading.number("I") for _ in range(reading.count(MOST_PARAMETERS)))
    reading.end()
    return ParseMessage(name, sql, oids)


def bind(body: bytes) -> BindMessage:
    """A Bind message."""
    reading = MessageReader(body)
    portal, statement = reading.string(), reading.string()
    formats = _formats(reading)
    values = tuple(_value(reading) for _ in range(reading.count(MOST_PARAMETERS)))
    results = _formats(reading)
    reading.end()
    return BindMessage(portal, statement, formats, values, results)


def _formats(reading: MessageReader) -> tuple[int, ...]:
    formats = tuple(reading.number("h") for _ in range(reading.count(MOST_PARAMETERS)))
    if not set(formats) <= {TEXT, BINARY}:
        raise WireError(PROTOCOL, f"a format is 0 or 1, got {max(formats, key=abs)}")
    return formats


def _value(reading: MessageReader) -> bytes | None:
    size = reading.number("i")
    return None if size == -1 else reading.take(size)


def named(body: bytes) -> NamedMessage:
    """A Describe or Close message."""
    reading = MessageReader(body)
    asked = NamedMessage(reading.take(1), reading.string())
    reading.end()
    if asked.kind not in (b"S", b"P"):
        raise broken_frame()
    return asked


def execute(body: bytes) -> ExecuteMessage:
    """An Execute message."""
    reading = MessageReader(body)
    asked = ExecuteMessage(reading.string(), max(0, reading.number("i")))
    reading.end()
    return asked


def chosen(formats: Sequence[int], index: int) -> int:
    """The format of one column or parameter: none given is text, one given is for all."""
    if not formats:
        return TEXT
    return formats[0] if len(formats) == 1 else formats[index]


# what servers send ----------------------------------------------------------------------------------------------------


_SIZE, _COUNT = struct.Struct("!i").pack, struct.Struct("!H").pack
_NULL = _SIZE(-1)


@dataclass(frozen=True)
class WireField:
    """A column of an answer."""

    name: str
    oid: int
    size: int


def message(kind: bytes, body: bytes = b"") -> bytes:
    """A message of this kind."""
    return kind + _SIZE(len(body) + 4) + body


def authentication(code: int, rest: bytes = b"") -> bytes:
    """A step of letting somebody in; 0 is the last."""
    return message(b"R", struct.pack("!i", code) + rest)


def parameter_status(name: str, value: str) -> bytes:
    """What a setting is."""
    return message(b"S", _zero(name) + _zero(value))


def backend_key(process: int, secret: int) -> bytes:
    """What a client must know to cancel."""
    return message(b"K", struct.pack("!II", process, secret))


def ready(status: bytes) -> bytes:
    """The next question, please. I: idle, T: in a transaction, E: in a failed one."""
    return message(b"Z", status)


def negotiate(unknown: Sequence[str]) -> bytes:
    """This is the newest protocol here; these options are unknown."""
    return message(b"v", struct.pack("!ii", VERSION, len(unknown)) + b"".join(_zero(name) for name in unknown))


def row_description(fields: Sequence[WireField], formats: Sequence[int] = ()) -> bytes:
    """The columns of the rows that follow."""
    body = [struct.pack("!H", len(fields))]
    for index, field in enumerate(fields):
        body.append(_zero(field.name))
        body.append(struct.pack("!IhIhih", 0, 0, field.oid, field.size, -1, chosen(formats, index)))
    return message(b"T", b"".join(body))


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def cells(row: Sequence[bytes | None]) -> bytes:
    """A row as data messages and binary copies hold it."""
    parts = [_COUNT(len(row))]
    for cell in row:
        parts += (_NULL,) if cell is None else (_SIZE(len(cell)), cell)
    return b"".join(parts)


def data_row(row: Sequence[bytes | None]) -> bytes:
    """One row."""
    return message(b"D", cells(row))


def copy_out(columns: int, form: int) -> bytes:
    """Rows follow as a copy."""
    return message(b"H", struct.pack(f"!bH{columns}h", form, columns, *[form] * columns))


def command_complete(tag: str) -> bytes:
    """What was done."""
    return message(b"C", _zero(tag))


def error_response(error: WireError) -> bytes:
    """What did not work."""
    fields = {"S": error.severity, "V": error.severity, "C": error.code, "M": error.message, "H": error.hint}
    if error.position is not None:
        fields["P"] = str(error.position + 1)
    return message(b"E", _fields(fields))


def notice(text: str, detail: str = "") -> bytes:
    """Something to know, which is no error."""
    return message(b"N", _fields({"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": text, "D": detail}))


def _fields(fields: Mapping[str, str]) -> bytes:
    return b"".join(code.encode() + _zero(text) for code, text in fields.items() if text) + b"\0"


def _zero(text: str) -> bytes:
    """Text for a field that ends at a zero byte, so it must hold none."""
    return text.encode("utf-8", "replace").replace(b"\0", b"") + b"\0"


PARSE_COMPLETE = message(b"1")
BIND_COMPLETE = message(b"2")
CLOSE_COMPLETE = message(b"3")
NO_DATA = message(b"n")
EMPTY_QUERY = message(b"I")
PORTAL_SUSPENDED = message(b"s")
COPY_DONE = message(b"c")
