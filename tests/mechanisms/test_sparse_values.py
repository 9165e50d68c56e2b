"""Which whole number a value counts as that a sparse vector is asked about: every value has one, and none raises."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st

from discreet.declared.grid import LIMIT
from discreet.mechanisms.sparse import Above, RefreshedSparseVector, SparseState, SparseVector, as_value

WHOLE: list[tuple[object, int]] = [
    (float("inf"), LIMIT),
    (-math.inf, -LIMIT),
    (math.nan, 0),
    (None, 0),
    ("7", 0),
    (b"7", 0),
    (7 + 0j, 0),
    ([7], 0),
    (np.array([7, 8]), 0),
    (True, 1),
    (np.True_, 1),
    (3.7, 3),
    (-3.2, -4),
    (Fraction(-1, 3), -1),
    (Fraction(10**400), LIMIT),
    (Decimal("-2.5"), -3),
    (Decimal("1e999999"), LIMIT),
    (Decimal("-1e-999999"), -1),
    (Decimal("nan"), 0),
    (Decimal("snan"), 0),
    (Decimal("-inf"), -LIMIT),
    (np.float32(2.5), 2),
    (np.float64("nan"), 0),
    (np.longdouble("inf"), LIMIT),
    (np.longdouble(-0.5), -1),
    (np.int64(2**61 + 1), 2**61 + 1),  # not through a float, which would round it
    (np.uint64(2**64 - 1), LIMIT),
    (np.array(5), 5),
    (np.datetime64("NaT"), 0),
    (np.datetime64(7, "ns"), 0),  # numpy has it as the whole number 7, and those in days as dates
    (np.timedelta64(7, "ns"), 0),
    (np.timedelta64(7), 0),
    (np.array([7], dtype="M8[ns]"), 0),
    (np.array([np.timedelta64(7, "ns")], dtype=object), 0),
    (np.ma.array([7], mask=[True]), 0),
    (np.ma.array([7], mask=[False]), 7),
    (1e300, LIMIT),
]


@pytest.mark.parametrize(("value", "counts_as"), WHOLE, ids=[repr(value) for value, _ in WHOLE])
def test_every_value_counts_as_a_whole_number(value: object, counts_as: int) -> None:
    """With hardly any noise the released number says what the value was taken for."""
    sure = SparseVector(Fraction(10**3), Fraction(10**3), -LIMIT, epsilon_numbers=Fraction(10**3))
    again = RefreshedSparseVector(Fraction(10**3), -LIMIT, epsilon_numbers=Fraction(10**3))
    for mechanism in (sure, again):
        state = mechanism.step(SparseState(-LIMIT - 1), value, Seeded(2))  # type: ignore[arg-type]
        assert state.answers == (Above(counts_as),)


@given(
    st.one_of(st.floats(allow_nan=False, allow_infinity=False).map(Fraction), st.fractions()),
    st.integers(1, 10),
    st.fractions(-1, 1),
)
def test_values_no_further_apart_than_the_sensitivity_stay_so(
    value: Fraction, sensitivity: int, part: Fraction
) -> None:
    assert abs(as_value(value) - as_value(value + part * sensitivity)) <= sensitivity
