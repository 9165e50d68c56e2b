"""Numbers as people read them cover what they stand for, however they were rounded."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.significant_digits import measured


def number(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


@pytest.mark.parametrize(
    ("cell", "error", "shown"),
    [
        (12_346, 119, ("12,350", "± 130")),  # 12,350 is 4 off, and up to 123 from where the truth may be
        (12_346, 100, ("12,350", "± 110")),
        (12_350, 120, ("12,350", "± 120")),
        (0.4449, 0.011, ("0.445", "± 0.012")),
    ],
)
def test_an_error_has_what_rounding_took_from_its_number(cell: float, error: float, shown: tuple[str, str]) -> None:
    assert measured(cell, (cell - error, cell + error)) == shown


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_what_is_shown_covers_what_was_found(cell: int, error: int) -> None:
    shown, around = measured(cell, (cell - error, cell + error))
    middle, far = number(shown), number(around.removeprefix("± "))
    assert middle - far <= cell - error
    assert cell + error <= middle + far
