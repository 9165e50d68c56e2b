"""Every operation encloses the true number: checked against exact rationals, and mpmath at a higher precision."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.interval_arithmetic import (
    DIGITS,
    REACH,
    Interval,
    exp,
    greatest,
    least,
    log,
    normal_tail,
    pi,
    simpler_down,
    simpler_up,
    sqrt,
)

PRECISE = 400  # digits
rationals = st.fractions(min_value=-(10**6), max_value=10**6)
positives = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)
few = st.integers(2, 12)  # at so few digits every step rounds, and a step that rounds the wrong way shows


def true(function: Callable[..., mpmath.mpf], *values: Fraction | int) -> Fraction:
    """What mpmath says, as a rational; its error is far below the width of any interval here."""
    with mpmath.workdps(PRECISE):
        result = function(*(mpmath.mpf(Fraction(v).numerator) / Fraction(v).denominator for v in values))
        sign, mantissa, exponent, _ = result._mpf_
        return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)


def holds(interval: Interval, value: Fraction) -> bool:
    return Fraction(interval.low) <= value <= Fraction(interval.high)


def width(interval: Interval) -> Fraction:
    return Fraction(interval.high) - Fraction(interval.low)


@st.composite
def inside(draw: st.DrawFn) -> tuple[Interval, Fraction]:
    """An interval of few digits, and a number in it."""
    low, high = sorted((draw(rationals), draw(rationals)))
    interval = Interval(Interval.of(low, 6).low, Interval.of(high, 6).high, draw(few))
    return interval, low + (high - low) * draw(st.fractions(0, 1))


@given(rationals, few)
def test_a_rational_lies_in_its_interval_of_neighbouring_decimals(x: Fraction, digits: int) -> None:
    interval = Interval.of(x, digits)
    assert holds(interval, x)
    assert width(interval) <= abs(x) * Fraction(1, 10 ** (digits - 1))


@given(inside(), inside(), st.sampled_from([operator.add, operator.sub, operator.mul, operator.truediv]))
def test_arithmetic_keeps_whatever_is_inside(
    a: tuple[Interval, Fraction], b: tuple[Interval, Fraction], operate: Callable[..., Any]
) -> None:
    if operate is operator.truediv and b[0].low <= 0 <= b[0].high:
        b = (b[0] + 10**7, b[1] + 10**7)
    assert holds(operate(a[0], b[0]), operate(a[1], b[1]))
    assert operate(a[0], b[0]).digits == a[0].digits


@given(inside(), rationals.filter(bool), st.sampled_from([operator.add, operator.sub, operator.mul, operator.truediv]))
def test_arithmetic_with_a_rational_on_either_side(
    a: tuple[Interval, Fraction], x: Fraction, operate: Callable[..., Any]
) -> None:
    assert holds(operate(a[0], x), operate(a[1], x))
    if operate is operator.truediv and a[0].low <= 0 <= a[0].high:
        a = (a[0] + 10**7, a[1] + 10**7)
    assert holds(operate(x, a[0]), operate(x, a[1]))


@given(inside())
def test_negation(a: tuple[Interval, Fraction]) -> None:
    assert holds(-a[0], -a[1])


def test_division_by_what_may_be_zero() -> None:
    for low, high in ((-1, 1), (0, 1), (-1, 0)):
        with pytest.raises(ZeroDivisionError):
            _ = 1 / Interval(Decimal(low), Decimal(high))


@given(st.fractions(min_value=-2000, max_value=2000), few)
def test_exp_encloses(x: Fraction, digits: int) -> None:
    assert holds(exp(x, digits), true(mpmath.exp, x))


@given(positives, few)
def test_log_encloses(x: Fraction, digits: int) -> None:
    assert holds(log(x, digits), true(mpmath.log, x))


@given(positives, few)
def test_sqrt_encloses(x: Fraction, digits: int) -> None:
    interval = sqrt(x, digits)
    assert Fraction(interval.low) ** 2 <= x <= Fraction(interval.high) ** 2


@given(inside(), few)
def test_functions_of_intervals_keep_what_is_inside(a: tuple[Interval, Fraction], digits: int) -> None:
    scaled = Interval(a[0].low, a[0].high, digits) / 10**4
    value = a[1] / 10**4
    assert holds(scaled.exp(), true(mpmath.exp, value))
    above = scaled + 1001  # every number here is at most 100 in size, and two digits of it are never all of this
    assert holds(above.log(), true(mpmath.log, value + 1001))
    assert holds(above.sqrt(), true(mpmath.sqrt, value + 1001))


@given(positives)
def test_the_full_width_is_far_below_any_figure(x: Fraction) -> None:
    for interval in (Interval.of(x), sqrt(x), exp(-x / 10**6)):
        assert width(interval) <= Fraction(interval.high) * Fraction(1, 10 ** (DIGITS - 12))


def test_a_logarithm_of_what_may_not_be_positive_is_an_error() -> None:
    for x in (0, -1):
        with pytest.raises(ArithmeticError):
            log(x)


def test_the_square_root_of_what_reaches_below_zero_starts_at_zero() -> None:
    assert Interval(Decimal(-1), Decimal(4)).sqrt().low == 0


@pytest.mark.parametrize("digits", [5, 60, 200])
def test_pi(digits: int) -> None:
    with mpmath.workdps(PRECISE):
        assert holds(pi(digits), true(lambda: +mpmath.pi))
    assert width(pi(digits)) < Fraction(1, 10 ** (digits - 4))


@given(st.one_of(st.fractions(-12, 12), st.fractions(-60, 60), st.fractions(60, 200)))
def test_normal_tail_encloses_closely(x: Fraction) -> None:
    tail = normal_tail(x)
    value = true(lambda t: mpmath.erfc(t / mpmath.sqrt(2)) / 2, x)
    assert holds(tail, value)
    assert width(tail) <= value * Fraction(1, 10 ** (DIGITS - 12))


@pytest.mark.parametrize("x", [0, 6, Fraction(601, 100), -6, 38, 40, 41])
def test_normal_tail_where_its_methods_meet(x: Fraction) -> None:
    assert holds(normal_tail(x), true(lambda t: mpmath.erfc(t / mpmath.sqrt(2)) / 2, x))


@given(st.fractions(-20, 20), st.fractions(0, 3), st.fractions(0, 1))
def test_normal_tail_of_an_interval(low: Fraction, length: Fraction, place: Fraction) -> None:
    interval = Interval(Interval.of(low).low, Interval.of(low + length).high)
    value = true(lambda t: mpmath.erfc(t / mpmath.sqrt(2)) / 2, low + length * place)
    assert holds(normal_tail(interval), value)


def test_the_context_of_the_thread_changes_nothing() -> None:
    def figures() -> list[Interval]:
        x = Interval.of(Fraction(22, 7))
        tails = [normal_tail(Fraction(n, 3)) for n in (1, 5, 17, 40)]
        return [x + x, x * x, x / 3, x.exp(), x.log(), x.sqrt(), pi.__wrapped__(60), *tails]

    expected = figures()
    with localcontext(prec=1, Emin=-1, Emax=1):
        assert figures() == expected


def test_what_is_too_small_or_too_large_to_write_out_still_bounds() -> None:
    tiny, huge = exp(-(10**12)), exp(10**12)
    assert tiny.down == 0
    assert tiny.up == Fraction(1, 10**REACH)
    assert huge.down == 10**REACH
    assert (-tiny).up == 0
    assert (-tiny).down == -Fraction(1, 10**REACH)
    for interval in (huge, -huge):
        with pytest.raises(OverflowError):
            _ = (interval.up, interval.down)


def test_an_exponential_that_underflows_is_between_zero_and_something() -> None:
    least_of_all = exp(-(10**30))
    assert least_of_all.low == 0
    assert least_of_all.high > 0


@given(st.fractions(min_value=0, max_value=10**30), st.integers(8, 64))
def test_simpler_numbers_stay_on_their_side(x: Fraction, bits: int) -> None:
    up, down = simpler_up(x, bits), simpler_down(x, bits)
    assert down <= x <= up
    assert up - x <= x * Fraction(2) ** (1 - bits)
    assert x - down <= x * Fraction(2) ** (1 - bits)


def test_simpler_numbers_are_short() -> None:
    long = Fraction(10**80 + 7, 3**200)
    assert simpler_up(long).numerator.bit_length() <= 65
    assert simpler_down(long).numerator.bit_length() <= 65


@given(st.fractions(Fraction(1, 10**6), 10**6))
def test_least_and_greatest_find_the_edge_from_the_safe_side(edge: Fraction) -> None:
    close = Fraction(1, 10**6)
    above = least(lambda x: x >= edge, edge / 7, 9 * edge, close)
    below = greatest(lambda x: x <= edge, edge / 7, 9 * edge, close)
    assert edge <= above <= edge * (1 + 2 * close)
    assert edge * (1 - 2 * close) <= below <= edge


def test_least_returns_only_what_it_was_given_or_what_it_saw_to_hold() -> None:
    seen: list[Fraction] = []

    def rarely(x: Fraction) -> bool:  # not monotone at all
        answer = x.numerator % 3 == 0
        if answer:
            seen.append(x)
        return answer

    assert least(rarely, Fraction(1), Fraction(2), Fraction(1, 1000)) in [*seen, 2]


def test_a_search_without_an_edge_ends() -> None:
    always, never = (lambda _: True), (lambda _: False)
    assert 0 < least(always, Fraction(0), Fraction(1), Fraction(1, 10)) < Fraction(1, 10**200)
    assert least(never, Fraction(0), Fraction(1), Fraction(1, 10)) == 1
    assert greatest(never, Fraction(0), Fraction(1), Fraction(1, 10)) == 0
