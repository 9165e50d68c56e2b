"""Random forests: splits know nothing of rows, parts cost together what was paid, leaves are counts of their rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.learn import RandomForest, RandomForestClassifier, RandomForestRegressor, RegressionForest
from discreet.learn.binned_rows import Cells, ClassTarget
from discreet.learn.fit_in_stages import SIZE
from discreet.learn.fit_price import rho_of
from discreet.learn.forest_learner import Shape, surprise
from discreet.learn.row_price import RowPrice
from discreet.mechanisms import Column, Frame
from discreet.privacy import Approximate, Concentrated, Replace

ONE, HUGE = Fraction(1), 10**30


def frame(n: int) -> Frame:
    rng = np.random.default_rng(2)
    columns = [Column("a", bounds=(0, 9), step=1), Column("k", keys=("x", "y", "z")), Column("y", keys=(0, 1))]
    held: dict[str, Any] = {"a": rng.integers(0, 10, n), "k": rng.choice(["x", "y", "z"], n)}
    return Frame.of({**held, "y": (held["a"] > 4).astype(int)}, *columns)


def test_its_splits_are_the_same_whatever_the_rows_are() -> None:
    """At a price at which noise says nothing of how many rows there are, and so of how many trees."""
    mechanism = RandomForest(("a", "k"), "y", Fraction(1, 10**9), trees=3, max_depth=3)
    empty, full = (mechanism(frame(n), rng=Seeded(5)) for n in (0, 200))
    columns = mechanism.axes(frame(0))
    assert len({mechanism.planned(size)[0] for size in (-5, 0, 10, 10**6)}) == 1
    assert len(empty.trees) == len(full.trees) == 3
    drawn = [Shape.drawn(columns, 3, Seeded(seed)) for seed in range(40)]
    assert len(set(drawn)) > 30
    for shape in drawn:  # no split is made twice on the way to a leaf, if there was another
        first = shape.splits[0]
        assert shape.splits[1] != first != shape.splits[2]


def test_a_row_goes_where_its_tree_as_data_says() -> None:
    table = frame(300)
    mechanism = RandomForest(("a", "k"), "y", ONE)
    axes = mechanism.axes(table)
    cells = Cells.read(table, axes, ClassTarget.of(table, "y"), Seeded(1))
    places = np.array([own.astype(np.int64) for own in cells.places])
    for seed in range(10):
        shape = Shape.drawn(axes, 5, Seeded(seed))
        tree = shape.tree(axes, np.zeros((32, 2)))
        leaves = shape.leaves(cells, places)
        assert leaves.tolist() == tree.leaf(places.T.astype(np.float64), ((), ("x", "y", "z"))).tolist()
        assert len(set(leaves.tolist())) > 3


@pytest.mark.parametrize("loss", [{"epsilon": ONE}, {"epsilon": ONE, "delta": Fraction(1, 10**6)}, {"rho": ONE}])
@pytest.mark.parametrize("who", [{}, {"max_rows": 3, "neighbours": Replace()}])
def test_all_its_trees_cost_a_unit_no_more_than_was_paid(loss: dict[str, Any], who: dict[str, Any]) -> None:
    mechanism = RandomForest(("a",), "y", **{"epsilon": None, **loss, **who}, trees=200)
    rows, paid = 6 if who else 1, mechanism.privacy
    grown = set()
    for size in (-100, 0, 100, 1000, 10**5, 10**9):
        trees, depth, price = mechanism.planned(size)
        grown.add((trees, depth))
        own = trees * price.of * (rows if price.pure else rows**2)
        before = mechanism.stages.first.of * (rows if mechanism.stages.first.pure else rows**2)
        if isinstance(paid, Approximate):
            assert before == SIZE * paid.epsilon
            rest = paid.epsilon - before
            assert own <= (rest if price.pure else rho_of(Approximate(rest, paid.delta)))
        else:
            whole = paid.rho if isinstance(paid, Concentrated) else paid.epsilon
            assert whole * Fraction(999, 1000) <= before + own <= whole
    assert len(grown) > 2


def test_what_is_bought_is_what_was_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    paid: list[Fraction] = []
    noisy = RowPrice.noisy

    def adds(price: RowPrice, sums: Any, unit: int, rng: Any) -> list[int]:  # noqa: ANN401
        paid.append(price.of)
        return noisy(price, sums, unit, rng)

    monkeypatch.setattr(RowPrice, "noisy", adds)
    RandomForest(("a", "k"), "y", ONE)(frame(500), rng=Seeded(2))
    assert len(paid) > 4
    assert Fraction(999, 1000) < sum(paid) <= 1


def test_a_leaf_says_how_much_more_frequent_a_class_is_there() -> None:
    told = surprise(np.array([[30, 10], [0, 0], [-7, 4]]), np.array([0.5, 0.5]), 1e-9)
    assert told[0] == pytest.approx([math.log(1.5), math.log(0.5)])
    assert told[1] == pytest.approx([0, 0])
    assert told[2, 1] == pytest.approx(math.log(2))


@pytest.mark.parametrize("price", [{}, {"delta": "1e-6"}, {"epsilon": None, "rho": "0.05"}])
def test_at_a_price_people_pay_it_tells_classes_apart(price: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    x = np.empty((4000, 3), dtype=object)
    x[:, 0], x[:, 1], x[:, 2] = rng.choice(["red", "green"], 4000), rng.uniform(0, 9, 4000), rng.uniform(0, 9, 4000)
    y = np.where((x[:, 0] == "red") & (x[:, 1] > 3), "in", "out")
    given: dict[str, Any] = {"classes": ("in", "out"), "bounds": ([0, 0, 0], [1, 9, 9])}
    forest = RandomForestClassifier(**price, **given, categories={0: ("red", "green")}).fit(x, y)
    assert forest.score(x, y) > 0.8
    assert forest.predict_proba(x).sum(axis=1) == pytest.approx(1)
    fresh: Any = [["red", 8, 2], ["green", 8, 2], [None, None, 3]]
    assert forest.predict(fresh).tolist()[:2] == ["in", "out"]


@pytest.mark.parametrize("n", [0, 3])
def test_no_rows_and_one_class_are_fitted_like_any(n: int) -> None:
    forest = RandomForestClassifier(1, classes=(0, 1, 2), bounds=(0, 5)).fit(np.ones((n, 2)), [0] * n)
    assert np.isfinite(forest.predict_proba([[1.0, 2.0], [np.nan, 3.0]])).all()


def test_what_makes_no_sense_is_refused() -> None:
    for given, said in (({"n_estimators": 1001}, "trees <= 1000"), ({"max_depth": 13}, "max_depth <= 12")):
        with pytest.raises(Refusal, match=said):
            RandomForestClassifier(1, classes=(0, 1), bounds=(0, 1), **given).fit([[0.0]], [0])  # type: ignore[arg-type]


def test_numbers_cost_what_was_planned_for_as_many_parts_as_a_row_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tree buys sums that a row moves by all of its parts; together no more than was paid."""
    paid: list[tuple[Fraction, int]] = []
    noisy = RowPrice.noisy

    def adds(price: RowPrice, sums: Any, unit: int, rng: Any) -> list[int]:  # noqa: ANN401
        paid.append((price.of, unit))
        return noisy(price, sums, unit, rng)

    monkeypatch.setattr(RowPrice, "noisy", adds)
    columns = [Column("a", bounds=(0, 9), step=1), Column("y", bounds=(-20, 30), step=1)]
    table = Frame.of({"a": range(10), "y": range(10)}, *columns)
    RegressionForest(("a",), "y", ONE)(table, rng=Seeded(2))
    assert len(paid) > 3
    assert {unit for _, unit in paid} == {1, 50}
    assert Fraction(999, 1000) < sum(price for price, _ in paid) <= 1


