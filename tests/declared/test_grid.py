"""The grid is total, monotone and exact, and a cell's image depends on that cell alone."""

from __future__ import annotations

import math
from array import array
from collections import UserList, deque
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms.chances import Whatever

from discreet.declared.grid import Grid, cells
from discreet.errors import Refusal

GRIDS = [
    Grid(0, 100, 1),
    Grid(-5, 5, "0.01"),
    Grid("-0.3", "0.7", Fraction(1, 3)),
    Grid(-1000, 2000, 7),
    Grid(0, 1, Fraction(1, 1 << 40)),
    Grid(-(1 << 52), 1 << 52, 1),
    Grid(-(10**12), 10**12, "0.001"),
    Grid(Fraction(-1, 10**318), Fraction(1, 10**318), Fraction(1, 10**323)),
    Grid(-(Fraction(10) ** 308), Fraction(10) ** 308, Fraction(10) ** 306),
    Grid(3, 4, 3),
    Grid(-(1 << 61), 1 << 61, Fraction((1 << 20) + 1, 3)),  # where 64 bits are too few for the division
]
EACH = pytest.mark.parametrize("grid", GRIDS, ids=range(len(GRIDS)))
FEW = pytest.mark.parametrize("grid", GRIDS[:5], ids=range(5))


def expected(value: float | Fraction, grid: Grid) -> int:
    """By definition: the nearest multiple of the step, the upper one in the middle, then the bounds."""
    if math.isnan(value):
        return grid.low
    if math.isinf(value):
        return grid.high if value > 0 else grid.low
    nearest = math.floor(Fraction(value) / grid.step + Fraction(1, 2))
    return min(max(nearest, grid.low), grid.high)


@EACH
@given(st.lists(st.floats(), max_size=20), st.data())
def test_every_float_has_its_image(grid: Grid, floats: list[float], data: st.DataObject) -> None:
    near = data.draw(st.lists(st.integers(grid.low - 3, grid.high + 3), max_size=10))
    for number in near:  # the middle between two steps, and the floats beside it
        middle = float((number + Fraction(1, 2)) * grid.step)
        floats += [middle, math.nextafter(middle, math.inf), math.nextafter(middle, -math.inf)]
    images = grid.steps(np.array(floats, dtype=np.float64))
    assert images.dtype == np.int64
    assert images.tolist() == [expected(value, grid) for value in floats]


@pytest.mark.parametrize("step", ["0.01", "0.07", "1/3", "1e-5"])
def test_no_float_beside_a_middle_is_rounded_to_the_wrong_side(step: str) -> None:
    grid = Grid(-(10**6), 10**6, step)
    middles = [float((n * n * n + Fraction(1, 2)) * grid.step) for n in range(-300, 300)]
    floats = [math.nextafter(middle, to) for middle in middles for to in (middle, math.inf, -math.inf)]
    assert grid.steps(np.array(floats)).tolist() == [expected(value, grid) for value in floats]


@EACH
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20))
def test_larger_floats_never_have_smaller_images(grid: Grid, floats: list[float]) -> None:
    assert np.all(np.diff(grid.steps(np.sort(np.array(floats)))) >= 0)


@EACH
@given(st.sampled_from([np.int64, np.uint64, np.int8, np.uint8, np.int32]), st.data())
@settings(max_examples=50)
def test_every_integer_has_its_image(grid: Grid, kind: type[np.integer], data: st.DataObject) -> None:
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    integers = [low, high, *data.draw(st.lists(st.integers(low, high), max_size=8))]
    images = grid.steps(np.array(integers, dtype=kind))
    assert images.tolist() == [expected(Fraction(value), grid) for value in integers]
    assert grid.steps(np.array([False, True])).tolist() == [expected(0.0, grid), expected(1.0, grid)]


NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(1 << 70), 1 << 70),
    st.fractions(),
    st.booleans(),
    st.decimals(),
    st.sampled_from([Decimal("sNaN"), Decimal("1E+99999999"), Decimal("-1E+99999999"), Decimal("1E-99999999")]),
    st.sampled_from(
        [Decimal("0E+99999"), np.float32(0.1), np.int64(5), np.longdouble(2) ** 2000, np.longdouble(1) / 3]
    ),
    st.sampled_from([np.True_, np.longdouble("nan"), np.longdouble("-inf"), np.float16("inf")]),
)
OTHERS = st.sampled_from([None, "3", b"3", 3j, (), (1, 2), [1], object(), np.datetime64("2020-01-01")])
OTHERS |= st.sampled_from([np.timedelta64("NaT"), np.timedelta64(3, "s"), np.datetime64("NaT")])


