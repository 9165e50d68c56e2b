"""Values on the wire: psycopg, which knows nothing of us, reads what we write and writes what we read."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer

from discreet.server.errors import WireError
from discreet.server.pgwire import types
from discreet.server.pgwire.frames import BINARY, TEXT

FORMATS = (TEXT, BINARY)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=None, min_value=-(10**60), max_value=10**60)
VALUES = {
    types.BOOL: st.booleans(),
    types.INT2: st.integers(-(2**15), 2**15 - 1),
    types.INT4: st.integers(-(2**31), 2**31 - 1),
    types.INT8: st.integers(-(2**63), 2**63 - 1),
    types.OID: st.integers(0, 2**32 - 1),
    types.FLOAT8: st.floats(allow_nan=False),
    types.NUMERIC: DECIMALS,
    types.TEXT: st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    types.DATE: st.dates(),
    types.TIMESTAMP: st.datetimes(),
}
ANY = st.sampled_from(sorted(VALUES)).flatmap(lambda oid: st.tuples(st.just(oid), VALUES[oid]))


def theirs(oid: int, form: int, raw: bytes) -> object:
    """What psycopg reads."""
    return Transformer().get_loader(oid, pq.Format(form)).load(raw)


@given(ANY, st.sampled_from(FORMATS))
def test_psycopg_reads_what_is_written(pair: tuple[int, object], form: int) -> None:
    oid, value = pair
    assert theirs(oid, form, types.writer(oid, form)(value)) == value


@given(ANY, st.sampled_from(FORMATS))
def test_what_is_written_is_read_back(pair: tuple[int, object], form: int) -> None:
    oid, value = pair
    assert types.read(oid, form, types.writer(oid, form)(value)) == value


@given(ANY, st.sampled_from([PyFormat.TEXT, PyFormat.BINARY]))
def test_what_psycopg_writes_is_read(pair: tuple[int, object], form: PyFormat) -> None:
    _, value = pair
    writer = Transformer()
    (raw,) = writer.dump_sequence([value], [form])
    assert raw is not None
    assert writer.types is not None
    assert writer.formats is not None
    assert types.read(writer.types[0] or types.TEXT, int(writer.formats[0]), bytes(raw)) == value


@given(
    st.sampled_from(sorted(VALUES)).flatmap(
        lambda oid: st.tuples(st.just(types.ARRAY_OF[oid]), st.lists(st.none() | VALUES[oid], max_size=5))
    ),
    st.sampled_from(FORMATS),
)
def test_arrays(pair: tuple[int, list[object]], form: int) -> None:
    oid, values = pair
    raw = types.writer(oid, form)(values)
    assert types.read(oid, form, raw) == values
    if types.ARRAYS[oid] != types.OID or form == BINARY:
        assert theirs(oid, form, raw) == values


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, -0.0, 5e-324, 1.7976931348623157e308])
@pytest.mark.parametrize("form", FORMATS)
def test_numbers_at_the_ends(number: float, form: int) -> None:
    back = types.read(types.FLOAT8, form, types.writer(types.FLOAT8, form)(number))
    assert isinstance(back, float)
    assert struct.pack("!d", back) == struct.pack("!d", number)


@pytest.mark.parametrize(
    ("number", "raw"),
    [  # as Postgres 16 sends them
        ("0", "0000000000000000"),
        ("1", "00010000000000000001"),
        ("-1.5", "000200004000000100011388"),
        ("10000", "00010001000000000001"),
        ("0.0001", "0001ffff000000040001"),
        ("12345678.9", "000300010000000104d2162e2328"),
        ("NaN", "00000000c0000000"),
        ("Infinity", "00000000d0000000"),
        ("-Infinity", "00000000f0000000"),
    ],
)
def test_numerics_as_postgres_packs_them(number: str, raw: str) -> None:
    assert types.numeric_packed(Decimal(number)).hex() == raw
    assert str(types.numeric_unpacked(bytes.fromhex(raw))) == number


@pytest.mark.parametrize(
    ("oid", "text"),
    [
        *((types.INT8, text) for text in ("", "x", "1.5", "1e3", "0x10", "1_0", "9" * 20, "٣")),
        *((types.FLOAT8, text) for text in ("", "x", "1,5")),
        *((types.BOOL, text) for text in ("", "maybe", "2")),
        *((types.DATE, text) for text in ("", "yesterday", "2024-02-30", "0000-01-01")),
        *((types.NUMERIC, text) for text in ("", "x", "1e1000", "9" * 500)),
        *((1009, text) for text in ("", "a", "{a", "a}", "{a,}", "{{a},{b}}", '{"a}', "{,}")),
        (1016, "{1,x}"),
    ],
)
def test_what_is_no_value_is_refused_without_being_repeated(oid: int, text: str) -> None:
    with pytest.raises(WireError) as refused:
        types.read(oid, TEXT, text.encode())
    assert refused.value.code == "22P02"
    assert text == "" or len(text) < 3 or text not in refused.value.message


@given(st.sampled_from([*types.KINDS, *types.ARRAYS, 0, 2950]), st.sampled_from(FORMATS), st.binary(max_size=40))
def test_any_bytes_are_a_value_or_refused(oid: int, form: int, raw: bytes) -> None:
    try:
        types.read(oid, form, raw)
    except WireError as refused:
        assert refused.code in ("22P02", "22021", "0A000")  # noqa: PT017  # whichever it is


def test_types_of_answers() -> None:
    kinds = {"bigint": 20, "double": 701, "varchar": 25, "date": 1082, "timestamp": 1114, "boolean": 16}
    kinds |= {"integer": 23, "decimal(18,3)": 1700, "hugeint": 1700, "interval": 25, '"null"': 25}
    assert {kind: types.oid_of(kind) for kind in kinds} == kinds


def test_times_are_written_as_postgres_writes_them() -> None:
    moment = dt.datetime(2024, 2, 29, 12, 30, 0, 120000)  # noqa: DTZ001
    assert types.writer(types.TIMESTAMP, TEXT)(moment) == b"2024-02-29 12:30:00.12"
    assert types.writer(types.TIMESTAMP, TEXT)(moment.replace(microsecond=0)) == b"2024-02-29 12:30:00"
    assert types.writer(types.TIMESTAMPTZ, TEXT)(moment.replace(tzinfo=dt.UTC)) == b"2024-02-29 12:30:00.12+00"
    assert types.writer(types.DATE, TEXT)(dt.date(33, 1, 1)) == b"0033-01-01"
    assert types.read(types.DATE, TEXT, b"2024-02-29T23:00:00.000+00:00") == dt.date(2024, 2, 29)
    assert types.read(types.TIMESTAMPTZ, TEXT, b"2024-02-29 23:00:00+02") == dt.datetime(2024, 2, 29, 21)  # noqa: DTZ001
