"""Additive models: how far a row moves a sum of residuals, what parts cost together, what is fitted and drawn."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from scipy.special import expit

from discreet.errors import Refusal
from discreet.learn import AdditiveClassification, AdditiveClassifier, AdditiveRegression, AdditiveRegressor
from discreet.learn.additive_learner import _Boosted, smoothed
from discreet.learn.binned_rows import Cells, ClassTarget, NumberTarget
from discreet.learn.fit_price import rho_of
from discreet.learn.row_price import RowPrice
from discreet.mechanisms import Column, Frame
from discreet.privacy import Approximate, Concentrated, Pure, Replace

ONE, RARE, HUGE = Fraction(1), Fraction(1, 10**6), 10**30


def boosted(*, numeric: bool) -> _Boosted:
    """All rows there can be of two features, with every label, under effects as they might be told."""
    rows = list(itertools.product(range(4), range(3), (0, 1, 2) if numeric else (0, 1)))
    label = Column("y", bounds=(0, 2), step=1) if numeric else Column("y", keys=(0, 1))
    columns = [Column("a", bounds=(0, 3), step=1), Column("k", keys=("x", "y", "z")), label]
    held: dict[str, Any] = {"a": [row[0] for row in rows], "k": ["xyz"[row[1]] for row in rows]}
    table = Frame.of({**held, "y": [row[2] for row in rows]}, *columns)
    learner = (AdditiveRegression if numeric else AdditiveClassification)(("a", "k"), "y", ONE)
    target: Any = (NumberTarget if numeric else ClassTarget).of(table, "y")
    cells = Cells.read(table, learner.axes(table), target, Seeded(1))
    return _Boosted(cells, learner.planned(100), odds=not numeric)


@pytest.mark.parametrize("numeric", [False, True])
def test_no_row_has_a_residual_beyond_what_the_noise_is_for_and_one_comes_near(numeric: bool) -> None:  # noqa: FBT001
    state, rng = boosted(numeric=numeric), np.random.default_rng(3)
    assert state.reach() == 2**15 + 2
    for _ in range(20):
        state.effects = [rng.normal(size=each.size) * (0.2 if numeric else 2) for each in state.effects]
        at = [effect[places] for effect, places in zip(state.effects, state.cells.places, strict=True)]
        state.scores = state.intercept + at[0] + at[1]
        said = np.clip(state.scores, 0, 1) if numeric else expit(state.scores)
        far = np.abs(state.cells.told / (2 if numeric else 1) - said) * 2**16
        assert np.abs(state.residuals(state.reach())).max() <= state.reach()
        assert far.max() <= state.reach() <= far.max() + 4
        assert np.abs(state.residuals(100)).max() == 100


LOSSES: list[dict[str, Any]] = [
    {"epsilon": ONE},
    {"epsilon": ONE, "delta": RARE},
    {"epsilon": Fraction(1, 50), "delta": RARE},
    {"rho": Fraction(1, 10)},
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("who", [{}, {"max_rows": 3, "neighbours": Replace()}])
def test_every_plan_costs_a_unit_no_more_than_was_paid(loss: dict[str, Any], who: dict[str, Any]) -> None:
    """Added up for a unit's rows, for sizes from none to a billion: in ε what is pure, and the rest at its δ."""
    learner = AdditiveClassification(tuple("abcdefgh"), "y", **{"epsilon": None, **loss, **who})
    rows = 6 if who else 1
    kinds = set()
    for size in (-1000, 0, 30, 100, 300, 1000, 10_000, 10**9):
        plan = learner.planned(size)
        stages = [learner.stages.first, *([] if plan.choice is None else [plan.choice])]
        bought = plan.kept * (plan.count.of + plan.rounds * plan.sum.of)
        assert Fraction(999, 1000) * plan.fit.of < bought <= plan.fit.of
        assert (plan.choice is None) == (plan.kept == 8)
        paid, own = learner.privacy, plan.fit.of * (rows if plan.fit.pure else rows**2)
        before = sum((each.of * (rows if each.pure else rows**2) for each in stages), Fraction(0))
        kinds.add((plan.choice is None, plan.rounds, plan.fit.pure))
        if isinstance(paid, Approximate) and not plan.fit.pure:
            assert all(each.pure for each in stages)
            assert own <= rho_of(Approximate(paid.epsilon - before, paid.delta)) <= own * Fraction(1001, 1000)
        else:
            whole = paid.rho if isinstance(paid, Concentrated) else paid.epsilon
            assert whole * Fraction(999, 1000) <= before + own <= whole
            assert isinstance(paid, Concentrated) is not plan.fit.pure
    assert len(kinds) > 1


