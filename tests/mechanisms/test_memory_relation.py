"""A frame in memory counts and sums exactly what it says, whatever is in its cells."""

from __future__ import annotations

import datetime as dt
from collections import Counter, deque
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import Whatever, fits

from discreet.declared.column import Column
from discreet.declared.grid import LIMIT, Grid
from discreet.declared.table import Caps
from discreet.errors import Refusal
from discreet.mechanisms.rows_in_memory import Frame
from discreet.privacy import Replace

COLOURS = ("red", "green", None)
SIZES = (1, 2, 5)
AGE = Grid(0, 120, 1)
CELLS = st.one_of(st.sampled_from(["red", "green", "blue", None, 1, 2, 3, 5, 2.0, True, np.nan]), st.just([1]))


@given(st.lists(st.tuples(CELLS, CELLS, st.floats() | st.none() | st.integers()), max_size=30))
def test_counts_and_sums_are_those_of_a_loop(rows: list[tuple[Whatever, Whatever, Whatever]]) -> None:
    colour, size, age = ([row[i] for row in rows] for i in range(3))
    frame = Frame.of(
        {"colour": colour, "size": size, "age": age, "more": age},
        Column("colour", keys=COLOURS),
        Column("size", keys=SIZES),
        Column("age", bounds=(0, 120), step=1),
    )
    hashed = [(c, s, a) for c, s, a in rows if not isinstance(c, list) and not isinstance(s, list)]
    seen = Counter((c, s) for c, s, _ in hashed)
    counts, sums = frame.counts(["colour", "size"]), frame.sums(["colour", "size"], ["age"])
    assert counts.shape == (3, 3)
    assert sums.shape == (3, 3, 1)
    for (i, c), (j, s) in product(enumerate(COLOURS), enumerate(SIZES)):
        assert counts[i, j] == seen[(c, s)]
        images = [AGE.steps([a]).item() for c_, s_, a in hashed if (c_, s_) == (c, s)]
        assert sums[i, j, 0] == sum(images)
    assert frame.counts([]).tolist() == len(rows)
    assert sorted(tuple(map(repr, row)) for row in frame.rows()) == sorted(tuple(map(repr, row)) for row in rows)


def test_typed_arrays_are_counted_like_lists() -> None:
    data = {
        "size": np.array([1, 5, 5, 9]),
        "name": np.array(["red", "green", "red", "x"]),
        "wide": np.array([1.0, 5, np.nan, 2]),
    }
    frame = Frame.of(data, Column("size", keys=SIZES), Column("name", keys=COLOURS), Column("wide", keys=SIZES))
    assert frame.counts(["size"]).tolist() == [1, 0, 2]
    assert frame.counts(["name"]).tolist() == [2, 1, 0]
    assert frame.counts(["wide"]).tolist() == [1, 1, 1]
    assert frame.counts(["size", "name"]).sum() == 3


def test_one_strange_cell_changes_no_other_row() -> None:
    plain = Frame.of({"size": [1, 2, 2, 5]}, Column("size", keys=SIZES))
    strangers: list[Whatever] = ["1", None, 2.5, 1 << 80, [2]]
    for stranger in strangers:
        frame = Frame.of({"size": [1, 2, 2, stranger]}, Column("size", keys=SIZES))
        assert (plain.counts(["size"]) - frame.counts(["size"])).tolist() == [0, 0, 1]


def test_one_strange_cell_changes_no_other_row_of_a_deque() -> None:
    age, size = Column("age", bounds=(0, 120), step=1), Column("size", keys=SIZES)
    strangers: list[Whatever] = ["x", None, 2.5, [2], np.timedelta64("NaT"), np.timedelta64(2)]
    for stranger in strangers:
        frame = Frame.of({"age": deque([7.0, 30.0, stranger]), "size": deque([1, 5, stranger])}, age, size)
        own = AGE.steps([stranger]).item()
        assert frame.sums([], ["age"]).item() == 37 + own
        assert frame.counts(["size"]).tolist() == [1, 0, 1]
        assert {"(7.0, 1)", "(30.0, 5)"} <= {repr(row) for row in frame.rows()}  # in an order that is drawn anew
    assert Frame.of({"age": (x for x in [1, 2])}, age).counts([]).item() == 2  # type: ignore[dict-item]


def test_sums_do_not_wrap_around() -> None:
    most = (1 << 53) - 1
    column = Column("money", bounds=(-most, most), step=1)
    for size in (1000, 1023, 1030):  # 2^53 · 1024 = 2^63
        values = np.full(size, most)
        total = Frame.of({"money": values}, column).sums([], ["money"]).item()
        assert total == min(LIMIT, size * most)
        fewer = Frame.of({"money": values[1:]}, column).sums([], ["money"]).item()
        assert abs(total - fewer) <= most
    mixed = np.array([most, -most] * 600)
    assert Frame.of({"money": mixed}, column).sums([], ["money"]).item() == 0


@given(st.lists(st.floats(-10, 200), max_size=30), st.lists(st.integers(-5, 130), max_size=6))
def test_quantile_counts_are_those_of_a_loop(ages: list[float], edges: list[int]) -> None:
    cuts = sorted(edges)
    images = AGE.steps(ages).tolist()
    counts = Frame.of({"age": ages}, Column("age", bounds=(0, 120), step=1)).quantile_counts("age", cuts)
    fences = [-(10**9), *cuts, 10**9]
    assert counts.tolist() == [sum(a <= x < b for x in images) for a, b in pairwise(fences)]