@FEW
@given(st.lists(NUMBERS | OTHERS, max_size=10))
def test_a_cell_of_a_list_has_the_image_it_has_alone(grid: Grid, values: list[Whatever]) -> None:
    together = grid.steps(values)
    assert together.shape == (len(values),)
    for value, image in zip(values, together.tolist(), strict=True):
        cell = np.empty(1, dtype=object)
        cell[0] = value
        assert grid.steps(cell)[0] == image


@pytest.mark.parametrize(
    ("value", "image"),
    [
        (None, -500),
        ("3", -500),
        (math.nan, -500),
        (Decimal("NaN"), -500),
        (Decimal("sNaN"), -500),
        (3j, -500),
        (math.inf, 500),
        (-math.inf, -500),
        (Decimal("Infinity"), 500),
        (Decimal("1E+999999999"), 500),
        (Decimal("-1E+999999999"), -500),
        (Decimal("1E-999999999"), 0),
        (Decimal("0E+99999"), 0),
        (Decimal("0.005"), 1),
        (Decimal("-0.005"), 0),
        (Decimal("0.0049"), 0),
        (Fraction(1, 3), 33),
        (10**400, 500),
        (True, 100),
        (np.timedelta64("NaT"), -500),
        (np.timedelta64(3, "s"), -500),
        (np.timedelta64(3), -500),
        (np.longdouble("inf"), 500),
        (np.longdouble("nan"), -500),
        (np.longdouble(2) ** 2000, 500),
        (np.longdouble(3), 300),
        (np.True_, 100),
        (np.float32(0.25), 25),
        (5e-324, 0),
        (-5e-324, 0),
        (1.7e308, 500),
    ],
)
def test_what_is_no_number_is_the_lower_bound_and_the_rest_is_rounded(value: object, image: int) -> None:
    cell = np.empty(1, dtype=object)
    cell[0] = value
    assert Grid(-5, 5, "0.01").steps(cell).tolist() == [image]


def test_one_text_in_a_list_leaves_the_other_cells_alone() -> None:
    grid = Grid(0, 1 << 60, 1 << 20)
    below = (1 << 59) + (1 << 19) - 1  # just below a middle; as a float it would be in it
    strangers: list[Whatever] = ["x", None, 0.5, 1 << 63, -1]
    for stranger in strangers:
        assert grid.steps([below, stranger])[0] == 1 << 39


HOLDERS: list[Callable[[Sequence[Whatever]], Iterable[Whatever]]] = [
    list,
    tuple,
    deque,
    UserList,
    iter,
    lambda values: (value for value in values),
    lambda values: dict(enumerate(values)).values(),
]


@pytest.mark.parametrize("holder", HOLDERS, ids=range(len(HOLDERS)))
def test_no_cell_changes_another_whatever_holds_them(holder: Callable[[Sequence[Whatever]], Whatever]) -> None:
    grid = Grid(0, 3 << 59, 256)
    far = (1 << 60) + 128  # in a middle; as a float it would be below it
    alone = [grid.steps([value]).item() for value in (far, 700.0)]
    assert alone == [(1 << 52) + 1, 3]
    strangers: list[Whatever] = ["x", None, 0.5, 7, 1 << 70, np.timedelta64(1, "s"), b"", [1.0]]
    for stranger in strangers:
        assert grid.steps(holder([far, 700.0, stranger]))[:2].tolist() == alone
        assert grid.steps(holder([far, stranger]))[:1].tolist() == alone[:1]
        assert grid.steps(holder([700.0, stranger]))[:1].tolist() == alone[1:]


def test_what_has_elements_is_read_as_those() -> None:
    grid = Grid(0, 10, 1)
    assert grid.steps({7: "a", 3: "b"}.keys()).tolist() == [7, 3]  # type: ignore[arg-type]
    assert grid.steps(range(3)).tolist() == [0, 1, 2]
    assert grid.steps(array("d", [1.0, 4.6])).tolist() == [1, 5]
    assert grid.steps(memoryview(array("i", [4, -4]))).tolist() == [4, 0]
    assert grid.steps(bytearray(b"\x05")).tolist() == [5]
    assert [grid.steps(one).shape for one in ("34", b"34", 7, 7.0, None, np.float64(7), Fraction(7))] == [()] * 7  # type: ignore[arg-type]
    assert cells(deque([1, 2])).dtype == np.int64
    assert cells(deque([1.0, 2.0])).dtype == np.float64


@FEW
@given(st.integers(-200, 200), st.integers(-3, 3))
def test_numbers_finer_than_a_double_are_not_rounded_to_one(grid: Grid, number: int, offset: int) -> None:
    middle = np.longdouble(number) * np.longdouble(float(grid.step)) / 2
    value = middle + np.longdouble(offset) * np.finfo(np.longdouble).eps * np.abs(middle)
    image = expected(Fraction(*value.as_integer_ratio()), grid)
    assert grid.steps(np.array([value])).tolist() == grid.steps([value]).tolist() == [image]


