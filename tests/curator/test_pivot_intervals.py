"""Intervals by pivots: which formulas have one, that nothing a pivot leaves is left out, and what is spent on what."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.aggregate_formulas import negative
from discreet.curator.formula import Constant, Formula, Leaf, Noisy, Product, Quotient, Sum
from discreet.curator.pivot_intervals import TwoRatios, VariancePivot, pivotal
from discreet.mechanisms import LaplaceVector
from discreet.mechanisms.noise_sums import sums_of

RARE = Fraction(1, 20)
LEAVES = [Leaf("#0", None, i) for i in range(4)]
N, C, M, D = (Noisy(leaf) for leaf in LEAVES)
LAWS = {leaf: LaplaceVector(Fraction(scale)) for leaf, scale in zip(LEAVES, (20, 200, 30, 100), strict=True)}
DIFFERENCE = Sum(Quotient(C, N), negative(Quotient(D, M)))
VARIANCE = Quotient(Sum(M, negative(Quotient(Product(C, C), N))), N)


def found(formula: Formula, *numbers: int, times: int = 1) -> tuple[float, float] | None:
    """With noise so many times as narrow."""
    pivots = pivotal(formula)
    assert pivots is not None
    laws = {leaf: LaplaceVector(law.scale / times) for leaf, law in LAWS.items()}
    (one,) = pivots.intervals([dict(zip(LEAVES, numbers, strict=False))], laws.__getitem__, RARE)
    return None if one is None else (float(one[0]), float(one[1]))


@pytest.mark.parametrize(
    ("formula", "kind"),
    [
        (DIFFERENCE, TwoRatios),
        (Product(Constant(Fraction(5)), Sum(Constant(Fraction(1)), DIFFERENCE)), TwoRatios),
        (Quotient(DIFFERENCE, Constant(Fraction(3))), TwoRatios),
        (Sum(Quotient(C, N), M), TwoRatios),
        (VARIANCE, VariancePivot),
        (Product(Constant(Fraction(1, 4)), VARIANCE), VariancePivot),
        (Product(C, C), type(None)),
        (Product(DIFFERENCE, N), type(None)),
        (Quotient(N, DIFFERENCE), type(None)),
        (Sum(DIFFERENCE, Quotient(N, D)), type(None)),
        (Sum(VARIANCE, Constant(Fraction(1))), type(None)),
        (Quotient(Sum(M, negative(Quotient(Product(C, D), N))), N), type(None)),
    ],
)
def test_sums_of_two_ratios_and_variances_have_a_pivot(formula: Formula, kind: type) -> None:
    assert type(pivotal(formula)) is kind


def test_a_factor_and_a_constant_move_an_interval() -> None:
    one, two = (
        found(DIFFERENCE, 9_000, 50_000, 8_000, 3_000),
        found(Product(Constant(Fraction(-2)), Sum(DIFFERENCE, Constant(Fraction(1)))), 9_000, 50_000, 8_000, 3_000),
    )
    assert one is not None
    assert two == pytest.approx((-2 * one[1] - 2, -2 * one[0] - 2))
    plain, scaled = (
        found(each, 9_000, 50_000, 600_000) for each in (VARIANCE, Product(Constant(Fraction(4)), VARIANCE))
    )
    assert plain is not None
    assert scaled == pytest.approx((4 * plain[0], 4 * plain[1]))


def test_where_a_divisor_may_be_nothing_there_is_none() -> None:
    assert found(DIFFERENCE, 50, 900, 8_000, 3_000) is None
    assert found(DIFFERENCE, 9_000, 900, 50, 3_000) is None
    assert found(VARIANCE, 50, 900, 80_000) is None
    assert found(VARIANCE, -9_000, 900, 80_000) is None


def level(weights: list[float], which: list[int], rare: Fraction) -> float:
    return sums_of(tuple(LAWS[LEAVES[i]] for i in which), rare).quantile(weights)


@pytest.mark.parametrize("numbers", [(900, 5_000, 300_000), (3_000, -200, 80_000), (600, 2_000, 5_000)])
def test_no_variance_is_left_out_that_the_pivot_leaves(numbers: tuple[int, ...]) -> None:
    """Of all means that their own test leaves, and all variances: those whose pivot is within its quantile."""
    n, c, q = numbers
    span = found(VARIANCE, *numbers)
    assert span is not None
    left = []
    for mean in np.linspace(c / n - 3, c / n + 3, 31):
        if abs(c - mean * n) <= level([1.0, mean], [1, 0], RARE / 6):
            middle = q / n - 2 * mean * c / n + mean**2
            for variance in np.linspace(middle - 60, middle + 60, 41):
                pivot = q - 2 * mean * c + mean**2 * n - variance * n
                if abs(pivot) <= level([1.0, 2 * mean, mean**2 - variance], [2, 1, 0], RARE * 5 / 6):
                    left.append(variance)
    assert span[0] <= min(left) < max(left) <= span[1]
    assert span[1] - span[0] <= 1.5 * (max(left) - min(left)) + 8  # the steps of what was tried


@pytest.mark.parametrize("numbers", [(900, 5_000, 800, -3_000), (300, 4_000, 400, -4_000)])
def test_no_sum_of_ratios_of_narrow_noise_is_left_out_that_the_pivots_leave(numbers: tuple[int, ...]) -> None:
    """Noise of four steps is looked at on a lattice: by as many times as all is narrower, that is rough."""
    n, c, m, d = numbers
    span = found(DIFFERENCE, *(number // 5 for number in numbers), times=5)
    assert span is not None
    each, left = RARE / 18, []
    for one in np.linspace(c / n - 3, c / n + 3, 19):
        if abs(c - one * n) > level([1.0, one], [1, 0], each):
            continue
        for two in np.linspace(d / m - 3, d / m + 3, 19):
            if abs(d - two * m) > level([1.0, two], [3, 2], each):
                continue
            for rho in np.geomspace(0.5 * n / m, 2 * n / m, 9):
                if abs(n - rho * m) > level([1.0, rho], [0, 2], each):
                    continue
                pivot = (c - one * n) - rho * (d - two * m)
                if abs(pivot) <= level([one, 1.0, rho * two, rho], [0, 1, 2, 3], RARE * 5 / 6):
                    left.append(one - two)
    assert span[0] <= min(left) < max(left) <= span[1]


def test_each_chance_of_failing_is_spent_once() -> None:
    """A sixth is for what stands beside the pivot, which gets five; where counts are large nothing else is lost."""
    n = 10**7
    span, least = found(DIFFERENCE, n, 0, n, 0), level([1.0, 1.0], [1, 3], RARE * 5 / 6) / n
    assert span is not None
    assert least <= span[1] <= least * 1.02  # the directions of u and v are looked at in 96 parts
    assert math.isclose(span[0], -span[1])
    q = 10**9
    spread, far = found(VARIANCE, n, 0, q), level([1.0, q / n], [2, 0], RARE * 5 / 6) / n
    assert spread is not None
    for off in (q / n - spread[0], spread[1] - q / n):
        assert far * (1 - 1e-6) <= off <= far * 1.01
