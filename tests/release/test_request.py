"""What somebody wants published: read from plain values, told back as plain values, refused in a sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.exact import exact
from discreet.mechanisms import Bins, Grid
from discreet.release import Wish, kinds, register
from discreet.release.bins import At, Equal, Private, Stepped, read_cut, usual, written
from discreet.release.histogram_kinds import CountsWish

AGES = Grid(0, 120, 1)
EVERY = [
    Wish.of("histogram", ("age",), epsilon=1),
    Wish.of("ranges", ("age", "cost"), rho="0.5", method="quadtree", max_rows=3),
    Wish.of("histogram", ("age",), epsilon="1/3", bins={"age": 12}),
    Wish.of("histogram", ("age",), epsilon=0.1, bins={"age": (0, 100, 10)}),
    Wish.of("histogram", ("age", "cost"), epsilon=1, bins={"age": [0, 18, 65, 120], "cost": "private"}),
    Wish.of("histogram", ("age",), epsilon=1, bins={"age": ("private", 5)}, method="identity"),
    Wish.of("marginals", ("a", "b", "c"), epsilon=1, delta="1e-9", ways=3),
    Wish.of("marginals", tables=(("a", "b"), ("b", "c")), epsilon=1, method="fourier"),
]


@pytest.mark.parametrize("wish", EVERY, ids=range(len(EVERY)))
def test_a_wish_goes_through_json_and_back(wish: Wish) -> None:
    sent = json.loads(json.dumps(wish.told()))
    back = Wish.read(sent)
    assert back == wish
    assert hash(back) == hash(wish)
    assert back.told() == sent
    assert isinstance(back, CountsWish)
    assert isinstance(wish, CountsWish)
    assert back.cuts == wish.cuts


def test_prices_are_read_by_their_decimal_text() -> None:
    assert Wish.of("ranges", ("a",), epsilon=0.1) == Wish.of("ranges", ("a",), epsilon=Fraction(1, 10))
    assert Wish.of("ranges", ("a",), epsilon=0.1).epsilon == "0.1"
    assert Wish.of("ranges", ("a",), epsilon="1/3").told()["epsilon"] == "1/3"


def test_columns_that_only_tables_name_are_known() -> None:
    assert Wish.of("marginals", tables=(("b", "a"), ("b", "c")), epsilon=1).columns == ("b", "a", "c")


@pytest.mark.parametrize(
    ("given", "cut"),
    [
        (7, Equal(7)),
        ("7", Equal(7)),
        ("0:100:10", Stepped(Fraction(0), Fraction(100), Fraction(10))),
        ([0, 100, 10], Stepped(Fraction(0), Fraction(100), Fraction(10))),
        ([-100, 0, "10"], None),
        ("-100:0:10", Stepped(Fraction(-100), Fraction(0), Fraction(10))),
        ("-100,0,10", At((Fraction(-100), Fraction(0), Fraction(10)))),
        ([0, 18, 65], At((Fraction(0), Fraction(18), Fraction(65)))),
        ("0, 18.5, 65", At((Fraction(0), Fraction("18.5"), Fraction(65)))),
        ([0, 1], At((Fraction(0), Fraction(1)))),
        ("private", Private()),
        ("private:5", Private(5)),
        (["private", 5], Private(5)),
    ],
)
def test_bins_are_read_in_every_form_and_never_guessed(given: Any, cut: Any) -> None:  # noqa: ANN401
    if cut is None:
        with pytest.raises(Refusal, match=r"two ways; write '-100:0:10' .* '-100,0,10'"):
            read_cut(given, "age")
    else:
        assert read_cut(given, "age") == cut
        assert read_cut(cut.plain, "age") == cut


@pytest.mark.parametrize(
    "nonsense",
    [None, True, 0, -3, 2.5, "", "many", "1:2", "1:2:3:4", "0:10:0", "0:10:-1", "private:0", "private:x", "1,x", [],
     [1], ["private", "x"], [None, 2], {"edges": [1, 2]}, b"12", float("nan"), "0:1e9999:1"],
)  # fmt: skip
def test_bins_that_are_none_are_refused_by_their_column(nonsense: Any) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match="'age'"):
        Wish.of("histogram", ("age",), epsilon=1, bins={"age": nonsense})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (5, "mapping"),
        ({}, "kind"),
        ({"kind": "pie"}, "kind='pie'"),
        ({"kind": ["histogram"]}, "kind="),
        ({"kind": "histogram", "colour": "red"}, r"no part \['colour'\]"),
        ({"kind": "histogram", "epsilon": 1}, "at least one"),
        ({"kind": "histogram", "epsilon": 1, "columns": "age"}, "columns as a list"),
        ({"kind": "histogram", "epsilon": 1, "columns": ["age", "age"]}, "different"),
        ({"kind": "histogram", "epsilon": 1, "columns": ["age", 5]}, "names of columns"),
        ({"kind": "histogram", "columns": ["age"]}, "one of epsilon and rho, got neither"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "rho": 1}, "got both"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 0}, "epsilon > 0"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": "much"}, "epsilon"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": [1]}, "epsilon"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "delta": "1e-9"}, "delta=0.000000001 has no meaning"),
        ({"kind": "marginals", "columns": ["age"], "rho": 1, "delta": "1e-9"}, "delta"),
        ({"kind": "marginals", "columns": ["age"], "epsilon": 1, "delta": 2}, "delta"),
        ({"kind": "marginals", "columns": ["age"], "epsilon": 1, "method": "residual"}, "needs a delta"),
        ({"kind": "marginals", "columns": ["age"], "epsilon": 1, "method": "hierarchy"}, "no method 'hierarchy'"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "method": "magic"}, "no method 'magic'"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "method": 5}, "no method 5"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "bins": 5}, "bins by column"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "bins": {"sex": 5}}, "'sex', which is not published"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "ways": 2}, "marginals"),
        ({"kind": "marginals", "columns": ["age"], "epsilon": 1, "ways": 2}, "there are 1 columns"),
        ({"kind": "marginals", "columns": ["age"], "epsilon": 1, "ways": 0}, "ways"),
        (
            {"kind": "marginals", "columns": ["age"], "epsilon": 1, "ways": 1, "tables": [["age"]]},
            "or all of so many columns",
        ),
        ({"kind": "marginals", "tables": "ab", "epsilon": 1}, "tables as a list"),
        ({"kind": "marginals", "tables": [["a", "a"]], "epsilon": 1}, "different"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "max_rows": "3"}, "max_rows"),
        ({"kind": "histogram", "columns": ["age"], "epsilon": 1, "max_rows": 0}, "max_rows"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(given: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match=says):
        Wish.read(given)


@given(st.fractions())
def test_a_number_is_written_exactly(number: Fraction) -> None:
    assert exact(written(number), "number") == number


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(1, 300))
def test_usual_bins_cover_the_bounds_exactly_and_are_no_more_than_asked(low: int, span: int, most: int) -> None:
    grid = Grid(Fraction(low, 100), Fraction(low + span, 100), "0.01")
    edges = usual("cost", grid, most).edges
    assert edges[0] == grid.low
    assert edges[-1] == (grid.high + 1 if span < 20 * most else grid.high)  # few steps in a bin: the last is whole too
    assert list(edges) == sorted(set(edges))
    assert 1 <= len(edges) - 1 <= most
    inner = {b - a for a, b in pairwise(edges[1:-1])}
    assert len(inner) <= 1


def test_bins_that_nobody_asked_for_have_round_edges() -> None:
    assert usual("age", Grid(16, 90, 1), 16).edges == (16, *range(20, 91, 5), 91)
    assert usual("cost", Grid(0, 5000, "0.01"), 64).edges == tuple(range(0, 500_001, 10_000))
    assert usual("age", AGES, 1024) == Bins("age", tuple(range(122)))


@given(st.integers(1, 121))
def test_equal_bins_differ_by_at_most_a_step(bins: int) -> None:
    edges = Equal(bins).on("age", AGES).edges
    widths = [b - a for a, b in pairwise(edges)]
    assert len(widths) == bins
    assert sum(widths) == (121 if bins > 6 else 120)  # every age in one bin; of wide ones the last has both edges
    assert max(widths) - min(widths) <= 1
    assert min(widths) >= 1


def test_equal_bins_begin_at_the_lower_bound_and_end_at_the_upper_one() -> None:
    assert Equal(4).on("age", Grid(16, 90, 1)).edges == (16, 34, 53, 72, 91)
    assert Equal(2).on("age", Grid(-7, -2, 1)).edges == (-7, -4, -1)


def test_very_many_bins_have_one_width() -> None:
    found = Equal(400_001).on("n", Grid(0, 5_000_000, 1))
    assert found.even
    assert 380_000 < len(found) <= 400_001


def test_a_width_that_does_not_divide_leaves_a_narrower_last_bin() -> None:
    assert read_cut("0:25:10", "age").on("age", AGES).edges == (0, 10, 20, 25)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("cut", "grid", "says"),
    [
        ("122", AGES, "121 values between its bounds, and 122 bins"),
        ("0:1:0.5", AGES, "edge 0.5 .* not on its grid; take multiples of its step, 1"),
        ("0,0.5,3", AGES, "edge 0.5"),
        ("10:0:1", AGES, "from less to more"),
        ("5,3", AGES, "rising"),
        ("0:1e300:1", AGES, "at most 2.22"),
        ("2", Grid("0.2", "0.9", "0.5"), "one value only"),
    ],
)
def test_bins_that_do_not_fit_the_grid_are_refused(cut: str, grid: Grid, says: str) -> None:
    read: Any = read_cut(cut, "age")
    with pytest.raises(Refusal, match=says):
        read.on("age", grid)


def test_the_meaning_of_a_kinds_name_never_changes() -> None:
    (known,) = (each for each in kinds() if each.name == "histogram")
    assert register(known) is known
    with pytest.raises(ValueError, match="two kinds of release are called 'histogram'"):
        register(replace(known, title="Something else"))
    assert known in kinds()
