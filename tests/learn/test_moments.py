"""Naive Bayes, scaling and the functional mechanism: how far a unit moves their sums, exactly, and what is fitted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.naive_bayes import GaussianNB as PlainBayes
from sklearn.preprocessing import StandardScaler as PlainScaler

from discreet.errors import Refusal
from discreet.learn import (
    FunctionalLogistic,
    GaussianNB,
    LogisticRegression,
    NaiveBayes,
    Standardize,
    StandardScaler,
)
from discreet.learn.fit_price import rho_of
from discreet.learn.moments import Width, shares
from discreet.mechanisms import Column, Frame
from discreet.privacy import AddRemove, Pure, Replace

ONE, HALF, RARE, HUGE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6), 10**12
STEPS = (-2, 1, 2)
Row = tuple[int, ...]


def frame(what: Any, rows: tuple[Row, ...]) -> Frame:  # noqa: ANN401
    """Rows of features, and a label where there is one: its third class is none that is declared."""
    columns = [Column(name, bounds=(-2, 2), step=1) for name in what.features]
    label = getattr(what, "label", None)
    columns += [] if label is None else [Column(label, keys=(0, 1))]
    data = {column.name: np.array([row[i] for row in rows], dtype=np.int64) for i, column in enumerate(columns)}
    return Frame.of(data, *columns, max_rows=what.max_rows)


def units(what: Any) -> Iterator[tuple[Row, ...]]:  # noqa: ANN401
    """All that one unit may have, up to order."""
    classes = [] if getattr(what, "label", None) is None else [(0, 1, 2)]
    every = list(itertools.product(*[STEPS] * len(what.features), *classes))
    for size in range(what.max_rows + 1):
        yield from itertools.combinations_with_replacement(every, size)


def moves(what: Any, seen: dict[tuple[Row, ...], Any]) -> Iterator[Any]:  # noqa: ANN401
    """By how much neighbours differ."""
    if what.neighbours == Replace():
        yield from (one - two for one, two in itertools.combinations(seen.values(), 2))
    else:
        yield from (one - seen[()] for one in seen.values())


@pytest.mark.parametrize(
    "what",
    [
        NaiveBayes(("a",), "y", ONE),
        NaiveBayes(("a",), "y", rho=HALF, max_rows=2),
        NaiveBayes(("a", "b"), "y", ONE, RARE, neighbours=Replace()),
        NaiveBayes(("a",), "y", ONE, neighbours=Replace()),
        Standardize(("a", "b"), ONE),
        Standardize(("a",), rho=HALF, max_rows=2, neighbours=Replace()),
    ],
    ids=repr,
)
def test_no_unit_moves_the_shares_further_than_was_paid_for_and_one_moves_them_as_far(what: Any) -> None:  # noqa: ANN401
    by = ("y",) if hasattr(what, "label") else ()
    seen = {unit: shares(frame(what, unit), what.features, by) for unit in units(what)}

    def worst(width: Width) -> Fraction:
        every = [[Fraction(part, 16) for part in move.ravel()] for move in moves(what, seen)]
        if width.gaussian:
            return max(sum((m * m for m in each), Fraction(0)) / (2 * width.of) for each in every)
        return max(sum(map(abs, each), Fraction(0)) / width.of for each in every)

    paid = what.privacy.epsilon if isinstance(what.privacy, Pure) else rho_of(what.privacy)
    assert paid * Fraction(999, 1000) <= worst(what.width) <= paid
    assert worst(replace(what.width, of=what.width.of * Fraction(9, 10))) > paid


@pytest.mark.parametrize(
    "what",
    [
        FunctionalLogistic(("a",), "y", ONE),
        FunctionalLogistic(("a",), "y", rho=HALF, max_rows=2),
        FunctionalLogistic(("a", "b"), "y", ONE, RARE, data_norm=Fraction(2), neighbours=Replace()),
        FunctionalLogistic(("a",), "y", ONE, fit_intercept=False, neighbours=Replace()),
    ],
    ids=repr,
)
def test_no_unit_moves_the_quadratic_further_than_was_paid_for(what: FunctionalLogistic) -> None:
    design = what.design(frame(what, ()))
    spread, scales = what.spread(design), design.scales
    seen = {}
    for unit in units(what):
        matrix, vector = what.sums(frame(what, unit))
        parts = [Fraction(v) / s for v, s in zip(vector, scales, strict=True)]
        parts += [
            Fraction(matrix[i, j]) / (scales[i] * scales[j]) for i in range(len(scales)) for j in range(i, len(scales))
        ]
        seen[unit] = np.array(parts, dtype=object)
    size = len(scales)
    doubled = [2 if i == j and spread.gaussian else 1 for i in range(size) for j in range(i, size)]
    widths = [spread.vector] * size + [spread.matrix * each for each in doubled]

    def lost(move: Any, less: int) -> Fraction:  # noqa: ANN401
        pairs = list(zip(move, widths, strict=True))
        if spread.gaussian:
            return sum((m * m / (2 * w / less) for m, w in pairs), Fraction(0))
        return sum((abs(m) / (w / less) for m, w in pairs), Fraction(0))

    paid = what.privacy.epsilon if isinstance(what.privacy, Pure) else rho_of(what.privacy)
    assert paid * Fraction(2, 5) <= max(lost(move, 1) for move in moves(what, seen)) <= paid
    assert max(lost(move, 3) for move in moves(what, seen)) > paid


def data(n: int = 1500) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 2)) * [1, 0.5] + np.array([[0, 1], [2, 0], [-2, -1]])[y], y


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_without_noise_to_speak_of_they_are_scikit_learns(delta: Any) -> None:  # noqa: ANN401
    x, y = data()
    bounds, inside = (-4, 4), np.clip(x, -4, 4)
    ours = GaussianNB(HUGE, delta=delta, classes=(0, 1, 2), bounds=bounds).fit(x, y)
    theirs = PlainBayes().fit(inside, y)
    assert ours.theta_ == pytest.approx(theirs.theta_, abs=1e-6)
    assert ours.var_ == pytest.approx(theirs.var_, abs=1e-6)
    assert ours.predict_proba(x) == pytest.approx(theirs.predict_proba(x), abs=1e-5)
    scaled = StandardScaler(HUGE, delta=delta, bounds=bounds).fit(x)
    assert scaled.transform(x) == pytest.approx(PlainScaler().fit(inside).transform(x), abs=1e-5)
    assert scaled.inverse_transform(scaled.transform(x)) == pytest.approx(x)


def test_at_a_price_people_pay_they_are_near_it() -> None:
    x, y = data(6000)
    fitted = GaussianNB(1, classes=(0, 1, 2), bounds=(-5, 5)).fit(x, y)
    assert fitted.score(x, y) > PlainBayes().fit(x, y).score(x, y) - 0.02
    assert StandardScaler(1, bounds=(-5, 5)).fit(x).scale_ == pytest.approx(x.std(axis=0), rel=0.1)


def test_the_quadratic_decides_as_the_logistic_loss_does_near_zero() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, size=(20_000, 3))
    y = (x @ [0.4, -0.3, 0.2] + 0.1 + rng.logistic(size=20_000) > 0).astype(int)
    given: dict[str, Any] = {"classes": (0, 1), "bounds": (-1, 1), "alpha": "0.001", "method": "functional"}
    exact = LogisticRegression(HUGE, delta=0, **given).fit(x, y)
    plain = PlainLogistic(C=1000).fit(x, y)
    assert exact.coef_ == pytest.approx(plain.coef_, abs=0.03)
    assert exact.intercept_ == pytest.approx(plain.intercept_, abs=0.02)
    assert LogisticRegression(1, **given).fit(x, y).score(x, y) > plain.score(x, y) - 0.02
    with pytest.raises(Refusal, match="tells two apart"):
        LogisticRegression(1, **{**given, "classes": (0, 1, 2)}).fit(x, y)


def test_a_ridge_on_the_quadratic_is_as_large_as_was_asked_for() -> None:
    """The least of θᵀAθ/8 − b·θ/2 + α‖θ‖²/2, in closed form."""
    rng = np.random.default_rng(3)
    x = np.rint(rng.uniform(-1, 1, size=(500, 2)) * 1000) / 1000
    y = (x[:, 0] - x[:, 1] / 2 + rng.logistic(size=500) / 4 > 0).astype(int)
    given: dict[str, Any] = {"classes": (0, 1), "bounds": (-1, 1), "delta": 0, "fit_intercept": False}
    fitted = LogisticRegression(HUGE, **given, alpha=50, method="functional").fit(x, y)
    expected = np.linalg.solve(x.T @ x / 4 + 50 * np.eye(2), x.T @ (2 * y - 1) / 2)
    assert fitted.coef_[0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("n", [0, 2])
def test_no_rows_one_class_and_constant_columns_are_fitted_like_any(n: int) -> None:
    x, y = np.full((n, 3), 2.0), np.zeros(n, dtype=int)
    for model in (
        GaussianNB(1, classes=(0, 1), bounds=(0, 5)),
        LogisticRegression(1, classes=(0, 1), bounds=(0, 5), method="functional"),
    ):
        assert np.isfinite(model.fit(x, y).predict_proba([[1.0, 2, 3]])).all()
    assert np.isfinite(StandardScaler(1, bounds=(0, 5)).fit(x).transform([[1.0, 2, 3]])).all()


def test_a_constant_column_keeps_its_scale_where_noise_is_nothing() -> None:
    scaled = StandardScaler(10**30, bounds=(0, 5)).fit(np.full((50, 1), 3.0))
    assert scaled.transform([[3.0], [4.0]]).ravel() == pytest.approx([0, 1], abs=1e-3)


def test_rows_of_no_class_or_without_a_number_are_in_no_sum() -> None:
    columns = [Column("a", bounds=(-2, 2), step=1), Column("y", keys=("no", None, "yes"))]
    values: dict[str, Any] = {"a": [1, 2, None, 2], "y": ["no", "yes", "no", None]}
    table = Frame.of(values, *columns)
    told = NaiveBayes(("a",), "y", Fraction(HUGE))(table, rng=Seeded(1))
    assert told.classes == ("no", "yes")
    assert np.ravel(told.means) == pytest.approx([1.0, 2.0], abs=1e-6)
    assert told.shares == pytest.approx((0.5, 0.5), abs=1e-6)
    assert NaiveBayes(("a",), "y", ONE).neighbours == AddRemove()


def test_the_functional_mechanism_refuses_corners_by_name() -> None:
    given: dict[str, Any] = {"classes": (0, 1), "bounds": (-1, 1), "method": "functional"}
    with pytest.raises(Refusal, match="no corners, got l1=3"):
        LogisticRegression(**given, l1=3).fit([[0.5]], [1])
