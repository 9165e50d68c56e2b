"""Numbers are read exactly, and nonsense is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.exact import Number, count, exact, nonnegative, positive, probability, share, shown, spoken

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    "value",
    [0.1, "0.1", "1/10", " 1e-1 ", Decimal("0.1"), TENTH, np.float64(0.1), np.float32(0.1), np.float16(0.1)],
    ids=repr,
)
def test_a_tenth_is_a_tenth_however_it_is_said(value: float) -> None:
    assert exact(value, "epsilon") == TENTH


def test_small_and_large_texts() -> None:
    assert exact("1e-6", "delta") == Fraction(1, 10**6)
    assert exact(1e-300, "delta") == Fraction(1, 10**300)
    assert exact("1e999", "epsilon") == 10**999


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_a_decimal_and_its_text_are_the_same_number(value: Decimal) -> None:
    assert exact(value, "x") == exact(str(value), "x") == Fraction(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_by_its_shortest_digits(value: float) -> None:
    number = exact(value, "x")
    assert float(number) == value
    assert number == Fraction(repr(value))


def test_an_integer_of_numpy_does_not_wrap_around_later() -> None:
    wrapped = Fraction(np.int64(2**62))  # type: ignore[call-overload]  # keeps numpy's integer inside
    number = exact(wrapped, "x")
    assert number * 4 == 2**64
    assert exact(np.int64(3), "x") * 2**63 == 3 * 2**63  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        np.float32("nan"),
        "nan",
        "inf",
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        True,
        False,
        np.True_,
        1j,
        "",
        "many",
        "1/0",
        None,
        [1],
        "1e1000",
        "1E-0009999",
        Decimal("1e-123456789"),
        "1e٣٠٠٠٠٠",  # digits of another script, an exponent of six of them
        "٣",
        "1\N{NO-BREAK SPACE}",
        np.array(0.5),
    ],
    ids=repr,
)
def test_what_is_no_number_is_refused_by_name_and_value(value: str) -> None:
    with pytest.raises(Refusal) as refusal:
        exact(value, "epsilon")
    assert "epsilon" in str(refusal.value)
    assert repr(value) in str(refusal.value)


@pytest.mark.parametrize("legacy", [False, "1.13", "1.21"])
def test_how_numpy_prints_changes_no_number(legacy: Literal["1.13", "1.21", False]) -> None:
    digits = np.float64("0.12345678901234568")
    with np.printoptions(legacy=legacy, precision=3):
        assert exact(digits, "x") == Fraction("0.12345678901234568")
        assert exact(np.float32(16777216), "x") == 16777216  # type: ignore[arg-type]
        assert exact(np.float32(0.1), "x") == exact(np.float16(0.1), "x") == TENTH  # type: ignore[arg-type]
        assert exact(np.longdouble("0.1"), "x") == TENTH  # type: ignore[arg-type]


LONG = 10**5000 + 1  # Python reads and writes no number of more than 4300 digits


@pytest.mark.parametrize("value", ["1" * 2001, Decimal("1" * 2001), "0." + "3" * 5000, "1/" + "7" * 5000], ids=range(4))
def test_a_text_too_long_to_be_meant_is_refused(value: Number) -> None:
    with pytest.raises(Refusal, match=r"epsilon must have at most 2000 characters, got .{1,210}…$"):
        exact(value, "epsilon")


def test_what_is_spelled_out_comes_back() -> None:
    for text in ("1e999", "1e-999", "9" * 999, "-1.5e-990"):
        number = exact(text, "x")
        assert exact(str(number), "x") == number


@pytest.mark.parametrize("value", [-LONG, Fraction(-LONG, 3), Fraction(-1, LONG)], ids=range(3))
def test_a_refusal_does_not_fail_at_the_number_it_names(value: Number) -> None:
    for reader in (positive, nonnegative, probability, share):
        with pytest.raises(Refusal, match=r"got delta=(≈|-1E)"):
            reader(value, "delta")
    with pytest.raises(Refusal, match=r"got size=≈-1E\+5000$"):
        count(-LONG, "size")
    with pytest.raises(Refusal, match="epsilon must be a finite number, got a list too long to write"):
        exact([LONG], "epsilon")  # type: ignore[arg-type]


def test_shown() -> None:
    assert shown("a") == "'a'"
    assert shown("a", str) == "a"
    assert shown(10**5000) == "1E+5000"
    assert shown(Fraction(1, LONG), str) == "≈1E-5000"
    assert shown({"a": [LONG]}) == "a dict too long to write"
    assert len(shown("x" * 10**6)) < 300
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a list too long to write"


class Broken:
    """Fails, in the way that its text says, when it is asked for its text."""

    def __init__(self, text: object) -> None:
        self.text = text

    def __repr__(self) -> str:
        if isinstance(self.text, Exception):
            raise self.text
        return self.text  # type: ignore[return-value]


class Boastful(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise OSError("no length")


@pytest.mark.parametrize("text", [TypeError("x"), KeyError("x"), MemoryError(), 5, None])
def test_a_refusal_never_fails_at_the_value_that_it_names(text: object) -> None:
    assert shown(Broken(text)) == "a Broken that cannot be written"
    with pytest.raises(Refusal, match="size=a Broken that cannot be written"):
        count(Broken(text), "size")  # type: ignore[arg-type]


def test_a_text_that_lies_about_its_length_is_shown_as_it_is() -> None:
    assert shown(Broken(Boastful("mine"))) == "mine"
    assert shown(Broken(Boastful("x" * 1000))) == "x" * 200 + "…"


@pytest.mark.parametrize(
    ("reader", "good", "bad"),
    [
        (positive, ["1e-9", 5], [0, -1, "-0.5"]),
        (nonnegative, [0, 5], [-1, "-1e-9"]),
        (probability, [0, "0.999"], [1, -1, 2, "-1e-9"]),
        (share, ["1e-9", 0.5], [0, 1, -1]),
    ],
)
def test_ranges(reader: Callable[[Number, str], Fraction], good: list[Number], bad: list[Number]) -> None:
    for value in good:
        assert reader(value, "delta") == exact(value, "delta")
    for value in bad:
        with pytest.raises(Refusal, match=f"got delta={value}$"):
            reader(value, "delta")


def test_whole_numbers() -> None:
    assert count(3, "size") == 3
    assert type(count(np.int64(3), "size")) is int  # type: ignore[arg-type]
    assert count(0, "times", least=0) == 0
    for bad in (0, -1, True, 1.0, "1", None):
        with pytest.raises(Refusal, match="expected a whole number size >= 1, got size="):
            count(bad, "size")  # type: ignore[arg-type]


@given(st.fractions(), st.integers(1, 30))
def test_what_is_spoken_without_a_squiggle_is_the_number_itself(value: Fraction, digits: int) -> None:
    text = spoken(value, digits)
    if text.startswith("≈"):
        assert abs(Fraction(text[1:]) - value) <= abs(value) * Fraction(1, 10 ** (digits - 1))
    else:
        assert Fraction(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (TENTH, "0.1"),
        (Fraction(3), "3"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 10**30), "1E-30"),
        (Fraction(2, 3 * 10**9), "≈6.66666667E-10"),
        (Fraction(10**6000), "1E+6000"),
        (Fraction(10**6000 + 1), "≈1E+6000"),
        (Fraction(7, 10**6000 + 1), "≈7E-6000"),
        (Fraction(-(1 << 4_000_000), 3), "≈-2^3999999"),
        (Fraction(3, 1 << 4_000_000), "≈2^-3999999"),
    ],
)
def test_spoken(value: Fraction, text: str) -> None:
    assert spoken(value) == text
    with localcontext(prec=1):  # the thread's own context changes nothing
        assert spoken(value) == text
