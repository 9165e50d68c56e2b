"""Smooth sensitivity against its definition: all data sets near by, all neighbours, on domains small enough to list."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.declared.grid import Grid
from discreet.mechanisms.smooth_sensitivity import LEAST, ONE, Order, weights

Data = tuple[int, ...]
LOW, HIGH = 0, 3
DOMAIN = range(LOW, HIGH + 1)
GROWTH = Fraction(5, 4)
TINY = Fraction(1, 1 << 30)


def order(data: Data) -> Order:
    return Order(data, LOW, HIGH)


def added_or_removed(data: Data) -> Iterable[Data]:
    yield from (tuple(sorted((*data, value))) for value in DOMAIN)
    yield from (data[:i] + data[i + 1 :] for i in range(len(data)))


def replaced(data: Data) -> Iterable[Data]:
    yield from (tuple(sorted((*rest, value))) for rest in removed(data) for value in DOMAIN)


def removed(data: Data) -> Iterable[Data]:
    yield from (data[:i] + data[i + 1 :] for i in range(len(data)))


def within(data: Data, neighbours: Callable[[Data], Iterable[Data]], distance: int) -> set[Data]:
    near = {data}
    for _ in range(distance):
        near |= {other for known in near for other in neighbours(known)}
    return near


def data_sets(sizes: Iterable[int]) -> list[Data]:
    return [data for size in sizes for data in itertools.combinations_with_replacement(DOMAIN, size)]


def local(answer: Callable[[Data], int], data: Data, neighbours: Callable[[Data], Iterable[Data]]) -> int:
    return max(abs(answer(data) - answer(other)) for other in neighbours(data))


def median(data: Data) -> int:
    """The lower median; the lower bound where there is nothing."""
    return data[(len(data) - 1) // 2] if data else LOW


@pytest.mark.parametrize("data", data_sets(range(5)), ids=str)
def test_the_gap_of_the_median_is_the_largest_local_sensitivity_near_by(data: Data) -> None:
    assert order(data).median == median(data)
    for distance in range(3):
        near = within(data, added_or_removed, distance)
        assert order(data).median_gap(distance) == max(local(median, other, added_or_removed) for other in near)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_gap_of_a_rank_is_the_largest_local_sensitivity_near_by(rank: int) -> None:
    for data in data_sets([4]):
        for distance in range(3):
            near = within(data, replaced, distance)
            largest = max(local(lambda other: other[rank - 1], other, replaced) for other in near)
            assert order(data).rank_gap(rank, distance) == largest, (data, distance)


def test_the_smooth_median_changes_by_the_growth_at_most_and_bounds_every_move() -> None:
    for data in data_sets(range(6)):
        here = order(data).smooth_median(GROWTH, TINY)
        for other in added_or_removed(data):
            there = order(other).smooth_median(GROWTH, TINY)
            assert here <= GROWTH * there
            assert abs(median(data) - median(other)) <= min(here, there)


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_smooth_rank_changes_by_the_growth_at_most_and_bounds_every_move(rank: int) -> None:
    smooth = {data: order(data).smooth_rank(rank, GROWTH, TINY) for data in data_sets([5])}
    for data, here in smooth.items():
        for other in replaced(data):
            assert here <= GROWTH * smooth[other]
            assert abs(data[rank - 1] - other[rank - 1]) <= min(here, smooth[other])


WIDE = 1000
VALUES = st.lists(st.integers(0, WIDE), min_size=1, max_size=40).map(sorted)
GROWTHS = st.fractions(Fraction(101, 100), 4)
FLOORS = st.sampled_from([Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**9), Fraction(0)])


@given(VALUES, GROWTHS, FLOORS)
def test_the_smooth_median_is_the_maximum_that_it_says(values: list[int], growth: Fraction, least: Fraction) -> None:
    table = list(weights(growth, least))
    data = Order(values, 0, WIDE)
    terms = [weight * data.median_gap(distance) for distance, weight in enumerate(table)]
    assert data.smooth_median(growth, least) == Fraction(max(*terms, table[-1] * WIDE), ONE)


@given(VALUES, GROWTHS, FLOORS, st.data())
def test_the_smooth_rank_is_the_maximum_that_it_says(
    values: list[int], growth: Fraction, least: Fraction, draw: st.DataObject
) -> None:
    """The search by halves finds what trying all pairs of ranks finds."""
    rank = draw.draw(st.integers(1, len(values)))
    table = list(itertools.islice(weights(growth, least), len(values) + 1))
    data = Order(values, 0, WIDE)
    terms = [weight * data.rank_gap(rank, distance) for distance, weight in enumerate(table)]
    assert data.smooth_rank(rank, growth, least) == Fraction(max(*terms, table[-1] * WIDE), ONE)


@given(st.fractions(1 + Fraction(1, 2**40), 100), st.fractions(0, 1))
def test_weights_fall_slowly_enough_and_are_log_concave(growth: Fraction, least: Fraction) -> None:
    table = list(itertools.islice(weights(growth, least), 3000))
    assert table[0] == ONE
    for weight, following in itertools.pairwise(table):
        assert 0 < following < weight <= growth * following
    for before, weight, following in zip(table, table[1:], table[2:], strict=False):
        assert before * following <= weight * weight


@pytest.mark.parametrize("growth", [Fraction(1001, 1000), Fraction(11, 10), Fraction(3)])
def test_weights_are_as_small_as_they_may_be_and_end(growth: Fraction) -> None:
    """Down to 2^−80, the smallest that any mechanism asks for: within a billionth of growth^−k."""
    table = list(weights(growth, Fraction(0)))
    assert table[-1] <= LEAST * ONE < table[-2]
    k = len(table) - 1
    assert table[k] <= ONE / growth**k * (1 + Fraction(1, 10**9))


def test_values_are_read_through_the_grid() -> None:
    grid = Grid(0, 10, Fraction(1, 2))
    found = Order.of([9.9, float("nan"), -4, float("inf"), 3.2], grid)
    assert (found.values, found.lower, found.upper) == ([0, 0, 6, 20, 20], 0, 20)
    assert Order.of(np.array([], dtype=np.float64), grid).median == 0
