"""Decision trees: how far a row moves what is chosen by, exactly; what is grown; categories; trees in a home."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from commandline import discreet as command
from doubles import Seeded
from sklearn.tree import DecisionTreeClassifier as PlainClassifier
from sklearn.tree import DecisionTreeRegressor as PlainRegressor

import discreet as dp
from discreet.errors import Refusal
from discreet.learn import (
    ClassificationTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RegressionTree,
    TreeClassifier,
)
from discreet.learn.binned_rows import Cells, ClassTarget, NumberTarget
from discreet.learn.prediction_rows import features_of
from discreet.learn.row_price import RowPrice
from discreet.learn.tree_learner import _LEAVES, _SIZE, Candidates, impurity, levels, scored
from discreet.mechanisms import Column, Exponential, Frame, PermuteAndFlip
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure, Replace

ONE, HUGE = Fraction(1), 10**30


def tables(kinds: int, most: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(most + 1), repeat=kinds)


@pytest.mark.parametrize(("kinds", "unit"), [(2, 1), (3, 1), (2, 3)])
def test_a_row_more_lowers_no_impurity_and_adds_at_most_what_is_counted_on(kinds: int, unit: int) -> None:
    """Exactly, against Gini's definition, for every small table and every row."""
    rows = [row for row in tables(kinds, unit) if sum(row) == unit]
    worst = Fraction(0)
    for held in tables(kinds, 6):
        if sum(held) % unit:
            continue
        before = int(impurity(np.array(held), unit))
        whole = Fraction(sum(held), unit)
        shares = [Fraction(each, sum(held)) if sum(held) else Fraction(0) for each in held]
        gini = whole * (1 - sum(share * share for share in shares))
        assert 0 <= gini * 2**20 - before < 1
        for row in rows:
            moved = int(impurity(np.array(held) + np.array(row), unit)) - before
            assert 0 <= moved <= 2 * 2**20
            worst = max(worst, Fraction(moved, 2 * 2**20))
    assert worst > Fraction(6, 10)


