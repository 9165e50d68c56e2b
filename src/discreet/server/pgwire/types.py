"""Types of Postgres: their numbers, and how values look on the wire as text and in binary."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from discreet.server.errors import BAD_INPUT, UNSUPPORTED, WireError
from discreet.server.pgwire.frames import BINARY, WireField, text_of

BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID = 16, 17, 18, 19, 20, 21, 23, 25, 26
FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR = 700, 701, 705, 1042, 1043
DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC = 1082, 1114, 1184, 1700

Value = object  # None, bool, int, float, Decimal, str, date, datetime, or a list of these
Writer = Callable[[object], bytes]

_EPOCH = dt.date(2000, 1, 1)
_MIDNIGHT = dt.datetime(2000, 1, 1)  # noqa: DTZ001  # TIMESTAMP has no zone
_MICROSECOND = dt.timedelta(microseconds=1)
_MOST_DIGITS = 400


@dataclass(frozen=True)
class WireType:
    """A type: what a cast calls it, how many bytes it has (-1: it varies), how values are packed, arrays of them."""

    name: str
    size: int = -1
    form: str = ""  # for struct
    array: int = 0  # its number; 0: none is spoken of


KINDS = {
    BOOL: WireType("boolean", 1, array=1000),
    CHAR: WireType("text", 1, array=1002),
    NAME: WireType("text", 64, array=1003),
    INT8: WireType("bigint", 8, "q", 1016),
    INT2: WireType("smallint", 2, "h", 1005),
    INT4: WireType("integer", 4, "i", 1007),
    TEXT: WireType("text", array=1009),
    OID: WireType("oid", 4, "I", 1028),
    FLOAT4: WireType("real", 4, "f", 1021),
    FLOAT8: WireType("double precision", 8, "d", 1022),
    UNKNOWN: WireType("text"),
    BPCHAR: WireType("text", array=1014),
    VARCHAR: WireType("text", array=1015),
    DATE: WireType("date", 4, array=1182),
    TIMESTAMP: WireType("timestamp", 8, array=1115),
    TIMESTAMPTZ: WireType("timestamp", 8, array=1185),
    NUMERIC: WireType("numeric", array=1231),
}
ARRAY_OF = {oid: kind.array for oid, kind in KINDS.items() if kind.array}
ARRAYS = {array: element for element, array in ARRAY_OF.items()}
VECTORS = {22: INT2, 30: OID}  # arrays that count from 0 and are written without braces
NUMBERED = frozenset({24, 28, 2202, 2203, 2204, 2205, 2206, 3734, 3769, 4089, 4096, 4191})  # as text they are names
WHOLE = frozenset({INT2, INT4, INT8, OID})
FLOATING = frozenset({FLOAT4, FLOAT8})
TEXTS = frozenset({TEXT, VARCHAR, BPCHAR, NAME, CHAR, UNKNOWN})

_OURS = {  # what the database above the noise calls its types
    "boolean": BOOL,
    "tinyint": INT2,
    "smallint": INT2,
    "integer": INT4,
    "bigint": INT8,
    "hugeint": NUMERIC,
    "float": FLOAT4,
    "double": FLOAT8,
    "date": DATE,
    "timestamp": TIMESTAMP,
}


def oid_of(kind: str) -> int:
    """The number of a type that an answer has; whatever Postgres has no number for is text."""
    return NUMERIC if kind.startswith("decimal") else _OURS.get(kind, TEXT)


def field(name: str, oid: int) -> WireField:
    """A column of this type."""
    return WireField(name, oid, 4 if oid in NUMBERED else KINDS[oid].size if oid in KINDS else -1)


# NUMERIC in binary: digits in base 10,000, a weight, a sign, and how many decimals to show ----------------------------

_NEGATIVE, _NAN, _PLUS, _MINUS = 0x4000, 0xC000, 0xD000, 0xF000
_SPECIAL = {_NAN: Decimal("NaN"), _PLUS: Decimal("Infinity"), _MINUS: Decimal("-Infinity")}
_MOST_SHOWN = 1_000  # digits that are taken from a client


def numeric_packed(value: Decimal) -> bytes:
    """A decimal as bytes."""
    if not value.is_finite():
        sign = _NAN if value.is_nan() else _MINUS if value < 0 else _PLUS
        return struct.pack("!hhHh", 0, 0, sign, 0)
    negative, digits, exponent = value.as_tuple()
    power = int(exponent)
    text = "".join(map(str, digits)) + "0" * max(0, power)
    scale = max(0, -power)
    whole, part = (text[:-scale], text[-scale:].rjust(scale, "0")) if scale else (text, "")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[i : i + 4]) for i in range(0, len(whole) + len(part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        del groups[0]
        weight -= 1
    while groups and groups[-1] == 0:
        del groups[-1]
    sign = _NEGATIVE if negative and groups else 0
    return struct.pack(f"!hhHh{len(groups)}h", len(groups), weight if groups else 0, sign, scale, *groups)


def numeric_unpacked(raw: bytes) -> Decimal:
    """Bytes as a decimal. Raises ValueError or struct.error for what is none."""
    count, weight, sign, scale = struct.unpack("!HhHh", raw[:8])
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    groups = struct.unpack(f"!{count}H", raw[8:])
    if (
        4 * (abs(weight) + count) > _MOST_SHOWN
        or not 0 <= scale <= _MOST_SHOWN
        or any(group > 9999 for group in groups)
    ):
        raise ValueError("this number is too long")
    digits = tuple(map(int, "".join(f"{group:04d}" for group in groups) or "0"))
    value = Decimal((0, digits, 4 * (weight + 1 - count) if count else 0))  # arithmetic would round it to 28 digits
    shown = f"{value:.{scale}f}"
    return Decimal(f"-{shown}" if sign == _NEGATIVE else shown)


# values to clients ----------------------------------------------------------------------------------------------------


def writers(fields: Sequence[WireField], formats: Sequence[int]) -> list[Writer]:
    """How each column of rows is written. `formats` has one entry per field."""
    return [writer(column.oid, form) for column, form in zip(fields, formats, strict=True)]


def written(columns: Sequence[Writer], row: Sequence[object]) -> list[bytes | None]:
    """A row's cells as bytes."""
    return [None if cell is None else write(cell) for write, cell in zip(columns, row, strict=True)]


