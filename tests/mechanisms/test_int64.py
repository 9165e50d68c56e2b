"""Whole numbers as they were counted, and whole numbers out of whatever cells there are."""

from __future__ import annotations

import math
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import Whatever

from discreet.declared.grid import LIMIT, floors, whole
from discreet.errors import Refusal

STRANGE = [
    None,
    "3",
    b"3",
    3j,
    [3],
    np.timedelta64("NaT"),
    np.timedelta64(3, "s"),
    np.datetime64("NaT"),
    Decimal("sNaN"),
]
NUMBERS = st.one_of(st.integers(-(1 << 70), 1 << 70), st.floats(), st.fractions(), st.decimals(allow_nan=False))


@given(st.lists(st.integers(-(1 << 70), 1 << 70), max_size=8))
def test_whole_numbers_are_clamped_and_else_unchanged(values: list[int]) -> None:
    wanted = [max(-LIMIT, min(LIMIT, value)) for value in values]
    assert whole(values).tolist() == wanted
    assert whole(deque(values)).tolist() == wanted
    assert whole(np.array(values, dtype=object)).tolist() == wanted


@pytest.mark.parametrize(
    "stranger", [*(cell for cell in STRANGE if cell != [3]), 2.0, math.nan, Fraction(1, 2)], ids=repr
)
def test_what_no_query_counts_is_refused_by_name(stranger: Whatever) -> None:
    for values in ([stranger], [3, stranger]):
        with pytest.raises(Refusal, match="expected whole numbers"):
            whole(values)


def below(value: Whatever, low: int, high: int) -> int:
    """By definition."""
    if math.isnan(value):
        return low
    return max(low, min(high, math.floor(value) if math.isfinite(value) else int(math.copysign(high + 1, value))))


@given(st.lists(NUMBERS, max_size=8))
def test_floors_are_those_of_the_numbers(values: list[Whatever]) -> None:
    assert floors(values, 3, 1 << 40).tolist() == [below(value, 3, 1 << 40) for value in values]


@given(st.lists(st.floats(), max_size=8), st.sampled_from([np.float64, np.float32, np.float16, np.longdouble]))
def test_floors_of_arrays_are_those_of_their_cells(values: list[float], kind: type[np.floating]) -> None:
    with np.errstate(over="ignore"):
        array = np.array(values).astype(kind)
    assert floors(array, 0, 1 << 30).tolist() == [below(value, 0, 1 << 30) for value in array]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.bool_])
def test_floors_of_whole_arrays(kind: type[np.generic]) -> None:
    array = np.array([0, 1, 255, (1 << 64) - 1, (1 << 63) - 1], dtype=object).astype(np.uint64).astype(kind)
    assert floors(array, 1, 200).tolist() == [below(value, 1, 200) for value in array.tolist()]


@pytest.mark.parametrize("stranger", STRANGE, ids=repr)
def test_a_strange_cell_is_the_lowest_and_changes_no_other(stranger: Whatever) -> None:
    assert floors([7.5, (1 << 53) + 1, stranger], 2, (1 << 53) - 1).tolist() == [7, (1 << 53) - 1, 2]
    assert floors(deque([7.5, stranger]), 2, 9).tolist() == [7, 2]
    assert floors(np.array(["7"]), 2, 9).tolist() == [2]