def test_large_sums_are_as_exact() -> None:
    held = np.array([[3 * 10**9, 10**9], [5, 4]])
    told = [2**20 * ((4 * 10**9) ** 2 - 9 * 10**18 - 10**18) // (4 * 10**9), 2**20 * (81 - 41) // 9]
    assert impurity(held, 1).tolist() == told


def frame(rows: Sequence[tuple[int, ...]], label: Column) -> Frame:
    columns = [Column("a", bounds=(0, 3), step=1), Column("k", keys=("x", "y", "z")), label]
    held: dict[str, Any] = {
        "a": [row[0] for row in rows],
        "k": ["xyz"[row[1]] for row in rows],
        label.name: [row[2] for row in rows],
    }
    return Frame.of(held, *columns)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("numeric", [False, True])
def test_scores_move_one_way_and_no_further_than_the_choice_counts_on(numeric: bool, last: bool) -> None:  # noqa: FBT001
    label = Column("y", bounds=(0, 2), step=1) if numeric else Column("y", keys=(0, 1, 2))
    learner = (RegressionTree if numeric else ClassificationTree)(("a", "k"), "y", ONE)
    some = [(0, 0, 0), (1, 2, 1), (3, 1, 2), (3, 2, 2)]

    def scores(rows: Sequence[tuple[int, ...]]) -> tuple[Any, int]:
        table = frame(rows, label)
        target: Any = (NumberTarget if numeric else ClassTarget).of(table, "y")
        axes = learner.axes(table)
        cells, at = Cells.read(table, axes, target), np.zeros(len(rows), dtype=np.int64)
        return scored(target, cells.sums(at, 1), Candidates(axes).second(cells, at, 1), last=last)

    for others in ((), some):
        before, _ = scores(others)
        worst = 0
        for row in itertools.product(range(4), range(3), range(3)):
            after, reach = scores([*others, row])
            moved = after - before
            assert np.all(moved >= 0) or np.all(moved <= 0)
            worst = max(worst, int(np.abs(moved).max()))
        assert worst <= reach
    assert worst >= 0.6 * reach


def test_a_unit_costs_what_its_rows_cost_one_after_another() -> None:
    assert RowPrice.at(Pure(ONE), 3, AddRemove()) == RowPrice(Fraction(1, 3), pure=True)
    assert RowPrice.at(Pure(ONE), 3, Replace()) == RowPrice(Fraction(1, 6), pure=True)
    assert RowPrice.at(Concentrated(ONE), 3, AddRemove()) == RowPrice(Fraction(1, 9), pure=False)
    assert RowPrice.at(Concentrated(ONE), 3, Replace()) == RowPrice(Fraction(1, 36), pure=False)
    assert not RowPrice.at(Approximate(ONE, Fraction(1, 10**6)), 1, AddRemove()).pure
    pure, rho = RowPrice(ONE, pure=True), RowPrice(Fraction(1, 8), pure=False)
    assert [pure.spread(5), rho.spread(5)] == [5, 100]
    assert isinstance(pure.choice(9, 4), PermuteAndFlip)
    chosen = rho.choice(9, 4)
    assert isinstance(chosen, Exponential)
    assert chosen.concentrated <= Concentrated(Fraction(1, 8))
    assert chosen.epsilon == pytest.approx(1)
    assert chosen.rate == chosen.epsilon / 4


@pytest.mark.parametrize("loss", [{"epsilon": ONE}, {"rho": ONE}])
def test_its_parts_cost_together_no_more_than_was_paid(loss: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told is recorded at what it costs a row, of a tree that grows as deep as it may."""
    paid: list[Fraction] = []
    choice, noisy = RowPrice.choice, RowPrice.noisy

    def chooses(price: RowPrice, candidates: int, sensitivity: int) -> Any:  # noqa: ANN401
        paid.append(price.of)
        return choice(price, candidates, sensitivity)

    def adds(price: RowPrice, sums: Any, unit: int, rng: Any) -> list[int]:  # noqa: ANN401
        paid.append(price.of)
        return noisy(price, sums, unit, rng)

    monkeypatch.setattr(RowPrice, "choice", chooses)
    monkeypatch.setattr(RowPrice, "noisy", adds)
    learner = ClassificationTree(("a", "k"), "y", **{"epsilon": None, **loss})
    table = frame([(i % 4, i % 3, (i % 4 > 1) + (i % 3 > 1)) for i in range(900)], Column("y", keys=(0, 1, 2)))
    told = learner(table, rng=Seeded(1))
    depth = (len(told.tree.leaves) - 1).bit_length()
    assert len(paid) == depth + 2 > 3
    assert Fraction(999, 1000) < sum(paid) <= 1
    assert (paid[0], paid[-1]) == (_SIZE, _LEAVES)


def test_more_rows_or_a_higher_price_make_deeper_trees() -> None:
    told = [levels(size, Fraction(1), 12) for size in (-50, 0, 10, 426, 36_000, 10**6, 10**15)]
    assert told == sorted(told)
    assert (told[0], told[-1]) == (1, 12)
    assert levels(400, Fraction(100), 12) == levels(40_000, Fraction(1), 12)


def test_noise_at_leaves_is_for_all_parts_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    units: list[int] = []
    noisy = RowPrice.noisy

    def adds(price: RowPrice, sums: Any, unit: int, rng: Any) -> list[int]:  # noqa: ANN401
        units.append(unit)
        return noisy(price, sums, unit, rng)

    monkeypatch.setattr(RowPrice, "noisy", adds)
    RegressionTree(("a", "k"), "y", ONE)(frame([(1, 2, 3)], Column("y", bounds=(0, 7), step=1)), rng=Seeded(1))
    assert units == [1, 7]


def test_a_number_that_has_keys_as_well_is_read_as_a_number() -> None:
    label = Column("y", keys=(9, 0), bounds=(0, 9), step=1)
    columns = [Column("a", keys=(1, 0), bounds=(0, 1), step=1), label]
    table = Frame.of({"a": [0, 1] * 50, "y": [0, 9] * 50}, *columns)
    told = RegressionTree(("a",), "y", Fraction(HUGE), max_depth=1)(table, rng=Seeded(1))
    assert told.predict([[0.0], [1.0]]) == pytest.approx([0, 9], abs=1e-6)


def test_how_deep_it_is_follows_from_a_noisy_number_of_rows() -> None:
    table = frame([(i % 4, i % 3, i % 2) for i in range(1500)], Column("y", keys=(0, 1)))
    learner = ClassificationTree(("a", "k"), "y", Fraction(1, 20))
    assert len({len(learner(table, rng=Seeded(seed)).tree.leaves) for seed in range(12)}) > 1


def points(n: int = 3000) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 16, size=(n, 3))
    y = 3.0 * (x[:, 0] >= 7) + 2 * (x[:, 1] >= 4) * (x[:, 0] < 7) + (x[:, 2] >= 12) + rng.normal(size=n) / 3
    return x, np.clip(y, -2, 8)


def test_without_noise_to_speak_of_a_tree_of_numbers_is_scikit_learns() -> None:
    x, y = points()
    ours = DecisionTreeRegressor(HUGE, bounds=(0, 15), label_bounds=(-2, 8), max_depth=3).fit(x, y)
    theirs = PlainRegressor(max_depth=3).fit(x, y)
    assert ours.predict(x) == pytest.approx(theirs.predict(x), abs=1e-3)


def test_without_noise_to_speak_of_a_tree_of_classes_is_scikit_learns_up_to_its_last_level() -> None:
    x, y = points()
    label = (y > 2.5).astype(int) + (y > 3.5)
    ours = DecisionTreeClassifier(HUGE, classes=(0, 1, 2), bounds=(0, 15), max_depth=3).fit(x, label)
    plain = PlainClassifier(max_depth=2).fit(x, label).tree_
    splits = [(each.feature, math.ceil(each.at)) for each in ours.model_.tree.splits[:3]]
    assert splits == [(plain.feature[i], math.ceil(plain.threshold[i])) for i in (0, 1, 4)]
    assert ours.score(x, label) >= PlainClassifier(max_depth=3).fit(x, label).score(x, label)
    assert ours.predict_proba(x).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("price", [{"epsilon": 4}, {"epsilon": 4, "delta": "1e-6"}, {"epsilon": None, "rho": "0.5"}])
def test_at_a_price_people_pay_it_is_near_that(price: dict[str, Any]) -> None:
    x, y = points(20_000)
    tree = DecisionTreeRegressor(**price, bounds=(0, 15), label_bounds=(-2, 8)).fit(x, y)
    assert tree.score(x, y) > 0.6
    label = np.where(y > 2.5, "high", "low")
    told = DecisionTreeClassifier(**price, classes=("high", "low"), bounds=(0, 15)).fit(x, label)
    assert told.score(x, label) > 0.8


def test_categories_are_split_by_their_values_and_predicted_from_them() -> None:
    rng = np.random.default_rng(2)
    x = np.empty((2000, 2), dtype=object)
    x[:, 0], x[:, 1] = rng.choice(["red", "green", "blue"], 2000), rng.integers(0, 10, 2000)
    y = ((x[:, 0] == "green") ^ (x[:, 1] > 6)).astype(int)
    given: dict[str, Any] = {"classes": (0, 1), "bounds": ([0, 0], [0, 9]), "max_depth": 2}
    tree = DecisionTreeClassifier(100, categories={0: ("red", "green", "blue")}, **given).fit(x, y)
    assert tree.score(x, y) == 1
    fresh: Any = [["green", 3], ["teal", 3], [None, 8]]
    assert tree.predict(fresh).tolist() == [1, 0, 1]
    assert any("x0 is green" in each for each in tree.model_.table()["where"].to_pylist())
    with pytest.raises(Refusal, match="has 'colour', which is no feature"):
        DecisionTreeClassifier(1, categories={"colour": ("red",)}, **given).fit(x, y)
    with pytest.raises(Refusal, match="a cell that is none"):
        tree.predict([["red", "many"]])


def test_a_table_is_predicted_from_by_the_values_of_its_categories() -> None:
    table = pa.table({"Town": ["south", None, "east"], "age": [3, 4, 5]})
    told = features_of(table, ("age", "town"), ((), ("north", "south")))
    assert told[:, 0].tolist() == [3, 4, 5]
    assert np.array_equal(told[:, 1], [1, np.nan, np.nan], equal_nan=True)


@pytest.mark.slow
def test_a_tree_is_fitted_kept_and_used_in_a_home(tmp_path: Path) -> None:
    db = dp.create(tmp_path / "home")
    n = 3000
    town, age = [("north", "south", "west")[i % 3] for i in range(n)], [i % 90 for i in range(n)]
    sick = ["yes" if (t == "south") != (a > 60) else "no" for t, a in zip(town, age, strict=True)]
    rows = pa.table({"patient": range(n), "town": town, "age": age, "sick": sick})
    keys = {"town": ["north", "south", "west"], "sick": ["no", "yes"]}
    db.add("people", rows, unit="patient", epsilon=500, max_rows=1, bounds={"age": (0, 89)}, keys=keys)
    told = db.run("decision-tree-classifier", "people", features=["town", "age"], label="sick", epsilon=100)
    tree = TreeClassifier.read(told.value)
    assert tree.predict([[1, 30], [1, 80], [0, 80]]).tolist() == ["yes", "no", "yes"]
    asked = ("fit", "decision-tree-classifier", "people", "--features", "town,age", "--label", "sick")
    made = command(tmp_path, *asked, "--epsilon", "100", "--out", "model", "--home", str(tmp_path / "home"))
    assert made.returncode == 0, made.stderr
    assert "<svg" in (tmp_path / "model" / "index.html").read_text()
    (tmp_path / "new.csv").write_text("age,town\n30,south\n80,south\n80,west\n")
    said = command(tmp_path, "predict", "model", "new.csv", "--format", "json")
    assert [row["prediction"] for row in json.loads(said.stdout)] == ["yes", "no", "yes"]


@pytest.mark.parametrize("n", [0, 3])
def test_no_rows_and_one_class_are_fitted_like_any(n: int) -> None:
    tree = DecisionTreeClassifier(1, classes=(0, 1), bounds=(0, 5)).fit(np.ones((n, 2)), [0] * n)
    assert np.isfinite(tree.predict_proba([[1.0, 2.0], [np.nan, 3.0]])).all()
    regressor = DecisionTreeRegressor(1, bounds=(0, 5), label_bounds=(-1, 1)).fit(np.ones((n, 2)), [0.0] * n)
    assert np.abs(regressor.predict([[1.0, np.nan]])).max() <= 1
    assert regressor.model_.pictures()[0].wide.startswith("<svg")


def test_rows_without_a_value_or_a_class_are_in_no_tree() -> None:
    columns = [Column("a", bounds=(0, 3), step=1), Column("y", keys=("no", None, "yes"))]
    values: dict[str, Any] = {"a": [0, 3, None, 3, 3] * 50, "y": ["no", "yes", "no", None, "maybe"] * 50}
    told = ClassificationTree(("a",), "y", Fraction(HUGE), max_depth=1)(Frame.of(values, *columns), rng=Seeded(1))
    assert told.classes == ("no", "yes")
    assert np.ravel(told.tree.leaves) == pytest.approx([1, 0, 0, 1], abs=1e-6)


def test_what_makes_no_sense_is_refused() -> None:
    for given, said in (({"max_depth": 13}, "max_depth <= 12"), ({"cuts": 0}, "cuts"), ({"max_depth": 0}, "max_depth")):
        with pytest.raises(Refusal, match=said):
            DecisionTreeClassifier(1, classes=(0, 1), bounds=(0, 1), **given).fit([[0.0]], [0])  # type: ignore[arg-type]
    flat = Frame.of({"a": [3], "y": [1]}, Column("a", bounds=(3, "3.5"), step=1), Column("y", keys=(0, 1)))
    with pytest.raises(Refusal, match="no feature can be split"):
        ClassificationTree(("a",), "y", ONE)(flat)
