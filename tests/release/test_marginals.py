"""Released tables: they agree to the last digit, say how far they may be off, and travel."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.release.marginals import FourierMarginals, Marginals, ResidualMarginals
from discreet.release.marginals.domain import closure, maximal

Names = tuple[str, ...]

COLUMNS, SIZES = ("a", "b", "c", "one"), (2, 3, 5, 1)
PAIRS = (("a", "b"), ("c", "a"), ("b", "c", "one"))
MAKERS: list[Any] = [ResidualMarginals, FourierMarginals]


def counter(full: NDArray[Any], columns: Names = COLUMNS) -> Any:  # noqa: ANN401
    def counts(names: Names) -> NDArray[Any]:
        return np.asarray(full.sum(tuple(axis for axis, name in enumerate(columns) if name not in names)))

    return counts


def sparse(seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).poisson(0.4, SIZES)


def released(maker: Any, workload: tuple[Names, ...] = PAIRS, seed: int = 0) -> Marginals:  # noqa: ANN401
    made: Marginals = maker(COLUMNS, SIZES, workload, Fraction(1, 2))(counter(sparse(seed)), rng=Seeded(seed))
    return made


def test_any_order_of_columns_and_columns_of_one_key() -> None:
    tables = released(ResidualMarginals)
    assert np.array_equal(tables.table(("c", "b")), tables.table(("b", "c")).T)
    assert tables.table(("one", "c", "b")).shape == (1, 5, 3)
    assert np.array_equal(tables.table(("one", "c", "b"))[0], tables.table(("c", "b")))
    assert (tables.std(("one", "b")) or 0) == (tables.std(("b",)) or 0)
    assert tables.total == tables.table(("b",)).sum()
    assert tables.tables == (("a", "b"), ("a", "c"), ("b", "c"))
    assert tables.columns == COLUMNS


def test_three_columns_in_a_turned_order() -> None:
    tables = released(ResidualMarginals, (("a", "b", "c"), ("b",)))
    turned = tables.table(("b", "c", "a"))
    assert turned.shape == (3, 5, 2)
    assert np.array_equal(turned, np.moveaxis(tables.table(("a", "b", "c")), 0, 2))
    weights = np.random.default_rng(1).normal(size=(2, 3, 5))
    straight = tables.query(("a", "b", "c"), weights)
    moved = tables.query(("b", "c", "a"), np.moveaxis(weights, 0, 2))
    assert (moved.value, moved.error) == pytest.approx((straight.value, straight.error), rel=1e-9)


@pytest.mark.parametrize("names", [("a", "b", "c"), ("z",), ("a", "a"), "ab"])
def test_what_was_not_measured_is_refused(names: Any) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match=r"not measured|no column|once|tuple"):
        released(ResidualMarginals).table(names)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_weighted_sum_is_the_same_in_any_order_of_columns(maker: Any) -> None:  # noqa: ANN401
    """Its error is held against dense linear algebra where each of the two is tested."""
    tables = released(maker, seed=1)
    weights = np.array([[1.0, 1, 0, 0, -1], [0, 2, 0, 0, 0], [0, 0, 0, 0.5, 0]])
    straight, flipped = tables.query(("b", "c"), weights), tables.query(("c", "b"), weights.T)
    assert straight.value == pytest.approx(float((tables.table(("b", "c")) * weights).sum()), abs=1e-9)
    assert flipped.value == pytest.approx(straight.value, abs=1e-9)
    assert flipped.error == pytest.approx(straight.error, rel=1e-12)
    assert (straight.error or 0) > 0


def test_a_single_cell_and_a_whole_table_as_weighted_sums() -> None:
    tables = released(ResidualMarginals)
    cell = np.zeros((3, 5))
    cell[1, 2] = 1
    assert tables.query(("b", "c"), cell).error == pytest.approx((tables.std(("b", "c")) or 0), rel=1e-12)
    assert tables.query(("b", "c"), cell).value == tables.table(("b", "c"))[1, 2]
    assert tables.query(("b", "c"), np.ones((3, 5))).error == pytest.approx((tables.std(()) or 0), rel=1e-12)
    with pytest.raises(Refusal, match="shape"):
        tables.query(("b", "c"), np.ones((5, 3)))
    with pytest.raises(Refusal, match="finite"):
        tables.query(("b", "c"), np.full((3, 5), np.nan))


@pytest.mark.parametrize("maker", MAKERS)
def test_tables_travel_as_text(maker: Any) -> None:  # noqa: ANN401
    for tables in (released(maker), released(maker).counts()):
        back = Marginals.from_json(tables.to_json())
        assert back == tables
        assert hash(back) == hash(tables)
        assert np.array_equal(back.table(("c", "b")), tables.table(("c", "b")))
        assert back.std(("a", "b")) == tables.std(("a", "b"))
    assert released(maker) != released(maker, seed=1)


def altered(**changes: object) -> str:
    return json.dumps({**json.loads(released(ResidualMarginals).to_json()), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        altered(format="other"),
        altered(bits=99),
        altered(bits=-1),
        altered(fitted=1),
        altered(sizes=[2, 3, 4, 1]),
        altered(columns=["a", "b", "c"]),
        altered(tables=[]),
        altered(tables=[{"columns": ["a"], "corners": [1], "spread": 1.0}]),
        altered(tables=[{"columns": [], "corners": [1 << 70], "spread": 1.0}]),
        altered(tables=[{"columns": [], "corners": [1.5], "spread": 1.0}]),
        altered(tables=[{"columns": [], "corners": [1], "spread": float("nan")}]),
        altered(
            tables=[{"columns": ["one"], "corners": [], "spread": 1.0}, {"columns": [], "corners": [1], "spread": 1}]
        ),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        Marginals.from_json(text)


def test_arrow_has_a_row_for_each_cell() -> None:
    tables = released(ResidualMarginals)
    rows = tables.to_arrow(("c", "a"), {"a": ["no", "yes"]}).to_pydict()
    assert list(rows) == ["c", "a", "count", "std"]
    assert rows["c"] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert rows["a"] == ["no", "yes"] * 5
    assert rows["count"] == tables.table(("c", "a")).ravel().tolist()
    assert set(rows["std"]) == {(tables.std(("a", "c")) or 0)}
    assert tables.to_arrow(()).to_pydict() == {"count": [tables.total], "std": [(tables.std(()) or 0)]}
    with pytest.raises(Refusal, match="keys"):
        tables.to_arrow(("a",), {"a": ["no"]})


def test_a_column_called_count_keeps_its_name() -> None:
    names = ("count", "std")
    mechanism = ResidualMarginals(names, (2, 2), (names,), Fraction(1))
    assert mechanism({names: [[1, 2], [3, 4]]}).to_arrow(names).column_names == ["count", "std", "count_", "std_"]


def test_a_relation_can_be_counted_directly() -> None:
    frame = Frame.of(
        {"a": [0, 1, 1, 7], "b": ["x", "y", "y", "x"]}, Column("a", keys=(0, 1)), Column("b", keys=("x", "y"))
    )
    tables = ResidualMarginals(("a", "b"), (2, 2), (("a", "b"),), Fraction(10**4))(frame.counts, rng=Seeded(1))
    assert tables.counts().table(("a", "b")).tolist() == [[1, 0], [0, 2]]


@pytest.mark.parametrize("maker", MAKERS)
@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.integers(-(1 << 70), 1 << 70), min_size=6, max_size=6),
    others=st.lists(st.integers(0, 1 << 63), min_size=6, max_size=6),
)
def test_nothing_in_the_data_makes_a_call_raise(maker: Any, cells: list[int], others: list[int]) -> None:  # noqa: ANN401
    """Also numbers beyond 64 bits, and tables that do not agree with each other."""
    mechanism = maker(("a", "b", "c"), (2, 3, 2), (("a", "b"), ("b", "c")), Fraction(1))
    data = {
        ("a", "b"): np.array(cells, dtype=object).reshape(2, 3),
        ("b", "c"): np.array(others, dtype=object).reshape(3, 2),
    }
    tables = mechanism(data, rng=Seeded(1))
    assert tables.steps(("b",)).dtype == np.int64
    for changed in (tables.rounded(), tables.nonnegative(5), tables.counts(5)):
        assert np.array_equal(changed.steps(("a", "b")).sum(0), changed.steps(("b", "c")).sum(1))


def test_sums_beyond_64_bits_wrap_around_with_their_noise() -> None:
    """What is released is true + noise but for a multiple of 2^64: the noise is never clamped."""
    mechanism = ResidualMarginals(("a",), (3,), (("a",),), Fraction(1))
    large: dict[Names, list[int]] = {("a",): [(1 << 62) - 1, 0, 0]}
    noisy = mechanism.sample(large, 1, rng=Seeded(1))[0]
    noise = mechanism.sample({("a",): [0, 0, 0]}, 1, rng=Seeded(1))[0]
    top = (1 << 62) - 1
    exactly = [top, 2 * top, -top, -top]  # the total, and 3x − Σx
    for got, true, added in zip(noisy.tolist(), exactly, noise.tolist(), strict=True):
        assert (got - true - added) % (1 << 64) == 0


@pytest.mark.parametrize(
    "data", [{}, {("a", "b"): [1, 2]}, {("a", "b"): [[1.5, 0, 0], [0, 0, 0]]}, {("b", "a"): [[1, 2, 3], [1, 2, 3]]}]
)
def test_tables_of_another_shape_or_kind_are_refused(data: Any) -> None:  # noqa: ANN401
    mechanism = ResidualMarginals(("a", "b"), (2, 3), (("a", "b"),), Fraction(1))
    with pytest.raises(Refusal, match=r"counts|whole"):
        mechanism(data)


def test_only_the_largest_tables_are_asked_for() -> None:
    seen: list[Names] = []
    full = sparse(1)

    def counts(names: Names) -> NDArray[Any]:
        seen.append(names)
        return np.asarray(counter(full)(names))

    ResidualMarginals(COLUMNS, SIZES, (("a", "b"), ("b",), (), ("c",)), Fraction(1))(counts)
    assert sorted(seen) == [("a", "b"), ("c",)]


def test_fourteen_columns_without_the_full_table() -> None:
    """The sizes of Adult, whose full table has 6·10^17 cells: every pair of columns, and its standard deviation."""
    sizes = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
    columns = tuple(f"c{i}" for i in range(14))
    pairs = tuple(itertools.combinations(columns, 2))
    mechanism = ResidualMarginals(columns, sizes, pairs, Fraction(1, 10))
    tables = mechanism(
        lambda names: np.zeros([sizes[columns.index(name)] for name in names], dtype=np.int64), rng=Seeded(1)
    )
    cells = sum(tables.table(names).size for names in pairs)
    squares = sum(float((tables.table(names) ** 2).sum()) for names in pairs)
    said = sum(tables.table(names).size * (tables.std(names) or 0) ** 2 for names in pairs)
    assert cells == 148_137
    assert squares / said == pytest.approx(1, abs=0.03)
    assert tables.table(("c0", "c3")).sum(1).tolist() == tables.table(("c13", "c0")).sum(0).tolist()


def test_sets_of_columns() -> None:
    assert closure([(0, 2), (2,)]) == ((), (0,), (2,), (0, 2))
    assert maximal([(0, 2), (2,), (1,), ()]) == ((1,), (0, 2))
    assert maximal([()]) == ((),)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("workload", [((),), (("one",),), (("one", "other"), ())], ids=str)
def test_where_nothing_varies_only_the_total_is_bought(maker: Any, workload: tuple[Names, ...]) -> None:  # noqa: ANN401
    mechanism = maker(("one", "other"), (1, 1), workload, Fraction(20))
    tables = mechanism(lambda names: np.full((1,) * len(names), 40), rng=Seeded(1))
    assert len(mechanism.plan.parts) == 1
    assert abs(tables.total - 40) <= 2
    assert {float(tables.table(names).sum()) for names in workload} == {tables.total}
    assert tables.counts().total == round(tables.total)
    assert Marginals.from_json(tables.to_json()) == tables


def test_what_was_released_cannot_be_changed() -> None:
    tables = released(ResidualMarginals)
    assert not any(own.flags.writeable for own in tables.corners)
    tables.table(("a", "b"))[:] = 0  # a copy
    assert tables.table(("a", "b")).any()


def test_twenty_million_records_are_no_trouble() -> None:
    columns, sizes = ("a", "b", "c"), (100, 100, 40)
    full = np.full(sizes, 50)
    tables = ResidualMarginals(columns, sizes, (("a", "b"), ("b", "c")), Fraction(1))(
        counter(full, columns), rng=Seeded(1)
    )
    # a discrete Gaussian is σ²-subgaussian, and so are sums: 10,001 numbers beyond 8 σ are once in 10^9 at most
    assert abs(tables.total - 20_000_000) <= 8 * (tables.std(()) or 0)
    assert np.abs(tables.table(("a", "b")) - 2000).max() <= 8 * (tables.std(("a", "b")) or 0)
    assert np.array_equal(tables.table(("a", "b")).sum(0), tables.table(("b", "c")).sum(1))
