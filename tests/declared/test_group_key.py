"""A key has one form for each type: spellings of one value meet, values stay apart, what is of no type is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.declared.column import Column
from discreet.declared.group_key import Key, Type, canonical, canonical_groups, value_of
from discreet.errors import Refusal

DAY = dt.date(2024, 1, 5)
ONE: dict[Type, list[tuple[list[object], Key]]] = {
    Type.BOOLEAN: [
        ([True, "true", "TRUE", "t", " Yes ", "on", "1", 1, "tr"], True),
        ([False, "f", "no", "of", 0], False),
    ],
    Type.BIGINT: [([1, "1", "01", " 1 ", "1.0", 1.0, Decimal("1.00"), "+1", "1e0"], 1), ([0, "-0", -0.0], 0)],
    Type.DOUBLE: [
        ([1, 1.0, "1", "1.00", Decimal("1.0"), "01"], "1"),
        ([0.1, "0.10", ".1", Decimal("0.1"), "1e-1"], "0.1"),
        ([0, -0.0, "-0", "0.000"], "0"),
        ([1e22, "10000000000000000000000"], "1e+22"),
    ],
    Type.DATE: [
        (
            [
                "2024-1-5",
                "2024-01-05",
                " 2024-01-05 ",
                DAY,
                dt.datetime.combine(DAY, dt.time()),
                "2024-01-05T00:00",
            ],
            "2024-01-05",
        ),
        (["0001-01-01", dt.date(1, 1, 1)], "0001-01-01"),
    ],
    Type.TIMESTAMP: [
        (
            ["2024-01-05T10:00", "2024-1-5 10:00:00", "2024-01-05 10:00:00.000", "20240105T100000"],
            "2024-01-05 10:00:00",
        ),
        (["2024-01-05", dt.date(2024, 1, 5), "2024-01-05 00:00"], "2024-01-05 00:00:00"),
        (["2024-01-05 10:00:00.5", "2024-01-05T10:00:00.500000000"], "2024-01-05 10:00:00.500000"),
    ],
    Type.VARCHAR: [(["a"], "a"), ([" a"], " a"), (["A"], "A"), ([""], ""), (["01"], "01")],
}
NONE: dict[Type, list[object]] = {
    Type.BOOLEAN: ["maybe", "", "o", 2, 1.0, None.__class__],
    Type.BIGINT: ["x", "1.5", 1.5, True, "", "nan", 1 << 63, "1_0", "1/1", "١", "9" * 500, float("inf")],
    Type.DOUBLE: ["x", True, float("nan"), "inf", "1e999", "", "0x10", "1e999999999"],
    Type.DATE: ["x", "2024-02-30", "2024-01-05 10:00", 20240105, "24-1-5", "infinity", "", True, "10000-01-01"],
    Type.TIMESTAMP: ["x", "2024-01-05 25:00", "2024-01-05 10:00+02", "2024-01-05 10:00:00.1234567", 7, "now"],
    Type.VARCHAR: [1, True, 1.0, dt.date(2024, 1, 5)],
}


@pytest.mark.parametrize("kind", Type)
def test_spellings_of_one_value_are_one_key(kind: Type) -> None:
    keys = []
    for spellings, key in ONE[kind]:
        assert {(type(made), made) for made in (canonical(each, kind) for each in spellings)} == {(type(key), key)}
        assert canonical(key, kind) == key, "the form of a form is itself"
        keys.append(key)
    assert len(set(keys)) == len(keys), "different values stay apart"
    assert canonical(None, kind) is None


@pytest.mark.parametrize("kind", Type)
def test_what_is_of_no_type_is_refused_by_its_name(kind: Type) -> None:
    for value in NONE[kind]:
        with pytest.raises(Refusal) as refused:
            canonical(value, kind, "column 'x'")
        assert f"is not a {kind.value}" in str(refused.value)
        assert "column 'x': " in str(refused.value)
    with pytest.raises(Refusal, match="'2024-02-30' is not a date"):
        canonical("2024-02-30", Type.DATE)


VALUES = {
    Type.BOOLEAN: st.booleans(),
    Type.BIGINT: st.integers(-(1 << 63), (1 << 63) - 1),
    Type.DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    Type.VARCHAR: st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
    Type.DATE: st.dates(),
    Type.TIMESTAMP: st.datetimes(),
}


@pytest.mark.parametrize("kind", Type)
def test_a_key_is_the_value_that_duckdb_reads_from_it(kind: Type) -> None:
    """The one form is also one that the engine understands: what it reads back is the value, bit by bit but for −0."""

    @settings(max_examples=40)
    @given(VALUES[kind])
    def holds(value: object) -> None:
        key = canonical(value, kind)
        assert value_of(key, kind) == value
        text = str(key).lower() if kind is Type.BOOLEAN else str(key)
        [(read,)] = reader.execute(f"SELECT CAST(? AS {kind.value})", [text]).fetchall()
        assert read == value
        assert canonical(read, kind) == key

    with duckdb.connect() as reader:
        holds()


def test_groups_of_an_engine_are_found_by_canonical_keys() -> None:
    found = {(dt.date(2024, 1, 5), -0.0, "a"): 1, (None, 0.5, None): 2}
    expected: dict[tuple[Key, ...], int] = {("2024-01-05", "0", "a"): 1, (None, "0.5", None): 2}
    assert canonical_groups(found, [Type.DATE, Type.DOUBLE, Type.VARCHAR]) == expected


def test_declared_keys_take_their_one_form_and_twice_is_refused() -> None:
    assert Column("day", Type.DATE, keys=("2024-1-5", "2024-01-06")).keys == ("2024-01-05", "2024-01-06")
    with pytest.raises(Refusal, match="declares the key '2024-01-05' twice"):
        Column("day", Type.DATE, keys=("2024-1-5", "2024-01-05"))
    with pytest.raises(Refusal, match="column 'day': 'soon' is not a date"):
        Column("day", Type.DATE, keys=("soon",))
    with pytest.raises(Refusal, match="declares the key '01' twice"):
        Column("code", Type.BIGINT, keys=("1", "01"))