def test_neighbours_finer_than_a_double_are_no_further_apart_than_said() -> None:
    grid, under = Grid(0, 10, 1), np.longdouble(0.5) - np.longdouble(2) ** -54
    assert under < 0.5
    images = grid.steps(np.array([under, under + 1]))
    assert images[1] - images[0] <= grid.apart(
        Fraction(*(under + 1).as_integer_ratio()) - Fraction(*under.as_integer_ratio())
    )
    assert images.tolist() == [0, 1 if under + 1 < 1.5 else 2]  # where a long double is longer than a double


def test_arrays_of_any_shape_and_kind_are_taken() -> None:
    grid = Grid(0, 10, 2)
    assert grid.steps(np.array([[1.0, 3.0], [4.9, np.nan]])).tolist() == [[1, 2], [2, 0]]
    assert grid.steps(np.array([])).shape == (0,)
    assert grid.steps([]).shape == (0,)
    assert grid.steps(7.0).item() == 4  # 3.5 steps: the middle goes up
    assert grid.steps(np.array(["3", "4"])).tolist() == [0, 0]
    assert grid.steps(np.array([1 + 2j])).tolist() == [0]
    assert grid.steps(np.array([np.float16(3)])).tolist() == [2]


@FEW
@given(st.fractions(), st.fractions(min_value=0, max_value=50))
@settings(max_examples=50)
def test_images_are_no_further_apart_than_said(grid: Grid, value: Fraction, distance: Fraction) -> None:
    images = [expected(end, grid) for end in (value, value + distance)]
    assert images == [grid.steps(np.array(end, dtype=object)).item() for end in (value, value + distance)]
    assert 0 <= images[1] - images[0] <= grid.apart(distance)


@pytest.mark.parametrize(
    "distance", [Fraction(1, 1000), Fraction(1, 100), Fraction(3, 200), Fraction(1, 7), Fraction(20)]
)
def test_some_images_are_as_far_apart_as_said(distance: Fraction) -> None:
    grid = Grid(-5, 5, "0.01")
    offsets = [Fraction(n, 1000) - 5 for n in range(-5, 15)] + [Fraction(n, 7000) - 5 for n in range(70)]
    assert max(expected(a + distance, grid) - expected(a, grid) for a in offsets) == grid.apart(distance)


def test_bounds_are_rounded_inward() -> None:
    grid = Grid("-0.25", "0.95", "0.1")
    assert (grid.low, grid.high, grid.reach, grid.span) == (-2, 9, 9, 11)
    assert grid.slack == Fraction(1, 20)  # the middle between steps; -0.25 is as far from -0.2
    assert Grid("0.01", "0.99", "0.1").slack == Fraction(9, 100)  # 0.01 counts as 0.1
    assert grid.value(7) == Fraction(7, 10)


@pytest.mark.parametrize("step", ["1", "0.3", "7/4"])
@pytest.mark.parametrize(("lower", "upper"), [("-9", "3.2"), ("-3.2", "9"), ("-9.1", "-2"), ("2", "9.1"), ("-8", "8")])
def test_the_farthest_point_and_the_longest_way_are_those_of_all_points(lower: str, upper: str, step: str) -> None:
    """What noise must hide: every multiple of the step within the bounds is looked at, on both sides of zero."""
    points = [n for n in range(-40, 41) if Fraction(lower) <= n * Fraction(step) <= Fraction(upper)]
    grid = Grid(lower, upper, step)
    assert [grid.value(grid.low), grid.value(grid.high)] == [n * Fraction(step) for n in (points[0], points[-1])]
    assert grid.reach == max(abs(n) for n in points)
    assert grid.span == max(abs(n - m) for n in points for m in points)


@FEW
@given(st.fractions(min_value=0, max_value=1))
def test_no_value_within_the_bounds_moves_further_than_the_slack(grid: Grid, part: Fraction) -> None:
    value = grid.lower + part * (grid.upper - grid.lower)
    assert abs(grid.value(expected(value, grid)) - value) <= grid.slack


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((1, 1, 1), "lower < upper, got lower=1 upper=1"),
        ((2, 1, 1), "lower < upper"),
        ((0, 1, 0), "step > 0, got step=0"),
        ((0, 1, -1), "step > 0"),
        ((math.nan, 1, 1), "lower must be finite, got nan"),
        ((0, math.inf, 1), "upper must be finite"),
        ((0, 1, math.nan), "step must be finite"),
        (("0.1", "0.9", 1), "no multiple of step=1"),
        ((0, 1 << 53, 1), "2\\^53 steps"),
    ],
)
def test_nonsense_is_refused_by_value(bounds: tuple[float, float, float], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        Grid(*bounds)
