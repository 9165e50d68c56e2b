"""How good a model is: counts and sums by hand, what follows from them, and whether the stated error covers."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from learn.examples import HUGE
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.learn import (
    ClassifierScore,
    ExponentialLearner,
    GaussianNB,
    LinearModel,
    LinearSVC,
    LogisticRegression,
    ModelScore,
    NumberScore,
    PrivateSearchCV,
    Ridge,
    Rule,
    evaluate,
)
from discreet.learn.linear_classifier_model import LinearClassifier
from discreet.learn.moments import Width
from discreet.mechanisms import Column, Frame, described, rebuilt
from discreet.privacy import AddRemove, Concentrated, Pure, Replace

ONE, HALF, RARE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)


def text(estimator: str, model: Any) -> str:  # noqa: ANN401
    return json.dumps({"estimator": estimator, "model": model.body()})


SIDES = text("logistic-regression", LinearClassifier(("a",), (0, 1), ((2.0,),), (0.5,)))
THREE = text("logistic-regression", LinearClassifier(("a",), (0, 1, 2), ((2.0,), (0.0,), (-2.0,)), (0.0, 0.5, 0.0)))
LINE = text("linear-regression", LinearModel(("a",), (3.0,), 0.0))
EXAMPLES = [
    ModelScore(SIDES, "y", ONE, bins=4, max_rows=2),
    ModelScore(SIDES, "y", ONE, RARE, bins=4, neighbours=Replace()),
    ModelScore(THREE, "y", rho=HALF),
    ModelScore(LINE, "y", ONE, max_rows=2),
    ModelScore(LINE, "y", rho=HALF, neighbours=Replace()),
]
each = pytest.mark.parametrize("what", EXAMPLES, ids=lambda what: f"{what.privacy} {what.neighbours}")


def frame(what: ModelScore, rows: list[tuple[int, int]]) -> Frame:
    numeric = "linear-regression" in what.fitted
    label = (
        Column("y", bounds=(-2, 2), step=1)
        if numeric
        else Column("y", keys=(0, 1, 2) if "[0, 1, 2]" in what.fitted else (0, 1))
    )
    held = {"a": [a for a, _ in rows], "y": [y for _, y in rows]}
    return Frame.of(
        held, Column("a", bounds=(-1, 1), step=1), label, max_rows=what.max_rows, neighbours=what.neighbours
    )


@each
def test_no_unit_moves_what_is_bought_further_than_was_paid_for_and_one_as_far(what: ModelScore) -> None:
    """Exactly, for all units of a small domain."""
    numeric = "linear-regression" in what.fitted
    labels = (-2, 0, 2) if numeric else (0, 1)
    units = [[one] * what.max_rows for one in itertools.product((-1, 0, 1), labels)]
    others = [(1, 0), (0, 1)]
    whole = 16 if numeric else 1

    def seen(rows: list[tuple[int, int]]) -> Any:  # noqa: ANN401
        table = frame(what, others + rows)
        return (what.sums(table) if numeric else what.table(table)).astype(float) / whole

    if what.neighbours == AddRemove():
        moves = [seen(unit) - seen([]) for unit in units]
    else:
        moves = [seen(one) - seen(two) for one, two in itertools.combinations(units, 2)]
    width = what.width(2 if numeric else 1)
    if isinstance(what.privacy, Pure):
        cost = max(float(np.abs(move).sum() / width.of) for move in moves)
        assert cost == pytest.approx(float(what.privacy.epsilon))
    else:
        rho = what.privacy.rho if isinstance(what.privacy, Concentrated) else float(what.width(1).of) ** -1
        cost = max(float((move**2).sum() / (2 * width.of)) for move in moves)
        assert cost <= float(rho) * (1 + 1e-9)
        assert cost > float(rho) * 0.49


def test_at_a_price_that_hardly_matters_it_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4000, 3))
    signal = x @ [2, -1, 0.5]
    y = np.where(signal + 0.4 * rng.logistic(size=4000) > 0, "yes", "no")
    given: dict[str, Any] = {"classes": ("no", "yes"), "bounds": (-1, 1)}
    for model in (LogisticRegression(5, **given), LinearSVC(5, **given), GaussianNB(5, **given)):
        told = evaluate(model.fit(x, y), x, y, epsilon=HUGE, bins=200)
        assert isinstance(told, ClassifierScore)
        assert told.accuracy == pytest.approx(model.score(x, y), abs=1e-9)
        assert told.accuracy_error is not None
        assert told.accuracy_error < 1e-9
        chance = model.predict_proba(x)[:, 1] if hasattr(model, "predict_proba") else model.decision_function(x)
        assert told.area == pytest.approx(roc_auc_score(y == "yes", chance), abs=5e-3)
        assert told.classes == ("no", "yes")
        assert told.rows == pytest.approx(4000)
        assert bool(told.calibration) == hasattr(model, "predict_proba")
        for part in told.calibration[::40]:
            there = (chance >= part.low) & (chance < part.high)
            assert part.rows == pytest.approx(there.sum(), abs=1e-6)
            assert part.true is None or part.true == pytest.approx((y == "yes")[there].mean(), abs=1e-6)
    rule = ExponentialLearner(50, **given).fit(x, y)
    assert evaluate(rule, x, y, epsilon=HUGE).accuracy == pytest.approx(rule.score(x, y), abs=1e-9)  # type: ignore[union-attr]
    some = np.array(["low", "mid", "top"])[np.digitize(signal, (-1, 1))]
    softmax = LogisticRegression(20, classes=("low", "mid", "top"), bounds=(-1, 1)).fit(x, some)
    three = evaluate(softmax, x, some, epsilon=HUGE)
    assert isinstance(three, ClassifierScore)
    assert three.accuracy == pytest.approx(softmax.score(x, some), abs=1e-9)
    assert (three.area, three.calibration) == (None, ())
    assert np.array(three.counts).sum(axis=1) == pytest.approx([(some == name).sum() for name in three.classes])


def test_a_number_is_scored_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (4000, 2))
    y = np.clip(x @ [2, -1] + 0.3 * rng.normal(size=4000), -4, 4)
    search = PrivateSearchCV(Ridge(bounds=(-1, 1), label_bounds=(-4, 4)), {"alpha": [1]}, epsilon=30).fit(x, y)
    told = evaluate(search, x, y, epsilon=HUGE)
    assert isinstance(told, NumberScore)
    assert told.r2 == pytest.approx(r2_score(y, search.predict(x)), abs=1e-4)
    assert told.mean_absolute_error == pytest.approx(mean_absolute_error(y, search.predict(x)), abs=1e-4)
    near = evaluate(search, x, y, epsilon=2, units=range(4000))
    assert isinstance(near, NumberScore)
    assert near.r2 == pytest.approx(told.r2, abs=0.15)
    nobody = evaluate(search, x[:0], y[:0], epsilon=1)
    assert isinstance(nobody, NumberScore)
    assert nobody.r2 is None or nobody.r2 <= 1


@pytest.mark.parametrize("width", [Width(Fraction(3), gaussian=False), Width(Fraction(18), gaussian=True)])
def test_the_error_of_an_accuracy_covers(width: Width) -> None:
    """In 2,000 runs, false alarm 1e-9; a third of it would not."""
    counts, rng = np.array([[60, 20, 15, 5], [10, 10, 20, 60]]), Seeded(7)
    near, third, truth = 0, 0, 160 / 200
    for _ in range(2000):
        noisy = np.array([[width.added(int(value), 1, rng) for value in row] for row in counts])
        told = ClassifierScore.of((0, 1), noisy, width, calibrated=True)
        assert told.accuracy is not None
        assert told.accuracy_error is not None
        near += abs(told.accuracy - truth) <= told.accuracy_error
        third += abs(told.accuracy - truth) <= told.accuracy_error / 3
    assert not Coverage(near, 2000).refuted(Fraction(95, 100), 1e-9)
    assert Coverage(third, 2000).refuted(Fraction(95, 100), 1e-9)


def test_what_is_known_of_no_rows_is_nothing() -> None:
    for counts in (np.zeros((2, 4)), np.full((2, 4), -1.0)):
        told = ClassifierScore.of((0, 1), counts, Width(ONE, gaussian=False), calibrated=True)
        assert (told.accuracy, told.accuracy_error, told.area) == (None, None, None)
        assert [part.true for part in told.calibration] == [None] * 4
    held = ClassifierScore.of((0, 1), np.array([[9.0, -3], [0, 8]]), Width(ONE, gaussian=False), calibrated=False)
    assert held.accuracy == 1
    assert NumberScore.of(np.array([[1.0, 0, 0], [1, 0, 0]]), 2.0).r2 is None


@each
def test_it_goes_through_a_door_and_its_audit(what: ModelScore) -> None:
    sent = json.loads(json.dumps(described(what)))
    assert rebuilt(sent["name"], sent["parameters"]) == what
    pairs = what.pairs()
    assert not audit(what, samples=60 * len(pairs), alpha=1e-10, rng=Seeded(3)).refuted
    if isinstance(what.privacy, Pure):
        dear = replace(what, epsilon=Fraction(40))
        held = [(pair.left, pair.right) for pair in pairs]
        assert audit(dear, held, Pure(1), samples=240 * len(pairs), alpha=1e-10, rng=Seeded(1)).refuted


def test_whatever_a_model_is_no_row_makes_it_fail() -> None:
    """Not a number, infinities, classes that the label does not have, rows that lack something."""
    wild = LinearClassifier(("a",), ("no", "yes"), ((float("inf"),),), (float("-inf"),))
    rows: dict[str, Any] = {"a": [0.0, 1.0, None, -1.0], "y": ["yes", "no", "no", "other"]}
    table = Frame.of(rows, Column("a", bounds=(-1, 1)), Column("y", keys=("no", "yes")))
    assert ModelScore(text("logistic-regression", wild), "y", ONE).table(table).sum() == 2
    strange = ModelScore(text("exponential-learner", Rule(("a",), (), 7, 8)), "y", ONE)
    assert strange.table(table).tolist() == [[1, 0], [1, 0]]
    line = ModelScore(LINE.replace("3.0", "NaN"), "b", ONE)
    held = Frame.of({"a": [0.0, 1.0], "b": [1, 2]}, Column("a", bounds=(-1, 1)), Column("b", bounds=(0, 2), step=1))
    assert line.sums(held).sum() == 2 * 2 * 4


def test_what_makes_no_sense_is_refused() -> None:
    nonsense: list[tuple[dict[str, Any], str]] = [
        ({"fitted": "{}"}, "expected fitted as JSON"),
        ({"fitted": "no JSON"}, "expected fitted as JSON"),
        ({"fitted": '{"estimator": "mean", "model": {}}'}, "expected fitted as JSON"),
        ({"fitted": "[" * 10**5}, "expected fitted as JSON"),
        ({"bins": 3}, "an even number"),
        ({"label": "a"}, "is a feature of the model"),
        ({"max_rows": 0}, "max_rows"),
    ]
    for given, said in nonsense:
        with pytest.raises(Refusal, match=said):
            replace(EXAMPLES[0], **given)
