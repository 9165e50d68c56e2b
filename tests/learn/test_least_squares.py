"""Least squares of noisy sums: how far a unit moves them, exactly, and what is fitted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Plain
from sklearn.linear_model import Ridge as PlainRidge

from discreet.declared.table import grid_of
from discreet.errors import Refusal
from discreet.learn import LeastSquares, LinearRegression, LogisticRegression, Ridge
from discreet.learn.design_matrix import Design, Scale
from discreet.learn.fit_price import rho_of
from discreet.learn.least_squares import Spread
from discreet.mechanisms import Column, Frame
from discreet.noise import SECURE
from discreet.privacy import AddRemove, Neighbours, Pure, Replace

HUGE = 10**12
COLUMNS = [Column(name, bounds=(-20, 80), step=Fraction(1, 100)) for name in ("x0", "x1", "y")]
STEPS = (-2, 1, 2)  # corners, and one place between
Row = tuple[int, ...]

CASES = [
    LeastSquares(("a",), "y", Fraction(1)),
    LeastSquares(("a",), "y", Fraction(1), max_rows=2, neighbours=Replace()),
    LeastSquares(("a", "b"), "y", Fraction(1), Fraction(1, 10**6)),
    LeastSquares(("a",), "y", rho=Fraction(1, 2), max_rows=2),
    LeastSquares(("a",), "y", rho=Fraction(1, 2), fit_intercept=False, neighbours=Replace()),
    LeastSquares(("a", "b"), "y", rho=Fraction(1, 3), neighbours=Replace()),
    LeastSquares(("a", "b"), "y", rho=Fraction(1, 3), data_norm=Fraction(2)),
    LeastSquares(("a",), "y", Fraction(1), data_norm=Fraction(2), max_rows=2),
]


def frame(what: LeastSquares, rows: tuple[Row, ...]) -> Frame:
    columns = [Column(name, bounds=(-2, 2), step=1) for name in (*what.features, what.label)]
    data = {column.name: np.array([row[i] for row in rows], dtype=np.int64) for i, column in enumerate(columns)}
    return Frame.of(data, *columns, max_rows=what.max_rows)


def units(what: LeastSquares) -> Iterator[tuple[Row, ...]]:
    """All that one unit may have, up to order."""
    every = list(itertools.product(STEPS, repeat=len(what.features) + 1))
    for size in range(what.max_rows + 1):
        yield from itertools.combinations_with_replacement(every, size)


def loss(design: Design, spread: Spread, target: Fraction, one: tuple[Any, Any], two: tuple[Any, Any]) -> Fraction:
    """ε or ρ by which noise of this spread tells sums apart: each move over the noise on it, exactly."""
    scales, total = design.scales, Fraction(0)
    matrix, vector = one[0] - two[0], one[1] - two[1]
    for i, own in enumerate(scales):
        moves = [(Fraction(vector[i]) / (own * target), spread.vector)]
        for j in range(i, len(scales)):
            doubled = 2 if i == j and spread.gaussian else 1
            moves.append((Fraction(matrix[i, j]) / (own * scales[j]), spread.matrix * doubled))
        total += sum((m * m / (2 * w) if spread.gaussian else abs(m) / w) for m, w in moves)
    return total


@pytest.mark.parametrize("what", CASES, ids=lambda each: f"{each.privacy} {each.neighbours}")
def test_no_unit_moves_the_sums_further_than_was_paid_for_and_some_move_them_nearly_as_far(what: LeastSquares) -> None:
    """Every pair of neighbours over a small domain: the loss is computed exactly, in rationals."""
    sums: dict[tuple[Row, ...], Any] = {}
    design = Design.of(frame(what, ()), what.features, intercept=what.fit_intercept, norm=what.data_norm)
    label = Scale.centred(grid_of(frame(what, ()), what.label), moved=what.fit_intercept)
    for unit in units(what):
        sums[unit] = design.sums(frame(what, unit), what.label, label)
    paid = what.privacy.epsilon if isinstance(what.privacy, Pure) else rho_of(what.privacy)
    spread, nothing = what.spread(design), sums[()]
    pairs = [(one, nothing) for one in sums.values()]
    if what.neighbours == Replace():
        pairs = list(itertools.combinations(sums.values(), 2))
    worst = max(loss(design, spread, label.steps, one, two) for one, two in pairs)
    assert worst <= paid
    assert worst >= paid * Fraction(2, 5)  # the bound is no loose one
    less = replace(spread, matrix=spread.matrix / 3, vector=spread.vector / 3)
    assert max(loss(design, less, label.steps, one, two) for one, two in pairs) > paid


def data(n: int = 400, features: int = 3) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    rows = rng.uniform(0, 10, size=(n, features))
    return rows, rows @ np.arange(1, features + 1) - 4 + rng.normal(size=n)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_without_noise_to_speak_of_it_is_scikit_learns(intercept: bool, delta: Any) -> None:  # noqa: ANN401, FBT001
    rows, label = data()
    given = {"bounds": ([0, 0, 0], [10, 10, 11]), "label_bounds": (-20, 80), "fit_intercept": intercept}
    ours = LinearRegression(HUGE, delta=delta, **given).fit(rows, label)  # type: ignore[arg-type]
    theirs = Plain(fit_intercept=intercept).fit(rows, label)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)
    ridge = Ridge(50, epsilon=HUGE, delta=delta, **given).fit(rows, label)  # type: ignore[arg-type]
    assert ridge.coef_ == pytest.approx(PlainRidge(50, fit_intercept=intercept).fit(rows, label).coef_, abs=1e-4)


def test_numbers_beyond_the_bounds_count_as_the_bound_and_rows_without_a_number_not_at_all() -> None:
    rows, label = data()
    held = LinearRegression(HUGE, bounds=(2, 8), label_bounds=(0, 50)).fit(rows, label)
    clipped = Plain().fit(np.clip(rows, 2, 8), np.clip(label, 0, 50))
    assert held.coef_ == pytest.approx(clipped.coef_, abs=1e-3)
    rows[::3, 1], label[1::3] = np.nan, np.nan
    some = LinearRegression(HUGE, bounds=(0, 10), label_bounds=(-20, 80)).fit(rows, label)
    left = ~np.isnan(rows[:, 1]) & ~np.isnan(label)
    assert some.coef_ == pytest.approx(Plain().fit(rows[left], label[left]).coef_, abs=1e-3)


def test_rows_beyond_a_norm_are_drawn_towards_zero_to_it() -> None:
    rows, label = data()
    rows -= 5
    ours = LinearRegression(HUGE, bounds=(-5, 5), data_norm=3, label_bounds=(-20, 80)).fit(rows, label)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    theirs = Plain().fit(rows * np.minimum(1, 3 / length), label)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-3)


def test_numbers_that_have_keys_as_well_are_summed_as_numbers() -> None:
    """Their places among the keys know no bounds: 999 of a label would be 100 times what a unit is allowed."""
    key = tuple(range(1000, 0, -1))
    columns = [Column("a", bounds=(-3, 5), step=1, keys=key), Column("y", bounds=(0, 10), step=1, keys=key)]
    values: dict[str, Any] = {"a": [1, 2, -3, 4, 900], "y": [1, 7, 3, None, 999]}
    table = Frame.of(values, *columns)
    label = Scale.centred(grid_of(table, "y"), moved=True)
    designs = [Design.of(table, ("a",), intercept=True, norm=norm) for norm in (Fraction(6), None)]
    by_norm, by_bounds = (design.sums(table, "y", label) for design in designs)
    assert by_bounds[0][0, 0] == by_norm[0][0, 0] == 4
    [(_, labels)] = designs[1].rows(table, "y", number=True)
    assert sorted(labels.tolist()) == [1, 3, 7, 10]
    assert by_norm[1].tolist() == [1 + 7 + 3 + 10 - 4 * 5, 1 * (1 - 5) + 2 * (7 - 5) - 3 * (3 - 5) + 5 * (10 - 5)]


@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()])
def test_a_row_within_a_norm_is_exactly_within_it(neighbours: Neighbours) -> None:
    """Also at norms and steps that no double is: the length is compared in rationals."""
    rng, norm = np.random.default_rng(3), Fraction(10, 3)
    columns = [Column("a", bounds=(-7, 7), step=Fraction(1, 7)), Column("b", bounds=(-9, 9), step=Fraction(1, 10**9))]
    values = {"a": rng.uniform(-7, 7, 3000), "b": rng.uniform(-9, 9, 3000), "y": rng.uniform(-1, 1, 3000)}
    table = Frame.of(values, *columns, Column("y", bounds=(-1, 1)), neighbours=neighbours)
    design = Design.of(table, ("a", "b"), intercept=True, norm=norm)
    [(within, _)] = design.batches(table, "y", SECURE, number=True)
    longest = max((a * Fraction(1, 7)) ** 2 + (b * Fraction(1, 10**9)) ** 2 for a, b in within.tolist())
    assert norm**2 * Fraction(9999, 10000) < longest <= norm**2


@pytest.mark.parametrize("rows", [[[1, 5], [1, 6]], [[1, 5]] * 40])
def test_few_rows_and_constant_columns_are_fitted_like_any(rows: list[list[int]]) -> None:
    fitted = LinearRegression(1, delta=1e-6, bounds=(0, 10), label_bounds=(0, 1)).fit(
        rows, [i % 2 for i, _ in enumerate(rows)]
    )
    assert np.isfinite(fitted.predict(rows)).all()


@pytest.mark.parametrize("strange", ["seven", None, "", 1j, [2], {}, b"1", True, 10**400, Fraction(1, 3), Decimal(2)])
def test_a_strange_cell_is_neither_refused_nor_changes_how_others_are_read(strange: object) -> None:
    rows, label = data(60, 2)
    own = LinearRegression(HUGE, bounds=(0, 10), label_bounds=(-20, 80), max_rows=1)
    plain = Frame.of({"x0": rows[:, 0], "x1": rows[:, 1], "y": label}, *COLUMNS).products([], ["x0", "x1", "y"])
    for where in ("x", "y"):
        cells, labels = rows.tolist(), label.tolist()
        if where == "x":
            cells.append([1.0, strange])
            labels.append(1.0)
        else:
            cells.append([1.0, 1.0])
            labels.append(strange)
        x, y = own._read(cells, labels)
        read = own._frame([*x.T, y], None, COLUMNS)
        products = read.products([], ["x0", "x1", "y"])
        assert products[0, 0] - plain[0, 0] in (0, 1)
        assert np.all(abs(products - plain)[1:, 1:] <= 8000**2)
        own.fit(cells, labels)


@pytest.mark.parametrize("strange", ["seven", None, 1j, [2], {}, 10**400, np.nan])
def test_a_strange_label_is_no_class_and_changes_how_no_other_is_read(strange: object) -> None:
    labels: list[Any] = [0, 1, 1, strange, True, 0.0]
    words: Any = ["yes", strange, "no"]
    given = np.array(labels, dtype=object)
    assert LogisticRegression(classes=(0, 1))._read_label(given).tolist() == [
        0,
        1,
        1,
        -1,
        1,
        0,
    ]
    own = LogisticRegression(bounds=(0, 1), classes=("no", "yes"))
    assert own._read([[0]] * 3, words)[1].tolist() == [1, -1, 0]


def test_no_rows_at_all_are_fitted_like_any() -> None:
    for X in (np.empty((0, 2)), pd.DataFrame({"a": [], "b": []}, dtype=object)):  # noqa: N806
        fitted = LinearRegression(1, bounds=(0, 10), label_bounds=(0, 1)).fit(X, [])
        assert np.isfinite(fitted.coef_).all()
    with pytest.raises(Refusal, match="expected numbers as y, got <U3"):
        LinearRegression(1, bounds=(0, 10), label_bounds=(0, 1)).fit([[1], [2]], np.array(["one", "two"]))


@pytest.mark.parametrize("alpha", [0, 1, 10**400])
def test_columns_of_tiny_numbers_have_a_model(alpha: int) -> None:
    """The square of 1e-170 is no double but 0."""
    tiny = Fraction(1, 10**170)
    columns = [Column("x", bounds=(0, tiny), step=tiny / 100), Column("y", bounds=(0, 1))]
    table = Frame.of({"x": [1e-170, 0.0] * 20, "y": [1.0, 0.0] * 20}, *columns)
    told = LeastSquares(("x",), "y", Fraction(HUGE), alpha=Fraction(alpha))(table)
    expected = [0.5, 0.5] if alpha else [0, 1]
    assert told.predict([[0.0], [1e-170]]) == pytest.approx(expected, abs=1e-4)


def test_rows_of_a_unit_beyond_the_cap_do_not_count() -> None:
    rows, label = np.arange(40.0).reshape(-1, 1), np.arange(40.0)
    rows[20:], label[20:] = 40, 0  # all of one unit
    units = [*range(20), *[99] * 20]
    given = {"bounds": (0, 40), "label_bounds": (0, 40), "max_rows": 1}
    ours = LinearRegression(HUGE, **given).fit(rows, label, units=units)  # type: ignore[arg-type]
    assert ours.coef_ == pytest.approx(Plain().fit(rows[:21], label[:21]).coef_, abs=1e-3)
