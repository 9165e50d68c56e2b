"""The best of several settings: its law by a closed form, what it scores, and what it finds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from learn.examples import HUGE, NUMBERS
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.errors import Refusal
from discreet.learn import LinearModel, LogisticRegression, PrivateSearch, PrivateSearchCV, Ridge
from discreet.learn.bayes_model import BayesClassifier
from discreet.learn.linear_classifier_model import KernelClassifier, LinearClassifier
from discreet.learn.share_of_right_rows import RightRows
from discreet.mechanisms import Column, Frame
from discreet.privacy import Approximate, Pure, Replace

ONE, RARE = Fraction(1), Fraction(1, 10**6)
ANEW = "two searches of the same rows divide them anew"
SEARCH = PrivateSearch(("a",), "y", "linear-regression", ((("alpha", 1),), (("alpha", HUGE),)), ONE)


def told(law: list[float], often: float) -> list[float]:
    """The law of the best of a geometric number of draws, the last outcome being the best."""

    def f(t: float) -> float:
        return t / often / (1 - (1 - 1 / often) * t)

    below = np.concatenate([[0.0], np.cumsum(law)])
    return [f(high) - f(low) for low, high in pairwise(below)]


def test_the_best_of_some_tries_costs_three_of_them_and_hardly_less() -> None:
    """Over laws of three outcomes that are within e^±ε of each other, in closed form."""
    epsilon, rng, worst = 0.5, np.random.default_rng(0), 0.0
    for _ in range(400):
        one = rng.dirichlet([0.3, 0.3, 0.3])
        two = np.clip(one * np.exp(epsilon * np.array([(1, 1, -1), (1, -1, -1), (-1, 1, 1)][rng.integers(3)])), 0, 1)
        two[two.argmax()] += 1 - two.sum()
        if two.min() <= 0 or np.abs(np.log(two / one)).max() > epsilon:
            continue
        for often in (1.0, 3.0, 50.0, 10_000.0):
            ratios = np.log(np.array(told(two.tolist(), often)) / np.array(told(one.tolist(), often)))
            worst = max(worst, float(np.abs(ratios).max()))
    few, up = np.array([1e-7, 1e-5]), np.exp(epsilon * np.array([1, -1]))  # what wins if the rarer best is not drawn
    laws = [told([1 - each.sum(), *each], 1e7) for each in (few, few * up)]
    assert 2.9 * epsilon < math.log(laws[1][1] / laws[0][1]) <= 3 * epsilon
    assert epsilon < worst <= 3 * epsilon


def test_what_a_model_says_of_a_row_is_the_same_to_the_last_digit_whoever_else_is_there() -> None:
    """A matrix product is not: with it one row more turned seven others from right to wrong."""
    rng, names = np.random.default_rng(1), tuple("abcdefgh")
    for _ in range(30):
        row, (one, two, three) = rng.normal(size=8), rng.normal(size=(3, 8))
        models: list[Any] = [
            LinearClassifier(names, (0, 1), (tuple(one),), (0.0,)),
            LinearClassifier(names, (0, 1, 2), (tuple(one), tuple(two), tuple(three)), (0.0, 0.0, 0.0)),
            KernelClassifier(names, (0, 1), (1.0,) * 8, (tuple(one), tuple(two)), (0.1, 0.2, 0.3, 0.4), 0.0),
            BayesClassifier(names, (0, 1), (0.5, 0.5), (tuple(one), tuple(two)), (tuple(three**2),) * 2),
        ]
        says: list[Any] = [LinearModel(names, tuple(one), 0.0).predict, *(each.scores for each in models)]
        for said in says:
            alone = said(row[np.newaxis])[0]
            for size in (2, 3, 4, 5, 6, 7, 8, 19):
                assert np.array_equal(said(np.tile(row, (size, 1))), np.array([alone] * size))


def test_a_score_of_many_steps_and_rows_does_not_wrap_around() -> None:
    steps, size = 10**15, 9224
    columns = Column("a", bounds=(0, 1), step=1), Column("y", bounds=(0, steps), step=1)
    frame = Frame.of({"a": np.zeros(size), "y": np.zeros(size)}, *columns)
    model = LinearModel(("a",), (0.0,), 0.0)
    assert RightRows.of(frame, "y", model).counted(frame, model) == (steps * size, 0)


def test_a_row_more_moves_the_score_of_a_model_by_one() -> None:
    """Of rows that are all alike, and whose score is as near to none as doubles have it."""
    rng, names, most = np.random.default_rng(1), tuple("abcdefgh"), 0
    columns = [*(Column(name, bounds=(-1000, 1000), step=1) for name in names), Column("y", keys=(False, True))]
    for _ in range(8):
        row, weights = rng.integers(-1000, 1000, 8), rng.normal(size=8)
        near = {float(each) for size in (1, 2, 3, 4) for each in np.tile(row.astype(float), (size, 1)) @ weights}
        for at in near:
            model, counted = LinearClassifier(names, (False, True), (tuple(weights),), (-at,)), []
            for size in range(9):
                held = {name: np.full(size, own) for name, own in zip(names, row, strict=True)}
                frame = Frame.of({**held, "y": [True] * size}, *columns)
                counted.append(RightRows.of(frame, "y", model).counted(frame, model))
            most = max(most, int(np.abs(np.diff(np.array(counted), axis=0)).sum(axis=1).max()))
    assert most == 1


def test_a_try_has_a_third_of_the_price_and_of_delta_its_share() -> None:
    assert SEARCH.privacy == Pure(ONE)
    assert SEARCH.each == Pure(ONE / 3)
    assert {each.privacy for each in SEARCH.candidates} == {Pure(ONE / 3)}
    both = replace(SEARCH, delta=RARE, neighbours=Replace("person"), max_rows=2)
    assert isinstance(both.each, Approximate)
    share = both.each.delta * 6 * (1 + Fraction(math.e))
    assert 0.999 * RARE < share < RARE * (1 + Fraction(1, 10**12))
    assert {(each.privacy, each.max_rows, each.neighbours) for each in both.candidates} == {
        (both.each, 2, Replace("person"))
    }


def test_what_is_right_and_what_is_not_add_up_to_the_worth_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    a, y = rng.uniform(-2, 2, 300), rng.uniform(-3, 3, 300)
    a[::7] = np.nan
    columns = [Column("a", bounds=(-1, 1), step="0.5"), Column("y", bounds=(-2, 2), step="0.5")]
    line = LinearModel(("a",), (3.0,), 0.25)
    how = RightRows.of(frame := Frame.of({"a": a, "y": y}, *columns), "y", line)
    kept = ~np.isnan(a)
    steps = [np.clip(np.floor(each[kept] / 0.5 + 0.5), -end, end) for each, end in ((a, 2), (y, 4))]
    off = np.abs(np.rint(np.clip((3 * steps[0] * 0.5 + 0.25) / 0.5, -4, 4)) - steps[1])
    assert (how.worth, how.numeric) == (8, True)
    assert how.counted(frame, line) == (8 * kept.sum() - off.sum(), off.sum())
    classes = LinearClassifier(("a",), ("no", "yes"), ((1.0,),), (0.1,))
    label = np.where(y > 0, "yes", np.where(y < -1, "other", "no"))
    frame = Frame.of({"a": a, "y": label}, columns[0], Column("y", keys=("yes", None, "no")))
    how = RightRows.of(frame, "y", classes)
    said = np.where(steps[0] * 0.5 + 0.1 > 0, "yes", "no")
    there = label[kept] != "other"
    right = int((said == label[kept])[there].sum())
    assert (how.worth, how.numeric) == (1, False)
    assert how.counted(frame, classes) == (right, int(there.sum()) - right)
    wild = LinearModel(("a",), (math.inf,), 0.0)
    assert sum(RightRows("y", numeric=True, worth=8).counted(Frame.of({"a": [0.0], "y": [1]}, *columns), wild)) == 8


def test_a_setting_that_fits_is_found_as_often_as_it_is_tried() -> None:
    """By a fit that hardly has noise: with tries=1 in half of 60 runs, with tries=9 in all but a tenth (1e-9)."""
    a = np.linspace(-1, 1, 400)
    frame = Frame.of({"a": a, "y": a}, Column("a", bounds=(-1, 1)), Column("y", bounds=(-1, 1)))
    right = []
    for tries in (1, 9):
        search = replace(SEARCH, epsilon=Fraction(1000), tries=Fraction(tries))
        found = [search(frame, rng=Seeded(seed)) for seed in range(60)]
        right.append(sum(each.place == 0 for each in found))
        assert {each.setting for each in found} <= set(search.settings)
        assert all((each.score > 0.95) == (each.place == 0) for each in found)
    assert 8 <= right[0] <= 52
    assert right[1] >= 38


def test_it_has_the_words_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1500, 3))
    y = np.where(x @ [2, -1, 0.5] > 0, "up", "down")
    plain = LogisticRegression(classes=("up", "down"), bounds=(-1, 1), method="functional", delta=0)
    search = PrivateSearchCV(plain, {"alpha": [0, 10**7], "fit_intercept": [False]}, epsilon=30, tries=8)
    assert clone(search).get_params()["estimator__method"] == "functional"
    search.fit(x, y)
    assert search.best_params_["fit_intercept"] is False
    assert search.predict(x[:3]).shape == (3,)
    assert set(search.classes_) == {"up", "down"}
    assert search.predict_proba(x[:3]).shape == (3, 2)
    assert search.decision_function(x[:3]).shape == (3,)
    assert search.score(x, y) == search.best_estimator_.score(x, y)
    assert abs(search.score(x, y) - search.best_score_) < 0.2
    assert search.privacy_.loss == search.best_estimator_.privacy_.loss == Pure(Fraction(30))
    assert search.n_features_in_ == 3
    line = PrivateSearchCV(Ridge(bounds=(-1, 1), label_bounds=(-4, 4)), {"alpha": [1, 5]}, epsilon=9, delta="1e-6")
    assert not hasattr(line, "predict_proba")
    assert line.fit(x, x[:, 0], units=range(1500)).score(x, x[:, 0]) > 0.8
    assert np.isfinite(line.fit(x[:0], x[:0, 0]).predict(x)).all()


@pytest.mark.slow
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [PrivateSearchCV(Ridge(**NUMBERS), {"alpha": ["0.001"]}, epsilon=HUGE, tries=1, holdout="0.01")],
    expected_failed_checks=lambda _: {
        "check_dtype_object": "a cell that is no number leaves its row out: to refuse would tell that somebody has it",
        "check_supervised_y_no_nan": "so does a label that is infinite: it counts as the bound",
        "check_estimators_empty_data_messages": "no rows are fitted like any: to refuse would tell them from one row",
    },
)
def test_it_has_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:  # noqa: ANN401
    if check.func.__name__ in {"check_regressor_data_not_an_array", "check_supervised_y_2d", "check_fit_idempotent"}:
        pytest.skip(ANEW)
    check(estimator)


def test_what_makes_no_sense_is_refused() -> None:
    nonsense: list[tuple[dict[str, Any], str]] = [
        ({"settings": ()}, "needs settings"),
        ({"tries": 0}, "tries >= 1"),
        ({"holdout": 1}, "holdout between"),
        ({"estimator": "mean"}, "fits no model of a label"),
        ({"estimator": "standard-scaler", "settings": ((),)}, "fits no model of a label"),
        ({"estimator": "private-search"}, "fits no model of a label"),
        ({"settings": ((("epsilon", 9),),)}, "and not epsilon"),
        ({"settings": ((("max_rows", 9),),)}, "and not max_rows"),
        ({"settings": ((("alpha", 1), ("alpha", 2)),)}, "no parameter twice"),
        ({"settings": ((("beta", 1),),)}, "has no parameter"),
    ]
    for given, said in nonsense:
        with pytest.raises(Refusal, match=said):
            replace(SEARCH, **given)
    mixed = PrivateSearchCV(
        LogisticRegression(classes=(0, 1), bounds=(0, 1)), {"method": ["automatic", "functional"]}, delta="1e-6"
    )
    with pytest.raises(Refusal, match="of one kind of fit"):
        mixed.fit([[0.0]], [0])