@pytest.mark.parametrize("price", [{}, {"delta": "1e-6"}, {"epsilon": None, "rho": "0.05"}])
def test_at_a_price_people_pay_it_predicts_numbers(price: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 9, (6000, 2))
    y = np.where(x[:, 0] > 3, 6.0, -2.0) + np.where(x[:, 1] > 5, 2.0, 0.0)
    forest = RandomForestRegressor(**price, bounds=(0, 9), label_bounds=(-5, 10)).fit(x, y)
    assert forest.score(x, y) > 0.5
    told = forest.predict([[0.0, 0.0], [99.0, np.nan], [9.0, 9.0]])
    assert np.all((told >= -5) & (told <= 10))


def test_without_noise_rows_that_share_a_leaf_say_what_they_are() -> None:
    """One column that every split cuts: leaves of one value each, of which a row is alone; a quarter more than that."""
    x, y = np.repeat([[0.0], [9.0]], 500, axis=0), np.repeat([2.0, 6.0], 500)
    forest = RandomForestRegressor(HUGE, bounds=(0, 9), label_bounds=(0, 10), cuts=1).fit(x, y)
    assert forest.predict([[0.0], [9.0]]) == pytest.approx([4 - 2.5, 4 + 2.5], abs=0.01)


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows_are_fitted_like_any(n: int) -> None:
    forest = RandomForestRegressor(1, bounds=(0, 5), label_bounds=(0, 1)).fit(np.ones((n, 2)), [0.5] * n)
    assert np.isfinite(forest.predict([[1.0, 2.0], [np.nan, 3.0]])).all()