def test_rows_leave_in_every_order_equally_often() -> None:
    """Whoever came first does not leave first: all 24 orders of four rows, whose bits are fresh (`fits`: 1e-9)."""
    frame = Frame.of(
        {"age": [10, 20, 30, 40], "size": [1, 2, 3, 4]}, Column("age", bounds=(0, 120), step=1), Column("size")
    )
    seen: list[tuple[object, ...]] = [tuple(frame.rows()) for _ in range(4000)]
    every: dict[tuple[object, ...], float] = dict.fromkeys(permutations([(10, 1), (20, 2), (30, 3), (40, 4)]), 1 / 24)
    few: dict[tuple[object, ...], float] = dict.fromkeys(permutations([(10, 1), (20, 2), (30, 3)]), 1 / 6)
    assert fits(seen, every)
    assert not fits(seen, few)


def test_declarations_are_kept() -> None:
    frame = Frame.of({"age": [1.0]}, Column("age", bounds=(0, 120), step=1), neighbours=Replace("person"))
    assert frame.schema == {"age": Column("age", bounds=(0, 120), step=1)}
    assert frame.caps == Caps(1)
    assert frame.neighbours == Replace("person")


DATA: dict[str, Whatever] = {"size": [1, 2], "age": [30.0, 40.0]}
FRAME = Frame.of(DATA, Column("size", keys=SIZES), Column("age", bounds=(0, 120), step=1))


def test_nonsense_is_refused() -> None:
    with pytest.raises(Refusal, match=r"no column \['height'\]; it has \['age', 'size'\]"):
        Frame.of(DATA, Column("height"))
    with pytest.raises(Refusal, match="there is no column 'height'"):
        FRAME.counts(["height"])
    with pytest.raises(Refusal, match="'age' has no declared keys"):
        FRAME.counts(["age"])
    with pytest.raises(Refusal, match="'size' has no declared bounds"):
        FRAME.sums([], ["size"])
    with pytest.raises(Refusal, match="rising edges"):
        FRAME.quantile_counts("age", [3, 1])
    with pytest.raises(Refusal, match="one length"):
        Frame.of({"a": [1], "b": [1, 2]}, Column("a"), Column("b"))
    with pytest.raises(Refusal, match="different names"):
        Frame.of(DATA, Column("age"), Column("age"))
    with pytest.raises(Refusal, match="declares the key 1 twice"):
        Column("size", keys=(1, 1))
    with pytest.raises(Refusal, match="no declared keys"):
        Frame.of({"size": [1]}, Column("size", keys=())).counts(["size"])
    with pytest.raises(Refusal, match="max_rows >= 1, got max_rows=0"):
        Caps(0)
    wide = Frame.of({"a": [1]}, Column("a", keys=tuple(range(1001))))
    with pytest.raises(Refusal, match="cells"):
        wide.counts(["a"] * 3)


def test_days_and_numbers_are_keys_as_text() -> None:
    """A column may hold them as Python's, numpy's or pandas's; a key that is of no such kind is refused."""
    days: list[Any] = [dt.date(2024, 1, 5), dt.date(2024, 1, 6), dt.date(2024, 1, 5), None]
    moments: list[Any] = [dt.datetime(2024, 1, 5), dt.datetime(2024, 1, 5, 10, 0, 0, 500_000)]  # noqa: DTZ001
    keyed = Column("x", keys=("2024-01-05", "2024-01-06"))
    assert Frame.of({"x": days}, keyed).counts(["x"]).tolist() == [2, 1]
    assert Frame.of({"x": np.array(days[:3], dtype="datetime64[D]")}, keyed).counts(["x"]).tolist() == [2, 1]
    assert Frame.of({"x": np.array(moments, dtype="datetime64[ns]")}, keyed).counts(["x"]).tolist() == [1, 0]
    exact = Column("x", keys=("2024-01-05 00:00:00", "2024-01-05 10:00:00.500000"))
    assert Frame.of({"x": moments}, exact).counts(["x"]).tolist() == [1, 1]
    halves = Column("x", keys=("0.5", "1", "0"))
    assert Frame.of({"x": [0.5, 1.0, -0.0, np.nan]}, halves).counts(["x"]).tolist() == [1, 1, 1]
    assert Frame.of({"x": [1.0, 2.0, np.nan]}, Column("x", keys=(1, 2))).counts(["x"]).tolist() == [1, 1]
    for key in (0.5, 1.0, np.nan, dt.date(2024, 1, 5), b"a"):
        with pytest.raises(Refusal, match="expected keys of column 'x' that are text"):
            Column("x", keys=(key,))  # type: ignore[arg-type]


@pytest.mark.parametrize("strange", [0.25, np.nan, np.inf, 1e300])
def test_products_are_the_same_whether_a_glance_tells_the_steps_or_not(strange: float) -> None:
    """Doubles against the same cells in a list of objects, which are read one by one; and against rationals."""
    rng = np.random.default_rng(4)
    one, two = rng.normal(size=5000) * 3, rng.normal(size=5000) * 40
    one[4500] = strange
    columns = (Column("one", bounds=(-5, 5)), Column("two", bounds=(0, 90), step="0.5"))
    quick = Frame.of({"one": one, "two": two}, *columns).products([], ["one", "two"])
    slow = Frame.of({"one": one.astype(object), "two": two.astype(object)}, *columns).products([], ["one", "two"])
    there = ~np.isnan(one)
    cells = [each[there].astype(object) for each in (one, two)]
    grids = Grid(-5, 5, "1e-7"), Grid(0, 90, "0.5")
    steps = [[1] * int(there.sum()), *(grid.steps(own).tolist() for grid, own in zip(grids, cells, strict=True))]
    whole = np.array(steps, dtype=object)
    assert np.array_equal(quick, whole @ whole.T)
    assert np.array_equal(slow, quick)
