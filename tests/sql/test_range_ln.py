"""Logarithms lie within the range that is told of them, whatever the numbers within theirs."""

from __future__ import annotations

from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from discreet.sql.value_range import Range

SIZES = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(SIZES, SIZES)
def test_logarithms_lie_within(one: Fraction, other: Fraction) -> None:
    low, high = sorted((one, other))
    told = Range(low, high).ln()
    assert told.low is not None
    assert told.high is not None
    with mpmath.workdps(60):
        least, most = (mpmath.log(mpmath.mpf(end.numerator) / end.denominator) for end in (low, high))
        assert mpmath.mpf(told.low.numerator) / told.low.denominator < least
        assert mpmath.mpf(told.high.numerator) / told.high.denominator > most
        assert mpmath.mpf((told.high - told.low).numerator) / (told.high - told.low).denominator < most - least + 0.01


def test_what_may_be_none_has_no_end() -> None:
    assert Range(Fraction(0), Fraction(1)).ln().low is None
    assert Range(None, None).ln() == Range()
    assert Range(Fraction(1, 10**300), Fraction(10**300)).ln().bounded is not None