def writer(oid: int, form: int) -> Writer:
    """How values of a type are written in a format."""
    if oid in ARRAYS:
        return (lambda v: _array(ARRAYS[oid], v)) if form == BINARY else (lambda v: _array_text(ARRAYS[oid], v))
    if oid in VECTORS and form == BINARY:
        return lambda v: _array(VECTORS[oid], v, first=0)
    return _BINARY.get(oid, _plain) if form == BINARY else _TEXT.get(oid, _plain)


def _plain(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _number_text(value: object) -> bytes:
    number = value if isinstance(value, float) else float(str(value))
    if math.isnan(number):
        return b"NaN"
    if math.isinf(number):
        return b"Infinity" if number > 0 else b"-Infinity"
    return repr(number).removesuffix(".0").encode()


def _moment(value: object) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001
    return dt.datetime.fromisoformat(str(value))


def _day(value: object) -> dt.date:
    return _moment(value).date()


def _moment_text(value: object) -> str:
    text = _moment(value).isoformat(sep=" ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _packing(form: str) -> Writer:
    pack = struct.Struct(f"!{form}").pack
    if form in "df":
        return lambda value: pack(value if isinstance(value, float) else float(str(value)))
    return lambda value: pack(value if isinstance(value, int) else int(str(value)))


_TEXT: dict[int, Writer] = {
    BOOL: lambda v: b"t" if v else b"f",
    FLOAT4: _number_text,
    FLOAT8: _number_text,
    DATE: lambda v: _day(v).isoformat().encode(),
    TIMESTAMP: lambda v: _moment_text(v).encode(),
    TIMESTAMPTZ: lambda v: f"{_moment_text(v)}+00".encode(),
    NUMERIC: lambda v: f"{Decimal(str(v)):f}".encode(),
    BYTEA: lambda v: b"\\x" + bytes(v).hex().encode() if isinstance(v, bytes) else _plain(v),
}
_BINARY: dict[int, Writer] = {
    BOOL: lambda v: b"\1" if v else b"\0",
    DATE: lambda v: struct.pack("!i", (_day(v) - _EPOCH).days),
    TIMESTAMP: lambda v: struct.pack("!q", (_moment(v) - _MIDNIGHT) // _MICROSECOND),
    TIMESTAMPTZ: lambda v: struct.pack("!q", (_moment(v) - _MIDNIGHT) // _MICROSECOND),
    NUMERIC: lambda v: numeric_packed(Decimal(str(v))),
    **dict.fromkeys(NUMBERED, _packing("I")),
    **{oid: _packing(kind.form) for oid, kind in KINDS.items() if kind.form},
}


def _array(element: int, value: object, first: int = 1) -> bytes:
    items = list(value) if isinstance(value, (list, tuple)) else []
    if not items:
        return struct.pack("!iiI", 0, 0, element)
    pack = writer(element, BINARY)
    cells = [None if item is None else pack(item) for item in items]
    body = b"".join(struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in cells)
    return struct.pack("!iiIii", 1, int(None in cells), element, len(items), first) + body


def _array_text(element: int, value: object) -> bytes:
    items = list(value) if isinstance(value, (list, tuple)) else []
    pack = writer(element, 0)
    return b"{" + b",".join(b"NULL" if item is None else _quoted(pack(item)) for item in items) + b"}"


def _quoted(item: bytes) -> bytes:
    if item and item.upper() != b"NULL" and not re.search(rb'[\s{}",\\]', item):
        return item
    return b'"' + item.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


# values from clients --------------------------------------------------------------------------------------------------


def read(oid: int, form: int, raw: bytes) -> Value:
    """A parameter as a value."""
    try:
        return _read_binary(oid, raw) if form == BINARY else _read_text(oid, text_of(raw))
    except (ValueError, OverflowError, InvalidOperation, struct.error):
        kind = KINDS[ARRAYS.get(oid, oid)].name if ARRAYS.get(oid, oid) in KINDS else "this type"
        raise WireError(BAD_INPUT, f"a parameter is not a value of {kind}") from None


def _read_text(oid: int, text: str) -> Value:
    if "\0" in text:
        raise WireError("22021", f"text holds no zero byte, as this does in place {text.index(chr(0)) + 1}")
    if oid in ARRAYS:
        return [None if item is None else _read_text(ARRAYS[oid], item) for item in _items(text)]
    if oid in WHOLE:
        return _whole(text)
    if oid in FLOATING:
        return float(text.strip())
    if oid in _FROM_TEXT:
        return _FROM_TEXT[oid](text.strip())
    return text


def _whole(text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", text):
        raise ValueError(text)
    return int(text)


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    if value.is_finite() and (abs(value.adjusted()) > _MOST_DIGITS or len(value.as_tuple().digits) > _MOST_DIGITS):
        raise ValueError("this number is too long")
    return value


def _truth(text: str) -> bool:
    word = text.lower()
    if word in ("t", "true", "y", "yes", "on", "1"):
        return True
    if word in ("f", "false", "n", "no", "off", "0"):
        return False
    raise ValueError(text)


def _when(text: str) -> dt.datetime:
    """A day or a moment, with or without its distance from UTC: 2024-01-31 +01, 2024-01-31 12:00:00.5+02:30."""
    told = _WHEN.fullmatch(text)
    if told is None:
        return dt.datetime.fromisoformat(text)
    day, time, zone = told.groups()
    clock = dt.datetime.fromisoformat(f"{day} {time or '00:00'}")
    if zone is None:
        return clock
    sign, hours, minutes = (zone[0], int(zone[1:3]), int(zone[4:6] or 0)) if zone[0] in "+-" else ("+", 0, 0)
    passed = dt.timedelta(hours=hours, minutes=minutes)
    return clock.replace(tzinfo=dt.timezone(passed if sign == "+" else -passed))


_WHEN = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ Tt](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?))? *(Z|z|UTC|[+-]\d{2}(?::\d{2}(?::00)?)?)?",
    re.ASCII,
)


_FROM_TEXT: dict[int, Callable[[str], Value]] = {
    BOOL: _truth,
    NUMERIC: _decimal,
    DATE: lambda text: _when(text).date(),  # a time behind it is left out, as Postgres does, and so is a zone
    TIMESTAMP: lambda text: _when(text).replace(tzinfo=None),  # by the clock, as Postgres: JDBC adds its own zone
    TIMESTAMPTZ: lambda text: _moment(_when(text)),
}


def _read_binary(oid: int, raw: bytes) -> Value:
    if oid in ARRAYS:
        return _read_array(ARRAYS[oid], raw)
    if oid in TEXTS or oid == 0:
        return _read_text(TEXT, text_of(raw))
    if oid in _FROM_BINARY:
        return _FROM_BINARY[oid](raw)
    if oid in KINDS:
        return struct.unpack(f"!{KINDS[oid].form}", raw)[0]
    raise WireError(UNSUPPORTED, f"parameters of type {oid} are not read in binary", hint="send it as text")


_FROM_BINARY: dict[int, Callable[[bytes], Value]] = {
    BOOL: lambda raw: struct.unpack("!?", raw)[0],
    DATE: lambda raw: _EPOCH + dt.timedelta(days=struct.unpack("!i", raw)[0]),
    TIMESTAMP: lambda raw: _MIDNIGHT + struct.unpack("!q", raw)[0] * _MICROSECOND,
    TIMESTAMPTZ: lambda raw: _MIDNIGHT + struct.unpack("!q", raw)[0] * _MICROSECOND,
    NUMERIC: numeric_unpacked,
}


def _read_array(element: int, raw: bytes) -> list[Value]:
    dimensions, _, oid = struct.unpack("!iiI", raw[:12])
    if dimensions == 0:
        return []
    count, _ = struct.unpack("!ii", raw[12:20])
    if dimensions != 1 or oid != element or not 0 <= count <= len(raw):
        raise ValueError("an array of one dimension is expected")
    at, items = 20, []
    for _ in range(count):
        (size,) = struct.unpack("!i", raw[at : at + 4])
        at += 4
        items.append(None if size == -1 else _read_binary(element, raw[at : at + max(0, size)]))
        at += max(0, size)
    if at != len(raw):
        raise ValueError("an array has other bytes than its items")
    return items


_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}\\\s][^",{}\\]*))\s*(,|$)')


def _items(text: str) -> list[str | None]:
    """The items of an array that is written {like,"this one"}."""
    braces = re.fullmatch(r"\s*\{(.*)\}\s*", text, re.DOTALL)
    if braces is None:
        raise ValueError("an array stands in braces")
    inside, at, items = braces[1].strip(), 0, list[str | None]()
    while at < len(inside):
        item = _ITEM.match(inside, at)
        if item is None or (item[3] == "," and item.end() == len(inside)):
            raise ValueError("an array has items between commas")
        bare = None if item[2] is None else item[2].rstrip()
        quoted = None if item[1] is None else re.sub(r"\\(.)", r"\1", item[1], flags=re.DOTALL)
        items.append(quoted if bare is None else None if bare.upper() == "NULL" else bare)
        at = item.end()
    return items