@pytest.mark.parametrize("loss", [{"epsilon": Pure(ONE).epsilon}, {"rho": ONE}])
def test_what_is_bought_is_what_was_planned(loss: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    paid: list[Fraction] = []
    noisy = RowPrice.noisy

    def adds(price: RowPrice, sums: Any, unit: int, rng: Any) -> list[int]:  # noqa: ANN401
        paid.append(price.of)
        return noisy(price, sums, unit, rng)

    monkeypatch.setattr(RowPrice, "noisy", adds)
    x, y = points(5000)
    table = Frame.of({"a": x[:, 0], "b": x[:, 1], "y": y > 0}, *both(Column("y", keys=(False, True))))
    AdditiveClassification(("a", "b"), "y", **{"epsilon": None, **loss})(table, rng=Seeded(2))
    assert len(paid) == 1 + 2 + 4 * 2
    assert Fraction(999, 1000) < sum(paid) <= 1


def points(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, size=(n, 2))
    return x, np.clip(np.sin(3 * x[:, 0]) + x[:, 1] ** 2 - 0.4 + rng.normal(size=n) / 5, -2, 2)


def both(label: Column) -> list[Column]:
    return [Column("a", bounds=(-1, 1)), Column("b", bounds=(-1, 1)), label]


def test_without_noise_to_speak_of_effects_are_the_curves_that_the_rows_are_made_of() -> None:
    x, y = points(40_000)
    model = AdditiveRegressor(HUGE, delta=0, bounds=(-1, 1), label_bounds=(-2, 2), rounds=30, cuts=31).fit(x, y).model_
    middles = np.linspace(-1, 1, 33)[:-1] + 1 / 32
    first, second = (np.array(each.values) for each in model.effects)
    assert first == pytest.approx(np.sin(3 * middles), abs=0.05)
    assert second == pytest.approx(middles**2 - 1 / 3, abs=0.05)
    assert model.intercept == pytest.approx(1 / 3 - 0.4, abs=0.02)


@pytest.mark.parametrize("price", [{}, {"delta": 0}, {"epsilon": None, "delta": 0, "rho": "0.02"}])
def test_at_a_price_people_pay_it_is_near_that(price: dict[str, Any]) -> None:
    x, y = points(15_000)
    fitted = AdditiveRegressor(**price, bounds=(-1, 1), label_bounds=(-2, 2)).fit(x, y)
    assert fitted.score(x, y) > 0.75
    told = AdditiveClassifier(**price, classes=(False, True), bounds=(-1, 1)).fit(x, y > 0)
    assert told.score(x, y > 0) > 0.8
    assert told.predict_proba(x)[:, 1].mean() == pytest.approx(np.mean(y > 0), abs=0.1)


def test_of_few_rows_it_uses_the_features_that_tell_most() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, size=(2000, 14))
    y = (x[:, 13] > 0.5).astype(int)
    kept = [
        [each.name for each in fitted.model_.effects if np.ptp(each.values)]
        for fitted in (AdditiveClassifier("0.05", classes=(0, 1), bounds=(0, 1)).fit(x, y) for _ in range(4))
    ]
    assert max(map(len, kept)) < 10
    assert sum("x13" in names for names in kept) >= 2


def test_a_change_is_the_likeliest_of_a_random_walk() -> None:
    rng = np.random.default_rng(2)
    sums, weight, deviation = rng.normal(size=6), rng.uniform(1, 3, size=6), 0.7
    told = smoothed(sums, weight, deviation, 2.0, apart=False)

    def unlikely(u: Any) -> float:  # noqa: ANN401
        walk = np.sum(np.diff(u) ** 2) * 6 / 2.0**2 + 4 * np.sum(u**2) / (2.0**2 * 6)
        return float(np.sum((sums - weight * u) ** 2) / deviation**2 + walk)

    assert all(unlikely(told) < unlikely(told + rng.normal(size=6) / 100) for _ in range(50))
    assert smoothed(sums, weight, 1e-9, 2.0, apart=True) == pytest.approx(sums / weight, abs=1e-3)


def test_categories_have_an_effect_each_and_what_is_none_has_none() -> None:
    rng = np.random.default_rng(2)
    x = np.empty((3000, 2), dtype=object)
    x[:, 0], x[:, 1] = rng.choice(["red", "green", "blue"], 3000), rng.integers(0, 10, 3000)
    y = (x[:, 0] == "green").astype(int)
    given: dict[str, Any] = {"classes": (0, 1), "bounds": ([0, 0], [1, 9]), "categories": {0: ("red", "green", "blue")}}
    model = AdditiveClassifier(10, **given).fit(x, y)
    assert model.score(x, y) == 1
    effect = model.model_.effects[0]
    assert effect.of(np.array([1.0, np.nan, 7.0])).tolist() == [effect.values[1], 0, 0]
    assert "is green" in model.model_.table()["where"].to_pylist()
    drawn = model.model_.pictures()
    assert [each.title for each in drawn] == ["x0", "x1"]
    assert all(each.wide.startswith("<svg") and "green" in drawn[0].narrow for each in drawn)


@pytest.mark.parametrize("n", [0, 3])
def test_no_rows_and_one_class_are_fitted_like_any(n: int) -> None:
    model = AdditiveClassifier(1, classes=(0, 1), bounds=(0, 5)).fit(np.ones((n, 2)), [0] * n)
    assert np.isfinite(model.predict_proba([[1.0, 2.0], [np.nan, 3.0]])).all()
    regressor = AdditiveRegressor(1, bounds=(0, 1), label_bounds=(-1, 1)).fit(np.ones((n, 2)), [0.0] * n)
    assert np.abs(regressor.predict([[1.0, np.nan]])).max() <= 1
    assert all(each.wide.startswith("<svg") for each in regressor.model_.pictures())


def test_what_makes_no_sense_is_refused() -> None:
    for given, said in (({"rounds": 1001}, "rounds <= 1000"), ({"cuts": 0}, "cuts"), ({"rounds": 0}, "rounds")):
        with pytest.raises(Refusal, match=said):
            AdditiveClassifier(1, classes=(0, 1), bounds=(0, 1), **given).fit([[0.0]], [0])  # type: ignore[arg-type]
    table = Frame.of({"a": [1], "y": [1]}, Column("a", bounds=(0, 1)), Column("y", keys=(0, 1, 2)))
    with pytest.raises(Refusal, match="tells two classes apart, and 'y' has 3"):
        AdditiveClassification(("a",), "y", ONE)(table)
